"""Pages that stay put: each promise by an example of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from django_sitemaps_plus.exceptions import Busy
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.pagination import bounds, splits
from django_sitemaps_plus.pagination.queries import upper_of
from django_sitemaps_plus.publishing import page_build
from django_sitemaps_plus.sitemaps import sections
from tests.support.helpers import settle
from tests.support.ledger_kinds import KINDS, create_tables
from tests.support.ledger_site import Site
from tests.support.ledger_world import age, place, sitemap_class

Register = Callable[..., Any]

pytestmark = pytest.mark.django_db(databases=["default", "other"])


@pytest.fixture(scope="session", autouse=True)
def tables(django_db_setup: None, django_db_blocker: Any) -> None:
    with django_db_blocker.unblock():
        create_tables()


def split_inside(site: Site) -> None:
    """Make two full pages, and then too many rows for the first of them."""
    site.insert(range(0, 180, 10))
    assert site.crawl() == {
        1: list(range(0, 90, 10)),
        2: list(range(90, 180, 10)),
    }
    site.insert([1, 2, 3])


# The right edge


def test_a_full_page_stays_full_when_keys_grow(register: Register) -> None:
    site = Site(register)
    site.insert(range(10))
    site.get(1)
    settle()
    before = site.get(1)
    site.insert(range(10, 14))
    age(verified=True)
    after = site.get(1)
    assert after.content == before.content
    assert after.headers["ETag"] == before.headers["ETag"]
    assert after.headers["Last-Modified"] == before.headers["Last-Modified"]
    assert site.crawl() == {1: list(range(10)), 2: list(range(10, 14))}


def test_a_bulk_insert_at_the_edge_takes_as_many_pages_as_it_needs(
    register: Register,
) -> None:
    site = Site(register)
    site.insert(range(4))
    assert site.crawl() == {0: [0, 1, 2, 3]}
    site.insert(range(4, 40))
    age(verified=True)
    assert site.crawl() == {
        1: list(range(10)),
        2: list(range(10, 19)),
        3: list(range(19, 28)),
        4: list(range(28, 37)),
        5: list(range(37, 40)),
    }


# Inside the range


def test_a_split_inside_cuts_in_halves_and_leaves_the_neighbour_alone(
    register: Register,
) -> None:
    site = Site(register)
    split_inside(site)
    neighbour = site.get(2)
    age(verified=True)
    site.get(1)
    age(grace=True)
    assert site.crawl() == {
        1: [0, 1, 2, 3, 10, 20],
        2: list(range(90, 180, 10)),
        3: [30, 40, 50, 60, 70, 80],
    }
    assert site.get(2).headers["ETag"] == neighbour.headers["ETag"]
    assert site.page(2).version == 1


def test_during_the_grace_the_left_page_keeps_its_bytes(register: Register) -> None:
    site = Site(register)
    split_inside(site)
    before = site.get(1)
    age(verified=True)
    assert site.get(1).content == before.content
    # The index has the new page; whoever holds the old index misses nothing.
    assert site.index() == [1, 2, 3]
    assert site.shown(3) == [30, 40, 50, 60, 70, 80]
    assert site.get(1).content == before.content


def test_without_grace_the_left_page_changes_at_once(
    register: Register, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "SPLIT_GRACE": 0}
    site = Site(register)
    split_inside(site)
    age(verified=True)
    assert site.shown(1) == [0, 1, 2, 3, 10, 20]


def test_during_the_grace_the_address_stays_an_index(register: Register) -> None:
    """The bytes that are kept are few entries, but the page holds many."""
    site = Site(register)
    site.insert(range(0, 40, 10))
    assert site.shown() == [0, 10, 20, 30]
    site.insert([1, 2, 3, 4, 5, 6, 7, 8])
    age(verified=True)
    assert site.index() == [1, 2]
    assert site.shown(1) == [0, 10, 20, 30]
    assert site.shown(2) == [20, 30]
    # Together they would list two rows twice, and miss eight.
    assert site.index() == [1, 2]
    site.check()


def test_a_page_that_showed_nothing_has_no_grace(register: Register) -> None:
    site = Site(register)
    site.insert(range(0, 180, 10))
    site.crawl()
    site.delete(range(0, 90, 10))
    age(verified=True)
    assert site.shown(1) == []
    site.insert(range(1, 13))
    age(verified=True)
    assert site.shown(1) == [1, 2, 3, 4, 5, 6]


def test_room_between_positions_never_runs_out(register: Register) -> None:
    """Keys that only get smaller split the first page, again and again."""
    site = Site(register, limit=2)
    site.insert([1000, 1001, 1002])
    site.crawl()
    edge = site.pages()[-1]
    halvings = splits.GAP.bit_length()
    for number in range(900, 900 - 2 * halvings, -1):
        site.insert([number])
        age(verified=True, grace=True)
        site.get(1)
    found = site.pages()
    assert found[-1].number == edge.number
    assert found[-1].position > edge.position, "there was room enough"
    assert len({page.position for page in found}) == len(found) > halvings / 2
    site.check()


def test_a_page_read_before_positions_moved_is_still_itself(
    register: Register,
) -> None:
    site = Site(register)
    site.insert(range(0, 270, 10))
    site.crawl()
    read = site.page(2)
    splits._spread(read.section)
    assert upper_of(read) == '["180"]'
    site.insert(range(91, 94))
    page_build.build(site.source, read, place())
    assert [(page.number, page.lower) for page in site.pages()] == [
        (1, None),
        (2, '["90"]'),
        (4, '["120"]'),
        (3, '["180"]'),
    ]
    site.check()


# Empty pages


def test_an_empty_page_keeps_its_range_and_leaves_the_index(
    register: Register,
) -> None:
    site = Site(register)
    site.insert(range(0, 300, 10))
    assert list(site.crawl()) == [1, 2, 3, 4]
    site.delete(range(90, 180, 10))
    age(verified=True)
    assert site.shown(2) == []
    assert site.index() == [1, 3, 4]
    assert site.shown(2) == []
    # A late commit finds its page where it was.
    site.insert([95])
    age(verified=True)
    assert site.shown(2) == [95]
    assert site.index() == [1, 2, 3, 4]


def test_rows_after_an_emptied_last_page_are_found(register: Register) -> None:
    site = Site(register)
    site.insert(range(25))
    site.crawl()
    site.delete(range(18, 25))
    age(verified=True)
    site.get(3)
    assert site.index() == [1, 2]
    site.insert(range(30, 35))
    age(verified=True, read=True)
    assert site.index() == [1, 2], "an index looks at no page"
    site.rest()
    assert site.index() == [1, 2, 3]
    assert site.shown(3) == list(range(30, 35))


def test_a_wider_filter_shows_on_empty_pages_at_once(register: Register) -> None:
    site = Site(register)
    site.insert([7])
    site.kind.all().update(live=False)
    assert site.shown() == []

    def everything(self: Any) -> Any:
        return KINDS["integers"].model._default_manager.all()

    register("site", sitemap_class(site.kind, 10, items=everything))
    assert site.shown() == [7]


# Addresses


@pytest.mark.parametrize("address", ["/sitemap.xml", "/sitemap-site.xml"])
def test_an_address_whose_page_is_divided_while_it_is_built_shows_all(
    register: Register, address: str
) -> None:
    """The entries of one page of several would pass for the whole section."""
    site = Site(register)
    site.insert(range(8))
    assert site.client.get(address).content.count(b"<url>") == 8
    site.insert(range(8, 30))
    age(verified=True)
    answer = site.client.get(address).content
    assert (answer.count(b"<sitemap>"), answer.count(b"<url>")) == (4, 0)
    site.check()


# Versions


def test_one_changed_row_changes_one_page(register: Register) -> None:
    site = Site(register)
    site.insert(range(30))
    site.crawl()
    versions = {page.number: page.version for page in site.pages()}
    site.kind.all().filter(id=12).update(slug="r12-1")
    age(verified=True)
    site.crawl()
    changed = {page.number: page.version for page in site.pages()}
    assert changed == {**versions, 2: versions[2] + 1}


def test_numbers_are_never_used_twice(register: Register) -> None:
    site = Site(register)
    site.insert(range(30))
    site.crawl()
    site.delete(range(30))
    site.settle()
    site.insert(range(100, 160))
    site.check()
    numbers = [page.number for page in site.pages()]
    assert len(set(numbers)) == len(numbers)
    assert set(range(1, 5)) <= set(numbers)


# Another key


def test_another_key_divides_anew_and_the_numbers_go_on(register: Register) -> None:
    kind = KINDS["a unique column"]
    site = Site(register, kind=kind)
    site.insert(range(100, 130))
    assert list(site.crawl()) == [1, 2, 3, 4]
    register("site", sitemap_class(kind, 10, page_by="pk"))
    assert site.get(2).status_code == 404, "it is not read by the old bounds"
    assert site.index() == [5, 6, 7, 8]
    site.check()


def test_a_page_that_is_divided_away_while_it_is_built_is_not_ready(
    register: Register,
) -> None:
    kind = KINDS["a unique column"]

    def everything(self: Any) -> Any:
        if once:
            once.pop()
            other = sitemap_class(kind, 10, page_by="pk")
            register("anew", other)
            Section.objects.filter(name="site").update(name="anew")
            bounds.fill(sections.source("anew"))
            Section.objects.filter(name="anew").update(name="site")
        return kind.model._default_manager.all()

    site = Site(register, kind=kind, items=everything)
    once: list[bool] = []
    site.insert(range(30))
    site.crawl()
    page = site.page(2)
    source = site.source
    once.append(True)
    with pytest.raises(Busy, match="divided anew"):
        page_build.build(source, page, place())


# Rows that cannot be entries


def test_bad_rows_count_for_the_bounds_and_not_for_the_limit(
    register: Register,
) -> None:
    site = Site(register)
    site.insert(range(24))
    site.kind.all().filter(id__in=[1, 2, 3, 11]).update(slug="")
    found = site.crawl()
    shown = [number for page in found.values() for number in page]
    assert shown == [row for row in range(24) if row not in {1, 2, 3, 11}]
    site.insert(range(100, 103))
    age(verified=True)
    assert sum(map(len, site.crawl().values())) == 23
