"""Every hook: it notes that it was called, and raises if its name is in ``raising``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django_sitemaps_plus.conf import AppSettings

#: The names of the hooks that were called, in their order, and of those that raise.
called: list[str] = []
raising: set[str] = set()


class BrokenError(Exception):
    """What an app's code raises that nobody has thought of."""


@dataclass(frozen=True, kw_only=True)
class Settings(AppSettings):
    """A setting of the app's own."""

    #: For the tests.
    HOOKED: int = 1


def _note(name: str) -> None:
    called.append(name)
    if name in raising:
        raise BrokenError(name)


def answered(request: Any, response: Any, **kwargs: Any) -> None:
    response.headers["X-Hooked"] = "yes"
    _note("answered")


def sitemaps(site: Any) -> list[str]:
    _note("sitemaps")
    return ["https://www.example.com/hooked.xml"]


def documents(site: Any) -> Iterator[Any]:
    _note("documents")
    return iter(())


def titles(
    section: Any, keys: Collection[str], site: Any
) -> Mapping[str, Sequence[str]]:
    _note("titles")
    return {key: ["Hooked"] for key in keys}


def changes_wait() -> float:
    _note("changes_wait")
    return 60.0


def is_prompt() -> bool:
    _note("is_prompt")
    return False


def background(is_over: Callable[[], bool]) -> float | None:
    _note("background")
    return 7.0


def rebuilt(is_over: Callable[[], bool]) -> float | None:
    _note("rebuilt")
    return None


def hourly() -> None:
    _note("hourly")


def store(*, process_ends: bool) -> None:
    _note("store")


def alerts(*args: Any) -> Iterator[Any]:
    from django_sitemaps_plus.health.alerts import Alert, Subject

    _note("alerts")
    yield Alert(subject=Subject.SECTIONS, level="warning", text="The mirror is old.")


def checks(*args: Any, **kwargs: Any) -> Iterator[Any]:
    from django_sitemaps_plus.engines.base import CheckResult

    _note("checks")
    yield CheckResult.good("The mirror answers.")


def status() -> Iterator[Any]:
    from django_sitemaps_plus.hooks import Standing

    _note("status")
    yield Standing("mirror", {"age": 60}, "Mirror", [("Age", "60 s")])
