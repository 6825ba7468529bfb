"""The settings of this app: ``FORMATS`` and ``LLMS``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django_sitemaps_plus.conf import (
    AppSettings,
    app_settings,
    are_addresses,
    options_of,
    refusal,
)
from django_sitemaps_plus.protocol.limits import MAX_ENTRIES

#: The options of each format that is served beside XML, and their defaults.
_FORMATS: dict[str, dict[str, Any]] = {
    "text": {"robots": False},
    "feeds": {"robots": False, "entries": 100, "days": 7, "hubs": ()},
    "recent": {"robots": False, "entries": 1_000, "days": 7},
}
#: Days that a format may look back: what happened to URLs is stored for that long.
_MOST_DAYS = 366


@dataclass(frozen=True, kw_only=True)
class Format:
    """How a format is served: its options in ``FORMATS``."""

    #: Whether robots.txt lists it.
    robots: bool = False
    #: How many URLs it has at most, and for how many days after they changed.
    entries: int = 0
    days: float = 0
    #: The addresses of WebSub hubs.
    hubs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Settings(AppSettings):
    """The settings of this app, checked."""

    #: What is served beside XML sitemaps, with its options: "text", "feeds" (RSS and
    #: Atom) and "recent" (what changed lately). Nothing by default: each is one more
    #: address that crawlers may ask for.
    FORMATS: dict[str, dict[str, Any]] = field(default_factory=dict)

    #: Title and description of the site for ``/llms.txt``: ``{"title": …,
    #: "description": …}``. None by default: no search engine is known to read it.
    LLMS: dict[str, str] | None = None

    def __post_init__(self) -> None:
        """Refuse values that cannot work, naming setting and remedy."""
        super().__post_init__()
        _check_llms(self.LLMS)
        _ = self.formats

    @cached_property
    def formats(self) -> Mapping[str, Format]:
        """What ``FORMATS`` asks for, with the defaults of options."""
        found = options_of(self.FORMATS, _FORMATS, "formats", '{"text": {}}', "FORMATS")
        return {name: _format(name, options) for name, options in found.items()}


def formats() -> Mapping[str, Format]:
    """Return the formats that the project asks for, each with its options."""
    return app_settings(Settings).formats


def _format(name: str, given: Any) -> Format:
    """Return a format with its options, all of them checked."""
    path, defaults = ("FORMATS", name), _FORMATS[name]
    options = {**defaults, **options_of(given, defaults, "options", "{}", *path)}
    for option, value in options.items():
        if remedy := _wrong_option(option, value):
            raise refusal(f"is {value!r}; {remedy}", *path, option)
    return Format(**{**options, "hubs": tuple(options.get("hubs", ()))})


def _wrong_option(option: str, value: Any) -> str:
    """Return what to write in place of an impossible value; empty if it is possible."""
    is_bool = isinstance(value, bool)
    if option == "robots":
        return "" if is_bool else "use True or False."
    if option == "hubs":
        return "" if are_addresses(value) else "use a list of https:// addresses."
    if option == "entries":
        possible = isinstance(value, int) and 1 <= value <= MAX_ENTRIES
        return "" if possible and not is_bool else f"use 1 to {MAX_ENTRIES:,}."
    possible = isinstance(value, (int, float)) and 0 < value <= _MOST_DAYS
    return "" if possible and not is_bool else f"use up to {_MOST_DAYS} days."


def _check_llms(given: Any) -> None:
    """Refuse what cannot be the head of ``/llms.txt``."""
    if given is None:
        return
    example = '{"title": "Example"}'
    head = options_of(given, ("title", "description"), "keys", example, "LLMS")
    if not head.get("title"):
        raise refusal(f"needs a 'title', for example {example}.", "LLMS")
