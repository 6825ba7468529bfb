"""The rows of sections and pages: where they are read and written, and their leases."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NoReturn

from django.db import router, transaction
from django.db.models import Count, Max, Min, OuterRef, Q, Subquery, Sum

from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.exceptions import Busy
from django_sitemaps_plus.prepared import Prepared, Slot, listed, slots
from django_sitemaps_plus.sitemaps.keys import Key
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site

from .models import Page, PageQuerySet, Section, SectionQuerySet

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds after which the lease of a process that died can be taken; renewed meanwhile.
LEASE = 15
#: Seconds to wait for what another process has: a lease, or a page that it builds.
WAIT = 1.0
#: Seconds between two looks whether the lease is free.
_POLL = 0.05


def ledger() -> str:
    """Return the alias of the database that has sections and pages, for writing."""
    return router.db_for_write(Page)


def sections() -> SectionQuerySet:
    """Return the site's sections, in the database for writing."""
    return Section.objects.using(ledger()).on_site()


def sections_called(names: Collection[str]) -> Iterator[Section]:
    """Return those of the site's sections that have some names."""
    count, values = listed("name", names)
    values["site"] = Site.current().key
    rows = _CALLED.rows(ledger(), count, **values)
    return (Section.from_db(ledger(), _COLUMNS, row) for row in rows)


_COLUMNS = [field.attname for field in Section._meta.concrete_fields]


def _called_query(names: int) -> Any:
    rows = Section.objects.filter(site=Slot("site"), name__in=slots("name", names))
    return rows.values_list(*_COLUMNS)


_CALLED = Prepared(_called_query)


def other_sites() -> dict[str, list[str]]:
    """Return, by section, the Sites that have it and that these settings ignore."""
    described = [site.key for site in Site.all()]
    rows = Section.objects.exclude(site__in=described).exclude(name="")
    by_section: dict[str, list[str]] = {}
    for name, site in rows.values_list("name", "site"):
        by_section.setdefault(name, []).append(site)
    return by_section


def pages() -> PageQuerySet:
    """Return the pages of all sites, in the database for writing."""
    found: PageQuerySet = Page.objects.using(ledger())
    return found


def section_row(name: str, key: Key) -> Section:
    """Return the row of a section, created if it is not there."""
    section = row_of(name, key=key.signature)
    if section.key != key.signature:
        void(section, key.signature)
    return section


def row_of(name: str, **defaults: Any) -> Section:
    """
    Return the row of a name, created with ``defaults`` if it is not there.

    Of several who create it at once, InnoDB may take some for deadlocked: these find
    it the next time.
    """
    for row in sections_called([name]):
        return row
    create = partial(sections().get_or_create, name=name, defaults=defaults)
    return retrying(ledger(), create)[0]


def void(section: Section, signature: str = "", *, damaged: bool = False) -> None:
    """
    Forget boundaries found for another key than ``signature``; the numbers go on.

    ``damaged``: forget these because of damage, unless others were found meanwhile.
    Raises ``Busy`` if another process is dividing the section.
    """
    values: dict[str, Any] = {"key": signature, "filled": False}
    with lease(section) as owner, transaction.atomic(using=ledger()):
        held = sections().filter(pk=section.pk, claimed_by=owner)
        if damaged:
            held = held.filter(filled=True, next_number=section.next_number)
            values["damaged_at"] = time.time()
        if held.update(**values):
            pages().filter(section=section).delete()
    section.refresh_from_db(using=ledger())


def forget_damaged(section: Section, page: Page | None = None) -> None:
    """Have a section divided anew whose boundaries are damaged, perhaps at a page."""
    logger.error(
        "The page boundaries of the section %r are damaged%s. It is divided anew.",
        section.name,
        f" at page {page}" if page else "",
    )
    void(section, section.key, damaged=True)


def divide_anew(section: Section, page: Page | None = None) -> NoReturn:
    """Raise ``Busy`` for whoever asked for boundaries that are damaged; forget them."""
    forget_damaged(section, page)
    raise Busy(f"The section {section.name!r} is being divided anew.")


def has_first(section: Section) -> bool:
    """Return whether one page of a section, and only one, has no lower bound."""
    return pages().filter(section=section, lower=None).count() == 1


@contextmanager
def lease(
    section: Section, wait: float = WAIT, *, asked: bool = False
) -> Iterator[str]:
    """
    Hold the lease of ``section``; nobody else changes its boundaries meanwhile.

    Raises ``Busy`` if it is not free within ``wait`` seconds; where a request has
    ``asked``, also if another one waits already.
    """
    owner, row = uuid.uuid4().hex, sections().filter(pk=section.pk)
    if not row.take(owner, LEASE):
        busy = Busy(f"Another process is dividing the section {section.name!r}.")
        with waiting(busy, wait, asked=asked) as until:
            while not row.take(owner, LEASE):
                if time.monotonic() >= until:
                    raise busy
                time.sleep(_POLL)
    try:
        yield owner
    finally:
        row.release(owner)


