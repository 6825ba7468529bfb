"""Pages rebuilt ahead of the requests: at leisure by one process, or all at once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from django_sitemaps_plus import touch
from django_sitemaps_plus.building import refresh
from django_sitemaps_plus.building.pages import expire
from django_sitemaps_plus.building.refresh import Leisure, assign_all, refresh_all
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.health.alerts import Alert, alerts
from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.pagination.queries import void
from django_sitemaps_plus.sitemaps import sections
from tests.conftest import Register
from tests.support.helpers import later, told
from tests.support.ledger_kinds import KINDS
from tests.support.ledger_site import Site, path
from tests.support.ledger_world import HOURS, place

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


class Nothing:
    """Other work, of which there is none unless somebody says so."""

    left = 0

    def waits(self) -> bool:
        """Return whether some is left."""
        return self.left > 0

    def do(self) -> bool:
        """Do some of it."""
        self.left -= 1
        return True


def steps(site: Site, leisure: Leisure | None = None) -> list[int]:
    """Rebuild at leisure until there is nothing to do; return the pages in order."""
    Page.objects.update(refreshed_at=0)
    leisure = leisure or Leisure()
    while leisure.step([site.source], place(), Nothing()) == 0:
        pass
    found = Page.objects.exclude(refreshed_at=0).order_by("refreshed_at")
    return list(found.values_list("number", flat=True))


def save(site: Site, *numbers: int) -> None:
    """Save rows as they are."""
    for row in site.kind.all().filter(pk__in=numbers).order_by("pk"):
        row.save()


def create(site: Site, number: int, revision: int = 0) -> None:
    """Add a row with a signal."""
    site.kind.model(pk=number, slug=f"r{number}-{revision}").save(force_insert=True)


@pytest.fixture
def no_rest(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are rebuilt at once, and listed once, however slow the machine is."""
    for name in ("LISTED", "IN_USE"):
        monkeypatch.setattr(refresh, name, 600.0)
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BACKGROUND_SHARE": 1.0}


# Assigning


def test_what_was_saved_is_assigned(site: Site) -> None:
    site.rename(3, 30)
    site.delete([12])
    assert assign_all([site.source]) == []
    assert set(Change.objects.values_list("page", flat=True)) == {1, 2, 4}
    assert told() == [], "pages say what happened"


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
    assert assign_all(found) == ["another"]
    assert Change.objects.filter(section="site").get().page == 1
    assert "Changes of the section 'another' cannot be assigned." in caplog.text
    said = "its changes cannot be looked at: LookupError: It is away."
    assert said in " ".join(one.text for one in alerts([Alert.Subject.SECTIONS]))
    fails = False
    assert assign_all(found) == []
    assert said not in " ".join(
        alert.text for alert in alerts([Alert.Subject.SECTIONS])
    )


def test_a_section_that_nobody_asked_for_yet_is_divided_and_built(
    register: Register,
) -> None:
    """Where something was saved; nothing is said of the rows that were there."""
    site = Site(register)
    site.insert(range(45))
    create(site, 100)
    assign_all([site.source])
    assert Change.objects.get().page == 5
    assert refresh_all([site.source], place()) == []
    assert [page.number for page in site.pages() if page.checksum] == [5]
    assert told() == [("added", path(100))]


def test_a_change_whose_page_is_no_more_finds_another(site: Site) -> None:
    site.rename(3)
    assign_all([site.source])
    void(Section.objects.get(name="site"), "another key")
    refresh_all([site.source], place())
    assert Change.objects.get().page is None
    fill(site.source)
    assign_all([site.source])
    assert Change.objects.get().page == 6
    refresh_all([site.source], place())
    assert not Change.objects.exists()


# At leisure


@pytest.mark.usefixtures("no_rest")
def test_pages_come_in_the_order_of_their_urgency(site: Site) -> None:
    """By turns those with new rows and others: marked pages, then the oldest change."""
    later(HOURS, "verified_at", "read_at")
    Page.objects.filter(number=2).update(asked_at=time.time())
    for number in (30, 20):
        site.rename(number)
    expire(site.page(1))
    site.delete([44])
    create(site, 44)
    assign_all([site.source])
    assert steps(site) == [5, 1, 4, 3], "a page that is due waits for a quiet moment"
    assert steps(site) == [2], "nobody asked for the others lately"
    assert steps(site) == []


