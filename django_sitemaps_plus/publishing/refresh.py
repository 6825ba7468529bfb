"""
Pages whose rows changed are made again, ahead of the requests for them.

One at a time refreshes a section, by a lease with the database's clock. Requests for
a page that is stale do not wait for it: they make that page themselves.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import NullIf

from django_sitemaps_plus.changes import assignment
from django_sitemaps_plus.changes.models import Change
from django_sitemaps_plus.db import DatabaseTime
from django_sitemaps_plus.exceptions import Busy, TooManyBadRows
from django_sitemaps_plus.pagination import ledger
from django_sitemaps_plus.pagination.models import Page, Section
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress

from . import pages

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds for which a refresher that died keeps others away.
LEASE = 300
#: Seconds that a request for an index spends on pages that changed.
HURRY = 2.0
#: Pages of a section that are looked up at a time.
SOME = 100
#: How often a refresher makes a page for which more changes wait, before the others.
ROUNDS = 20


def waiting(sources: Iterable[SectionSource]) -> list[SectionSource]:
    """Return the sections for which something is to be done, by a few queries."""
    by_name = {source.name: source for source in sources if source.key is not None}
    rows = ledger.sections().filter(name__in=by_name, filled=True)
    return [source for source, _ in _waiting([(by_name[r.name], r) for r in rows])]


def _ticks(source: SectionSource, section: Section) -> bool:
    """Tell whether it is time to ask what appeared or expired."""
    since = time.time() - section.ticked_at
    return definition(source.name).ticks and not 0 <= since < assignment.TICK


def refresh(source: SectionSource, place: SiteAddress) -> int:
    """
    Make the pages of a section whose rows changed; returns how many.

    Nothing is done while its pages are not known. Raises ``Busy`` while somebody else
    refreshes it.
    """
    section = ledger.sections().filter(name=source.name, filled=True).first()
    if section is None or not _waiting([(source, section)]):
        return 0
    owner = uuid.uuid4().hex
    if not _lease(section, owner):
        raise Busy(f"Another process refreshes the section {source.name!r}.")
    try:
        assignment.sort(source, section, seconds=LEASE / 10)
        wanted = sorted({*assignment.newest_by_page(source.name), *_marked(section)})
        made = 0
        for page in _pages(source, section, wanted):
            made += _make_all(source, page, place)
            if not _lease(section, owner):
                break
        return made
    finally:
        held = ledger.sections().filter(pk=section.pk, refresh_owner=owner)
        held.update(refresh_owner="", refresh_until=0)


def _lease(section: Section, owner: str) -> bool:
    free = Q(refresh_until__lt=DatabaseTime()) | Q(refresh_owner=owner)
    rows = ledger.sections().filter(free, pk=section.pk)
    return bool(rows.update(refresh_owner=owner, refresh_until=DatabaseTime() + LEASE))


def _marked(section: Section) -> set[int]:
    """Return the pages that were made, and marked to be compared since."""
    rows = ledger.pages().filter(section=section, verified_at=0).exclude(checksum="")
    return set(rows.values_list("number", flat=True))


def _pages(
    source: SectionSource, section: Section, numbers: Sequence[int]
) -> Iterator[Page]:
    """Yield pages by their numbers; changes of those that are no more are unsorted."""
    for start in range(0, len(numbers), SOME):
        some = numbers[start : start + SOME]
        rows = ledger.pages().filter(section=section, number__in=some)
        found = list(rows.select_related("section").order_by("number"))
        gone = set(some) - {page.number for page in found}
        if gone:
            assignment.unsort(source.name, gone)
        yield from found


def _make_all(source: SectionSource, page: Page, place: SiteAddress) -> bool:
    """Make a page, again where more changes wait for it than are claimed at once."""
    made = _make(source, page, place)
    for _ in range(ROUNDS):
        if not made or not assignment.has_settled(source.name, page.number):
            break
        made = _make(source, pages.reload(page.pk), place)
    return made


def _make(source: SectionSource, page: Page, place: SiteAddress) -> bool:
    """Make a page; what keeps it from being made is in its row and in the log."""
    try:
        if page.grace_until > time.time():
            return pages.look_in_grace(source, page, place)
        pages.serve(source, page, place)
    except (TooManyBadRows, Busy) as error:
        logger.warning("Section %r: %s", source.name, error)
        return False
    except Exception:
        # Not the others' fault: they are made, and an index shows them.
        logger.exception("Section %r: page %s cannot be made.", source.name, page)
        return False
    return True


def hurry(
    sections: Iterable[tuple[SectionSource, Section]], place: SiteAddress
) -> None:
    """
    Make pages that changed before an index is written, for two seconds at most.

    What is left over is listed with the time of its newest change.
    """
    deadline = time.monotonic() + HURRY
    for source, section in _waiting(list(sections)):
        assignment.sort(source, section)
        newest = assignment.newest_by_page(source.name)
        wanted = sorted({*newest, *_marked(section)})
        for page in _pages(source, section, wanted):
            if time.monotonic() >= deadline:
                break
            _make(source, page, place)
            newest.pop(page.number, None)
        _note_changes(section, newest)


def _waiting(
    sections: Sequence[tuple[SectionSource, Section]],
) -> list[tuple[SectionSource, Section]]:
    """
    Return the sections that wait for something.

    By one query, and one for each further database that has objects.
    """
    rows = ledger.sections().filter(pk__in=[section.pk for _, section in sections])
    marked = ledger.pages().filter(section=OuterRef("pk"), verified_at=0)
    waiting = Q(Exists(marked.exclude(checksum="")))
    near, far = assignment.apart([source.name for source, _ in sections], rows.db)
    if near:
        recorded = Change.objects.filter(section=OuterRef("name"), section__in=near)
        waiting |= Q(Exists(recorded))
    names = set(rows.filter(waiting).values_list("name", flat=True))
    names |= assignment.with_changes(far)
    return [
        (source, section)
        for source, section in sections
        if source.name in names or _ticks(source, section)
    ]


def _note_changes(section: Section, newest: Mapping[int, float]) -> None:
    """Let the index say that pages changed, before it is known how."""
    numbers = sorted(newest)
    for start in range(0, len(numbers), SOME):
        some = numbers[start : start + SOME]
        later = [
            When(
                Q(lastmod=None) | Q(lastmod__lt=newest[number]),
                number=number,
                then=newest[number],
            )
            for number in some
        ]
        ledger.pages().filter(section=section, number__in=some).update(
            lastmod=Case(*later, default=F("lastmod")),
            # One that was empty may not be any more.
            entries=NullIf("entries", Value(0)),
        )
