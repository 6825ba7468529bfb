"""Pages rebuilt ahead of the requests: at leisure by one process, or all at once."""

from __future__ import annotations

import json
import time
from typing import Any, ClassVar

import pytest
from django.db import connections
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from django_sitemaps_plus import Sitemap, touch
from django_sitemaps_plus.building import refresh
from django_sitemaps_plus.building.pages import expire
from django_sitemaps_plus.building.refresh import Leisure, refresh_all, report_all
from django_sitemaps_plus.changes import events
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.health.alerts import Subject, alerts
from django_sitemaps_plus.models import Change, Page, PageFile, Section
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.pagination.queries import void
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.storing.lost import look_for_lost, unclear_changes
from tests.conftest import Register
from tests.support.helpers import told
from tests.support.ledger_kinds import KINDS
from tests.support.ledger_site import Site, path
from tests.support.ledger_world import age, free_leases, place
from tests.testapp.models import Note

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


def save(site: Site, *numbers: int) -> None:
    """Save rows as they are."""
    for row in site.kind.all().filter(pk__in=numbers):
        row.save()


def create(site: Site, number: int, revision: int = 0) -> None:
    """Add a row with a signal."""
    site.kind.model(pk=number, slug=f"r{number}-{revision}").save(force_insert=True)


class Notes(Sitemap):
    """Pages in the languages that they are translated to."""

    model = Note
    i18n = True
    languages = ("en", "de")
    chosen: ClassVar[dict[int, list[str]]] = {}

    def location(self, item: Note) -> str:
        """Return where it is."""
        return reverse("note", kwargs={"number": item.number})

    def get_languages_for_item(self, item: Note) -> list[str]:
        """Return those of one row: both, unless chosen otherwise."""
        return self.chosen.get(item.number, ["en", "de"])


