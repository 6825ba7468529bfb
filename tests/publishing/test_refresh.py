"""Pages rebuilt ahead of the requests: at leisure by one process, or all at once."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db.models import F

from django_sitemaps_plus import touch
from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.pagination.queries import void
from django_sitemaps_plus.publishing import refresh
from django_sitemaps_plus.publishing.pages import expire
from django_sitemaps_plus.publishing.refresh import Leisure, refresh_all, report_all
from django_sitemaps_plus.sitemaps import sections
from tests.conftest import Register
from tests.support.helpers import told
from tests.support.ledger_site import Site, path
from tests.support.ledger_world import age, free_leases, place

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("ledger_tables"),
]


@pytest.fixture
def site(register: Register) -> Site:
    """Five pages of nine, built long ago, that nobody asks for."""
    made = Site(register)
    made.insert(range(45))
    made.crawl()
    Page.objects.update(asked_at=0)
    return made


def steps(site: Site, leisure: Leisure | None = None) -> list[int]:
    """Rebuild at leisure until there is nothing to do; return the pages in order."""
    Page.objects.update(refreshed_at=0)
    leisure = leisure or Leisure()
    while leisure.step([site.source], place()) == 0:
        pass
    found = Page.objects.exclude(refreshed_at=0).order_by("refreshed_at")
    return list(found.values_list("number", flat=True))


@pytest.fixture
def no_rest(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BACKGROUND_SHARE": 1.0}


# Reporting


def test_what_was_saved_is_assigned_and_reported(site: Site) -> None:
    site.rename(3, 30)
    site.delete([12])
    assert report_all([site.source], place()) == 3
    assert sorted(told()) == [("changed", path(3, 1)), ("changed", path(30, 1))]
    assert set(Change.objects.values_list("page", flat=True)) == {1, 2, 4}
    assert report_all([site.source], place()) == 0


def test_a_section_whose_rows_fail_does_not_keep_others_from_theirs(
    site: Site, register: Register, caplog: pytest.LogCaptureFixture
) -> None:
    fails = False

    def items(self: Any) -> Any:
        if fails:
            raise LookupError("It is away.")
        return site.kind.all()

    another = Site(register, name="another", items=items)
    site.insert(range(5))
    assert another.get(1).status_code == 200
    site.rename(3)
    found = [sections.source("another"), site.source]
    fails = True
    assert report_all(found, place()) == 1
    assert told() == [("changed", path(3, 1))]
    assert "Changes of the section 'another' cannot be reported." in caplog.text


def test_a_change_whose_page_is_no_more_finds_another(site: Site) -> None:
    site.rename(3)
    report_all([site.source], place())
    void(Section.objects.get(name="site"), "another key")
    assert refresh_all([site.source], place()) == 0
    assert Change.objects.get().page is None
    fill(site.source)
    report_all([site.source], place())
    assert Change.objects.get().page == 6
    assert refresh_all([site.source], place()) == 1


# At leisure


@pytest.mark.usefixtures("no_rest")
def test_pages_come_in_the_order_of_their_urgency(site: Site) -> None:
    """Something missing, other changes, marked pages, comparisons that are due."""
    age(verified=True, read=True)
    Page.objects.filter(number=2).update(asked_at=time.time())
    Page.objects.filter(number=5).update(asked_at=1)
    expire(site.page(4))
    site.rename(3)
    site.delete([20])
    report_all([site.source], place())
    assert steps(site) == [3, 1, 4], "a page that is due waits for a quiet moment"
    assert steps(site) == [2], "nobody asked for page 5 lately"
    assert steps(site) == []


@pytest.mark.usefixtures("no_rest")
def test_empty_pages_are_compared_though_nobody_can_ask_for_them(site: Site) -> None:
    site.delete(range(9, 18))
    site.get(2)
    age(verified=True, read=True)
    Page.objects.update(asked_at=0)
    site.insert([10])
    assert steps(site) == [2]
    assert told()[-1] == ("added", path(10))


@pytest.mark.usefixtures("no_rest")
def test_pages_in_error_are_left_to_those_who_ask(site: Site) -> None:
    age(verified=True, read=True)
    Page.objects.update(asked_at=time.time(), error="bad")
    Page.objects.filter(number=4).update(error="")
    assert steps(site) == [4]


@pytest.mark.usefixtures("no_rest")
def test_a_page_is_rebuilt_at_leisure_once_in_ten_minutes(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refresh.SELDOM == 600
    monkeypatch.setattr(refresh, "AGAIN", 0.0)
    leisure = Leisure()
    site.rename(3)
    report_all([site.source], place())
    assert leisure.step([site.source], place()) == 0
    assert not Change.objects.exists()
    site.rename(4)
    report_all([site.source], place())
    assert leisure.step([site.source], place()) == refresh.LISTED
    assert Change.objects.exists()
    # Whoever asks for it gets it fresh at once, and ten minutes later it is done.
    assert b"/things/r4-1/" in site.get(1).content
    site.delete([5])
    report_all([site.source], place())
    Page.objects.update(refreshed_at=F("refreshed_at") - refresh.SELDOM)
    assert leisure.step([site.source], place()) == 0
    assert not Change.objects.exists()
    assert ("removed", path(5)) in told()


def test_it_rests_after_each_page(site: Site) -> None:
    """Nineteen times as long as the page took, with the twentieth of a processor."""
    site.rename(3, 30)
    report_all([site.source], place())
    leisure = Leisure()
    begun = time.thread_time()
    rest = leisure.step([site.source], place())
    used = time.thread_time() - begun
    assert rest is not None
    assert 0 < rest <= 19 * used
    again = leisure.step([site.source], place())
    assert again is not None
    assert 0 < again < rest
    assert Change.objects.count() == 1, "it rests"
    time.sleep(again)
    leisure.step([site.source], place())
    assert Change.objects.count() == 0


@pytest.mark.usefixtures("no_rest")
def test_one_process_rebuilds_for_all(site: Site) -> None:
    site.rename(3, 30)
    report_all([site.source], place())
    first, second = Leisure(), Leisure()
    assert first.step([site.source], place()) == 0
    assert second.step([site.source], place()) == refresh.LISTED
    assert Change.objects.count() == 1
    # Not for longer than it rests.
    until = Section.objects.get(name="").lease_until
    assert until <= time.time() + refresh.MARGIN + 1
    first.stop()
    assert Section.objects.get(name="").lease_owner == ""
    second = Leisure()
    assert second.step([site.source], place()) == 0
    assert Change.objects.count() == 0
    # Who died keeps the others for seconds only.
    site.rename(4)
    report_all([site.source], place())
    Page.objects.update(refreshed_at=0)
    third = Leisure()
    assert third.step([site.source], place()) == refresh.LISTED
    free_leases()
    assert Leisure().step([site.source], place()) == 0


@pytest.mark.usefixtures("no_rest")
def test_when_there_is_nothing_to_do_the_lease_is_given_back(site: Site) -> None:
    leisure = Leisure()
    assert steps(site, leisure) == []
    site.rename(3)
    report_all([site.source], place())
    assert leisure.step([site.source], place()) <= refresh.AGAIN + 1, "just listed"
    assert steps(site) == [1]
    assert not Section.objects.exclude(lease_owner="").exists()


# All at once


def test_refreshing_all_ends_when_nothing_waits(site: Site) -> None:
    site.rename(3, 12)
    touch(site.kind.model)
    report_all([site.source], place())
    assert refresh_all([site.source], place()) == 5
    assert not Change.objects.exists()
    assert not Page.objects.filter(verified_at=0).exists()
    assert refresh_all([site.source], place()) == 0


@pytest.mark.usefixtures("no_rest")
@pytest.mark.parametrize("at_leisure", [False, True])
@pytest.mark.parametrize("how", ["bad rows", "newer code"])
def test_what_cannot_be_built_is_tried_once_and_keeps_nothing_else(
    site: Site, how: str, at_leisure: bool
) -> None:
    if how == "bad rows":
        site.kind.all().filter(pk__lt=9).update(slug="")
    else:
        Section.objects.filter(name="site").update(
            digest="newer", digest_since=time.time() + 9, digest_seen=time.time()
        )
    touch(site.kind.all().filter(pk__in=(3, 30)))
    report_all([site.source], place())
    if at_leisure:
        assert sorted(steps(site)) == [1, 4]
    else:
        done = refresh_all([site.source], place())
        assert done == (1 if how == "bad rows" else 0)
    assert Change.objects.count() == (1 if how == "bad rows" else 2)


def test_refreshing_seldom_leaves_out_what_was_rebuilt_lately(site: Site) -> None:
    site.rename(3)
    report_all([site.source], place())
    assert refresh_all([site.source], place(), seldom=True) == 1
    site.rename(4)
    report_all([site.source], place())
    assert refresh_all([site.source], place(), seldom=True) == 0
    assert refresh_all([site.source], place()) == 1
