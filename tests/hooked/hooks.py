"""Every hook: it notes that it was called, and fails where a test wants it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection

from django_sitemaps_plus.conf import AppSettings
from django_sitemaps_plus.exceptions import ConfigurationError

#: The names of the hooks that were called, in their order, and what they were given.
called: list[str] = []
given: dict[str, list[tuple[Any, ...]]] = {}
#: What a test has a hook do instead, by its name.
instead: dict[str, Callable[[], Any]] = {}


class BrokenError(Exception):
    """What an app's code raises that nobody has thought of."""


def breaks() -> None:
    """Raise what nobody has thought of."""
    raise BrokenError("Broken.")


def is_misconfigured() -> None:
    """Raise that a setting of the app is wrong."""
    raise ConfigurationError("HOOKED is wrong.")


def asks_in_vain() -> None:
    """Ask for a table that is not there."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM nowhere")


@dataclass(frozen=True, kw_only=True)
class Settings(AppSettings):
    """A setting of the app's own."""

    #: For the tests.
    HOOKED: int = 1


def _answer(name: str, result: Any, *args: Any) -> Any:
    """Note that a hook was called; return what it does, or what a test wants."""
    called.append(name)
    given.setdefault(name, []).append(args)
    return instead[name]() if name in instead else result


# Answers


def urls() -> list[Any]:
    from .urls import own

    return _answer("urls", own)


def derived(site: Any) -> dict[str, Any]:
    from django_sitemaps_plus.hooks import Derived

    def make(document: Any) -> Any:
        return replace(document, content_type="text/x-hooked")

    return _answer("derived", {"hooked": Derived("text/x-hooked", make)}, site)


def answered(request: Any, response: Any, *, site: str, is_sitemap: bool) -> None:
    response.headers["X-Hooked"] = "yes"
    _answer("answered", None, request.path, site, is_sitemap)


def are_packed() -> bool:
    return _answer("are_packed", False)


def sitemaps(site: Any) -> list[str]:
    return _answer("sitemaps", ["https://www.example.com/hooked.xml"], site)


def documents(site: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    from django_sitemaps_plus.serving.documents import Document

    document = replace(Document.of(b"hooked"), tag="hooked-1")
    yield from _answer("documents", [("hooked.xml", lambda: document)], site)


# When something changes


def wants_titles() -> bool:
    return _answer("wants_titles", True)


def looks_back() -> float:
    return _answer("looks_back", 30 * 86_400.0)


def changes_wait() -> float:
    return _answer("changes_wait", 60.0)


def listens() -> bool:
    return _answer("listens", True)


# At work


def background(is_over: Callable[[], bool]) -> float | None:
    return _answer("background", 7.0, is_over)


def delivered(report: Any) -> None:
    _answer("delivered", None, report)


def rebuilt(is_over: Callable[[], bool]) -> float | None:
    return _answer("rebuilt", None, is_over)


def hourly() -> None:
    _answer("hourly", None)


def store(*, process_ends: bool) -> None:
    _answer("store", None, process_ends)


# What is said


def alerts(sections: Collection[str] | None) -> Iterator[Any]:
    from django_sitemaps_plus.health.alerts import Alert

    said = Alert(
        subject=Alert.Subject.SECTIONS, level="warning", text="The mirror is old."
    )
    yield from _answer("alerts", [said], sections)


def checks(site: Any, *, force: bool, closed: bool) -> Iterator[Any]:
    from django_sitemaps_plus.engines.base import CheckResult

    said = CheckResult.good("The mirror answers.")
    yield from _answer("checks", [said], site, force, closed)


def status() -> Iterator[Any]:
    from django_sitemaps_plus.hooks import Standing

    said = Standing("mirror", {"age": 60}, "Mirror", [("Age", "60 s")])
    yield from _answer("status", [said])


# In the admin, and for monitoring


def panels(page: Any) -> Iterator[str]:
    html = '<section class="sitemaps-panel">The mirror is shown.</section>'
    yield from _answer("panels", [html], page)


def stories(page: Any, url: str, sections: Mapping[str, float]) -> Iterator[str]:
    html = '<section class="sitemaps-panel">The mirror knows the URL.</section>'
    yield from _answer("stories", [html], page, url, sections)


def admin_lists(base: Any, display: Any) -> Iterator[tuple[Any, Any]]:
    yield from _answer("admin_lists", [], base, display)


def audited_at() -> float | None:
    return _answer("audited_at", 86_400.0)
