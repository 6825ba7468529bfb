"""
Every setting, its type, its default and the reason for it.

A project sets ``SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com"}``. Names
that are not listed here are refused, so a misspelt one cannot pass unnoticed.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property, partial
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any, Literal, TypeVar

from django.apps import apps
from django.conf import settings as django_settings
from django.core.signals import setting_changed
from django.utils.functional import Promise
from django.utils.module_loading import import_string

from . import hooks
from .exceptions import ConfigurationError
from .protocol.errors import ProtocolError
from .protocol.locations import resolve

NAME = "SITEMAPS_PLUS"
#: Where the stylesheet is, beside the sitemaps.
STYLESHEET_PATH = "sitemap-style"

#: What the value of a setting may be, by the name of its type, and what that is called.
_KINDS: dict[str, tuple[Any, str]] = {
    "str": (str, "text"),
    "float": ((int, float), "a number"),
    "int": (int, "a whole number"),
    "bool": (bool, "True or False"),
    "list": ((list, tuple), "a list"),
}
#: What names a further site (a Site of the sites framework has a number), and what is
#: said of it.
_SITE_NAME = re.compile(r"[A-Za-z][\w-]{0,49}", re.ASCII)
_SITE_KEYS = ("BASE_URL", "URLCONF", "SITEMAPS")
#: An age in Cache-Control that is no number of seconds.
_WRONG_AGE = re.compile('max-?age=(?!"?[0-9]+"? *(?:,|$))', re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class AppSettings:
    """The settings of an app: a field for each, with its type, default and reason."""

    def __post_init__(self) -> None:
        """Refuse values of another type; a subclass refuses what cannot work."""
        for setting in dataclasses.fields(self):
            _check_kind(setting, getattr(self, setting.name))


@dataclass(frozen=True, kw_only=True)
class Settings(AppSettings):
    """The values of ``settings.SITEMAPS_PLUS``, checked."""

    #: The site's public address, ``https://www.example.com`` or, under a prefix,
    #: ``https://www.example.com/shop``. Without it (or the sites framework) links
    #: follow the request's Host header, and commands cannot know where they are.
    BASE_URL: str | None = None

    #: Dotted path of a dict of contrib-style sitemaps, for those who come from
    #: ``django.contrib.sitemaps``. Sections found here are registered.
    SITEMAPS: str | None = None

    #: Further sites of this project, each with sections of its own, by name:
    #: ``{"blog": {"BASE_URL": …, "URLCONF": …, "SITEMAPS": …}}``. What ``BASE_URL`` and
    #: ``SITEMAPS`` say is of the site without a name.
    SITES: dict[str, dict[str, Any]] = field(default_factory=dict)

    #: Dotted path of a subclass of ``Tenants``: tables of their own for each tenant, in
    #: one process. Those of django-tenants are found by themselves.
    TENANTS: str | None = None

    #: The name and the language of the publication that a ``NewsSitemap`` is of. No
    #: name by default: nothing is invented. The language is that of ``LANGUAGE_CODE``.
    PUBLICATION_NAME: str | Promise | None = None
    PUBLICATION_LANGUAGE: str | None = None

    #: The Cache-Control header. The default lets caches keep a page but ask
    #: whether it still holds, which costs a 304 and never shows an old page.
    #: None sends no header.
    CACHE_CONTROL: str | None = "no-cache"

    #: Whether ``/sitemap.xml`` is an index as soon as there are two sections: search
    #: engines show their figures by file. By default it has all entries while they fit
    #: one file.
    INDEX: bool = False

    #: Whether sitemaps name a CSS file by which browsers show them: a person who opens
    #: one reads a list, not XML, or text without any breaks. Crawlers ignore it.
    STYLESHEET: bool = True

    #: What one bad row does: "skip" leaves it out and reports it, "raise" stops
    #: (for development, where an error should be loud).
    ON_ERROR: Literal["skip", "raise"] = "skip"

    #: The share of a page's rows that may be bad (but always ten). Above it
    #: something larger is wrong, and the former bytes stay published.
    MAX_BAD: float = 0.01

    #: Seconds after which a page is compared with its rows again. An hour bounds
    #: how long a change made behind Django's back can stay unseen.
    VERIFY_AFTER: int = 3600

    #: URLs that a section may lose within an hour, less those that it gains. More are
    #: put on hold until somebody confirms them: a broken filter must not empty a search
    #: engine's index.
    MAX_REMOVED: int = 10_000

    #: Whether removed URLs are also on hold where a section loses more URLs within an
    #: hour than it still lists. False is for sections that are small and often empty.
    HOLD_MOST: bool = True

    #: The search engines to notify, by alias: ``{"BACKEND": "dotted.path",
    #: "OPTIONS": {…}}``, as everywhere in Django. Empty by default: nothing is
    #: sent until you opt in.
    ENGINES: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)

    #: Seconds after a change before the background looks at it and notifies engines:
    #: an editor's three saves are one request, and a busy site is not looked at all the
    #: time.
    NOTIFY_AFTER: float = 5.0

    #: Whether a thread of each server process rebuilds pages whose rows changed, and
    #: notifies engines. It ends when idle, and never runs in tests or commands. With
    #: "celery" or "tasks" (Django Tasks) it hands the work over to a worker of these.
    BACKGROUND: Literal["celery", "tasks"] | bool = True

    #: The share of one processor that rebuilding pages in the background may take, of
    #: all server processes together: after each page they rest accordingly.
    BACKGROUND_SHARE: float = 0.05

    #: Groups of robots.txt, in order. The default allows everything. Licenses are of no
    #: group: ``{"license": "https://…"}``.
    ROBOTS: list[dict[str, Any]] = field(
        default_factory=lambda: [{"user_agent": "*", "disallow": [""]}]
    )

    #: Sitemaps of other systems: URLs, or paths of this site. robots.txt lists them,
    #: whatever their host. The index lists ``{"url": "/blog/a.xml", "index": True}``
    #: instead: it may have sitemaps of its own host and folder, and no other index.
    EXTRA_SITEMAPS: list[str | dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse values that cannot work, naming setting and remedy."""
        super().__post_init__()
        mapping(self.ENGINES, '{"indexnow": {"BACKEND": …}}', "ENGINES")
        _check_sites(self.SITES)
        header = self.CACHE_CONTROL or ""
        is_bool = isinstance(self.BACKGROUND, bool)
        rules = {
            "ON_ERROR": (self.ON_ERROR in ("skip", "raise"), "use 'skip' or 'raise'."),
            "MAX_BAD": (0 <= self.MAX_BAD <= 1, "use a share from 0 to 1."),
            "BACKGROUND_SHARE": (
                0 < self.BACKGROUND_SHARE <= 1,
                "use a share above 0 and up to 1.",
            ),
            "BACKGROUND": (
                is_bool or self.BACKGROUND in ("celery", "tasks"),
                "use True, False, 'celery' or 'tasks'.",
            ),
            # What a header's value can be: RFC 9110, section 5.5.
            "CACHE_CONTROL": (
                header.isascii() and header.isprintable(),
                "a header is one line of ASCII, for example 'public, max-age=600'.",
            ),
        }
        if _WRONG_AGE.search(header):
            remedy = "write ages in seconds, for example 's-maxage=86400'."
            raise refusal(f"is {header!r}; {remedy}", "CACHE_CONTROL")
        for name in ("VERIFY_AFTER", "MAX_REMOVED", "NOTIFY_AFTER"):
            rules[name] = (getattr(self, name) >= 0, "it cannot be negative.")
        for name, (holds, remedy) in rules.items():
            if not holds:
                raise refusal(f"is {getattr(self, name)!r}; {remedy}", name)
        _ = self.extra_sitemaps

    @cached_property
    def stylesheet(self) -> str:
        """The address that a sitemap names; empty if ``STYLESHEET`` is off."""
        return STYLESHEET_PATH if self.STYLESHEET else ""

    @cached_property
    def extra_sitemaps(self) -> list[ExtraSitemap]:
        """``EXTRA_SITEMAPS``; refuses anything but the address of a sitemap."""
        return [_extra(index, one) for index, one in enumerate(self.EXTRA_SITEMAPS)]


