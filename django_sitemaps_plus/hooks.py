"""
What further apps may add: each function here calls those of the same name in apps.

An app names a module in its ``AppConfig``::

    class EdgeConfig(AppConfig):
        name = "django_sitemaps_plus.contrib.edge"
        sitemaps_plus = "django_sitemaps_plus.contrib.edge.hooks"

The module has as many of the functions as the app needs, with the arguments that they
have here; its other names begin with an underscore, or are imported. A class
``Settings``, a subclass of ``AppSettings``, declares keys of ``SITEMAPS_PLUS``. The
module is imported while apps are being loaded, so it imports models in its functions.

The apps are asked anew whenever ``INSTALLED_APPS`` is another: nothing is registered in
``ready()``.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from django.apps import AppConfig, apps
from django.db import connections, transaction

from .exceptions import ConfigurationError, HookError

if TYPE_CHECKING:
    from django.db.models import Model
    from django.http import HttpRequest, HttpResponseBase
    from django.urls import URLPattern, URLResolver

    from .delivery.results import Report
    from .serving.documents import Document
    from .sitemaps.sections import SectionSource
    from .sitemaps.site import SiteAddress

T = TypeVar("T")

logger = logging.getLogger("django_sitemaps_plus")

_FAILED = "The hook %r of %s failed."

#: The name of the attribute of an ``AppConfig``.
ATTRIBUTE = "sitemaps_plus"


class FurtherAppConfig(AppConfig):
    """The ``AppConfig`` of an app that can do nothing without the core."""

    default_auto_field = "django.db.models.BigAutoField"

    def import_models(self) -> None:
        """Import the app's models, which import those of the core."""
        if not apps.is_installed(__package__):
            raise ConfigurationError(
                f"{self.name!r} needs {__package__!r} in INSTALLED_APPS. Add it there, "
                "before or after it, then run 'manage.py migrate'."
            )
        super().import_models()


class PerApps:
    """
    A memory that is emptied when ``INSTALLED_APPS`` is another, as in a test.

    Also in ``ready()`` of the apps, before ``setting_changed`` is sent.
    """

    def __init__(self) -> None:
        self._configs: object = None
        self._known: dict[Any, Any] = {}

    def get(self, key: Any, make: Callable[[], T]) -> T:
        """Return what is remembered of ``key``; else ``make`` it, and remember it."""
        if self._configs is not apps.app_configs:
            # An unfinished registry has not all apps yet: it is forgotten again.
            self._configs = apps.app_configs if apps.apps_ready else None
            self._known = {}
        if key not in self._known:
            self._known[key] = make()
        found: T = self._known[key]
        return found

    def clear(self) -> None:
        """Forget everything."""
        self._known = {}


_memory = PerApps()


def modules() -> Sequence[tuple[str, ModuleType]]:
    """Return the module of hooks of each app that has one, with the app's name."""
    return _memory.get("", _modules)


def _modules() -> list[tuple[str, ModuleType]]:
    return [
        (config.name, import_module(path))
        for config in apps.get_app_configs()
        if (path := getattr(config, ATTRIBUTE, ""))
    ]


def labels() -> Sequence[str]:
    """Return the labels of the core, and of the apps that add to it."""
    own = [one.label for one in apps.get_app_configs() if getattr(one, ATTRIBUTE, "")]
    return ["sitemaps_plus", *own]


def _functions(name: str) -> Sequence[tuple[str, Callable[..., Any]]]:
    """Return the functions of apps for a hook, with the apps' names."""
    return _memory.get(name, lambda: _with(name))


def _with(name: str) -> list[tuple[str, Callable[..., Any]]]:
    return [
        (app, function)
        for app, module in modules()
        if (function := getattr(module, name, None)) is not None
    ]


def _as_it_is(result: Any) -> Any:
    return result


def _plain(
    name: str, *args: Any, read: Callable[[Any], Any] = _as_it_is, **kwargs: Any
) -> Iterator[Any]:
    """Do as ``_attempts`` for hooks that ask no database."""
    return _logged(name, lambda function: read(function(*args, **kwargs)))


