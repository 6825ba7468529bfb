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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial, wraps
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Protocol, TypeVar

from django.apps import AppConfig, apps
from django.db import connections, transaction
from django.urls import URLPattern, URLResolver

from .exceptions import ConfigurationError, HookError
from .protocol.locations import resolve

if TYPE_CHECKING:
    from django.db.models import Model
    from django.http import HttpRequest, HttpResponseBase

    from .serving.documents import Document
    from .sitemaps.site import SiteAddress

P = ParamSpec("P")
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

    def remembered(self, make: Callable[P, T]) -> Callable[P, T]:
        """Let a function run once for each of its arguments."""

        @wraps(make)
        def get(*args: P.args, **kwargs: P.kwargs) -> T:
            if self._configs is not apps.app_configs:
                # An unfinished registry has not all apps yet: it is forgotten again.
                self._configs = apps.app_configs if apps.apps_ready else None
                self._known = {}
            key = (make, args, *kwargs.items())
            if key not in self._known:
                self._known[key] = make(*args, **kwargs)
            found: T = self._known[key]
            return found

        return get

    def clear(self) -> None:
        """Forget everything."""
        self._known = {}


_memory = PerApps()


@_memory.remembered
def modules() -> Sequence[tuple[str, ModuleType]]:
    """Return the module of hooks of each app that has one, with the app's name."""
    return [
        (config.name, import_module(path))
        for config in apps.get_app_configs()
        if (path := getattr(config, ATTRIBUTE, ""))
    ]


@_memory.remembered
def _functions(name: str) -> Sequence[tuple[str, Callable[..., Any]]]:
    """Return the functions of apps for a hook, with the apps' names."""
    return [
        (app, function)
        for app, module in modules()
        if (function := getattr(module, name, None)) is not None
    ]


@contextmanager
def _savepoints() -> Iterator[None]:
    """Keep an error of an app's function from breaking a transaction of others."""
    with ExitStack() as stack:
        for one in connections.all(initialized_only=True):
            if one.in_atomic_block:
                stack.enter_context(transaction.atomic(using=one.alias))
        yield


def _attempts(
    name: str,
    *args: Any,
    read: Callable[[Any], Any] = lambda result: result,
    within: Callable[[], AbstractContextManager[None]] = _savepoints,
    **kwargs: Any,
) -> list[Any]:
    """
    Return what each app returns; log what one raises, and go on with the next.

    ``read`` makes of it what is asked for, and raises for anything else.
    """
    found = []
    for app, function in _functions(name):
        try:
            with within():
                result = read(function(*args, **kwargs))
        except Exception:
            # Another app's code may raise whatever it likes.
            logger.exception(_FAILED, name, app)
        else:
            found.append(result)
    return found


#: The same for hooks that ask no database.
_plain = partial(_attempts, within=nullcontext)


def each(
    name: str, *args: Any, read: Callable[[Any], Any] = lambda result: result
) -> Iterator[Any]:
    """
    Yield what each app returns for a hook; what one raises is a ``HookError``.

    ``read`` makes of it what is asked for, and raises for anything else. In no
    savepoint: whoever asks is to fail, with its transaction.
    """
    for app, function in _functions(name):
        try:
            result = read(function(*args))
        except Exception as error:
            # Another app's code may raise whatever it likes.
            text = f"The hook {name!r} of {app} failed: {error}"
            raise HookError(text) from error
        yield result


def each_or_failed(
    name: str, kind: type[T], *args: Any, **kwargs: Any
) -> Iterator[T | Failed]:
    """Yield what apps yield for a hook, of a kind; a ``Failed`` for one that raises."""
    found: list[T | Failed]
    for app, function in _functions(name):
        try:
            with _savepoints():
                # A generator may raise as late as it is read.
                found = _all_of(kind)(function(*args, **kwargs))
        except Exception as error:
            # Another app's code may raise whatever it likes.
            logger.exception(_FAILED, name, app)
            found = [Failed(app, name, error)]
        yield from found


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
    return None if result is None else _number(result)


def _number(result: Any) -> float:
    if math.isnan(number := float(result)):
        raise ValueError("NaN is no number of seconds.")
    return number


def _each(is_right: Callable[[Any], bool]) -> Callable[[Any], list[Any]]:
    """Return what makes a list, and raises for an item that is not right."""

    def read(result: Any) -> list[Any]:
        found = list(result)
        for one in found:
            if not is_right(one):
                raise TypeError(f"It returned something wrong: {one!r:.200}")
        return found

    return read


def _all_of(*kinds: type[Any]) -> Callable[[Any], list[Any]]:
    """Return what makes a list, and raises if an item is of none of some kinds."""
    return _each(lambda one: isinstance(one, kinds))


_pairs = _each(
    lambda one: isinstance(one, tuple) and len(one) == 2 and callable(one[1])
)


_addresses = _each(lambda one: bool(resolve(one, None)))


def _endings(result: Any) -> list[tuple[str, Derived]]:
    found = dict(result)
    _all_of(Derived)(found.values())
    return list(found.items())


def _soonest(waits: Iterable[float | None]) -> float | None:
    """Return the least of some waits; None if there is none."""
    return min((wait for wait in waits if wait is not None), default=None)


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


