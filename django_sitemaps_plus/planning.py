"""What would be told to whom, if it were done now: nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from . import outbox, stream
from .engine_settings import engines
from .models import Submission
from .origin import Place
from .outbox import Kind, Wanted

#: URLs that are named as examples.
SHOWN = 3


@dataclass
class Plan:
    """What one engine would be told of one host."""

    engine: str
    host: str
    urls: int = 0
    requests: int = 0
    examples: list[str] = field(default_factory=list)


def plan(
    asked: Iterable[tuple[str, str]],
    place: Place,
    aliases: Sequence[str],
    sections: Sequence[str],
) -> list[Plan]:
    """
    Return what would be told: what is asked for, what waits, what happened to URLs.

    A URL that is in several of these is counted in each, but told once.
    """
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], list[str]] = {}

    def count(alias: str, host: str, url: str) -> None:
        counts[alias, host] += 1
        some = examples.setdefault((alias, host), [])
        if len(some) < SHOWN and url not in some:
            some.append(url)

    for item in _wanted(asked, place, sections):
        for alias in aliases:
            if outbox.takes(engines()[alias], item.kind):
                count(alias, item.host, item.url)
    for row in _waiting(aliases, sections):
        count(row.engine, row.host, row.url)
    return [
        Plan(alias, host, urls, -(-urls // engines()[alias].max_urls), examples[key])
        for key, urls in sorted(counts.items())
        for alias, host in [key]
    ]


def _wanted(
    asked: Iterable[tuple[str, str]], place: Place, sections: Sequence[str]
) -> Iterable[Wanted]:
    for location, section in asked:
        yield outbox.wanted_at(location, place, Kind.ASKED, section)
    changes = stream.url_changes().filter(queued_at=None, held=False).order_by("pk")
    if sections:
        changes = changes.filter(section__in=sections)
    happened = False
    for change in changes.iterator():
        happened = True
        yield from outbox.urls_of(change, place)
    if happened and not sections:
        yield from outbox.sitemaps_of(place)


def _waiting(aliases: Sequence[str], sections: Sequence[str]) -> Iterable[Submission]:
    found = stream.submissions().filter(engine__in=aliases, live=True).order_by("pk")
    return (found.filter(section__in=sections) if sections else found).iterator()
