"""
What a report says: what changed, what failed, what the last audit found.

Read from what is stored anyway; no page is built, and no model of the project is asked.
"""

from __future__ import annotations

import datetime as dt
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Q
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_sitemaps_plus.audit.kinds import KINDS, LEVELS
from django_sitemaps_plus.audit.models import Audit
from django_sitemaps_plus.audit.queries import last_audit
from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.changes.queries import url_changes
from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.models import Submission
from django_sitemaps_plus.delivery.queries import states, submissions
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
            return _("Sitemaps of %(site)s: all is well") % {"site": self.site}
        text = ngettext(
            "Sitemaps of %(site)s: %(count)s problem",
            "Sitemaps of %(site)s: %(count)s problems",
            len(self.problems),
        )
        return text % {"site": self.site, "count": _number(len(self.problems))}

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
    result = Report(str(site.origin), _day(since), _day(now))
    blocks = [
        Block(_("What changed"), list(_changes(result, since))),
        Block(_("Submitted to search engines"), list(_submissions(result, since, now))),
        Block(_("Sections"), list(_sections(result))),
        Block(_("The last audit"), list(_audit(result))),
    ]
    result.blocks = [block for block in blocks if block.lines]
    return result


def _changes(result: Report, since: float) -> Iterator[tuple[str, str]]:
    kinds = UrlChange.Kind
    rows = url_changes().filter(at__gte=since).order_by("section")
    counted = rows.values_list("section").annotate(
        added=Count("pk", filter=Q(kind=kinds.ADDED)),
        changed=Count("pk", filter=Q(kind=kinds.CHANGED)),
        removed=Count("pk", filter=Q(kind=kinds.REMOVED)),
        on_hold=Count("pk", filter=Q(on_hold=True)),
    )
    is_empty = True
    for section, added, changed, removed, on_hold in counted:
        is_empty = False
        text = _("%(added)s added, %(changed)s changed, %(removed)s removed")
        yield (
            section,
            text
            % {
                "added": _number(added),
                "changed": _number(changed),
                "removed": _number(removed),
            },
        )
        if on_hold:
            text = ngettext(
                "Section %(section)s: %(count)s removed URL is on hold until you "
                "confirm it: manage.py ping_sitemaps --confirm",
                "Section %(section)s: %(count)s removed URLs are on hold until you "
                "confirm them: manage.py ping_sitemaps --confirm",
                on_hold,
            )
            values = {"section": section, "count": _number(on_hold)}
            result.problems.append(text % values)
    if is_empty:
        yield _("URLs"), _("no changes")


def _submissions(result: Report, since: float, now: float) -> Iterator[tuple[str, str]]:
    state = Submission.State
    for alias in engines():
        rows = submissions().filter(engine=alias)
        counts: Counter[str] = Counter(
            dict(
                rows.filter(Q(created_at__gte=since) | Q(live=True))
                .order_by()
                .values_list("state")
                .annotate(Count("pk"))
            )
        )
        failed = counts[state.REJECTED] + counts[state.FAILED]
        text = _("%(accepted)s accepted, %(failed)s failed, %(waiting)s waiting")
        yield (
            alias,
            text
            % {
                "accepted": _number(counts[state.ACCEPTED]),
                "failed": _number(failed),
                "waiting": _number(counts[state.PENDING] + counts[state.SENDING]),
            },
        )
        if failed:
            result.problems.append(_failure(alias, failed, since))
        for one in states().filter(engine=alias).exclude(problem=""):
            result.problems.append(f"{alias} ({one.host}): {one.problem}")
        for one in states().filter(engine=alias, problem="", paused_until__gt=now):
            text = _("%(engine)s (%(host)s) is paused: %(message)s")
            values = {"engine": alias, "host": one.host, "message": one.message}
            result.problems.append(text % values)


def _failure(alias: str, failed: int, since: float) -> str:
    """Say how many submissions failed, and how the last of them."""
    state = Submission.State
    rows = submissions().filter(engine=alias, state__in=[state.REJECTED, state.FAILED])
    last = rows.filter(created_at__gte=since).order_by("-pk").first()
    text = ngettext(
        "%(engine)s: %(count)s submission failed. The last one: %(message)s",
        "%(engine)s: %(count)s submissions failed. The last one: %(message)s",
        failed,
    )
    message = "" if last is None else f"{last.url}: {last.message}"
    return text % {"engine": alias, "count": _number(failed), "message": message}


def _sections(result: Report) -> Iterator[tuple[str, str]]:
    for name in registry.sources():
        problem = status.problem_of(name)
        if problem:
            result.problems.append(f"{name}: {problem}")
            yield name, _("cannot be used")
            continue
        found = status.state(name)
        trouble = status.trouble(name)
        if trouble:
            result.problems.append(trouble)
        if found.by_position and not found.pages:
            yield name, _("built on each request")
            continue
        parts = [
            ngettext("%(count)s page", "%(count)s pages", found.pages)
            % {"count": _number(found.pages)},
            ngettext("%(count)s entry", "%(count)s entries", found.entries)
            % {"count": _number(found.entries)},
        ]
        if found.bad:
            text = ngettext(
                "%(count)s row left out", "%(count)s rows left out", found.bad
            )
            parts.append(text % {"count": _number(found.bad)})
        yield name, ", ".join(parts)


def _audit(result: Report) -> Iterator[tuple[str, str]]:
    audit = last_audit()
    if audit is None:
        yield _("None yet"), _("Run: python manage.py check_sitemaps")
        return
    text = ngettext("%(count)s URL listed", "%(count)s URLs listed", audit.urls)
    yield _moment(audit.finished_at), text % {"count": _number(audit.urls)}
    errors = ngettext("%(count)s error", "%(count)s errors", audit.errors)
    warnings = ngettext("%(count)s warning", "%(count)s warnings", audit.warnings)
    found = [
        text % {"count": _number(count)}
        for text, count in [(errors, audit.errors), (warnings, audit.warnings)]
        if count
    ]
    yield _("Found"), ", ".join(found) or _("nothing wrong")
    yield from _findings(audit)
    if audit.errors:
        text = ngettext(
            "The last audit found %(count)s error: run manage.py check_sitemaps",
            "The last audit found %(count)s errors: run manage.py check_sitemaps",
            audit.errors,
        )
        result.problems.append(text % {"count": _number(audit.errors)})


def _findings(audit: Audit) -> Iterator[tuple[str, str]]:
    """Yield the most frequent kinds, errors first, each with how many there are."""
    rows: list[tuple[Any, int]] = []
    for id_, sections in audit.counts.items():
        kind = KINDS.get(id_)
        if kind is not None:
            rows.append((kind, sum(sections.values())))
    rows.sort(key=lambda row: (LEVELS.index(row[0].level), -row[1]))
    for kind, count in rows[:SHOWN]:
        yield kind.id, f"{_number(count)} × {kind.translated_title}"


def _number(number: int) -> str:
    return str(number_format(number, force_grouping=True))


def _day(seconds: float) -> str:
    return str(date_format(_local(seconds), "DATE_FORMAT"))


def _moment(seconds: float) -> str:
    return str(date_format(_local(seconds), "SHORT_DATETIME_FORMAT"))


def _local(seconds: float) -> dt.datetime:
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment.astimezone(timezone.get_current_timezone())