@dataclass
class EngineResult:
    """What a run did for one engine and one host."""

    engine: str
    host: str
    requests: int = 0
    accepted: int = 0
    rejected: int = 0
    failed: int = 0
    #: To be submitted later.
    postponed: int = 0
    #: The engine's last message, or why nothing was submitted.
    note: str = ""


@dataclass
class Report:
    """What a run did."""

    #: Why nothing at all may be submitted.
    refusal: str = ""
    results: list[EngineResult] = field(default_factory=list)

    def total(self, name: str) -> int:
        """Return the sum of a number over all results."""
        return sum(getattr(result, name) for result in self.results)


# Answers


def urls() -> list[URLPattern | URLResolver]:
    """
    Return further patterns for ``django_sitemaps_plus.urls``, in its namespace.

    They come after the core's own. Called when that module is imported. What a hook
    raises is a ``HookError``: the URLconf cannot be imported.
    """
    return [*chain.from_iterable(each("urls", read=_all_of(URLPattern, URLResolver)))]


def derived(site: SiteAddress) -> dict[str, Derived]:
    """
    Return how else the sitemaps of a site are served: by the ending in place of "xml".

    Called for each such request, whose address is among ``urls``, so it must not ask a
    database. What a hook raises is a ``HookError``: the request is answered with 503.
    """
    return dict(chain.from_iterable(each("derived", site, read=_endings)))


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
    _plain("answered", request, response, site=site, is_sitemap=is_sitemap)


def are_packed() -> bool:
    """
    Return whether indexes and robots.txt name the gzipped twins of sitemaps.

    It must not ask a database. What a hook raises is a ``HookError``: these are 503,
    for no file may name addresses that nobody answers. Engines are told of URLs then,
    and of no sitemap.
    """
    return any(each("are_packed"))


def sitemaps(site: SiteAddress) -> list[str]:
    """
    Return the addresses of further sitemaps and feeds of a site, for its robots.txt.

    What a hook raises is a ``HookError``: robots.txt is 503, and never shorter.
    """
    return [*chain.from_iterable(each("sitemaps", site, read=_addresses))]


def documents(site: SiteAddress) -> Iterator[tuple[str, Callable[[], Document]]]:
    """
    Yield further documents of a site that change with its rows: name and content.

    For those who announce what changed. Not those of ``derived``. The name is the last
    part of the path, such as ``sitemap.atom``. What a hook raises is a ``HookError``:
    no document is taken for removed because of it.
    """
    return chain.from_iterable(each("documents", site, read=_pairs))


# When something changes


def wants_titles() -> bool:
    """
    Return whether ``item_title`` is read with the rows, and stored with URL changes.

    It must not ask a database. What a hook raises is logged.
    """
    return any(_plain("wants_titles"))


def looks_back() -> float:
    """
    Return for how many seconds apps need what happened to URLs: it is stored longer.

    What a hook raises is logged, and the time has no end: nothing is deleted.
    """
    some = _attempts("looks_back", read=_number)
    is_known = len(some) == len(_functions("looks_back"))
    return max(some, default=0.0) if is_known else math.inf


def changes_wait() -> float | None:
    """
    Return after how many seconds what changed is where visitors ask, if not at once.

    None, the default: they ask here. Of several the least counts. It must not ask a
    database. What a hook raises is logged.
    """
    return _soonest(_plain("changes_wait", read=_seconds))


def listens() -> bool:
    """
    Return whether an app does something with what changed, beside engines.

    Then ``ping_sitemaps`` works where no engine is configured. It must not ask a
    database. What a hook raises is logged.
    """
    return any(_plain("listens"))


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
    _attempts("delivered", report)


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
    _attempts("hourly")


def store(*, process_ends: bool) -> None:
    """
    Store what requests left in the memory of this process, of all tenants and sites.

    Called by the thread of each process that answers requests, before whatever it does,
    which may be every few milliseconds; and once more when the ``process_ends``. Not by
    workers and commands. What a hook raises is logged.
    """
    _attempts("store", process_ends=process_ends)


# What is said


def alerts(sections: Collection[str] | None, *, kind: type[T]) -> Iterator[T | Failed]:
    """
    Yield what needs attention: ``Alert``, of ``health.alerts``, which is the ``kind``.

    ``sections`` are those that somebody asks for; None means the whole site. For a hook
    that raises there is an error, so that nothing is green that nobody looked at.
    """
    return each_or_failed("alerts", kind, sections)


def checks(
    site: SiteAddress, *, force: bool, closed: bool, kind: type[T]
) -> Iterator[T | Failed]:
    """
    Yield what ``ping_sitemaps --check`` asks over the network: ``CheckResult``, which
    is the ``kind``.

    ``force`` allows private addresses. ``closed`` says that robots.txt disallows all,
    or cannot be read, which is said already. For a hook that raises there is a bad
    result.
    """
    return each_or_failed("checks", kind, site, force=force, closed=closed)


def status() -> Iterator[Standing | Failed]:
    """
    Yield what ``ping_sitemaps --status`` shows beside engines and alerts.

    For a hook that raises there is a line that says so, and the command ends with 1.
    """
    return each_or_failed("status", Standing)
