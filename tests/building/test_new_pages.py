"""Many pages that were never built, written by one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.building import build, new_pages, pages
from django_sitemaps_plus.building.build import SectionReport
from django_sitemaps_plus.building.new_pages import MOST
from django_sitemaps_plus.building.pages import CLAIM, claimed_new
from django_sitemaps_plus.models import Change, Page
from tests.conftest import Register
from tests.support.helpers import later, told
from tests.support.in_between import failing_once, just_before
from tests.support.ledger_site import Site
from tests.support.ledger_world import HOURS, place
from tests.support.processes import at_once, elsewhere, within

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("ledger_tables"),
]

#: Rows of a page as it is first filled.
FILLED = 9


def site_of(register: Register, count: int, **attributes: Any) -> Site:
    """Return a site of so many pages whose bounds are known."""
    made = Site(register, **attributes)
    made.insert(range(0, count * FILLED * 10, 10))
    build.fill(made.source)
    assert len(made.pages()) == count
    return made


def built(site: Site, **options: Any) -> SectionReport:
    """Build all pages, which must go well."""
    done = build.build(site.source, place(), **options)
    assert done.errors == []
    return done


def counted(done: SectionReport) -> tuple[Any, ...]:
    """Return pages, entries, those with new bytes and those without."""
    return done.pages, done.entries, done.changed, done.unchanged


def versions(site: Site) -> list[int]:
    """Return how often each page was written."""
    return [page.version for page in site.pages()]


def before(sql: str, action: Callable[[], Any], skip: int = 0) -> Any:
    """Run ``action`` elsewhere before the first statement that has ``sql`` in it."""
    return just_before(sql, do=lambda: elsewhere(action), skip=skip)


#: What is read once for each new page, and nothing else: its rows.
ROWS = '"slug"'
#: On MySQL each page's bytes are a statement of their own, for the size of packets.
IN_PIECES = connection.vendor == "mysql"


# What it costs


def test_a_new_page_costs_its_rows_and_its_row_beside_what_all_of_them_share(
    register: Register,
) -> None:
    costs = []
    for count in (1, MOST):
        site = site_of(register, count, name=f"site{count}")
        with CaptureQueriesContext(connection) as captured:
            assert built(site).changed == count
        costs.append(len(captured))
        assert versions(site) == [1] * count
    # Its rows, what related objects had before and after, and its row.
    assert costs[1] - costs[0] <= (4 + IN_PIECES) * (MOST - 1), costs
    assert costs[0] <= 40


def test_a_slow_section_is_stored_and_given_back_page_by_page(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks for a page must not wait for nineteen others."""
    monkeypatch.setattr(new_pages, "SECONDS", 0.0)
    site = site_of(register, 3)
    assert len(new_pages.build_new(site.source, site.pages(), place())) == 1
    assert versions(site) == [1, 0, 0]
    assert not Page.objects.filter(claimed_until__gt=0).exists()
    assert counted(built(site)) == (3, 27, 2, 1)


def test_progress_counts_each_page_once(register: Register) -> None:
    site = site_of(register, MOST + 3)
    site.insert(range(1, 9))
    seen: list[tuple[int, int]] = []
    done = built(site, progress=lambda *numbers: seen.append(numbers))
    assert (done.changed, done.unchanged) == (done.pages, 0)
    assert seen == sorted(seen)
    assert seen[-1] == (done.pages, done.pages)


def test_it_ends_where_the_time_for_it_is_over(register: Register) -> None:
    site = site_of(register, MOST + 3)
    looks: list[int] = []
    done = built(site, is_over=lambda: looks.append(1) or len(looks) > 1)
    assert (done.is_cut_short, done.changed) == (True, MOST)
    assert counted(built(site)) == (MOST + 3, (MOST + 3) * FILLED, 3, MOST)


# What needs a closer look


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.costly
def test_a_page_that_has_grown_too_large_is_split(
    register: Register, number: int
) -> None:
    site = site_of(register, 5)
    first = (number - 1) * FILLED * 10
    site.insert(range(first + 1, first + 9))
    done = built(site)
    assert (done.entries, done.unchanged) == (5 * FILLED + 8, 0)
    assert done.changed == done.pages > 5
    assert set(versions(site)) <= {1, 2}
    site.check_ranges()
    site.check()


def test_pages_that_cannot_be_built_are_in_error_and_their_neighbours_are_built(
    register: Register,
) -> None:
    """Where some rows are hidden on purpose and one is bad, the page may list more."""

    def entries(self: Any, item: Any) -> list[dict[str, str]]:
        page = item.pk // 10 // FILLED
        if page == 3 or item.pk == FILLED * 10:
            return [{"location": "bad"}]
        return [] if page == 1 else [{"location": f"/things/r{item.pk}-0/"}]

    site = site_of(register, 5, get_urls_for_item=entries)
    done = build.build(site.source, place())
    first, second = done.errors
    assert "1 of 9 rows of page site-2 cannot be listed" in first
    assert "9 of 9 rows of page site-4 cannot be listed" in second
    assert (done.changed, done.unchanged) == (3, 0)
    found = [(bool(page.error), bool(page.checksum)) for page in site.pages()]
    assert found == [(page in (1, 3), page not in (1, 3)) for page in range(5)]