@dataclass(frozen=True)
class ExtraSitemap:
    """A sitemap of another system: a URL, or a path of this site."""

    url: str
    #: Whether the index is to list it, where it may.
    in_index: bool = False


def refusal(problem: str, *path: object) -> ConfigurationError:
    """Return the error of what stands at a path in the settings, key by key."""
    keys = "".join(f"[{key!r}]" for key in path)
    return ConfigurationError(f"{NAME}{keys} {problem}")


_T = TypeVar("_T")


def imported(path: Any, base: type[_T], name: str, *here: object) -> type[_T]:
    """Return the class that settings name; refuse what is no subclass of ``name``."""
    try:
        found = import_string(path)
    except (ImportError, AttributeError, TypeError) as error:
        problem = f"is {path!r}, which cannot be imported: {error}"
        raise refusal(problem, *here) from error
    if not (isinstance(found, type) and issubclass(found, base)):
        raise refusal(f"is {path!r}, which is not a subclass of {name}.", *here)
    return found


def mapping(given: Any, example: str, *path: object) -> Mapping[Any, Any]:
    """Return a dict of the settings; refuse anything else, without showing it."""
    if not isinstance(given, Mapping):
        raise refusal(f"must be a dict, for example {example}.", *path)
    return given


def options_of(
    given: Any, known: Collection[str], what: str, example: str, *path: object
) -> Mapping[str, Any]:
    """Return a dict of options; refuse a name of ``what`` that is not ``known``."""
    options = mapping(given, example, *path)
    for name in options:
        if name not in known:
            raise refusal(f"is unknown. {advice(name, known, what)}", *path, name)
    return options


