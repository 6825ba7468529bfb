"""One build of a page: what it stores, when it may not, and large splits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from django_sitemaps_plus.building import page_build, page_writer, pages
from django_sitemaps_plus.exceptions import Busy
from django_sitemaps_plus.models import Change, Page, PageFile, Section, UrlChange
from django_sitemaps_plus.rendering.digest import version
from tests.conftest import Register
from tests.support.factories import ElsewhereFactory
from tests.support.helpers import later, told
from tests.support.in_between import failing_once
from tests.support.ledger_kinds import KINDS
from tests.support.ledger_site import Site, path
from tests.support.ledger_world import HOURS, place

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "other"]),
    pytest.mark.usefixtures("ledger_tables"),
]


@pytest.fixture
def site(register: Register) -> Site:
    """Two full pages, built: 0 to 80 and 90 to 170."""
    made = Site(register)
    made.insert(range(0, 180, 10))
    made.crawl()
    return made


# Large splits


def test_a_page_is_cut_into_fifty_pieces_at_most(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left over is built later; what is new there is left to crawlers."""
    assert page_build.MOST_PIECES == 50
    monkeypatch.setattr(page_build, "MOST_PIECES", 4)
    site.delete([10])
    site.insert(number for number in range(11, 90) if number % 10)
    later(HOURS, "verified_at")
    Page.objects.update(unknown_at=0, searched=True)
    site.get(1)
    pieces = [page for page in site.pages() if page.number != 2]
    assert None in [page.entries for page in pieces]
    # Nobody knows which of them lists what is missing in the others.
    assert {
        (page.unknown_at > 0, page.searched) for page in pieces if page.checksum
    } == {(True, False)}
    # A piece that is not built yet may list it: whoever hears of it shall look.
    found = told()
    assert ("changed", path(10)) in found
    assert {kind for kind, _ in found} == {"changed"}
    site.check()
    assert told() == []


def test_a_tail_is_cut_into_fifty_pieces_at_most(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_build, "MOST_PIECES", 4)
    site.insert(range(180, 260))
    later(HOURS, "verified_at")
    site.get(2)
    assert [page.entries for page in site.pages()] == [9, 10, 9, 9, None]
    assert told() == []
    site.check()


def split(site: Site, *numbers: int) -> None:
    """Split the first page: 0 to 20 stay on it, page 3 has the rest."""
    site.insert(numbers or (1, 2, 3))
    later(HOURS, "verified_at")
    site.get(1)


def test_a_split_forgets_nothing_that_nobody_recorded(site: Site) -> None:
    told()
    site.rename(20, 70, save=False)
    site.kind.all().filter(pk__in=(30, 80))._raw_delete("default")
    split(site, 1, 2, 3, 4, 5)
    assert sorted(told()) == sorted(
        [("added", path(number)) for number in (1, 2, 3, 4, 5)]
        + [("added", path(number, 1)) for number in (20, 70)]
        + [("removed", path(number)) for number in (20, 70, 30, 80)]
    )
    assert site.page(1).unknown_at == site.page(3).unknown_at, "as it was"
    site.crawl()
    assert told() == []


def test_rows_that_took_each_others_place_are_not_called_removed(site: Site) -> None:
    rows = site.kind.all()
    for number, slug in ((40, "r0-9"), (20, "r40-0"), (40, "r20-0")):
        rows.filter(pk=number).update(slug=slug)
    split(site)
    site.crawl()
    assert not [kind for kind, _ in told() if kind == "removed"]


def test_a_split_that_is_rolled_back_once_is_tried_again(site: Site) -> None:
    told()
    # After numbers were taken and pages added.
    with failing_once('INSERT INTO "sitemaps_plus_urlchange"'):
        split(site)
    assert sorted(site.crawl()) == [1, 2, 3]
    assert sorted(told()) == [("added", path(number)) for number in (1, 2, 3)]