@pytest.fixture
def no_rest(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are rebuilt at once, and listed once, however slow the machine is."""
    monkeypatch.setattr(refresh, "AGAIN", 600.0)
    monkeypatch.setattr(refresh, "LISTED", 600.0)
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
    said = "its changes cannot be reported: LookupError: It is away."
    assert said in " ".join(alert.text for alert in alerts([Subject.SECTIONS]))
    fails = False
    assert report_all(found, place()) == 1
    assert said not in " ".join(alert.text for alert in alerts([Subject.SECTIONS]))


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
    """Something lost, marked pages, other changes, comparisons that are due."""
    age(verified=True, read=True)
    Page.objects.filter(number=2).update(asked_at=time.time())
    save(site, 40)
    report_all([site.source], place())
    Change.objects.update(at=F("at") - 3601)
    expire(site.page(4))
    site.delete([20])
    report_all([site.source], place())
    site.rename(3)
    report_all([site.source], place())
    assert steps(site) == [3, 1, 4, 5], "a page that is due waits for a quiet moment"
    assert steps(site) == [2], "nobody asked for the others lately"
    assert steps(site) == []


@pytest.mark.usefixtures("no_rest")
def test_a_page_that_has_lost_no_url_waits_until_it_is_asked_for(site: Site) -> None:
    save(site, 3)
    create(site, 45)
    report_all([site.source], place())
    assert steps(site) == []
    assert Change.objects.count() == 2
    assert site.shown(5) == [*range(36, 45), 45], "whoever asks gets it fresh"
    assert Change.objects.count() == 1
    # Or for as long as a comparison holds.
    Change.objects.update(at=F("at") - 3601)
    assert steps(site) == [1]
    assert not Change.objects.exists()


@pytest.mark.usefixtures("no_rest")
def test_a_page_with_very_many_changes_does_not_wait(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refresh.ENOUGH < events.MOST_COMPARED, "one build takes them all"
    monkeypatch.setattr(refresh, "ENOUGH", 3)
    save(site, 3, 12, 13)
    report_all([site.source], place())
    assert steps(site) == []
    save(site, 14)
    report_all([site.source], place())
    assert steps(site) == [2]
    assert Change.objects.get().page == 1


@pytest.mark.usefixtures("no_rest")
@pytest.mark.parametrize("how", ["renamed", "deleted", "renamed by update()"])
def test_a_page_that_may_have_lost_a_url_is_rebuilt_soon(site: Site, how: str) -> None:
    if how == "deleted":
        site.delete([12])
    else:
        site.rename(12, save=how == "renamed")
        touch(site.kind.all().filter(pk=12))
    report_all([site.source], place())
    assert steps(site) == [2]
    assert ("removed", path(12)) in told()


@pytest.mark.usefixtures("no_rest")
def test_urls_that_rows_of_a_page_exchange_are_not_lost(site: Site) -> None:
    rows = site.kind.all().filter(pk__in=(3, 4))
    for row, number in zip(rows.order_by("pk"), (4, 3), strict=True):
        row.slug = f"r{number}-0"
        row.save()
    report_all([site.source], place())
    assert steps(site) == []


@pytest.mark.usefixtures("no_rest")
def test_a_new_row_may_lose_the_url_that_it_was_reported_with(site: Site) -> None:
    create(site, 45)
    site.rename(45)
    create(site, 46)
    site.delete([46])
    report_all([site.source], place())
    assert steps(site) == [], "nobody was told of their first URLs"
    create(site, 47)
    report_all([site.source], place())
    site.rename(47)
    report_all([site.source], place())
    assert steps(site) == [5]
    assert ("removed", path(47)) in told()


@pytest.mark.usefixtures("no_rest")
def test_a_row_that_takes_a_deleted_one_s_key_has_lost_its_url(site: Site) -> None:
    site.delete([12])
    create(site, 12, revision=1)
    report_all([site.source], place())
    assert steps(site) == [2]
    assert told() == [("added", path(12, 1)), ("removed", path(12))]


@pytest.fixture
def drafts(register: Register) -> Site:
    """Two pages, of rows whose slug does not begin with "draft"."""

    def items(sitemap: Any) -> Any:
        return KINDS["integers"].all().exclude(slug__startswith="draft")

    site = Site(register, items=items)
    site.insert(range(18))
    site.crawl()
    return site


def draft(site: Site, number: int, slug: str = "draft") -> None:
    """Save a row that the section does not list, or not any more."""
    row = site.kind.all().filter(pk=number).first() or site.kind.model(pk=number)
    row.slug = f"{slug}-{number}"
    row.save()


@pytest.mark.usefixtures("no_rest")
def test_a_row_that_was_never_listed_rebuilds_nothing(drafts: Site) -> None:
    for slug, number in (("draft", 15), ("draft-again", 16)):
        draft(drafts, 20, slug)
        drafts.rename(number)
        report_all([drafts.source], place())
        before = drafts.page(1).read_at
        assert steps(drafts) == [2], "another row of the page has a new URL"
    draft(drafts, -1)
    save(drafts, 3)
    report_all([drafts.source], place())
    assert steps(drafts) == []
    assert [json.loads(change.key) for change in Change.objects.all()] == [["3"]]
    draft(drafts, -2)
    drafts.rename(4, save=False)
    report_all([drafts.source], place())
    assert steps(drafts) == [], "what no signal tells of does not look like a loss"
    assert drafts.page(1).read_at == before
    assert drafts.shown(1) == list(range(9))


@pytest.mark.usefixtures("no_rest")
def test_of_many_sections_of_a_model_one_is_concerned_by_a_save(
    register: Register,
) -> None:
    """Crawlers get the others from what is stored."""
    found = []
    for number in range(6):

        def items(sitemap: Any, number: int = number) -> Any:
            first = number * 3
            return KINDS["integers"].all().filter(pk__gte=first, pk__lt=first + 3)

        found.append(Site(register, name=f"part{number}", items=items))
    found[0].insert(range(18))
    for site in found:
        assert len(site.shown()) == 3
    sources = [site.source for site in found]
    found[0].rename(4)
    report_all(sources, place())
    assert Change.objects.count() == 6
    leisure = Leisure()
    while leisure.step(sources, place()) == 0:
        pass
    refreshed = Page.objects.exclude(refreshed_at=0)
    assert list(refreshed.values_list("section__name", flat=True)) == ["part1"]
    assert not Change.objects.exists()
    assert ("removed", path(4)) in told()


@pytest.mark.usefixtures("no_rest")
@pytest.mark.parametrize("slug", ["draft", "draft-elsewhere"])
def test_a_row_that_is_not_listed_any_more_may_have_lost_any_url(
    drafts: Site, slug: str
) -> None:
    draft(drafts, 12, slug)
    save(drafts, 13)
    report_all([drafts.source], place())
    assert steps(drafts) == [2]
    assert ("removed", path(12)) in told()


@pytest.mark.usefixtures("no_rest")
def test_a_row_that_was_listed_since_its_page_was_built_loses_its_url(
    drafts: Site,
) -> None:
    create(drafts, 20)
    report_all([drafts.source], place())
    draft(drafts, 20)
    draft(drafts, 21)
    report_all([drafts.source], place())
    assert steps(drafts) == [2]
    assert told() == [("added", path(20)), ("removed", path(20))]


def test_a_build_that_read_a_row_before_it_was_unlisted_is_done_again(
    drafts: Site, register: Register
) -> None:
    """Though nothing waits any more when it comes to its end."""
    former = type(drafts.source.sitemap)
    happened: list[int] = []

    def lastmod(sitemap: Any, item: Any) -> None:
        if item.pk == 15 and not happened:
            happened.append(item.pk)
            draft(drafts, 17)
            report_all([drafts.source], place())
            look_for_lost([drafts.source], unclear_changes([drafts.source]))
            happened.append(Change.objects.count())

    register("site", type(former.__name__, (former,), {"lastmod": lastmod}))
    draft(drafts, 17)
    assert drafts.shown(2) == list(range(9, 17))
    drafts.kind.all().filter(pk=17).update(slug="r17-0")
    expire(drafts.page(2))
    happened.clear()
    assert drafts.shown(2) == list(range(9, 17))
    assert happened == [15, 0]


@pytest.mark.usefixtures("no_rest")
def test_a_row_with_fewer_languages_may_have_lost_one(
    register: Register, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "AGAIN", 0.0)
    register("note", Notes)
    notes = [Note.objects.create(number=number) for number in range(3)]
    assert site.client.get("/sitemap-note-1.xml").status_code == 200
    source, leisure = sections.source("note"), Leisure()
    for note in notes:
        note.save()
    report_all([source], place())
    assert leisure.step([source], place()) == 0
    assert Change.objects.count() == 3, "they are looked at"
    monkeypatch.setitem(Notes.chosen, 1, ["de"])
    notes[1].save()
    report_all([source], place())
    assert leisure.step([source], place()) == 0
    assert not Change.objects.exists()
    assert ("removed", "/en/notes/1/") in told()


@pytest.mark.usefixtures("no_rest")
@pytest.mark.parametrize("how", ["lost", "never built"])
def test_a_page_whose_list_is_not_known_may_have_lost_a_url(
    site: Site, how: str
) -> None:
    PageFile.objects.filter(page=site.page(2)).delete()
    if how == "never built":
        Page.objects.filter(number=2).update(checksum="", entries=None)
    save(site, 12)
    report_all([site.source], place())
    assert steps(site) == [2]
    assert site.shown(2) == list(range(9, 18))


@pytest.mark.usefixtures("no_rest")
def test_the_bytes_are_searched_once_for_a_change_and_by_one_process(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "AGAIN", 0.0)
    save(site, 3, 4, 40)
    report_all([site.source], place())

    def searched(leisure: Leisure) -> int:
        with CaptureQueriesContext(connections[PageFile.objects.db]) as captured:
            leisure.step([site.source], place())
        asked = [query["sql"] for query in captured.captured_queries]
        return len([sql for sql in asked if "sitemaps_plus_pagefile" in sql])

    first, second = Leisure(), Leisure()
    Section.objects.create(name="")
    assert Section.objects.filter(pk=Section.objects.get(name="").pk).take("other", 9.0)
    assert searched(first) == 0
    free_leases()
    assert searched(second) == 1, "one statement for many pages"
    assert searched(first) == searched(second) == 0
    save(site, 12)
    report_all([site.source], place())
    assert searched(second) == 1
    assert set(Change.objects.values_list("loses_url", flat=True)) == {False}


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
def test_a_page_is_rebuilt_at_leisure_once_a_minute(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refresh.SELDOM == 60
    monkeypatch.setattr(refresh, "AGAIN", 0.0)
    leisure = Leisure()
    site.rename(3)
    report_all([site.source], place())
    assert leisure.step([site.source], place()) == 0
    assert not Change.objects.exists()
    site.rename(4)
    report_all([site.source], place())
    assert leisure.step([site.source], place()) == 0, "it looks what is lost"
    assert leisure.step([site.source], place()) == refresh.LISTED
    assert Change.objects.exists()
    # Whoever asks for it gets it fresh at once, and a minute later it is done.
    assert b"/things/r4-1/" in site.get(1).content
    site.delete([5])
    report_all([site.source], place())
    Page.objects.update(refreshed_at=F("refreshed_at") - refresh.SELDOM)
    assert leisure.step([site.source], place()) == 0
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
    report_all([site.source], place())
    leisure = Leisure()
    begun = time.thread_time()
    rest = leisure.step([site.source], place())
    used = time.thread_time() - begun
    assert rest is not None
    assert 0 < rest <= 9999 * used
    again = leisure.step([site.source], place())
    assert again is not None
    assert 0 < again < rest
    assert Change.objects.count() == 1, "it rests"
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + rest)
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
    until = Section.objects.get(name="").claimed_until
    assert until <= time.time() + refresh.MARGIN + 1
    first.stop()
    assert Section.objects.get(name="").claimed_by == ""
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
    assert not Section.objects.exclude(claimed_by="").exists()


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
    touch(site.kind.all().filter(pk__in=(3, 30)))
    report_all([site.source], place())
    if how == "newer code":
        Section.objects.filter(name="site").update(
            digest="newer", digest_since=time.time() + 9, digest_seen=time.time()
        )
    Change.objects.update(at=F("at") - 3601)
    if at_leisure:
        assert sorted(steps(site)) == [1, 4]
    else:
        done = refresh_all([site.source], place())
        assert done == (1 if how == "bad rows" else 0)
    assert Change.objects.count() == (1 if how == "bad rows" else 2)


def test_workers_rebuild_what_would_be_rebuilt_at_leisure(site: Site) -> None:
    save(site, 30)
    site.rename(3)
    report_all([site.source], place())
    assert refresh_all([site.source], place(), at_leisure=True) == 1
    site.rename(4)
    report_all([site.source], place())
    assert refresh_all([site.source], place(), at_leisure=True) == 0, "just rebuilt"
    assert refresh_all([site.source], place()) == 2
