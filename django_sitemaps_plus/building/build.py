"""
Work ahead of the requests: find the bounds, build pages, compare with the rows.

``manage.py build_sitemaps`` talks; the functions here work, and return what they
did.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from django.db.models import Sum

from django_sitemaps_plus.changes.assignment import assign
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import Busy, SitemapsPlusError, TooManyBadRows
from django_sitemaps_plus.pagination import bounds
from django_sitemaps_plus.pagination.deploys import is_outdated
from django_sitemaps_plus.pagination.models import Page, Section
from django_sitemaps_plus.pagination.queries import ordered, pages, sections
from django_sitemaps_plus.rendering.columns import OMITTED
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress
from django_sitemaps_plus.storing import storage
from django_sitemaps_plus.storing.freshness import is_fresh, page_rows
from django_sitemaps_plus.storing.storage import StoredBytes

from .by_position import forget_stored, position_page
from .joining import join
from .new_pages import MOST, build_new
from .pages import differs, expire, serve

#: Seconds for which the pages of a section that is no longer registered must not have
#: been served before they are removed.
UNUSED = 86_400

#: Seconds between two looks at a page that another process is building.
_POLL = 0.2

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
    #: Rows left out, and the first of them: ``(key, reason)``.
    bad: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    #: Entries, of the pages built now, whose URL another entry of the page has.
    repeated: int = 0
    #: Rows that are listed without a tag that cannot be, one for each reason.
    omitted: list[tuple[str, str]] = field(default_factory=list)
    #: Pages whose entries another one took over.
    joined: int = 0
    #: Pages that could not be built, and why.
    errors: list[str] = field(default_factory=list)
    #: Why it is paged by position, and its pages are built for each request.
    by_position: str = ""
    #: Whether the time for it was over before all pages were looked at.
    is_cut_short: bool = False
    #: Whether newer code runs, so that nothing was stored.
    is_outdated: bool = False

    def note(self, page: Page, new: StoredBytes | None = None) -> None:
        """Count a page, whose bytes are new if they are given, and its problems."""
        if new is None:
            self.unchanged += 1
        else:
            self.changed += 1
            self.repeated += new.repeated
        if page.error:
            self.errors.append(page.error)
        self.note_rows(page.bad, page.left_out)

    def note_rows(self, bad: int, problems: Iterable[tuple[str, str]]) -> None:
        """Count the rows of a page that were left out, or lack a tag."""
        self.bad += bad
        for label, reason in problems:
            is_listed = reason.startswith(OMITTED)
            (self.omitted if is_listed else self.problems).append((label, reason))


def fill(
    source: SectionSource, progress: bounds.FillProgress | None = None
) -> SectionReport:
    """Find the bounds of a section's pages; goes on where an earlier run stopped."""
    done = SectionReport(source.name, by_position=source.by_position)
    if source.key is None:
        done.pages, done.entries = source.position_pages, None
        return done
    row = bounds.fill(source, progress=progress)
    done.is_outdated = is_outdated(row, definition(source).digest)
    _count(done)
    return done


def build(
    source: SectionSource,
    site: SiteAddress,
    progress: Progress | None = None,
    is_over: Callable[[], bool] = lambda: False,
    *,
    is_wanted: Callable[[Page], bool] = lambda page: False,
) -> SectionReport:
    """
    Build every page of a section that is not fresh, or ``is_wanted`` nevertheless.

    It is asked again and again whether the time for it ``is_over``.
    """
    if source.key is None:
        return _try_by_position(source, site)
    done = fill(source)
    _Run(source, site, done, progress, is_wanted, is_over).build()
    _count(done)
    return done


def _try_by_position(source: SectionSource, site: SiteAddress) -> SectionReport:
    """Build the first page of a section as a request does: nothing is stored."""
    done = fill(source)
    try:
        page = position_page(source, 1, site)
    except SitemapsPlusError as error:
        done.errors.append(str(error))
    else:
        if page is not None:
            if done.pages == 1:
                done.entries = page.entries
            done.note_rows(page.bad, page.problems)
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

    def is_wanted(page: Page) -> bool:
        if not deep and not differs(source, page):
            return False
        expire(page)
        return True

    return build(source, site, progress, is_wanted=is_wanted)


def divide(
    source: SectionSource, site: SiteAddress, progress: Progress | None = None
) -> SectionReport:
    """Compare every page with its rows; then join neighbours that fit one page."""
    done = reconcile(source, site, deep=True, progress=progress)
    if source.key is not None and not done.errors and not done.is_outdated:
        done.joined = join(source, site)
        _count(done)
    return done


def forget_errors(name: str) -> None:
    """Have the pages of a section that are in error built again, without a rest."""
    pages().on_site(name).exclude(error="").update(verified_at=0)


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
            forget_stored(section)
    return removed