def test_a_piece_that_is_still_too_large_is_cut_again(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Halves have as many rows, and the second one all the long addresses."""
    site = Site(register, limit=20)
    site.insert(range(0, 4000, 100))
    site.crawl()
    monkeypatch.setattr(page_writer, "MAX_BYTES", 4_000)
    rows = [{"id": n, "slug": f"r{n}-{'0' * 190}"} for n in range(1601, 1616)]
    site.kind.insert(rows)
    site.delete([300])
    later(HOURS, "verified_at")
    site.get(1)
    assert [page.entries for page in site.pages()] == [16, 6, 10, 18, 4]
    found = told()
    # What is new in each piece is known, because all are built.
    assert ("removed", path(300)) in found
    assert sorted(kind for kind, _ in found) == ["added"] * 15 + ["removed"]
    site.check()
    assert len(site.pages()) == 5


def test_a_split_with_too_many_bad_rows_does_not_happen(register: Register) -> None:
    site = Site(register, limit=30)
    site.insert(range(0, 300, 10))
    before = site.shown(1)
    told()
    numbers = [number for number in range(101, 130) if number % 10]
    site.kind.insert([{"id": number, "slug": ""} for number in numbers])
    site.delete([0])
    later(HOURS, "verified_at")
    assert site.shown(1) == before
    assert " rows of page site-1 cannot be listed" in site.page(1).error
    assert len(site.pages()) == 1
    assert (told(), Change.objects.count()) == ([], 1)


# While it is being built


class Meanwhile:
    """Does something while a page's rows are read, so many times."""

    def __init__(self, site: Site, register: Register, action: Callable[[], Any]):
        self.times, self.runs = 1, 0

        def lastmod(sitemap: Any, item: Any) -> None:
            if item.pk == 90:
                self.runs += 1
                if self.runs <= self.times:
                    action()

        former = type(site.source.sitemap)
        register(site.name, type(former.__name__, (former,), {"lastmod": lastmod}))


def test_a_page_that_is_marked_while_it_is_built_is_built_again(
    site: Site, register: Register
) -> None:
    def mark() -> None:
        site.rename(100, save=False)
        Page.objects.filter(number=2).mark()

    meanwhile = Meanwhile(site, register, mark)
    assert b"/things/r100-1/" in site.get(2).content
    assert meanwhile.runs == 2
    assert site.page(2).verified_at > 0
    # Others who are always faster.
    later(HOURS, "verified_at")
    meanwhile.runs, meanwhile.times = 0, 10**6
    before = site.page(2)
    with pytest.raises(Busy, match="being built by others"):
        pages.Serving(site.source, place()).build(before)
    assert site.get(2).status_code == 200, "the former bytes"


def test_older_code_that_newer_code_overtakes_stores_nothing(
    site: Site, register: Register
) -> None:
    def newer_code_begins() -> None:
        site.rename(100, save=False)
        Page.objects.filter(number=2).mark()
        now = time.time()
        Section.objects.update(digest="newer", digest_since=now + 9, digest_seen=now)

    before = site.page(2)
    Meanwhile(site, register, newer_code_begins)
    built = pages.Serving(site.source, place()).build(before)
    assert b"/things/r100-1/" in built.stored.segment.text()
    assert built.changed_at is None
    assert site.page(2).checksum == before.checksum
    assert not told()


def test_rows_that_are_added_while_a_page_is_cut_lose_nobody_s_events(
    site: Site, register: Register
) -> None:
    """A piece that they make too large is not left without what it listed."""
    site.insert(range(91, 97))
    site.rename(170, save=False)
    # Once the page is cut, while the first piece is written.
    actions = iter([list, lambda: site.insert(range(171, 185))])
    Meanwhile(site, register, lambda: next(actions)()).times = 2
    told()
    later(HOURS, "verified_at")
    site.get(2)
    assert None not in [page.entries for page in site.pages()]
    found = told()
    assert ("removed", path(170)) in found
    assert ("added", path(170, 1)) in found
    assert ("added", path(184)) in found
    site.check()
    assert told() == []


def test_what_is_saved_while_a_page_is_built_waits_for_the_next_build(
    site: Site, register: Register
) -> None:
    site.delete([110])
    Meanwhile(site, register, lambda: site.rename(100))
    assert b"/things/r110-0/" not in site.get(2).content
    assert Change.objects.count() == 1
    assert b"/things/r100-1/" in site.get(2).content
    assert not Change.objects.exists()
    both = {("removed", path(110)), ("removed", path(100)), ("added", path(100, 1))}
    assert both <= {*told()}


def test_bytes_that_only_another_version_of_the_package_writes_are_no_change(
    site: Site,
) -> None:
    before = site.page(1)
    for digest, is_change in [("0-former", False), (f"{version()}former", True)]:
        Page.objects.filter(number=1).update(
            digest=digest, checksum="former", verified_at=1
        )
        site.get(1)
        assert (site.page(1).lastmod != before.lastmod) == is_change


# Inside of transactions


class There(Site):
    """A section whose rows lie in another database than the ledger."""

    def insert(self, numbers: Any) -> None:
        for number in numbers:
            ElsewhereFactory(pk=number, slug=f"r{number}-0")


@pytest.fixture
def there(register: Register) -> Site:
    made = There(register, kind=KINDS["another database"])
    made.insert(range(1, 8))
    assert made.shown(1) == list(range(1, 8))
    return made


@pytest.mark.parametrize("using", ["default", "other"])
def test_inside_a_transaction_of_another_database_nothing_is_stored(
    there: Site, using: str
) -> None:
    """What was read may never be committed."""

    def rows() -> list[Any]:
        tables = [Page, PageFile, Section, Change, UrlChange]
        return [list(model._default_manager.values()) for model in tables]

    there.insert([8])
    later(HOURS, "verified_at")
    told()
    before = rows()
    with transaction.atomic(using=using):
        if using == "other":
            there.insert([9])
        assert there.shown(1) == list(range(1, 10 if using == "other" else 9))
        answer = there.get(1)
        assert "Last-Modified" not in answer.headers
        again = {"if-none-match": answer.headers["ETag"]}
        assert there.client.get("/sitemap-site-1.xml", headers=again).status_code == 304
        assert rows() == before
        # A page that would have to be split can only be asked for again.
        there.insert(range(20, 30))
        assert there.get(1).status_code == 503
        transaction.set_rollback(True, using=using)
    there.check()
