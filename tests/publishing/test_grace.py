"""
The hour after a split: former bytes are served, and nothing of it is news.

With and without one, at the section's address and with bytes that were lost: see
``tests/pagination/test_random_operations``.
"""

from __future__ import annotations

import time

import pytest
from django.test import Client
from django.utils.http import parse_http_date

from django_sitemaps_plus import touch
from django_sitemaps_plus.models import Page, PageFile
from django_sitemaps_plus.publishing import refresh
from django_sitemaps_plus.publishing.listed import listed
from django_sitemaps_plus.sitemaps.sections import source
from tests.conftest import Register
from tests.support.helpers import settle, told
from tests.support.ledger_kinds import KINDS
from tests.support.ledger_site import Site, path
from tests.support.ledger_world import age, place

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("ledger_tables"),
]

FORMER = list(range(0, 90, 10))
SECOND = list(range(90, 180, 10))
ADDRESS = "/sitemap-site-1.xml"


@pytest.fixture
def site(register: Register) -> Site:
    """Two full pages, built: 0 to 80 and 90 to 170."""
    made = Site(register)
    made.insert(range(0, 180, 10))
    assert made.crawl() == {1: FORMER, 2: SECOND}
    settle()
    return made


def split(site: Site, *numbers: int) -> None:
    """Split the first page: 0 to 20 stay on it, page 3 has the rest."""
    site.insert(numbers or (1, 2, 3))
    age(verified=True)
    site.get(1)


# What is served


def test_former_bytes_are_served_until_the_grace_is_over(site: Site) -> None:
    before = site.get(1)
    split(site)
    assert (site.get(1).content, site.get(1).headers) == (
        before.content,
        before.headers,
    )
    # The index has the new page; whoever holds the old index misses nothing.
    assert site.index() == [1, 2, 3]
    assert site.shown(3) == [30, 40, 50, 60, 70, 80]
    age(grace=True)
    assert site.crawl() == {
        1: [0, 1, 2, 3, 10, 20],
        2: SECOND,
        3: [30, 40, 50, 60, 70, 80],
    }


def test_the_page_itself_is_new_at_once(site: Site) -> None:
    """What is built in the grace is stored beside what is served."""
    split(site)
    told()
    for entries in (6, 5):
        assert site.page(1).entries == entries
        assert PageFile.objects.filter(page=site.page(1)).count() == 2
        assert site.shown(1) == FORMER
        site.delete([10])
        site.get(1)
    assert told() == [("removed", path(10))]


def test_damaged_bytes_of_the_grace_are_not_sent(site: Site) -> None:
    """What the page lists by now is sent instead."""
    split(site)
    page = site.page(1)
    kept = PageFile.objects.filter(page=page, checksum=page.grace_checksum)
    kept.update(data=b"damaged")
    for _ in range(2):
        assert site.shown(1) == [0, 1, 2, 3, 10, 20]
    assert site.index() == [1, 2, 3]


def test_the_end_of_the_grace_is_when_the_bytes_change(
    site: Site, client: Client
) -> None:
    """Whoever has a copy of the grace gets no false 304 after it."""
    split(site)
    copy = site.get(1)
    conditions = [
        {"if-none-match": copy.headers["ETag"]},
        {"if-modified-since": copy.headers["Last-Modified"]},
    ]
    for headers in conditions:
        assert client.get(ADDRESS, headers=headers).status_code == 304
    over = time.time() - 2
    Page.objects.filter(number=1).update(grace_until=over)
    for is_built in (False, True):
        for headers in conditions:
            assert client.get(ADDRESS, headers=headers).status_code == 200
        after = site.get(1)
        assert after.headers["ETag"] != copy.headers["ETag"]
        assert parse_http_date(after.headers["Last-Modified"]) >= int(over)
        if not is_built:
            age(verified=True)
    # Built once more, the page is as it was; only its former bytes have gone.
    assert PageFile.objects.filter(page=site.page(1)).count() == 1
    assert site.page(1).grace_checksum == ""


def test_the_index_says_when_the_grace_ended(site: Site) -> None:
    """What was saved during it was on no page: whoever read that shall come again."""
    split(site)
    over = time.time() - 2
    Page.objects.filter(number=1).update(grace_until=over, lastmod=over - 100)
    for is_built in (False, True):
        if is_built:
            age(verified=True)
            site.get(1)
            assert site.page(1).grace_until == 0
        page = listed("site", [source("site")]).pages[0]
        assert (page.number, page.lastmod) == (1, pytest.approx(over, rel=0, abs=1))


def test_a_grace_is_never_prolonged(site: Site) -> None:
    split(site)
    until = site.page(1).grace_until
    assert 3500 < until - time.time() <= 3600
    before = site.shown(1)
    for numbers in (range(4, 10), range(11, 20)):
        site.insert(numbers)
        age(verified=True)
        assert site.shown(1) == before
        assert site.page(1).grace_until == until
    assert len(site.pages()) == 4, "it was split again"
    site.check()


def test_nothing_is_served_longer_where_nothing_moved(site: Site) -> None:
    """New rows behind the last: what is listed stays where it is."""
    site.insert(range(180, 200))
    age(verified=True)
    site.get(2)
    assert site.page(2).grace_checksum == ""
    # Nor where the page had listed nothing.
    site.delete(range(0, 90, 10))
    assert site.shown(1) == []
    split(site, *range(1, 13))
    assert site.shown(1) == [1, 2, 3, 4, 5, 6]


# What is told


def end_of_grace(site: Site) -> None:
    age(verified=True, grace=True)
    for page in site.pages():
        site.get(page.number)


def test_a_split_forgets_nothing_that_nobody_recorded(site: Site) -> None:
    told()
    site.rename(20, 70, save=False)
    KINDS["integers"].all().filter(pk__in=(30, 80))._raw_delete("default")
    split(site, 1, 2, 3, 4, 5)
    assert sorted(told()) == sorted(
        [("added", path(number)) for number in (1, 2, 3, 4, 5)]
        + [("added", path(number, 1)) for number in (20, 70)]
        + [("removed", path(number)) for number in (20, 70, 30, 80)]
    )
    end_of_grace(site)
    assert told() == []


def test_what_happens_in_the_grace_is_told_in_the_grace(site: Site) -> None:
    split(site)
    told()
    site.rename(10, save=False)
    KINDS["integers"].all().filter(pk=20)._raw_delete("default")
    touch(KINDS["integers"].model)
    site.rename(50)
    sources = [site.source]
    refresh.report_all(sources, place())
    refresh.refresh_all(sources, place())
    assert sorted(told()) == sorted(
        [
            ("added", path(10, 1)),
            ("changed", path(50, 1)),
            ("added", path(50, 1)),
            *(("removed", path(number)) for number in (10, 20, 50)),
        ]
    )
    assert site.shown(1) == FORMER
    end_of_grace(site)
    assert told() == []


def test_rows_that_took_each_others_place_are_not_called_removed(site: Site) -> None:
    rows = KINDS["integers"].all()
    for number, slug in ((40, "r0-9"), (20, "r40-0"), (40, "r20-0")):
        rows.filter(pk=number).update(slug=slug)
    split(site)
    end_of_grace(site)
    assert not [kind for kind, _ in told() if kind == "removed"]
