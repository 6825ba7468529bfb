"""An audit from its beginning to its end: sections, rows, answers, what is stored."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from django.conf import settings as django_settings

from django_sitemaps_plus.protocol.robots import Group, read
from django_sitemaps_plus.serving.index import why_unusable
from django_sitemaps_plus.serving.robots import rules
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource, source
from django_sitemaps_plus.sitemaps.site import SiteAddress

from . import queries, rows
from .asking import Asking, Fetch, Pace, Progress, RestWanted, Stopped
from .checking import Checking, Sample
from .findings import Findings
from .listed import ListedDocument, listed_documents
from .models import Audit, Finding
from .rules import Answered, AuditedSection, Problem, Visit
from .rules.answers import UNREACHABLE, percentiles, status_in_words
from .rules.documents import NOT_BUILT
from .rules.lastmods import ALL_EQUAL, ALWAYS_NOW, MOVES_ALONE, Lastmods
from .rules.missing import UNLISTED, candidates, is_page
from .rules.robots import CLOSED, ROBOTS_FAILS, decode, problems_of_length

#: Sections by their names.
_Sources: TypeAlias = Mapping[str, SectionSource]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to audit, and how."""

    site: SiteAddress
    #: The names of the sections.
    sections: Sequence[str]
    #: Asks the site; robots.txt always, listed URLs if ``fetched`` says so.
    fetch: Fetch
    fetched: str = Audit.Fetched.NOTHING
    #: How many URLs to fetch, chosen by ``seed``; None: all.
    sample: int | None = None
    seed: int = 0
    #: The most requests a second; None: no limit.
    rate: float | None = None
    #: Called with how many pages were read, and of how many.
    read: Progress = lambda done, of: None
    #: Called with how many URLs were fetched, and of how many.
    asked: Progress = lambda done, of: None


def run_audit(request: Request) -> tuple[Audit, list[Finding]]:
    """
    Audit some sections; return the audit and what it found, not stored yet.

    Kinds of findings in ``SILENCED_SYSTEM_CHECKS`` are passed over. Ctrl+C and SIGTERM
    end the audit, not the process: ``missed`` says what was not looked at.
    """
    started = time.time()
    findings = Findings(django_settings.SILENCED_SYSTEM_CHECKS)
    groups = _robots(request, findings)
    names = [name for name in request.sections if not why_unusable(name)]
    sources = {name: source(name) for name in names}
    pages = listed_documents(names, request.site, findings)
    now = dt.datetime.fromtimestamp(started, dt.UTC)
    checking = _checking(request, now, sources, groups, findings)
    is_all = set(names) == set(registry.sources())
    checking.is_whole = is_all and NOT_BUILT not in findings.counts
    audit = Audit(
        started_at=started, fetched=request.fetched, remembered=queries.remembered()
    )
    visit, pace = Visit(now), Pace(request.rate)
    is_live = request.fetched == Audit.Fetched.LIVE
    asking = Asking(findings, request.fetch, visit, pace, is_live, request.asked)
    try:
        pages_of_site = {}
        if checking.is_whole:
            # Over HTTP the site is asked for what it lists, at the rate that it wants.
            fetches = request.fetched == Audit.Fetched.IN_PROCESS
            every = list(sources.values())
            pages_of_site = candidates(request.site, every, fetches=fetches)
        checking.unseen = set(pages_of_site)
        checking.check(pages, request.read)
        for url in sorted(checking.unseen):
            one = pages_of_site[url]
            seen = one.is_route and Answered(asking.visit, url, request.fetch(url))
            if not seen or is_page(seen, groups):
                findings.note(Problem(UNLISTED, one.text, url))
        _lastmods(request, checking, pages, sources)
        audit.sections = {name: [checking.listed[name], 0] for name in names}
        _remember(audit, request, findings, sources)
        if request.fetched:
            if (sample := checking.sample) is not None:
                asking.ask(sample.chosen, len(sample.chosen))
            else:
                once_more = ((page, one) for page in pages for one in page.listed())
                asking.ask(once_more, checking.listed.total())
        remembered = findings.sorted()
        rows.set_places(remembered, pages, sources, request.site)
    except (KeyboardInterrupt, SystemExit, Stopped) as stop:
        remembered = findings.sorted()
        audit.was_interrupted = not isinstance(stop, Stopped)
        audit.was_refused = isinstance(stop, RestWanted)
        why = "The audit was stopped" if audit.was_interrupted else str(stop)
        audit.missed = f"{why}: {_missed(audit, len(pages), checking, asking)}."
    _add_up(audit, checking, asking, findings)
    return audit, remembered