def _check_kind(setting: dataclasses.Field[Any], value: Any) -> None:
    """Refuse a value of another type than the setting's."""
    # A text, as annotations are here: its first word is the kind. ``Literal`` has none,
    # ``Settings.__post_init__`` has rules for these.
    kind = _KINDS.get(re.split(r"\W", str(setting.type))[0])
    if kind is None or (value is None and "None" in str(setting.type)):
        return
    types, words = kind
    if isinstance(value, Promise) and "Promise" in str(setting.type):
        return
    # A truth value is a number to Python.
    if not isinstance(value, types) or isinstance(value, bool) != (types is bool):
        raise refusal(f"must be {words}, not {value!r}.", setting.name)
    if isinstance(value, float) and not math.isfinite(value):
        raise refusal(f"is {value!r}; use a finite number.", setting.name)


def _extra(index: int, entry: Any) -> ExtraSitemap:
    path = "EXTRA_SITEMAPS", index
    given = {"url": entry} if isinstance(entry, str) else entry
    example = '{"url": "/blog/posts.xml", "index": True}'
    options = options_of(given, ("url", "index"), "keys", example, *path)
    url, in_index = options.get("url"), options.get("index", False)
    if not isinstance(in_index, bool):
        raise refusal(f"is {in_index!r}; use True or False.", *path, "index")
    try:
        resolve(url, "https://www.example.com")
    except ProtocolError as error:
        problem = f"is not the address of a sitemap: {error}"
        raise refusal(problem, *path) from error
    return ExtraSitemap(str(url), in_index)


def _check_sites(sites: Any) -> None:
    """Refuse further sites that cannot be told apart, or reached."""
    example = '{"BASE_URL": "https://blog.example.com"}'
    for name, site in mapping(sites, f'{{"blog": {example}}}', "SITES").items():
        path = "SITES", name
        if not isinstance(name, str) or not _SITE_NAME.fullmatch(name):
            problem = "cannot name a site: use a letter, then letters, digits, - and _."
            raise refusal(problem, *path)
        for key, value in options_of(site, _SITE_KEYS, "keys", example, *path).items():
            if not isinstance(value, str):
                raise refusal(f"must be text, not {value!r}.", *path, key)
        if not site.get("BASE_URL"):
            raise refusal(f"needs a 'BASE_URL', for example {example}.", *path)


