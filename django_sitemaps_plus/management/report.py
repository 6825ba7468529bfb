"""
What a report says: what changed, what failed, what the last audit found.

Read from what is stored anyway; no page is built, and no model of the project is asked.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from django.db.models import Count, Q
from django.template.loader import render_to_string
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_sitemaps_plus.audit.kinds import KINDS, LEVELS
from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.changes.queries import url_changes
from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.models import Submission
from django_sitemaps_plus.delivery.queries import submissions
from django_sitemaps_plus.health.alerts import NOTE, alerts
from django_sitemaps_plus.health.audits import Look, looks
from django_sitemaps_plus.health.words import number, utc
from django_sitemaps_plus.publishing import status
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import SiteAddress

#: Columns of the text, as mail has them.
WIDTH = 72
#: Kinds of findings, and failed submissions, that are named.
SHOWN = 10
_DAY = 86_400


@dataclass(frozen=True)
class Block:
    """A heading and lines of a label and a text."""

    title: str
    lines: list[tuple[str, str]]


@dataclass
class Report:
    """What happened to the sitemaps of a site, in the language that is active."""

    site: str
    since: str
    until: str
    #: What somebody has to look at.
    problems: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    @property
    def subject(self) -> str:
        """The subject of a mail."""
        if not self.problems:
            return _("Sitemaps of %(site)s: nothing wrong was found") % {
                "site": self.site
            }
        text = ngettext(
            "Sitemaps of %(site)s: %(count)s problem",
            "Sitemaps of %(site)s: %(count)s problems",
            len(self.problems),
        )
        return text % {"site": self.site, "count": number(len(self.problems))}

    def html(self) -> str:
        """Return the report as a document that a mail can hold."""
        name = "django_sitemaps_plus/report.html"
        return render_to_string(name, {"report": self})

    def text(self) -> str:
        """Return the report as text of 72 columns."""
        lines = [
            _("Sitemaps of %(site)s") % {"site": self.site},
            _("%(since)s to %(until)s") % {"since": self.since, "until": self.until},
        ]
        if self.problems:
            lines += ["", _("To look at").upper()]
            lines += [line for text in self.problems for line in _item(text)]
        for block in self.blocks:
            lines += ["", block.title.upper()]
            lines += [line for pair in block.lines for line in _pair(*pair)]
        return "\n".join(lines) + "\n"


def _item(text: str) -> list[str]:
    wrapped = textwrap.wrap(text, WIDTH - 2, break_long_words=False) or [""]
    return [f"- {wrapped[0]}", *(f"  {line}" for line in wrapped[1:])]


def _pair(label: str, text: str) -> list[str]:
    indent = " " * 22
    start = f"{label:<20}  " if len(label) <= 20 else f"{label}\n{indent}"
    wrapped = textwrap.wrap(text, WIDTH - 22, break_long_words=False) or [""]
    return [f"{start}{wrapped[0]}", *(f"{indent}{line}" for line in wrapped[1:])]


def report(site: SiteAddress, days: int) -> Report:
    """Return the report of the last days on the site that is worked for."""
    now = database_time(url_changes().db)
    since = now - days * _DAY
    every = alerts()
    notes = [(_("Not looked at"), one.sentence) for one in every if one.level == NOTE]
    blocks = [
        Block(_("What changed"), list(_changes(since))),
        Block(_("Submitted to search engines"), list(_submissions(since))),
        Block(_("Sections"), list(_sections())),
        Block(_("The last audits"), [*_audits(), *notes]),
    ]
    return Report(
        str(site.origin),
        _day(since),
        _day(now),
        problems=[one.sentence for one in every if one.level != NOTE],
        blocks=[block for block in blocks if block.lines],
    )


def _changes(since: float) -> Iterator[tuple[str, str]]:
    kinds = UrlChange.Kind
    rows = url_changes().filter(at__gte=since).order_by("section")
    counted = rows.values_list("section").annotate(
        added=Count("pk", filter=Q(kind=kinds.ADDED)),
        changed=Count("pk", filter=Q(kind=kinds.CHANGED)),
        removed=Count("pk", filter=Q(kind=kinds.REMOVED)),
    )
    is_empty = True
    text = _("%(added)s added, %(changed)s changed, %(removed)s removed")
    for section, *numbers in counted:
        is_empty = False
        shown = dict(zip(("added", "changed", "removed"), numbers, strict=True))
        yield section, text % {kind: number(n) for kind, n in shown.items()}
    if is_empty:
        yield _("URLs"), _("no changes")


def _submissions(since: float) -> Iterator[tuple[str, str]]:
    state = Submission.State
    rows = submissions().filter(Q(created_at__gte=since) | Q(live=True)).order_by()
    text = _("%(accepted)s accepted, %(failed)s failed, %(waiting)s waiting")
    for alias in engines():
        grouped = rows.filter(engine=alias).values_list("state").annotate(Count("pk"))
        counts: Counter[str] = Counter(dict(grouped))
        numbers = {
            "accepted": counts[state.ACCEPTED],
            "failed": counts[state.REJECTED] + counts[state.FAILED],
            "waiting": counts[state.PENDING] + counts[state.SENDING],
        }
        yield alias, text % {key: number(count) for key, count in numbers.items()}


def _sections() -> Iterator[tuple[str, str]]:
    for found in status.states(registry.sources()):
        if status.problem_of(found.name):
            yield found.name, _("cannot be used")
            continue
        if found.by_position and not found.pages:
            yield found.name, _("built on each request")
            continue
        parts = [
            ngettext("%(count)s page", "%(count)s pages", found.pages)
            % {"count": number(found.pages)},
            ngettext("%(count)s entry", "%(count)s entries", found.entries)
            % {"count": number(found.entries)},
        ]
        if found.bad:
            text = ngettext(
                "%(count)s row left out", "%(count)s rows left out", found.bad
            )
            parts.append(text % {"count": number(found.bad)})
        yield found.name, ", ".join(parts)


def _audits() -> Iterator[tuple[str, str]]:
    every = looks()
    for look in every:
        yield _moment(look.audit.finished_at), f"{look.of}: {look.how}"
        yield _("Found"), look.result
    yield from _findings(every)


def _findings(every: Iterable[Look]) -> Iterator[tuple[str, str]]:
    """Yield the most frequent kinds, errors first, each with how many there are."""
    counts: Counter[str] = Counter()
    for look in every:
        counts.update({kind: some.total() for kind, some in look.counts.items()})
    most = sorted(
        counts.items(), key=lambda row: (LEVELS.index(KINDS[row[0]].level), -row[1])
    )
    for kind, count in most[:SHOWN]:
        yield kind, f"{number(count)} × {KINDS[kind].translated_title}"


def _day(seconds: float) -> str:
    return str(date_format(localtime(utc(seconds)), "DATE_FORMAT"))


def _moment(seconds: float) -> str:
    return str(date_format(localtime(utc(seconds)), "SHORT_DATETIME_FORMAT"))