def _is_unused(section: Section) -> bool:
    """Return whether surely no page of a section was served for a day."""
    now = time.time()
    found = pages().filter(section=section)
    # Nobody knows how long those have been there that were never compared: from now.
    if found.filter(verified_at=0).update(verified_at=now):
        return False
    # What was served a day ago had been compared within VERIFY_AFTER before that.
    since = now - UNUSED - get_settings().VERIFY_AFTER
    return not found.filter(verified_at__gte=since).exists()


@dataclass
class _Run:
    """
    One run over the pages of a section, in the order of their keys.

    What another process is building just now is looked at again at the end.
    """

    source: SectionSource
    site: SiteAddress
    done: SectionReport
    progress: Progress | None
    #: Whether a page has to be rebuilt though it is fresh, or failed lately.
    is_wanted: Callable[[Page], bool]
    is_over: Callable[[], bool]
    #: Pages, by their primary key, that were never built and need a closer look.
    alone: set[int] = field(default_factory=set)
    later: list[Page] = field(default_factory=list)
    seen: int = 0
    #: The number of the first page that is split from another while it runs.
    first_piece: int = field(init=False)

    def __post_init__(self) -> None:
        self.first_piece = sections().get(name=self.source.name).next_number

    def build(self) -> None:
        """Build every page that is not fresh, those that splits add too."""
        position = -1
        while not self._is_cut_short() and (found := self._after(position)):
            position = self._build_some(found)
            if self.progress is not None:
                total = pages().filter(section=found[0].section).count()
                self.progress(self.seen, max(total, self.seen))
        # While it is gone through it grows, if somebody was faster once more.
        for page in self.later:
            self._build_after_others(page)

    def _is_cut_short(self) -> bool:
        self.done.is_cut_short = self.done.is_cut_short or self.is_over()
        return self.done.is_cut_short

    def _after(self, position: int) -> list[Page]:
        """Return the next pages, with what waits for them."""
        rows = page_rows().on_site(self.source.name)
        rows = rows.filter(position__gt=position).order_by("position")
        found = list(rows[:MOST])
        if found and found[0].unassigned and assign(self.source, found[0].section):
            found = list(rows[:MOST])
        return found

    def _build_some(self, found: Sequence[Page]) -> int:
        """Work on some pages; return the position after which to look for the next."""
        stored = storage.read_all([page for page in found if self._is_fresh(page)])
        for index, page in enumerate(found):
            if page.claimed_until > time.time():
                self.later.append(page)
            elif self._is_new(page):
                return self._build_new(list(takewhile(self._is_new, found[index:])))
            elif not self.is_wanted(page) and page.pk in stored:
                is_piece = self._is_piece(page)
                self.done.note(page, stored[page.pk] if is_piece else None)
            else:
                self._serve(page)
                self.seen += 1
                # It may have been split: then the pieces come next.
                return page.position
            self.seen += 1
        return found[-1].position

    def _is_piece(self, page: Page) -> bool:
        """Return whether a page was split from another since the run began."""
        return page.number >= self.first_piece

    def _is_new(self, page: Page) -> bool:
        is_known = page.checksum or page.error or page.waits
        is_free = page.claimed_until <= time.time()
        return is_free and not is_known and page.pk not in self.alone

    def _is_fresh(self, page: Page) -> bool:
        return is_fresh(self.source, page, time.time())

    def _build_new(self, found: Sequence[Page]) -> int:
        try:
            built = build_new(self.source, found, self.site)
        except Busy as error:
            self.done.errors.append(str(error))
            return found[-1].position
        for page, writer in built:
            self.done.note(page, writer.stored)
        self.seen += len(built)
        if len(built) < len(found):
            # The next one is looked at again, by itself.
            self.alone.add(found[len(built)].pk)
        return built[-1][0].position if built else found[0].position - 1

    def _serve(self, page: Page) -> None:
        before = page.checksum
        try:
            served = serve(self.source, page, self.site, asked=False)
        except (Busy, TooManyBadRows) as error:
            claimed = pages().filter(pk=page.pk, claimed_until__gt=time.time())
            if isinstance(error, Busy) and claimed.exists():
                self.later.append(page)
            else:
                self.done.errors.append(str(error))
            return
        if problem := served.problem or served.page.error:
            # The rows are not left out: the page keeps its former bytes.
            self.done.errors.append(problem)
            return
        is_changed = self._is_piece(page) or served.page.checksum != before
        self.done.note(served.page, served.stored if is_changed else None)

    def _build_after_others(self, page: Page) -> None:
        """Wait until another process has built a page, or has given it up."""
        rows = page_rows().filter(pk=page.pk)
        while not self._is_cut_short() and (found := rows.first()):
            if self._is_fresh(found):
                self.done.note(found)
                return
            if found.claimed_until <= time.time():
                self._serve(found)
                return
            time.sleep(_POLL)


def _count(done: SectionReport) -> None:
    found = pages().on_site(done.name)
    done.pages = found.count()
    unbuilt = found.filter(entries=None).exists()
    done.entries = None if unbuilt else found.aggregate(n=Sum("entries"))["n"]
