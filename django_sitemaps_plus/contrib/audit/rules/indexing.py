"""Who may index a page: its headers and meta elements."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Final

from django_sitemaps_plus.contrib.audit.kinds import _, error, warning

from . import Answered, Problem, rule
from .robots import CRAWLERS

NOINDEX = error(
    "A103",
    _("URLs that forbid all search engines, or Google, to index them"),
    _("exclude them in items(), or remove noindex from the page and its headers"),
)
NOINDEX_FOR_ONE = warning(
    "A104",
    _("URLs that forbid a search engine other than Google to index them"),
    _("exclude them in items(), or remove the engine's noindex"),
)

#: Rules of ``robots`` that have a colon themselves, and so name no crawler.
#: https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
_WITH_VALUE: Final = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
_CRAWLERS: Final = frozenset({*map(str.lower, CRAWLERS), "googlebot-news", "slurp"})
_FORBID: Final = frozenset({"noindex", "none"})
#: The name of a day in a date, whose comma does not end a rule.
_WEEKDAY: Final = re.compile(r"\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,", re.IGNORECASE)


@rule(Answered)
def forbidden(seen: Answered) -> Iterator[Problem]:
    """Find pages that somebody may not index, or not any more."""
    if not seen.is_whole:
        return
    page, now = seen.reading.page, seen.visit.now
    tag = seen.answer.headers.get("x-robots-tag", "")
    rules = [("", tag, "the header X-Robots-Tag")]
    rules += [
        ("" if name == "robots" else name, content, "its meta element")
        for name, content in page.robots
        if name == "robots" or name in _CRAWLERS
    ]
    forbidden: dict[str, str] = {}
    for agent, value, where in rules:
        for one, why in _agents_of(value, agent, now):
            forbidden.setdefault(one, f"{why} in {where}")
    if "" in forbidden:
        yield Problem(NOINDEX, forbidden[""])
        return
    for agent, text in forbidden.items():
        found = NOINDEX if agent == "googlebot" else NOINDEX_FOR_ONE
        yield Problem(found, f"{text}, for {agent}")


def _agents_of(value: str, agent: str, now: dt.datetime) -> Iterator[tuple[str, str]]:
    """Yield the crawlers that rules keep from indexing, and by which; "": all."""
    for one, part in rules_of(value, agent):
        if part.lower() in _FORBID:
            yield one, part.lower()
        elif part.lower().startswith("unavailable_after") and _is_past(part, now):
            yield one, part


def rules_of(value: str, agent: str = "") -> Iterator[tuple[str, str]]:
    """Yield search engines' crawlers and the rules for them; "": for all."""
    for part in map(str.strip, _WEEKDAY.sub("", value).split(",")):
        name, colon, rule = part.partition(":")
        if colon and name.strip().lower() not in _WITH_VALUE:
            agent, part = name.strip().lower(), rule.strip()
        if not agent or agent in _CRAWLERS:
            yield agent, part


def _is_past(rule: str, now: dt.datetime) -> bool:
    """Return whether the time of an ``unavailable_after`` has come: any format."""
    text = rule.partition(":")[2].strip()
    for read in (dt.datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, TypeError, OverflowError):
            time = read(text)
            return (time if time.tzinfo else time.replace(tzinfo=dt.UTC)) < now
    return False
