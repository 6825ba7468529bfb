"""
Pages that stay put, by examples.

Every promise is kept by ``test_random_operations``, too.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from django_sitemaps_plus.building import pages
from django_sitemaps_plus.exceptions import Busy
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.pagination import bounds
from django_sitemaps_plus.pagination.queries import upper_of
from django_sitemaps_plus.sitemaps import sections
from tests.conftest import Register
from tests.support.helpers import later
from tests.support.ledger_kinds import KINDS
from tests.support.ledger_site import Site
from tests.support.ledger_world import HOURS, place, sitemap_class

pytestmark = [
    pytest.mark.django_db(databases=["default", "other"]),
    pytest.mark.usefixtures("ledger_tables"),
]


@pytest.fixture
def site(register: Register) -> Site:
    """Three pages of nine."""
    made = Site(register)
    made.insert(range(0, 270, 10))
    made.crawl()
    return made


def test_pages_that_others_do_not_concern_keep_their_bytes_numbers_and_ranges(
    site: Site,
) -> None:
    def others() -> list[tuple[str, int]]:
        return [(site.get(n).headers["ETag"], site.page(n).version) for n in (1, 3)]

    former = others()

    def second() -> dict[int, list[int]]:
        later(HOURS, "verified_at")
        site.get(2)
        found = site.settle()
        assert others() == former
        return {n: found[n] for n in found if n not in (1, 3)}

    # Inside of the range a page is cut in halves.
    site.insert([91, 92, 93])
    assert second() == {2: [90, 91, 92, 93, 100, 110], 4: [*range(120, 180, 10)]}
    # An empty one keeps its range, and leaves the index.
    site.delete(range(90, 120))
    assert second() == {4: [*range(120, 180, 10)]}
    assert site.shown(2) == []
    assert site.index() == [1, 3, 4]
    # A late commit finds its page where it was.
    site.insert([95])
    assert second() == {2: [95], 4: [*range(120, 180, 10)]}
    site.check()


def test_room_between_positions_never_runs_out(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that only get smaller split the first page, again and again."""
    monkeypatch.setattr(bounds, "GAP", 1 << 6)
    site = Site(register, limit=2)
    site.insert([1000, 1001, 1002])
    site.crawl()
    edge = site.pages()[-1]
    halvings = bounds.GAP.bit_length()
    for number in range(900, 900 - 2 * halvings, -1):
        site.insert([number])
        later(HOURS, "verified_at")
        site.get(1)
    found = site.pages()
    assert found[-1].number == edge.number
    assert found[-1].position > edge.position, "there was room enough"
    assert len({page.position for page in found}) == len(found) > halvings / 2
    site.check()


def test_a_page_read_before_positions_moved_is_still_itself(site: Site) -> None:
    read = site.page(2)
    bounds._spread(read.section)
    assert upper_of(read) == '["180"]'
    site.insert(range(91, 94))
    pages.Serving(site.source, place()).build(read)
    lowers = {page.number: page.lower for page in site.pages()}
    assert [*lowers.items()] == [
        (1, None),
        (2, '["90"]'),
        (4, '["120"]'),
        (3, '["180"]'),
    ]
    site.check()


def test_a_wider_filter_shows_on_empty_pages_at_once(register: Register) -> None:
    site = Site(register)
    site.insert([7])
    site.kind.all().update(live=False)
    assert site.shown() == []
    everything = {"items": lambda self: site.kind.all()}
    register("site", sitemap_class(site.kind, 10, **everything))
    assert site.shown() == [7]


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
    kind, once = KINDS["a unique column"], list[bool]()

    def everything(self: Any) -> Any:
        if once:
            once.pop()
            register("anew", sitemap_class(kind, 10, page_by="pk"))
            Section.objects.filter(name="site").update(name="anew")
            bounds.fill(sections.source("anew"))
            Section.objects.filter(name="anew").update(name="site")
        return kind.all()

    site = Site(register, kind=kind, items=everything)
    site.insert(range(30))
    site.crawl()
    page, source = site.page(2), site.source
    once.append(True)
    with pytest.raises(Busy, match="divided anew"):
        pages.Serving(source, place()).build(page)


# Rows that cannot be entries


def test_bad_rows_count_for_the_bounds_and_not_for_the_limit(
    register: Register,
) -> None:
    site = Site(register)
    site.insert(range(24))
    site.kind.all().filter(id__in=[1, 2, 3, 11]).update(slug="")
    good = [row for row in range(24) if row not in {1, 2, 3, 11}]
    assert [*chain(*site.crawl().values())] == good
    site.insert(range(100, 103))
    later(HOURS, "verified_at")
    assert sum(map(len, site.crawl().values())) == 23
