"""An audit from its beginning to its end: sections, rows, answers, what is stored."""

from __future__ import annotations

import datetime as dt
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from django.conf import settings as django_settings

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.protocol.robots import Group, read
from django_sitemaps_plus.publishing.status import problem_of
from django_sitemaps_plus.sitemaps.attributes import entries_per_item
from django_sitemaps_plus.sitemaps.sections import SectionSource, source
from django_sitemaps_plus.sitemaps.site import SiteAddress

from . import kinds, queries, rows
from .checking import Checking, Progress, Sample
from .findings import Findings, Found
from .listed import Document, documents
from .models import Audit, Finding
from .rules.answers import Answer, percentiles, problems_of
from .rules.schema import blocks
from .rules.urls import Urls, rules

#: Returns the answer to a GET request for a URL of the site.
Fetch = Callable[[str], Answer]


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


@dataclass
class Result:
    """An audit, not stored yet, and what it found."""

    audit: Audit
    findings: Findings
    found: list[Found] = field(default_factory=list)

    def store(self) -> None:
        """Write it to the database, in the place of older ones."""
        queries.store(
            self.audit,
            (
                Finding(
                    kind=one.kind,
                    level=one.about.level,
                    section=one.section,
                    page=one.page,
                    row=one.row[:255],
                    url=one.url,
                    text=one.text,
                )
                for one in self.found
            ),
        )


def run(request: Request) -> Result:
    """
    Audit some sections; nothing is stored.

    Kinds of findings in ``SILENCED_SYSTEM_CHECKS`` are passed over.
    """
    started = time.time()
    findings = Findings(django_settings.SILENCED_SYSTEM_CHECKS)
    robots = rules(_robots(request, findings))
    names = [name for name in request.sections if not problem_of(name)]
    sources = {name: source(name) for name in names}
    pages = documents(names, request.site, findings)
    sample = None
    if request.fetched and request.sample is not None:
        sample = Sample(request.sample, request.seed)
    checking = Checking(
        findings,
        urls={
            name: Urls(request.site.with_scheme(one.sitemap.protocol), robots)
            for name, one in sources.items()
        },
        now=dt.datetime.fromtimestamp(started, dt.UTC),
        per_item={name: entries_per_item(one.sitemap) for name, one in sources.items()},
        sample=sample,
    )
    checking.check(pages, request.read)
    _lastmods(request, checking, pages, sources)
    remembered = _remembered(request, findings, sources)
    audit = Audit(
        started_at=started,
        sections=list(request.sections),
        fetched=request.fetched,
        urls=checking.entries,
        remembered=remembered,
    )
    if request.fetched:
        wanted = _of_documents(pages) if sample is None else iter(sample.chosen)
        total = checking.entries if sample is None else len(sample.chosen)
        audit.fetched_urls, audit.times = _ask(request, findings, wanted, total)
    found = findings.sorted()
    findings.set_rows(rows.rows_of(found, pages, sources, request.site))
    audit.counts = findings.by_kind()
    audit.errors = findings.total(kinds.ERROR)
    audit.warnings = findings.total(kinds.WARNING)
    audit.finished_at = time.time()
    return Result(audit, findings, findings.sorted())


def _robots(request: Request, findings: Findings) -> list[Group]:
    """Return the groups of the robots.txt that the site serves."""
    answer = request.fetch(f"{request.site.origin}/robots.txt")
    if answer.failure or answer.status >= 500:
        text = answer.failure or f"answers {answer.status}"
        url = f"{request.site.origin}/robots.txt"
        findings.add(Found(kinds.ROBOTS_FAILS, url=url, text=text))
        return []
    if answer.status == 400:
        # This host is not in ALLOWED_HOSTS: the settings are what can be known.
        return get_settings().robots_groups()
    # https://www.rfc-editor.org/rfc/rfc9309#section-2.3.1: without it all is allowed.
    is_there = answer.status == 200
    return read(answer.body.decode("utf-8", "replace")) if is_there else []


def _lastmods(
    request: Request,
    checking: Checking,
    pages: Sequence[Document],
    sources: dict[str, SectionSource],
) -> None:
    """Note sections whose lastmods say nothing."""
    by_name = {page.name: page for page in pages}
    for name, lastmods in checking.lastmods.items():
        suspected = [by_name[page] for page in lastmods.suspected]
        if any(rows.moves(one, sources[name], request.site) for one in suspected[:1]):
            page = suspected[0].name
            text = "another lastmod each time that its rows are read"
            checking.findings.add(Found(kinds.ALWAYS_NOW, name, page, text=text))
        elif lastmods.are_equal:
            text = f"{lastmods.same}, {lastmods.count:,} times"
            checking.findings.add(Found(kinds.ALL_EQUAL, name, text=text))


def _remembered(
    request: Request, findings: Findings, sources: dict[str, SectionSource]
) -> dict[str, object]:
    """Return what the next audit compares with, and compare with the last one."""
    now = {name: rows.remember(one, request.site) for name, one in sources.items()}
    former = queries.remembered()
    for name, remembered in now.items():
        if text := rows.moved_alone(former.get(name, {}), remembered):
            findings.add(Found(kinds.MOVES_ALONE, name, text=text))
    # What this audit does not look at, the next one may.
    return {**former, **now}


# Asking


def _of_documents(pages: Iterable[Document]) -> Iterator[tuple[Document, str]]:
    """Yield all URLs once more."""
    for page in pages:
        for block in blocks(page.read()):
            yield from ((page, url) for url in block.locations)


def _ask(
    request: Request,
    findings: Findings,
    wanted: Iterator[tuple[Document, str]],
    total: int,
) -> tuple[int, dict[str, dict[str, float]]]:
    """Fetch URLs and note what their answers show; return how many, and how long."""
    times: dict[str, array[float]] = {}
    done = 0
    for done, (page, url) in enumerate(_paced(wanted, request.rate), 1):
        answer = request.fetch(url)
        times.setdefault(page.section, array("d")).append(answer.seconds)
        for kind, text in problems_of(url, answer):
            findings.add(Found(kind, page.section, page.name, url, text))
        request.asked(done, total)
    return done, {name: percentiles(some) for name, some in times.items()}


def _paced(
    wanted: Iterator[tuple[Document, str]], rate: float | None
) -> Iterator[tuple[Document, str]]:
    """Yield no more than ``rate`` URLs a second."""
    due = time.monotonic()
    for one in wanted:
        if rate is not None:
            time.sleep(max(0.0, due - time.monotonic()))
            due = max(due, time.monotonic()) + 1 / rate
        yield one