def _attempts(
    name: str, *args: Any, read: Callable[[Any], Any] = _as_it_is, **kwargs: Any
) -> Iterator[Any]:
    """
    Yield what each app returns; log what one raises, and go on with the next.

    ``read`` makes of it what is asked for, and raises for anything else.
    """
    return _logged(name, lambda function: _call(function, read, args, kwargs))


def _logged(name: str, call: Callable[[Callable[..., Any]], Any]) -> Iterator[Any]:
    for app, function in _functions(name):
        try:
            result = call(function)
        except Exception:
            # Another app's code may raise whatever it likes.
            logger.exception(_FAILED, name, app)
        else:
            yield result


def _all(
    name: str, *args: Any, read: Callable[[Any], Any] = _as_it_is
) -> Iterator[Any]:
    """
    Yield what each app returns; what one raises is a ``HookError``.

    In no savepoint: whoever asks is to fail, with its transaction.
    """
    for app, function in _functions(name):
        try:
            result = read(function(*args))
        except Exception as error:
            # Another app's code may raise whatever it likes.
            text = f"The hook {name!r} of {app} failed: {error}"
            raise HookError(text) from error
        yield result


def _or_errors(name: str, *args: Any, **kwargs: Any) -> Iterator[Any]:
    """Yield what each app yields; for one that raises, a ``Failed``."""
    for app, function in _functions(name):
        try:
            # A generator may raise as late as it is read.
            found = _call(function, list, args, kwargs)
        except Exception as error:
            # Another app's code may raise whatever it likes.
            logger.exception(_FAILED, name, app)
            found = [Failed(app, name, error)]
        yield from found


