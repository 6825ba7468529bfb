"""Bounds found along the key: exact, resumable, and at the sizes that matter."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import chain
from typing import Any

import pytest
from django.db import connection

from django_sitemaps_plus.building import page_writer
from django_sitemaps_plus.exceptions import Busy, Filling
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.sitemaps import sections
from tests.conftest import Register
from tests.support.helpers import later
from tests.support.ledger_kinds import VENDOR, Number
from tests.support.ledger_site import Site
from tests.support.ledger_world import HOURS, Killed, killed_before
from tests.testapp.routers import ReplicaRouter

#: All of a page's limit, as in the real world.
LIMIT = 5_000

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("ledger_tables"),
]

_LOC = re.compile(rb"<loc>https://www\.example\.com/things/r(\d+)-0/</loc>")


def insert_rows(start: int, stop: int) -> None:
    """Insert numbered rows by one statement of the database's own."""
    digits = " UNION ALL ".join(f"SELECT {digit} AS d" for digit in range(10))
    places = range(len(str(stop)))
    number = " + ".join(f"t{place}.d * {10**place}" for place in places)
    tables = ", ".join(f"({digits}) t{place}" for place in places)
    text = "'r' || n || '-0'" if VENDOR != "mysql" else "CONCAT('r', n, '-0')"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {Number._meta.db_table} (id, slug, live) "  # noqa: S608 (names of our own)
            f"SELECT n, {text}, {'1 = 1' if VENDOR == 'postgresql' else 1} "
            f"FROM (SELECT {number} AS n FROM {tables}) numbers "
            f"WHERE n >= {start} AND n < {stop}"
        )


def test_rows_and_pages_are_read_where_they_are_written(
    register: Register, settings: Any
) -> None:
    """A replica may have received neither of them yet."""
    site, former = Site(register, limit=10), settings.DATABASE_ROUTERS
    site.insert(range(10, 30))
    settings.DATABASE_ROUTERS = [ReplicaRouter()]
    fill(site.source)
    assert site.get(1).status_code == 200
    site.insert(range(10))
    Page.objects.using("default").update(verified_at=0)
    assert site.get(1).status_code == 200, "it is split"
    settings.DATABASE_ROUTERS = former
    assert len(bounds(site)) == 5


def bounds(site: Site) -> list[tuple[int, str | None]]:
    return [(page.number, page.lower) for page in site.pages()]


def on_page(site: Site, number: int) -> list[int]:
    """Return a page's rows, faster than by understanding all of it."""
    return [int(found) for found in _LOC.findall(site.get(number).content)]


# Sizes


def test_exactly_as_many_rows_as_a_page_may_have_and_one_and_twice_as_many(
    register: Register,
) -> None:
    site = Site(register, limit=LIMIT)
    insert_rows(0, LIMIT)
    fill(site.source)
    assert bounds(site) == [(1, None)]
    assert site.get().content.count(b"<url>") == LIMIT
    # One more, an hour later: the page that was full is as it was.
    full = site.get(1).headers["ETag"]
    insert_rows(LIMIT, LIMIT + 1)
    later(HOURS, "verified_at")
    assert site.index() == [1, 2]
    assert [on_page(site, 1), on_page(site, 2)] == [list(range(LIMIT)), [LIMIT]]
    assert site.get(1).headers["ETag"] == full
    # The same rows found by a fresh fill.
    Section.objects.all().delete()
    fill(site.source)
    assert bounds(site) == [(1, None), (2, '["4500"]')]
    # And twice as many.
    insert_rows(LIMIT + 1, 2 * LIMIT)
    Section.objects.all().delete()
    assert site.index() == [1, 2, 3]
    assert bounds(site) == [(1, None), (2, '["4500"]'), (3, '["9000"]')]
    found = [row for number in (1, 2, 3) for row in on_page(site, number)]
    assert found == list(range(2 * LIMIT))


@pytest.mark.parametrize(
    "sizes", [[9, 9, 10], [0], [1], [9], [10], [9, 2], [9, 10], [9, 9, 2], [9, 9, 9, 2]]
)
@pytest.mark.costly
def test_the_tail_may_fill_the_last_page_whole(
    register: Register, sizes: list[int]
) -> None:
    site = Site(register)
    site.insert(range(sum(sizes)))
    fill(site.source)
    found = [page.number for page in site.pages()]
    assert [len(site.shown(number)) for number in found] == sizes
    assert site.get(len(found) + 1).status_code == 404


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.costly
def test_the_smallest_pages_hold_what_they_should(
    register: Register, limit: int
) -> None:
    site = Site(register, limit=limit)
    site.insert(range(7))
    site.check()
    site.insert(range(20, 24))
    site.insert([10])
    site.check()