def test_pages_whose_bounds_are_exchanged_are_divided_anew(register: Register) -> None:
    site = site_of(register, 4)
    second, third = site.pages()[1:3]
    second.lower, third.lower = third.lower, second.lower
    Page.objects.bulk_update([second, third], ["lower"])
    done = build.build(site.source, place())
    assert ["divided anew" in str(error) for error in done.errors] == [True]
    listed = [number for page in site.crawl().values() for number in page]
    assert sorted(listed) == [*range(0, 4 * FILLED * 10, 10)]


def test_a_page_for_which_a_change_waits_is_told_and_listed(register: Register) -> None:
    site = site_of(register, 4)
    site.rename(100)
    assert counted(built(site)) == (4, 36, 4, 0)
    assert told() == [("changed", "/things/r100-1/")]
    assert not Change.objects.exists()
    site.check()


def test_a_change_that_comes_while_rows_are_read_waits_for_the_next_build(
    register: Register,
) -> None:
    site = site_of(register, 4)
    with before(ROWS, lambda: site.rename(100)):
        built(site)
    assert Change.objects.exists()
    assert counted(built(site)) == (4, 36, 0, 4)
    assert told() == [("changed", "/things/r100-1/")]
    assert not Change.objects.exists()


def test_a_page_that_is_marked_while_its_rows_are_read_is_read_again(
    register: Register,
) -> None:
    site = site_of(register, 4)

    def meanwhile() -> None:
        site.rename(100, save=False)
        Page.objects.filter(number=2).mark()

    # Before the rows of the third: those of the second have been read.
    with before(ROWS, meanwhile, skip=2):
        done = built(site)
    assert counted(done) == (4, 36, 4, 0)
    assert b"/things/r100-1/" in site.get(2).content
    site.check()


def test_a_transaction_that_the_database_ends_is_tried_again(
    register: Register, caplog: pytest.LogCaptureFixture
) -> None:
    site = site_of(register, 4)
    once = failing_once('INSERT INTO "sitemaps_plus_pagefile"')
    with once, CaptureQueriesContext(connection) as ran:
        done = built(site)
    assert counted(done) == (4, 36, 4, 0)
    assert versions(site) == [1] * 4
    # Django 5.2 knows no statement of one that failed.
    asked = [(query["sql"] or "").replace("`", '"') for query in ran]
    reads = [sql for sql in asked if ROWS in sql and sql.startswith("SELECT")]
    assert len(reads) == 4, "the rows were read once"
    assert "missing or damaged" not in caplog.text
    assert not Page.objects.exclude(lost_at=0).exists()


# Others at it


def test_two_at_once_leave_each_other_their_pages(register: Register) -> None:
    """One comes by while the other has claimed pages, and reads their rows."""
    site = site_of(register, 2 * MOST + 5)
    others: list[SectionReport] = []

    def all_are_taken() -> bool:
        return not Page.objects.filter(checksum="", claimed_by="").exists()

    with before(ROWS, lambda: others.append(built(site, is_over=all_are_taken))):
        mine = built(site)
    assert (others[0].changed, others[0].is_cut_short) == (MOST + 5, True)
    assert (mine.changed, mine.unchanged) == (MOST, MOST + 5)
    assert set(versions(site)) == {1}


def test_what_another_has_claimed_in_the_middle_is_not_passed_over(
    register: Register,
) -> None:
    site = site_of(register, 7)
    with claimed_new(site.pages()[2:4]) as claim:
        assert claim is not None
        first = new_pages.build_new(site.source, site.pages(), place())
        assert [page.number for page, _ in first] == [1, 2]
    assert counted(built(site)) == (7, 63, 5, 2)
    assert versions(site) == [1] * 7


def test_pages_whose_builder_died_are_built_when_its_claim_is_over(
    register: Register,
) -> None:
    site = site_of(register, 5)
    assert Page.objects.claim_new(site.pages()[:3], "dead", CLAIM)

    def let_time_pass() -> None:
        assert within(30, lambda: Page.objects.exclude(checksum="").count() == 2)
        later(HOURS, "claimed_until")

    work = [lambda: built(site), let_time_pass]
    done, _ = at_once(2, lambda number: work[number]())
    assert counted(done) == (5, 45, 5, 0)
    assert versions(site) == [1] * 5


def test_a_page_that_another_has_just_begun_is_waited_for_at_the_end(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it takes long, that is no failure of this builder."""
    monkeypatch.setattr(pages, "PATIENCE", 0.2)
    site = site_of(register, 3)
    # So that it is built by itself.
    site.rename(0)
    page = site.page(1)
    looks: list[int] = []

    def is_over() -> bool:
        looks.append(1)
        if not Page.objects.filter(checksum="", claimed_by="").exists():
            # The other two are built. Nobody builds the first one any longer.
            later(HOURS, "claimed_until")
        return False

    with before(
        'SET "claimed_by" = ', lambda: Page.objects.claim(page, "other", CLAIM)
    ):
        done = built(site, is_over=is_over)
    assert len(looks) > 2
    assert counted(done) == (3, 27, 3, 0)


def test_a_claim_is_held_only_while_it_is_needed(register: Register) -> None:
    """A row that raises gives back all that was claimed with its page."""

    def priority(self: Any, item: Any) -> None:
        raise KeyboardInterrupt

    site = site_of(register, 3, priority=priority)
    with pytest.raises(KeyboardInterrupt):
        build.build(site.source, place())
    assert not Page.objects.exclude(claimed_by="").exists()
    assert versions(site) == [0, 0, 0]