def _checking(
    request: Request,
    now: dt.datetime,
    sources: _Sources,
    groups: Sequence[Group],
    findings: Findings,
) -> Checking:
    """Return what checks pages, and chooses a sample if one is to be fetched."""
    sample = None
    if request.fetched and request.sample is not None:
        sample = Sample(request.sample, request.seed)
    sections = {}
    for name, one in sources.items():
        site = request.site.with_scheme(one.sitemap.protocol)
        about = one.entries_per_item, one.is_news
        sections[name] = AuditedSection(name, site, now, groups, *about)
    return Checking(findings, sections, sample=sample)


def _add_up(
    audit: Audit, checking: Checking, asking: Asking, findings: Findings
) -> None:
    """Write into an audit how much it looked at, and how much it found."""
    audit.urls = checking.listed.total()
    audit.times = {name: percentiles(some) for name, some in asking.seconds.items()}
    audit.fetched_urls = sum(map(len, asking.seconds.values()))
    for name, some in asking.seconds.items():
        audit.sections[name][1] = len(some)
    audit.add_up(findings.by_kind())
    audit.finished_at = time.time()


def _missed(audit: Audit, pages: int, checking: Checking, asking: Asking) -> str:
    """Return what an audit did not look at."""
    if not audit.sections:
        later = ", and no URL was fetched" * bool(audit.fetched)
        read = f"{checking.read:,} of {pages:,} pages were read"
        return f"{read}, not compared with each other{later}"
    if audit.fetched and asking.done < asking.total:
        return f"{asking.done:,} of {asking.total:,} URLs were asked for"
    return "the rows of what was found are not named"


def _robots(request: Request, findings: Findings) -> list[Group]:
    """Return the groups of the robots.txt that the site serves."""
    url = f"{request.site.origin}/robots.txt"
    answer = request.fetch(url)
    if answer.status == 400:
        # This host is not in ALLOWED_HOSTS: the settings are what can be known.
        return rules().groups
    if answer.failure or answer.status >= 500:
        kind = UNREACHABLE if answer.failure else ROBOTS_FAILS
        text = answer.failure or f"answers {status_in_words(answer.status)}"
        findings.note(Problem(kind, text, url))
        return []
    # https://www.rfc-editor.org/rfc/rfc9309#section-2.3.1: without it all is allowed.
    if answer.status != 200:
        return []
    for problem in problems_of_length(answer.body):
        findings.note(problem._replace(url=url))
    return read(decode(answer.body))


def _lastmods(
    request: Request,
    checking: Checking,
    pages: Sequence[ListedDocument],
    sources: _Sources,
) -> None:
    """Note sections whose lastmods say nothing."""
    by_name = {page.name: page for page in pages}
    for name, section in checking.sections.items():
        if 0 < section.disallowed == checking.listed[name]:
            text = f"it disallows all {checking.listed[name]:,} URLs"
            checking.findings.add(CLOSED, name, text=text)
        lastmods = section.kept(Lastmods)
        suspected = [by_name[page] for page in lastmods.suspected]
        if any(rows.moves(one, sources[name], request.site) for one in suspected[:1]):
            page = suspected[0].name
            text = "another lastmod each time that its rows are read"
            checking.findings.add(ALWAYS_NOW, name, page=page, text=text)
        elif lastmods.are_equal:
            text = f"{lastmods.same}, {lastmods.count:,} times"
            checking.findings.add(ALL_EQUAL, name, text=text)


def _remember(
    audit: Audit, request: Request, findings: Findings, sources: _Sources
) -> None:
    """Note what the next audit compares with, and compare with the last one."""
    for name, one in sources.items():
        found = rows.rows_to_compare(one, request.site)
        if text := rows.moved_alone(audit.remembered.get(name, {}), found):
            findings.add(MOVES_ALONE, name, text=text)
        # What this audit does not look at, the next one may.
        audit.remembered[name] = found