# Resuming


@pytest.mark.parametrize("rows", [99, 91])
@pytest.mark.costly
def test_a_fill_without_time_brings_a_page_at_a_time(
    register: Register, rows: int
) -> None:
    site = Site(register)
    site.insert(range(rows))
    seen = []
    for _ in range(30):
        with suppress(Filling):
            fill(site.source, seconds=0)
            break
        seen.append(len(site.pages()))
        # Until all bounds are known, nothing passes for the whole.
        assert Section.objects.get(name="site").filled is False
    assert seen == list(range(2, 2 + len(seen)))
    assert len(seen) >= 8
    in_steps = bounds(site)
    Section.objects.all().delete()
    fill(site.source)
    assert bounds(site) == in_steps


def test_a_fill_killed_at_any_moment_goes_on(register: Register) -> None:
    site = Site(register)
    site.insert(range(60))
    fill(site.source)
    in_one_go = bounds(site)
    for moment in range(1, 12):
        Section.objects.all().delete()
        for _ in range(9):
            with suppress(Killed, Filling), killed_before(moment):
                fill(site.source, seconds=0)
            Section.objects.filter(claimed_until__gt=0).update(claimed_until=1)
            if Section.objects.filter(filled=True).exists():
                break
            # A life this short may never get anywhere, but does no harm.
            assert bounds(site) == in_one_go[: len(site.pages())]
        with suppress(Filling):
            fill(site.source)
        assert bounds(site) == in_one_go


def test_a_long_fill_says_how_far_it_is(register: Register) -> None:
    site = Site(register)
    site.insert(range(40))
    told: list[int] = []
    fill(site.source, progress=told.append)
    assert told[-1] == len(site.pages()) == 5


def test_whoever_lost_the_lease_writes_no_more(register: Register) -> None:
    """A query took so long that another process took over and is half way."""

    def slow(self: Any) -> Any:
        Section.objects.update(claimed_by="another", claimed_until=10**10)
        return Number._default_manager.all()

    Site(register, items=slow)
    with pytest.raises(Busy, match="lost"):
        fill(sections.source("site"))
    assert Section.objects.get(name="site").filled is False


# Bytes


#: Bytes of a page here, instead of fifty million.
MOST = 100_000
#: Each letter takes nine bytes of a location.
LONG = "あ" * 190


def items_of(answer: Any) -> list[int]:
    assert answer.status_code == 200
    assert len(answer.content) <= MOST
    found = re.findall(rb"<url><loc>[^<]*%82(\d+)/</loc>", answer.content)
    assert found[::3] == found[1::3] == found[2::3], "an item's languages stay together"
    return [int(number) for number in found[::3]]


def test_bytes_divide_pages_as_entries_do(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_writer, "MAX_BYTES", MOST)
    site = Site(register, limit=LIMIT, i18n=True, alternates=True, lastmod=None)
    site.kind.insert([{"id": n * 10, "slug": f"{LONG}{n}"} for n in range(1000, 1007)])
    site.get(1)
    found = {page.number: items_of(site.get(page.number)) for page in site.pages()}
    assert [*chain(*found.values())] == list(range(1000, 1007))
    assert len(found) == 2
    assert site.page(1).size > 0.7 * MOST, "at the edge a page is full"
    # Inside the range it is cut in halves, though it has few entries.
    site.kind.insert(
        [{"id": 10_005, "slug": f"{LONG}1"}, {"id": 1, "slug": f"{LONG}2"}]
    )
    later(HOURS, "verified_at")
    first, second, third = (items_of(site.get(number)) for number in (1, 3, 2))
    assert sorted(first + second) == sorted([*found[1], 1, 2])
    assert abs(len(first) - len(second)) <= 1
    assert third == found[2]


def test_an_entry_larger_than_a_page_is_a_bad_row(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_writer, "MAX_BYTES", MOST)

    def pictures(self: Any, item: Any) -> Any:
        count = 60 if item.pk == 2 else 1
        return [f"/{'x' * 1900}/{number}.jpg" for number in range(count)]

    site = Site(register, limit=LIMIT, images=pictures)
    site.insert(range(1, 9))
    site.get(1)
    # It may be the next page's; there it has room, and still not enough.
    found = site.pages()
    assert [page.entries for page in found] == [1, 6]
    assert all(b"things/r2-0/" not in site.get(p.number).content for p in found)
    reason = "the entry is larger than a whole page may be"
    assert [page.problems for page in found] == [[], [["2", reason]]]