@contextmanager
def waiting(busy: Busy, wait: float, *, asked: bool) -> Iterator[float]:
    """
    Wait for another process; where a request has ``asked``, as the site's only one.

    Yields until when: ``wait`` seconds from now, by ``time.monotonic()``. Raises
    ``busy`` where another request waits, so that no more than one worker of all is
    taken up by it.
    """
    if not asked:
        yield time.monotonic() + wait
        return
    site, asked_at = row_of(""), time.monotonic()
    if not sections().take_wait(site.pk, wait):
        raise busy
    try:
        # Not sooner than the database: whoever comes next may wait then.
        yield time.monotonic() + wait
    finally:
        # Later it is another's.
        if time.monotonic() < asked_at + wait:
            sections().filter(pk=site.pk).update(waiting_until=0)


def lost(section: Section) -> Busy:
    """Return the error for a lease that another process has taken."""
    return Busy(f"The lease of the section {section.name!r} was lost.")


def ordered(section: Section) -> PageQuerySet:
    """Return the pages of ``section`` in the order of their keys."""
    return pages().filter(section=section).order_by("position")


def with_uppers(rows: PageQuerySet) -> PageQuerySet:
    """Let pages know their neighbours: by ``upper_of`` and ``is_first``."""
    siblings = pages().filter(section=OuterRef("section"))
    following = siblings.filter(position__gt=OuterRef("position"))
    # What is annotated is declared by the class, too.
    every: Any = rows
    found: PageQuerySet = every.annotate(
        upper=Subquery(following.order_by("position").values("lower")[:1]),
        # In their order, or PostgreSQL reads the whole table for the first page.
        first=Subquery(siblings.order_by("position").values("pk")[:1]),
    )
    return found


def upper_of(page: Page) -> str | None:
    """
    Return the next page's lower bound; None for the last page.

    As it was when the page was read, where it was read ``with_uppers``: a page that
    was divided since has another version.
    """
    return _with_neighbours(page).upper


def is_first(page: Page) -> bool:
    """Return whether no page of its section comes before a page."""
    return _with_neighbours(page).first == page.pk


def _with_neighbours(page: Page) -> Page:
    # Asked for once where a page was read without; some page is always the first.
    if page.first is None:
        found: Any = with_uppers(pages())
        values = found.values_list("upper", "first")
        page.upper, page.first = values.get(pk=page.pk)
    return page


#: Seconds for which it is shown that the stored bytes of a page were lost.
LATELY = 7 * 86_400.0


@dataclass(frozen=True)
class Sums:
    """The sums of a section's pages, as the ledger has them."""

    pk: int
    key: str
    filled: bool
    pages: int
    unbuilt: int
    entries: int
    #: Uncompressed bytes.
    size: int
    lastmod: float | None
    #: Rows, and those of them that are left out for a fault.
    items: int
    bad: int
    #: Pages whose stored bytes were missing or damaged within the last week.
    lost: int
    #: Pages that cannot be built, and why one of them cannot.
    wrong: int
    error: str
    #: When somebody last confirmed what it no longer lists.
    confirmed_at: float
    #: How many URLs it listed on the last days, by the date.
    listed: Mapping[str, int]
    #: When its page boundaries were last found damaged; 0: never.
    damaged_at: float
    #: Why its changes cannot be assigned to pages; empty if they can.
    failure: str

    @classmethod
    def stored(cls) -> dict[str, Sums]:
        """Return the sums of the site's sections by name, by one statement."""
        failed = ~Q(pages__error="")
        rows: Any = (
            sections()
            .exclude(name="")
            .order_by("name")
            .annotate(
                n=Count("pages"),
                unbuilt=Count("pages", filter=Q(pages__checksum="")),
                entries=Sum("pages__entries", default=0),
                size=Sum("pages__size", default=0),
                lastmod=Max("pages__lastmod"),
                items=Sum("pages__items", default=0),
                bad=Sum("pages__bad", default=0),
                lost=Count("pages", filter=Q(pages__lost_at__gt=time.time() - LATELY)),
                wrong=Count("pages", filter=failed),
                error=Min("pages__error", filter=failed, default=""),
            )
        )
        # "pages" is the relation's name already.
        names = [one.name if one.name != "pages" else "n" for one in fields(cls)]
        found = rows.values_list("name", *names)
        return {name: cls(*rest) for name, *rest in found}

    def is_of(self, section: SectionSource) -> bool:
        """Return whether these are of a section's pages: it has some, by its key."""
        return bool(self.pages) and self.key == section.signature