def texts(value: Any, *path: object) -> tuple[str, ...]:
    """Return a list of texts in the settings; refuse anything else."""
    values = (value,) if isinstance(value, str) else value
    is_list = isinstance(values, (list, tuple))
    if not is_list or not all(isinstance(text, str) for text in values):
        raise refusal(f"is {value!r}; use a list of texts.", *path)
    return tuple(values)


def are_addresses(value: Any) -> bool:
    """Return whether a value is a list of absolute addresses."""
    if not isinstance(value, (list, tuple)):
        return False
    try:
        return all(resolve(address, None) for address in value)
    except ProtocolError:
        return False


_S = TypeVar("_S", bound=AppSettings)

_memory = hooks.PerApps()


#: Lets a function run again only when the settings are others.
of_settings = _memory.remembered


@_memory.remembered
def app_settings(kind: type[_S]) -> _S:
    """
    Return the project's settings of an app, by the class that declares them.

    Raises ``ConfigurationError`` for an unknown name, of whatever app, or an impossible
    value.
    """
    given = _given()
    if apps.apps_ready:
        _refuse_unknown(given)
    names = [item.name for item in dataclasses.fields(kind)]
    return kind(**{name: given[name] for name in names if name in given})


#: Returns the project's settings of the core, by one call; raises as ``app_settings``.
get_settings = partial(app_settings, Settings)


def refuse_wrong_settings() -> None:
    """Raise ``ConfigurationError`` for what is wrong in the settings of any app."""
    for kind in _kinds():
        app_settings(kind)


def _refuse_unknown(given: Mapping[Any, Any]) -> None:
    """Refuse names that no app declares that is installed."""
    known = [item.name for kind in _kinds() for item in dataclasses.fields(kind)]
    for name in given:
        if name not in known and (app := _app_with(name)):
            raise refusal(f"needs {app!r} in INSTALLED_APPS. Add it there.", name)
    options_of(given, known, "settings", "{}")


def _kinds() -> list[type[AppSettings]]:
    """Return the classes of the settings of the core and of the installed apps."""
    kinds = (getattr(module, "Settings", None) for _, module in hooks.modules())
    return [Settings, *filter(None, kinds)]


def _app_with(name: str) -> str:
    """Return the app of ``contrib`` that has a setting, installed or not; else ""."""
    contrib = import_module(f"{__package__}.contrib")
    for module in iter_modules(contrib.__path__, f"{contrib.__name__}."):
        path = f"{module.name}.conf"
        if not module.ispkg or find_spec(path) is None:
            continue
        # Of an app that is not installed this imports no models.
        kind = getattr(import_module(path), "Settings", None)
        if kind and name in [item.name for item in dataclasses.fields(kind)]:
            return module.name
    return ""


def setting(name: str) -> Any:
    """Return one setting of the core, while others may be wrong."""
    given = _given()
    return getattr(Settings(**{name: given[name]} if name in given else {}), name)


class _Unshown(dict[Any, Any]):
    """A dict that tracebacks do not show: Django's error page lists variables."""

    def __repr__(self) -> str:
        return "{…}"


def _given() -> _Unshown:
    """Return what the project has set. No variable here may show what that is."""
    if not isinstance(getattr(django_settings, NAME, {}), Mapping):
        raise refusal('must be a dict, for example {"BASE_URL": "https://…"}.')
    found = _Unshown(getattr(django_settings, NAME, {}))
    if "ENGINES" in found:
        found["ENGINES"] = _unshown(found["ENGINES"])
    return found


def _unshown(value: Any) -> Any:
    """Return a value whose dicts are not shown."""
    if not isinstance(value, Mapping):
        return value
    return _Unshown({name: _unshown(part) for name, part in value.items()})


def advice(name: object, known: Collection[str], what: str) -> str:
    """Return the known name that is meant by one that is not, or all of them."""
    by_lower = {one.lower(): one for one in known}
    for close in get_close_matches(str(name).lower(), by_lower, n=1):
        return f"Did you mean {by_lower[close]!r}?"
    return f"Known {what}: {', '.join(known)}."


def _forget(*, setting: str, **kwargs: Any) -> None:
    """Read the settings again after a test has overridden them."""
    if setting == NAME:
        _memory.clear()


setting_changed.connect(_forget, dispatch_uid="django_sitemaps_plus.conf")