@pytest.mark.usefixtures("no_rest")
def test_new_rows_do_not_keep_others_from_their_turn(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, all the time."""
    monkeypatch.setattr(refresh, "IN_USE", 0.0)
    leisure, order = Leisure(), list[int]()
    site.rename(3, 12, 21)
    for number in range(45, 51):
        create(site, number)
        assign_all([site.source])
        before = dict(Page.objects.order_by("number").values_list("number", "read_at"))
        Page.objects.update(refreshed_at=0)
        leisure.step([site.source], place(), Nothing())
        after = dict(Page.objects.values_list("number", "read_at"))
        order += [number for number in before if before[number] != after[number]]
    assert order == [5, 1, 5, 2, 6, 3], "page 5 was split meanwhile"


@pytest.mark.usefixtures("no_rest")
def test_other_work_is_done_within_the_share(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes first, and then rests so long that pages have most of the time."""
    monkeypatch.setattr(refresh, "LISTED", 0.0)
    site.rename(3)
    assign_all([site.source])
    other, leisure = Nothing(), Leisure()
    other.left = 2
    leisure.step([site.source], place(), other)
    assert (other.left, Change.objects.count()) == (1, 1)
    monkeypatch.setattr(leisure, "_other_from", time.monotonic() + 600)
    leisure.step([site.source], place(), other)
    assert (other.left, Change.objects.count()) == (1, 0)
    assert leisure.step([site.source], place(), other) == refresh.LISTED, "it waits"
    monkeypatch.setattr(leisure, "_other_from", 0.0)
    leisure.step([site.source], place(), other)
    assert leisure.step([site.source], place(), other) is None
    assert other.left == 0


@pytest.mark.usefixtures("no_rest")
def test_empty_pages_are_compared_though_nobody_can_ask_for_them(site: Site) -> None:
    site.delete(range(9, 18))
    site.get(2)
    later(HOURS, "verified_at", "read_at")
    Page.objects.update(asked_at=0)
    site.insert([10])
    assert steps(site) == [2]
    assert told()[-1] == ("added", path(10))


@pytest.mark.usefixtures("no_rest")
def test_pages_in_error_are_left_to_those_who_ask(site: Site) -> None:
    later(HOURS, "verified_at", "read_at")
    Page.objects.update(asked_at=time.time(), error="bad")
    Page.objects.filter(number=4).update(error="")
    assert steps(site) == [4]


@pytest.mark.usefixtures("no_rest")
def test_a_page_is_rebuilt_at_leisure_every_five_seconds_at_most(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refresh.SELDOM == 5
    monkeypatch.setattr(refresh, "SELDOM", 600.0)
    monkeypatch.setattr(refresh, "LISTED", 0.0)
    leisure = Leisure()
    site.rename(3)
    assign_all([site.source])
    assert leisure.step([site.source], place(), Nothing()) == 0
    assert not Change.objects.exists()
    site.rename(4)
    assign_all([site.source])
    assert leisure.step([site.source], place(), Nothing()) == refresh.LISTED
    assert Change.objects.exists()
    # Whoever asks for it gets it fresh at once, and after that time it is done.
    assert b"/things/r4-1/" in site.get(1).content
    site.delete([5])
    assign_all([site.source])
    later(600, "refreshed_at")
    assert leisure.step([site.source], place(), Nothing()) == 0
    assert not Change.objects.exists()
    assert ("removed", path(5)) in told()


def test_it_rests_after_each_page(
    site: Site, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nineteen times as long as the page took, with the twentieth of a processor."""
    assert get_settings().BACKGROUND_SHARE == 0.05
    # A rest that does not end while the machine is busy with something else.
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BACKGROUND_SHARE": 0.0001}
    site.rename(3, 30)
    assign_all([site.source])
    leisure = Leisure()
    begun = time.thread_time()
    rest = leisure.step([site.source], place(), Nothing())
    used = time.thread_time() - begun
    assert rest is not None
    assert 0 < rest <= 9999 * used
    again = leisure.step([site.source], place(), Nothing())
    assert again is not None
    assert 0 < again < rest
    assert Change.objects.count() == 1, "it rests"
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + rest)
    leisure.step([site.source], place(), Nothing())
    assert Change.objects.count() == 0


@pytest.mark.usefixtures("no_rest")
def test_one_process_rebuilds_for_all(site: Site) -> None:
    site.rename(3, 30)
    assign_all([site.source])
    first, second = Leisure(), Leisure()
    assert first.step([site.source], place(), Nothing()) == 0
    assert second.step([site.source], place(), Nothing()) == refresh.LISTED
    assert Change.objects.count() == 1
    # Not for longer than it rests.
    until = Section.objects.get(name="").claimed_until
    assert until <= time.time() + refresh.MARGIN + 1
    first.stop()
    assert Section.objects.get(name="").claimed_by == ""
    assert not first.has_lease
    second = Leisure()
    assert second.step([site.source], place(), Nothing()) == 0
    assert Change.objects.count() == 0
    # Who died keeps the others for seconds only.
    site.rename(4)
    assign_all([site.source])
    Page.objects.update(refreshed_at=0)
    third = Leisure()
    assert third.step([site.source], place(), Nothing()) == refresh.LISTED
    later(HOURS, "claimed_until")
    assert Leisure().step([site.source], place(), Nothing()) == 0


@pytest.mark.usefixtures("no_rest")
def test_when_there_is_nothing_to_do_the_lease_is_given_back(site: Site) -> None:
    leisure = Leisure()
    assert steps(site, leisure) == []
    site.rename(3)
    assign_all([site.source])
    assert steps(site) == [1]
    assert not Section.objects.exclude(claimed_by="").exists()


def test_what_is_assigned_just_after_a_look_does_not_wait_for_the_look_in_a_minute(
    site: Site,
) -> None:
    leisure = Leisure()
    assert leisure.step([site.source], place(), Nothing()) is None
    site.rename(3)
    assign_all([site.source])
    assert leisure.step([site.source], place(), Nothing()) == refresh.LISTED


# All at once


def test_refreshing_all_ends_when_nothing_waits(site: Site) -> None:
    site.rename(3, 12)
    touch(site.kind.model)
    assign_all([site.source])
    done: list[int] = []
    assert refresh_all([site.source], place(), progress=done.append) == []
    assert done == [1, 2, 3, 4, 5]
    assert not Change.objects.exists()
    assert not Page.objects.filter(verified_at=0).exists()
    refresh_all([site.source], place(), progress=done.append)
    assert len(done) == 5


@pytest.mark.usefixtures("no_rest")
@pytest.mark.parametrize("at_leisure", [False, True])
@pytest.mark.parametrize("how", ["bad rows", "newer code"])
@pytest.mark.costly
def test_what_cannot_be_built_is_tried_once_and_keeps_nothing_else(
    site: Site, how: str, at_leisure: bool
) -> None:
    if how == "bad rows":
        site.kind.all().filter(pk__lt=9).update(slug="")
    touch(site.kind.all().filter(pk__in=(3, 30)))
    assign_all([site.source])
    if how == "newer code":
        Section.objects.filter(name="site").update(
            digest="newer", digest_since=time.time() + 9, digest_seen=time.time()
        )
    if at_leisure:
        assert sorted(steps(site)) == ([1, 4] if how == "bad rows" else [])
    else:
        done: list[int] = []
        assert refresh_all([site.source], place(), progress=done.append) == []
        assert len(done) == (1 if how == "bad rows" else 0)
    assert Change.objects.count() == (1 if how == "bad rows" else 2)


@pytest.mark.usefixtures("no_rest")
def test_a_page_whose_builder_was_killed_is_built_when_its_claim_ends(
    site: Site,
) -> None:
    touch(site.kind.all().filter(pk=3))
    assign_all([site.source])
    now = time.time()
    page = Page.objects.filter(number=1)
    page.update(claimed_by="killed", claimed_until=now + 15, refreshed_at=now - 9)
    Leisure().step([site.source], place(), Nothing())
    assert page.get().refreshed_at == now - 9
    page.update(claimed_until=now - 1)
    Leisure().step([site.source], place(), Nothing())
    assert not Change.objects.exists()


def test_pages_of_newer_code_keep_no_others_and_no_lease(register: Register) -> None:
    """However often they are listed: they are left to that code."""
    newer, own = Site(register, name="newer"), Site(register, name="own")
    newer.insert(range(30))
    touch(newer.kind.all())
    assign_all([newer.source, own.source])
    at = time.time()
    Section.objects.filter(name="newer").update(
        digest="newer", digest_since=at + 9, digest_seen=at
    )
    leisure = Leisure()
    for _ in range(20):
        leisure._rest_until = leisure._listed_at = -refresh.LISTED
        leisure.step([newer.source, own.source], place(), Nothing())
    waiting = Change.objects.values_list("section", flat=True)
    assert set(waiting) == {"newer"}
    tried = Page.objects.filter(section__name="newer", refreshed_at__gt=0)
    assert not tried.exists()
    assert not leisure.has_lease


def test_rows_that_cannot_be_read_are_said(register: Register) -> None:
    """By the name of their section, though nothing has to be assigned."""
    fails = False

    def items(self: Any) -> Any:
        if fails:
            raise LookupError("It is away.")
        return KINDS["integers"].all()

    site = Site(register, items=items)
    site.insert(range(5))
    site.crawl()
    Page.objects.update(verified_at=0)
    fails = True
    assert refresh_all([site.source], place()) == ["site"]


def test_workers_rebuild_what_would_be_rebuilt_at_leisure(site: Site) -> None:
    site.rename(3)
    assign_all([site.source])
    refresh_all([site.source], place(), at_leisure=True)
    assert not Change.objects.exists()
    site.rename(4)
    assign_all([site.source])
    refresh_all([site.source], place(), at_leisure=True)
    assert Change.objects.exists(), "just rebuilt"
    refresh_all([site.source], place())
    assert not Change.objects.exists()
