"""The plans that the databases make: a page costs its own rows, wherever it stands."""

from __future__ import annotations

import random
from typing import Any

import pytest

from django_sitemaps_plus.changes.events import take
from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.models import Change, Page, PageFile, Section
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.pagination.queries import upper_of
from django_sitemaps_plus.storing.freshness import fresh_state
from tests.conftest import Register
from tests.support.helpers import later
from tests.support.ledger_kinds import KINDS, VENDOR, Kind
from tests.support.ledger_site import Site
from tests.support.ledger_world import HOURS
from tests.support.plans import (
    Statement,
    analyze,
    explained,
    scans,
    statements,
    touched,
)

#: Enough rows that no planner prefers to read them all, which SQLite never does; and
#: so many to a page that there are two hundred pages.
ROWS, LIMIT = (2_000, 10) if VENDOR == "sqlite" else (6_000, 30)

#: Rows that a statement may touch: those of a page, and some to find them by.
TOUCHED = 4 * LIMIT

# MySQL ends the transaction when a table is analyzed.
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("ledger_tables"),
]


def assert_range_scan(statement: Statement) -> None:
    """A part of the key's index is read, and no more rows than that part has."""
    text = "\n".join(explained(statement))
    needed, *unwanted = {
        "sqlite": ("SEARCH", "SCAN", "TEMP B-TREE"),
        # Rows that lie scattered it may fetch first and sort then: they are few.
        "postgresql": ("Index Cond", "Seq Scan"),
        "mysql": ("'type': 'range'", "filesort"),
    }[VENDOR]
    assert needed in text, (statement, text)
    assert not [word for word in unwanted if word in text], (statement, text)
    count = touched(statement)
    assert count is None or count <= TOUCHED, (statement, text, count)


def fill_table(kind: Kind) -> None:
    """Put rows into a kind's table, in no order."""
    kind.empty()
    keys: list[Any] = [(number,) for number in range(ROWS)]
    if kind.columns == ("shop", "code"):
        keys = [(number % 20, f"c{number // 20:04}") for number in range(ROWS)]
    random.Random(3).shuffle(keys)  # noqa: S311 (nothing secret)
    kind.insert(
        [
            {**dict(zip(kind.columns, key, strict=True)), "slug": f"r{number}-0"}
            for number, key in enumerate(keys)
        ]
    )
    analyze(kind.model._meta.db_table)


KEYS = [KINDS["integers"], KINDS["a unique column"], KINDS["pairs"]]


@pytest.fixture(params=KEYS, ids=str)
def site(request: pytest.FixtureRequest, register: Register) -> Site:
    made = Site(register, kind=request.param, limit=LIMIT)
    fill_table(made.kind)
    return made


@pytest.mark.costly
def test_page_two_hundred_is_read_by_a_range_of_the_index(site: Site) -> None:
    fill(site.source)
    with statements(site.kind.model._meta.db_table) as read:
        assert site.get(200).status_code == 200
    assert len(read) == 1, "a page takes one statement"
    assert_range_scan(read[0])
    if VENDOR == "sqlite" and len(site.kind.columns) > 1:
        (plan,) = explained(read[0])
        assert f"({','.join(site.kind.columns)})>" in plan


@pytest.mark.costly
def test_every_bound_is_found_by_a_range_of_the_index(site: Site) -> None:
    with statements(site.kind.model._meta.db_table) as read:
        fill(site.source)
    assert len(read) >= ROWS // LIMIT
    # The first one starts at -∞: no range, but the index's order all the same.
    for statement in read[1:2] + read[len(read) // 2 :: 60] + read[-1:]:
        assert_range_scan(statement)


@pytest.mark.costly
def test_a_split_reads_ranges_of_the_index(site: Site) -> None:
    fill(site.source)
    page, key = site.page(100), site.source.key
    assert page.lower is not None
    assert key is not None
    site.get(100)
    site.kind.all().filter(slug__in=[f"r{n}-0" for n in range(0, ROWS, 997)]).delete()
    if site.kind.columns == ("shop", "code"):
        shop, code = key.loads(page.lower)
        site.kind.insert(
            [
                {"shop": shop, "code": f"{code}{number:02}", "slug": f"r{number}-0"}
                for number in range(20)
            ]
        )
    else:
        # Numbers leave no room between them: another page's rows come here.
        site.page(101).delete()
    later(HOURS, "verified_at")
    with statements(site.kind.model._meta.db_table) as read:
        assert site.get(100).status_code == 200
    assert Page.objects.filter(section__name="site").latest("number").number > 200
    assert len(read) >= 3
    for statement in read:
        assert_range_scan(statement)


def test_changes_of_a_page_are_found_by_their_index(register: Register) -> None:
    """However many others were recorded before them."""
    site = Site(register)
    site.insert(range(200))
    fill(site.source)
    Change.objects.all().delete()
    Change.objects.bulk_create(
        (
            Change(section="site", key=f'["{number}"]', at=1, page=8 + number // 300)
            for number in range(5 * ROWS)
        ),
        batch_size=2_000,
    )
    analyze(Change._meta.db_table)
    with statements(Change._meta.db_table) as read:
        assert len(take("site", 20).ids) == 300
        assert changes("site").filter(page=None, pk__gt=0).order_by("pk").count() == 0
        assert fresh_state(site.source, 7) is None
    for statement in read:
        text = "\n".join(explained(statement))
        assert "sitemaps_plus_change_page" in text, text
        count = touched(statement)
        assert count is None or count <= 310, (text, count)


def test_the_ledger_itself_is_read_by_its_indexes(register: Register) -> None:
    site = Site(register, limit=2)
    number = ROWS // 10
    site.insert(range(ROWS // 4))
    fill(site.source)
    site.get(number)
    others = Page.objects.exclude(number=number)
    zeros = dict.fromkeys(("entries", "size", "text_crc", "crc"), 0)
    PageFile.objects.bulk_create(
        PageFile(page=page, checksum="x", origin="x", data=b"x", **zeros)
        for page in others
    )
    for model in (Page, Section, PageFile):
        analyze(model._meta.db_table)
    page = site.page(number)
    with statements(Page._meta.db_table) as read:
        upper_of(page)
        assert site.get(number).status_code == 200
    assert len(read) == 2, "state and bytes come by one statement"
    for statement in read:
        assert scans(statement, Page._meta.db_table, "p", "f") == [], statement
    assert (touched(read[1]) or 0) <= 10, "however many pages there are"
