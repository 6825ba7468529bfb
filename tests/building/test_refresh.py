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
    while step(site, leisure) == 0:
        pass
    found = Page.objects.exclude(refreshed_at=0).order_by("refreshed_at")
    return list(found.values_list("number", flat=True))


def create(site: Site, number: int) -> None:
    """Add a row with a signal."""
    site.kind.model(pk=number, slug=f"r{number}-0").save(force_insert=True)


@pytest.fixture
def no_rest(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are rebuilt at once, and listed once, however slow the machine is."""
    for name in ("LISTED", "IN_USE"):
        monkeypatch.setattr(refresh, name, 600.0)
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BACKGROUND_SHARE": 1.0}


def step(site: Site, leisure: Leisure, other: Nothing | None = None) -> float | None:
    """Rebuild at leisure once; return how long to wait."""
    return leisure.step([site.source], place(), other or Nothing())


def assigned(site: Site, *numbers: int) -> None:
    """Rename rows, and look for their pages."""
    site.rename(*numbers)
    assert assign_all([site.source]) == []


def section_errors() -> str:
    return " ".join(alert.text for alert in alerts([Alert.Subject.SECTIONS]))


# Assigning


def test_what_was_saved_is_assigned(site: Site) -> None:
    site.delete([12])
    assigned(site, 3, 30)
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
    assert said in section_errors()
    # Rows that cannot be read are said though nothing has to be assigned.
    Page.objects.update(verified_at=0)
    assert refresh_all([sections.source("another")], place()) == ["another"]
    fails = False
    assert assign_all(found) == []
    assert said not in section_errors()


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
    assigned(site, 3)
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
    later(HOURS, "verified_at", "read_at")
    Page.objects.update(asked_at=time.time(), error="bad")
    Page.objects.filter(number=4).update(error="")
    assert steps(site) == [4], "pages in error are left to those who ask"
    leisure = Leisure()
    assert steps(site, leisure) == []
    assigned(site, 3)
    assert steps(site) == [1], "the lease was given back"
    assert not Section.objects.exclude(claimed_by="").exists()


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
        step(site, leisure)
        after = dict(Page.objects.values_list("number", "read_at"))
        order += [number for number in before if before[number] != after[number]]
    assert order == [5, 1, 5, 2, 6, 3], "page 5 was split meanwhile"


@pytest.mark.usefixtures("no_rest")
def test_other_work_is_done_within_the_share(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes first, and then rests so long that pages have most of the time."""
    monkeypatch.setattr(refresh, "LISTED", 0.0)
    assigned(site, 3)
    other, leisure = Nothing(), Leisure()
    other.left = 2
    step(site, leisure, other)
    assert (other.left, Change.objects.count()) == (1, 1)
    monkeypatch.setattr(leisure, "_other_from", time.monotonic() + 600)
    step(site, leisure, other)
    assert (other.left, Change.objects.count()) == (1, 0)
    assert step(site, leisure, other) == refresh.LISTED, "it waits"
    monkeypatch.setattr(leisure, "_other_from", 0.0)
    step(site, leisure, other)
    assert step(site, leisure, other) is None
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
def test_a_page_is_rebuilt_at_leisure_every_five_seconds_at_most(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refresh.SELDOM == 5
    monkeypatch.setattr(refresh, "SELDOM", 600.0)
    monkeypatch.setattr(refresh, "LISTED", 0.0)
    leisure = Leisure()
    assigned(site, 3)
    assert step(site, leisure) == 0
    assert not Change.objects.exists()
    assigned(site, 4)
    assert step(site, leisure) == refresh.LISTED
    assert Change.objects.exists()
    # Whoever asks for it gets it fresh at once, and after that time it is done.
    assert b"/things/r4-1/" in site.get(1).content
    site.delete([5])
    assign_all([site.source])
    # Workers rebuild what would be rebuilt at leisure, and commands all.
    refresh_all([site.source], place(), at_leisure=True)
    assert Change.objects.exists(), "just rebuilt"
    later(600, "refreshed_at")
    refresh_all([site.source], place(), at_leisure=True)
    assert not Change.objects.exists()
    assert ("removed", path(5)) in told()
    assigned(site, 6)
    refresh_all([site.source], place())
    assert not Change.objects.exists()


def test_it_rests_after_each_page(
    site: Site, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nineteen times as long as the page took, with the twentieth of a processor."""
    assert get_settings().BACKGROUND_SHARE == 0.05
    # A rest that does not end while the machine is busy with something else.
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BACKGROUND_SHARE": 0.0001}
    assigned(site, 3, 30)
    leisure = Leisure()
    begun = time.thread_time()
    rest = step(site, leisure)
    used = time.thread_time() - begun
    assert rest is not None
    assert 0 < rest <= 9999 * used
    assert 0 < (step(site, leisure) or 0) < rest
    assert Change.objects.count() == 1, "it rests"
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + rest)
    step(site, leisure)
    assert Change.objects.count() == 0


@pytest.mark.usefixtures("no_rest")
def test_one_process_rebuilds_for_all(site: Site) -> None:
    assigned(site, 3, 30)
    first, second = Leisure(), Leisure()
    assert step(site, first) == 0
    assert step(site, second) == refresh.LISTED
    assert Change.objects.count() == 1
    # Not for longer than it rests.
    until = Section.objects.get(name="").claimed_until
    assert until <= time.time() + refresh.MARGIN + 1
    first.stop()
    assert Section.objects.get(name="").claimed_by == ""
    assert not first.has_lease
    assert step(site, Leisure()) == 0
    assert Change.objects.count() == 0
    # Who died keeps the others for seconds only.
    assigned(site, 4)
    Page.objects.update(refreshed_at=0)
    assert step(site, Leisure()) == refresh.LISTED
    later(HOURS, "claimed_until")
    assert step(site, Leisure()) == 0


def test_what_is_assigned_just_after_a_look_does_not_wait_for_the_look_in_a_minute(
    site: Site,
) -> None:
    leisure = Leisure()
    assert step(site, leisure) is None
    assigned(site, 3)
    assert step(site, leisure) == refresh.LISTED


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
@pytest.mark.parametrize("is_bad", [True, False], ids=["bad rows", "newer code"])
@pytest.mark.costly
def test_what_cannot_be_built_is_tried_once_and_keeps_nothing_else(
    site: Site, is_bad: bool, at_leisure: bool
) -> None:
    if is_bad:
        site.kind.all().filter(pk__lt=9).update(slug="")
    touch(site.kind.all().filter(pk__in=(3, 30)))
    assign_all([site.source])
    if not is_bad:
        newer_code_runs("site")
    if at_leisure:
        assert sorted(steps(site)) == ([1, 4] if is_bad else [])
    else:
        done: list[int] = []
        assert refresh_all([site.source], place(), progress=done.append) == []
        assert len(done) == (1 if is_bad else 0)
    assert Change.objects.count() == (1 if is_bad else 2)


def newer_code_runs(name: str) -> None:
    """Have the definition of a section be that of newer code."""
    at = time.time()
    Section.objects.filter(name=name).update(
        digest="newer", digest_since=at + 9, digest_seen=at
    )


@pytest.mark.usefixtures("no_rest")
def test_a_page_whose_builder_was_killed_is_built_when_its_claim_ends(
    site: Site,
) -> None:
    touch(site.kind.all().filter(pk=3))
    assign_all([site.source])
    now = time.time()
    page = Page.objects.filter(number=1)
    page.update(claimed_by="killed", claimed_until=now + 15, refreshed_at=now - 9)
    step(site, Leisure())
    assert page.get().refreshed_at == now - 9
    page.update(claimed_until=now - 1)
    step(site, Leisure())
    assert not Change.objects.exists()


def test_pages_of_newer_code_keep_no_others_and_no_lease(register: Register) -> None:
    """However often they are listed: they are left to that code."""
    newer, own = Site(register, name="newer"), Site(register, name="own")
    newer.insert(range(30))
    touch(newer.kind.all())
    assign_all([newer.source, own.source])
    newer_code_runs("newer")
    leisure = Leisure()
    for _ in range(20):
        leisure._rest_until = leisure._listed_at = -refresh.LISTED
        leisure.step([newer.source, own.source], place(), Nothing())
    assert {*Change.objects.values_list("section", flat=True)} == {"newer"}
    assert not Page.objects.filter(section__name="newer", refreshed_at__gt=0).exists()
    assert not leisure.has_lease