def _call(
    function: Callable[..., Any],
    read: Callable[[Any], Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Call an app's function: its error must not break a transaction of others."""
    with ExitStack() as stack:
        for one in connections.all(initialized_only=True):
            if one.in_atomic_block:
                stack.enter_context(transaction.atomic(using=one.alias))
        return read(function(*args, **kwargs))


def _work(name: str, is_over: Callable[[], bool], *, is_asked: bool) -> float | None:
    """Have apps work for a while; for a command, which shows what one raises."""
    if is_asked:
        return _soonest([function(is_over) for _, function in _functions(name)])
    return _soonest(_attempts(name, is_over, read=_seconds))


class AdminPage(Protocol):
    """What the admin gives to those who add to one of its pages."""

    request: HttpRequest
    #: The module that shows times, URLs and words as all pages do.
    display: Any

    def may(self, model: type[Model]) -> bool:
        """Return whether the user may view the rows of a model."""

    def list(self, model: type[Model], query: str) -> str:
        """Return the address of a list in the admin."""


def _seconds(result: Any) -> float | None:
    return None if result is None else float(result)


def _soonest(waits: Iterable[float | None]) -> float | None:
    """Return the least of some waits; None if there is none."""
    return min((wait for wait in waits if wait is not None), default=None)


def _titles(result: Any) -> dict[str, Sequence[str]]:
    """Return the titles of rows; raises ``TypeError`` for what is none."""
    return {key: tuple(titles) for key, titles in dict(result).items()}


class Failed(NamedTuple):
    """In place of what an app would have said: its hook raised."""

    app: str
    hook: str
    error: Exception

    def __str__(self) -> str:
        error = f"{type(self.error).__name__}: {self.error}"
        return f"{self.app} could not check, so this is unknown: {self.hook}: {error}"


class Derived(NamedTuple):
    """How a sitemap is served with another ending."""

    content_type: str
    #: What makes it of the XML document. The tag stays: it says the same.
    make: Callable[[Document], Document]


class Standing(NamedTuple):
    """How something stands, for ``ping_sitemaps --status``."""

    #: The key in its JSON, and what stands there.
    key: str
    data: Any
    #: The block for people: its heading, and labels with values; "" for none.
    heading: str = ""
    values: Sequence[tuple[str, str]] = ()


# Answers


def urls() -> list[URLPattern | URLResolver]:
    """
    Return further patterns for ``django_sitemaps_plus.urls``, in its namespace.

    They come after the core's own. Called when that module is imported. What a hook
    raises is a ``HookError``: the URLconf cannot be imported.
    """
    return [pattern for some in _all("urls", read=list) for pattern in some]


def derived(site: SiteAddress) -> dict[str, Derived]:
    """
    Return how else the sitemaps of a site are served: by the ending in place of "xml".

    Called for each such request, whose address is among ``urls``, so it must not ask a
    database. What a hook raises is a ``HookError``: the request is answered with 503.
    """
    found: dict[str, Derived] = {}
    for some in _all("derived", site, read=dict):
        found.update(some)
    return found


def answered(
    request: HttpRequest, response: HttpResponseBase, *, site: str, is_sitemap: bool
) -> None:
    """
    Look at an answer with something to send, or that it has not changed.

    Called for each request, so it must not ask a database. ``site`` is the name among
    ``SITES`` that the answer is of, "" where that is ``Site.current()``; beside
    sitemaps and feeds, where ``is_sitemap`` is true, there are robots.txt, keys and
    style sheets. Headers may be added. What a hook raises is logged, and the answer is
    sent.
    """
    for _ in _plain("answered", request, response, site=site, is_sitemap=is_sitemap):
        pass


def are_packed() -> bool:
    """
    Return whether indexes and robots.txt name the gzipped twins of sitemaps.

    It must not ask a database. What a hook raises is a ``HookError``: these are 503,
    for no file may name addresses that nobody answers.
    """
    return any(_all("are_packed"))


def sitemaps(site: SiteAddress) -> list[str]:
    """
    Return the addresses of further sitemaps and feeds of a site, for its robots.txt.

    What a hook raises is a ``HookError``: robots.txt is 503, and never shorter.
    """
    return [address for some in _all("sitemaps", site, read=list) for address in some]


def documents(site: SiteAddress) -> Iterator[tuple[str, Callable[[], Document]]]:
    """
    Yield further documents of a site that change with its rows: name and content.

    For those who announce what changed. Not those of ``derived``. The name is the last
    part of the path, such as ``sitemap.atom``. What a hook raises is a ``HookError``:
    no document is taken for removed because of it.
    """
    for some in _all("documents", site, read=list):
        yield from some


# When something changes


def titles(
    section: SectionSource, keys: Collection[str], site: SiteAddress
) -> Mapping[str, Sequence[str]]:
    """
    Return what people call rows, by the texts of their keys: stored with URL changes.

    For each key one title, or one for each language of the section. Called when changes
    are reported, outside of any transaction, with at most 500 keys. What a hook raises
    is logged, and the rows have no title.
    """
    found: dict[str, Sequence[str]] = {}
    for some in _attempts("titles", section, keys, site, read=_titles):
        found.update(some)
    return found


def looks_back() -> float:
    """
    Return for how many seconds apps need what happened to URLs: it is stored longer.

    What a hook raises is logged, and the time has no end: nothing is deleted.
    """
    some = list(_attempts("looks_back", read=float))
    is_known = len(some) == len(_functions("looks_back"))
    return max(some, default=0.0) if is_known else math.inf


def changes_wait() -> float | None:
    """
    Return after how many seconds a changed page is rebuilt without a request.

    None, the default, leaves that to ``VERIFY_AFTER``; of several the least counts. It
    must not ask a database. What a hook raises is logged.
    """
    return _soonest(_plain("changes_wait", read=_seconds))


def is_prompt() -> bool:
    """
    Return whether pages are to be rebuilt soon after a change, within the share.

    An app that tells caches what changed needs the new bytes for it. It must not ask a
    database. What a hook raises is logged.
    """
    return any(_plain("is_prompt"))


# At work


def background(is_over: Callable[[], bool], *, is_asked: bool) -> float | None:
    """
    Work for the current site after engines were notified, for a while.

    Called by the thread, by workers and by ``ping_sitemaps``, in no transaction. Stop
    soon after ``is_over()``. Return the seconds until there is more to do, or None.
    What a hook raises is logged, and it is called again with the next look; where
    it ``is_asked`` for, by a command, it is raised.
    """
    return _work("background", is_over, is_asked=is_asked)


def delivered(report: Report) -> None:
    """
    Note what engines have just settled: ``report.results``, one for each engine's host.

    Called by whoever notified them, in no transaction. What a hook raises is logged.
    """
    for _ in _attempts("delivered", report):
        pass


def rebuilt(is_over: Callable[[], bool], *, is_asked: bool) -> float | None:
    """
    Work for the current site when the background has rebuilt what waited.

    As ``background``, but within ``BACKGROUND_SHARE``.
    """
    return _work("rebuilt", is_over, is_asked=is_asked)


def hourly() -> None:
    """
    Delete what is old, and count what is to be counted, of the current site.

    Called about once an hour by one process of all. What a hook raises is logged.
    """
    for _ in _attempts("hourly"):
        pass


def store(*, process_ends: bool) -> None:
    """
    Store what requests left in the memory of this process, of all tenants and sites.

    Called by the thread of each process that answers requests, before whatever it does,
    which may be every few milliseconds; and once more when the ``process_ends``. Not by
    workers and commands. What a hook raises is logged.
    """
    for _ in _attempts("store", process_ends=process_ends):
        pass


# What is said


def alerts(sections: Collection[str] | None) -> Iterator[Any]:
    """
    Yield what needs attention: ``Alert``, of ``health.alerts``.

    ``sections`` are those that somebody asks for; None means the whole site. For a hook
    that raises there is an error, so that nothing is green that nobody looked at.
    """
    return _or_errors("alerts", sections)


def checks(site: SiteAddress, *, force: bool, closed: bool) -> Iterator[Any]:
    """
    Yield what ``ping_sitemaps --check`` asks over the network: ``CheckResult``.

    ``force`` allows private addresses. ``closed`` says that robots.txt disallows all,
    or cannot be read, which is said already. For a hook that raises there is a bad
    result.
    """
    return _or_errors("checks", site, force=force, closed=closed)


# In the admin


def panels(page: AdminPage) -> Iterator[Any]:
    """
    Yield parts of the first page of ``contrib.insight``, as HTML that is safe.

    Each is a ``<section class="sitemaps-panel">``, without what the user may not view.
    In place of those of a hook that raises there is the error.
    """
    return _or_errors("panels", page)


def stories(page: AdminPage, url: str, sections: Mapping[str, float]) -> Iterator[Any]:
    """
    Yield what is known of a URL of the site; otherwise as ``panels``.

    ``sections`` are those that list it, each with the time at which the URL was last
    added to it, 0 if that is not known.
    """
    return _or_errors("stories", page, url, sections)


def admin_lists(base: Any, display: Any) -> Iterator[tuple[type[Model], type[Any]]]:
    """
    Yield lists of the admin: a model, and the ``ModelAdmin`` that shows its rows.

    Called once, when the admin is found. ``base`` has the classes in which nothing is
    edited, and their filters; ``display`` the functions that show times, URLs and words
    as all lists do: the modules of these names of ``contrib.insight.admin``. What a
    hook raises is a ``HookError``: the admin cannot be imported.
    """
    for some in _all("admin_lists", base, display, read=list):
        yield from some


def audited_at() -> float | None:
    """
    Return when all that the site lists was last audited, for monitoring.

    In seconds since the epoch, of the section for which it is longest ago; None if one
    never was. Of several apps the last one counts. What a hook raises is a
    ``HookError``: monitoring fails.
    """
    times = [at for at in _all("audited_at", read=_seconds) if at is not None]
    return max(times, default=None)


def status() -> Iterator[Standing | Failed]:
    """
    Yield what ``ping_sitemaps --status`` shows beside engines and alerts.

    For a hook that raises there is a line that says so, and the command ends with 1.
    """
    return _or_errors("status")
