"""
Work ahead of the requests: find the bounds, build pages, compare with the rows.

``manage.py build_sitemaps`` talks; the functions here work, and return what they
did.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from django.db.models import Sum

from django_sitemaps_plus.changes.queries import changes, related_states
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import Busy, NotReady, TooManyBadRows
from django_sitemaps_plus.pagination import bounds
from django_sitemaps_plus.pagination.models import Page, Section
from django_sitemaps_plus.pagination.queries import (
    of_sections,
    ordered,
    pages,
    sections,
    void,
)
from django_sitemaps_plus.rendering.columns import OMITTED
from django_sitemaps_plus.rendering.listing import repeated
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress

from .compression import unpack
from .freshness import looked_at
from .pages import differs, expire, find_by_position, serve
from .position_build import NotStoredError

#: Seconds for which the pages of a section that is no longer registered must not have
#: been served before they are removed.
UNUSED = 86_400

#: Told how many pages of a section are done, and how many there are.
Progress = Callable[[int, int], object]


@dataclass
class SectionReport:
    """What was done for one section."""

    name: str
    pages: int = 0
    #: None as long as some page was never built.
    entries: int | None = 0
    #: Pages whose bytes are new.
    changed: int = 0
    #: Pages that were fresh, or came out the same.
    unchanged: int = 0
    #: Pages that were split, and keep the bytes they had for ``SPLIT_GRACE``.
    waiting: int = 0
    #: Rows left out, and the first of them: ``(key, reason)``.
    bad: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    #: Entries, of the pages built now, whose URL another entry of the page has.
    repeated: int = 0
    #: Rows that are listed without a tag that cannot be, one for each reason.
    omitted: list[tuple[str, str]] = field(default_factory=list)
    #: Pages that could not be built, and why.
    errors: list[str] = field(default_factory=list)
    #: Why the section has no pages in the ledger; empty if it has.
    by_position: str = ""
    #: When the work began, in seconds since the epoch.
    begun: float = field(default_factory=time.time)


def fill(
    source: SectionSource, progress: bounds.Progress | None = None
) -> SectionReport:
    """Find the bounds of a section's pages; goes on where an earlier run stopped."""
    done = SectionReport(source.name, by_position=source.by_position)
    if source.key is not None:
        bounds.fill(source, progress=progress)
        _count(done)
    return done


def build(
    source: SectionSource, site: SiteAddress, progress: Progress | None = None
) -> SectionReport:
    """Build every page of a section that is not fresh."""
    if source.key is None:
        return _build_by_position(source, site)
    done = fill(source)
    for page in _walk(source, progress):
        _serve(source, page, site, done)
    _count(done)
    return done


def _build_by_position(
    source: SectionSource, site: SiteAddress, *, again: bool = False
) -> SectionReport:
    """Build all pages of a section, unless they are too many to be stored."""
    done = SectionReport(source.name, by_position=source.by_position)
    stored = pages().filter(of_sections(source.name)).order_by("number")
    former = dict(stored.values_list("number", "checksum"))
    try:
        page = find_by_position(source, 1, site)
        if page is None:
            raise Busy("The section is being divided anew.")
        if again:
            expire(page)
        _serve(source, page, site, done)
    except NotStoredError:
        return done
    except Busy as error:
        done.errors.append(str(error))
    checksums = dict(stored.values_list("number", "checksum"))
    done.changed = len(checksums.items() - former.items())
    done.unchanged = len(checksums) - done.changed
    for other in stored.exclude(number=1):
        _add_problems(other, done)
    done.by_position = ""
    _count(done)
    return done


def reconcile(
    source: SectionSource,
    site: SiteAddress,
    *,
    deep: bool = False,
    progress: Progress | None = None,
) -> SectionReport:
    """
    Make the ledger agree with a table that changed behind it.

    A page is rebuilt where the number of its rows or their newest lastmod is
    another than it was; with ``deep`` every page is, and compared by its bytes.
    """
    if source.key is None:
        return _build_by_position(source, site, again=True)
    done = fill(source)
    for page in _walk(source, progress):
        if deep or differs(source, page):
            expire(page)
        _serve(source, page, site, done)
    _count(done)
    return done


def remove_unregistered(names: Iterable[str]) -> list[tuple[str, int]]:
    """
    Remove the pages of sections that are not among ``names``.

    But only where nobody has used them for a day: while a deploy lasts, other
    processes may know other sections. The number that comes next is kept, so that a
    section that comes back has new numbers. Returns each name with the number of its
    pages. Raises ``Busy`` if another process is dividing such a section.
    """
    removed = []
    others = sections().exclude(name__in=["", *names]).filter(pages__isnull=False)
    for section in others.distinct().order_by("name"):
        if _is_unused(section):
            removed.append((section.name, ordered(section).count()))
            void(section)
            changes(section.name).delete()
            related_states().filter(section=section.name).delete()
    return removed


def _is_unused(section: Section) -> bool:
    """Tell whether surely no page of a section was served for a day."""
    now = time.time()
    found = pages().filter(section=section)
    # Nobody knows how long those have been there that were never compared: from now.
    if found.filter(verified_at=0).update(verified_at=now):
        return False
    # What was served a day ago had been compared within VERIFY_AFTER before that.
    since = now - UNUSED - get_settings().VERIFY_AFTER
    return not found.filter(verified_at__gte=since).exists()


def _walk(source: SectionSource, progress: Progress | None) -> Iterator[Page]:
    """Yield the pages in the order of their keys, those that splits add too."""
    position, seen = -1, 0
    while True:
        rows = looked_at().filter(of_sections(source.name), position__gt=position)
        page = rows.order_by("position").first()
        if page is None:
            return
        position = page.position
        yield page
        seen += 1
        if progress is not None:
            progress(seen, pages().filter(section=page.section_id).count())


def _serve(
    source: SectionSource, page: Page, site: SiteAddress, done: SectionReport
) -> None:
    before = page.checksum
    # A piece of a page that this run has split.
    is_new = page.version <= 1 and page.verified_at >= done.begun
    try:
        served = serve(source, page, site, asked=False)
    except (TooManyBadRows, NotReady) as error:
        done.errors.append(str(error))
        return
    if served.page.grace_until > time.time():
        done.waiting += 1
    problem = served.problem or served.page.error
    if problem:
        # The rows are not left out: the page keeps its former bytes.
        done.errors.append(problem)
        return
    if is_new or served.page.checksum != before:
        done.changed += 1
        done.repeated += repeated(unpack(served.stored.data))
    else:
        done.unchanged += 1
    _add_problems(served.page, done)


def _add_problems(page: Page, done: SectionReport) -> None:
    done.bad += page.bad
    for label, reason in page.problems:
        is_listed = reason.startswith(OMITTED)
        (done.omitted if is_listed else done.problems).append((label, reason))


def _count(done: SectionReport) -> None:
    found = pages().filter(of_sections(done.name))
    done.pages = found.count()
    unbuilt = found.filter(entries=None).exists()
    done.entries = None if unbuilt else found.aggregate(n=Sum("entries"))["n"]
