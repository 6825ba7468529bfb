"""What the newest audits found, by section and by mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.health.words import number

from .kinds import LEVELS, WARNING, known, number_of
from .models import Audit
from .queries import last_crawls, verdicts

#: Sections that are named; more are counted.
_NAMED = 5
#: How each mode looked.
MODES: dict[str, Any] = {
    Audit.Fetched.NOTHING: _("what is listed"),
    Audit.Fetched.IN_PROCESS: _("fetched in process"),
    Audit.Fetched.LIVE: _("fetched over HTTP"),
    Audit.Fetched.CRAWLED: _("requested as a crawler"),
}


@dataclass
class Look:
    """
    What an audit found in one mode, for sections not audited so since.

    Read as a crawler, files are counted in place of URLs.
    """

    audit: Audit
    #: One of ``Audit.Fetched``.
    mode: str
    sections: list[str] = field(default_factory=list)
    #: How many URLs the sections list, and how many of them were fetched.
    urls: int = 0
    fetched_urls: int = 0
    #: How much was found, by the id of its kind and by section; "" is the site.
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def number_of(self, level: str) -> int:
        """Return how many errors or warnings it found."""
        return number_of(level, self.counts)

    def found(self, level: str) -> str:
        """Return how many errors or warnings it found, and how many of each kind."""
        kinds = {
            one.translated_title: number(self.counts[one.id].total())
            for one in known().values()
            if one.level == level and one.id in self.counts
        }
        # Of a single kind the number is said.
        titles = (
            [f"{one} ({kinds[one]})" for one in kinds] if len(kinds) > 1 else [*kinds]
        )
        return f"{self._counted(level)}: {', '.join(titles)}"

    def _counted(self, level: str) -> str:
        count = self.number_of(level)
        text = ngettext("%s error", "%s errors", count)
        if level == WARNING:
            text = ngettext("%s warning", "%s warnings", count)
        return text % number(count)

    @property
    def of(self) -> str:
        """The names of the sections."""
        return names_of_sections(self.sections) or gettext("the site")

    @property
    def how(self) -> str:
        """What was looked at: what is listed, or how many URLs were fetched how."""
        how = str(MODES[self.mode])
        if not self.mode or not self.urls:
            return how
        text = gettext("%(fetched)s of %(urls)s URLs %(how)s")
        if self.mode == Audit.Fetched.CRAWLED:
            text = gettext("%(fetched)s of %(urls)s files %(how)s")
        counts = {"fetched": number(self.fetched_urls), "urls": number(self.urls)}
        return text % {**counts, "how": how}

    @property
    def result(self) -> str:
        """How many errors and warnings there are."""
        return ", ".join(map(self._counted, LEVELS))


def names_of_sections(sections: Sequence[str]) -> str:
    """Return the names of some sections, or how many there are."""
    if len(sections) <= _NAMED:
        return ", ".join(sections)
    return gettext("%s sections") % number(len(sections))


def looks() -> list[Look]:
    """
    Return what the newest audit of each section in each mode found.

    At the end stands how the sitemaps arrived when they were last read as a crawler.
    """
    result: dict[tuple[int, str], Look] = {}
    for one in verdicts():
        way = one.audit.pk, one.fetched
        look = result.setdefault(way, Look(one.audit, one.fetched))
        if one.section:
            look.sections.append(one.section)
        look.urls += one.urls
        look.fetched_urls += one.fetched_urls
        for kind, count in one.counts.items():
            look.counts.setdefault(kind, Counter())[one.section] += count
    # Of the site alone there is nothing to say but what was found.
    audits = [one for one in result.values() if one.sections or one.counts]
    return [*audits, *map(_crawl, last_crawls())]


def _crawl(audit: Audit) -> Look:
    counts = {
        kind: Counter(some) for kind, some in audit.counts.items() if kind in known()
    }
    return Look(audit, audit.fetched, [], audit.urls, audit.fetched_urls, counts)
