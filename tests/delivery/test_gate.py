"""What is passed on of what pages say, and what they list no more."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db.models import F, QuerySet
from django.test import Client
from django.utils import timezone

from django_sitemaps_plus import NewsSitemap, Route, Sitemap
from django_sitemaps_plus.building.refresh import assign_all, refresh_all
from django_sitemaps_plus.changes import hints
from django_sitemaps_plus.delivery import gate, listed
from django_sitemaps_plus.delivery.dispatcher import DeliveryOptions, deliver
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.models import Page, PageFile, Submission, UrlChange
from django_sitemaps_plus.serving.index import usable
from tests.conftest import Register
from tests.support.factories import articles, dated_anew
from tests.support.helpers import later
from tests.support.in_between import just_before
from tests.support.ledger_world import place
from tests.support.outbox_world import BASE, Kind, happened, use
from tests.support.processes import at_once
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

#: The statement that reads the bytes that are searched.
READ = ("JOIN sitemaps_plus_pagefile", "p.id IN")


class Live(Sitemap):
    """The articles that are shown."""

    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    limit = 5

    def items(self) -> QuerySet[Article]:
        return Article.objects.filter(live=True)


class Featured(Live):
    """Those of them that weigh something."""

    def items(self) -> QuerySet[Article]:
        return Article.objects.filter(live=True, weight__gt=0)


class Heard:
    """What one engine hears, and the site's pages."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings

    def set(self, **changed: Any) -> None:
        """Have other settings."""
        self._settings.SITEMAPS_PLUS = {**self._settings.SITEMAPS_PLUS, **changed}

    def build(self, *names: str) -> None:
        """Have all pages as they should be."""
        client = Client()
        for name in names:
            body = client.get(f"/sitemap-{name}.xml").content.decode()
            for part in body.split("<loc>")[1:] if "<sitemapindex" in body else ():
                client.get(part.split("</loc>")[0].removeprefix(BASE))

    def pages(self) -> None:
        """Rebuild what changed."""
        assign_all(usable())
        refresh_all(usable(), place())

    def compare(self) -> None:
        """Compare all pages with their rows."""
        Page.objects.update(verified_at=0)
        self.pages()

    def told(self) -> list[tuple[str, str]]:
        """Pass on what happened, and return what the engine hears of it."""
        gate.pass_on()
        return self.delivered()

    def delivered(self) -> list[tuple[str, str]]:
        """Return what the engine hears of what waits for it."""
        deliver(DeliveryOptions())
        sent: Any = engines()["one"]
        found = [
            (kind, url.removeprefix(f"{BASE}/articles"))
            for batch in sent.sent
            for url, kind in zip(batch.urls, batch.kinds, strict=True)
        ]
        sent.sent.clear()
        return sorted(found)


@pytest.fixture
def heard(register: Register, settings: Any) -> Heard:
    """Twelve articles in one section, four of them in another, all of it built."""
    use(settings, one=("TellsKinds", {"interval": 0.0}))
    register("live", Live)
    register("featured", Featured)
    articles(8)
    articles(4, weight=1.0)
    found = Heard(settings)
    found.build("live", "featured")
    # For a while after it, hints may be of what a first build has read.
    later(hints.LATE + 1, "unknown_at")
    assert found.told() == [], "a first build tells of nothing"
    return found


def path(article: Article) -> str:
    return f"/{article.slug}/"


def delete(count: int = 1) -> list[Article]:
    """Delete articles that one section lists, the first ones; return them."""
    some = list(Article.objects.order_by("pk")[:count])
    Article.objects.filter(pk__in=[one.pk for one in some]).delete()
    return some


def featured() -> list[Article]:
    return list(Article.objects.filter(weight=1.0).order_by("pk"))


# What is true of URLs that pages list no longer


def test_only_what_no_page_lists_is_removed_and_once(heard: Heard) -> None:
    one, other = featured()[:2]
    other.weight = 0.0
    other.save()
    heard.pages()
    assert heard.told() == [], "another section lists it still"
    assert not UrlChange.objects.exists()
    one.delete()
    heard.pages()
    assert UrlChange.objects.filter(kind=Kind.REMOVED).count() == 2, "each says so"
    assert heard.told() == [("removed", path(one))]
    assert heard.told() == []


@pytest.mark.parametrize("order", [("live", "featured"), ("featured", "live")])
@pytest.mark.costly
def test_two_sections_that_are_asked_for_at_once_lose_a_url_for_good(
    heard: Heard, order: tuple[str, str]
) -> None:
    """Neither takes the other's former listing for the present one."""
    one = featured()[0]
    one.delete()
    first, second = order
    with just_before("UPDATE", "claimed_by", do=lambda: heard.build(second)):
        heard.build(first)
    assert heard.told() == [("removed", path(one))]


def test_what_moves_to_another_page_is_changed(heard: Heard) -> None:
    """Whoever has heard of it knows it already, whichever page says so first."""
    first, *_, last = Article.objects.order_by("pk")
    slug, first.slug = first.slug, "first"
    dated_anew(first).save()
    former, last.slug = last.slug, slug
    dated_anew(last).save()
    heard.pages()
    assert heard.told() == [
        ("added", "/first/"),
        ("changed", f"/{slug}/"),
        ("removed", f"/{former}/"),
    ]


def test_only_removals_wait_for_the_search(heard: Heard) -> None:
    one, other = Article.objects.order_by("pk")[:2]
    one.delete()
    dated_anew(other).save()
    heard.pages()
    gate.pass_listed()
    assert heard.delivered() == [("changed", path(other))]
    assert gate.Search().waits()
    assert gate.Search().do()
    assert heard.delivered() == [("removed", path(one))]
    assert not gate.Search().waits()


def test_what_is_back_is_changed_and_what_came_and_went_removed(heard: Heard) -> None:
    """Nobody knows what an engine has read by itself meanwhile."""
    one = Article.objects.order_by("pk")[0]
    for live in (False, True):
        one.live = live
        one.save()
        heard.pages()
    assert heard.told() == [("changed", path(one))]
    one = Article.objects.create(slug="one")
    heard.pages()
    one.delete()
    heard.pages()
    assert heard.told() == [("removed", path(one))]


def test_however_many_are_removed_that_is_the_last_word(heard: Heard) -> None:
    """And none is on hold where nobody wants that of a section that loses most."""
    heard.set(HOLD_MOST=False)
    happened("/articles/0/", kind=Kind.ADDED, section="live")
    happened(*(f"/articles/{number}/" for number in range(700)), kind=Kind.REMOVED)
    assert [kind for kind, _ in heard.told()] == ["removed"] * 700


def test_nothing_depends_on_which_section_wrote_first(heard: Heard) -> None:
    """Numbers of rows say nothing of the order in which sections were read."""
    one = featured()[0]
    said = [("featured", Kind.ADDED), ("live", Kind.REMOVED)]
    for order in (said, said[::-1]):
        for section, kind in order:
            happened(f"/articles{path(one)}", kind=kind, section=section)
        assert heard.told() == [("changed", path(one))]


def test_of_a_section_in_error_nothing_is_passed_on(heard: Heard) -> None:
    Page.objects.filter(section__name="live").update(error="It is wrong.")
    happened("/articles/a/", section="live")
    happened("/articles/b/", section="live", kind=Kind.REMOVED)
    happened("/articles/c/", section="featured", kind=Kind.REMOVED)
    assert heard.told() == [("removed", "/c/")]
    Page.objects.update(error="")
    assert heard.told() == [("changed", "/a/"), ("removed", "/b/")]


def test_several_processes_pass_on_each_event_once(heard: Heard) -> None:
    for number in range(60):
        happened(f"/articles/a{number}/", kind=Kind.ADDED)
        happened(f"/articles/r{number}/", kind=Kind.REMOVED)
    at_once(3, lambda _: gate.pass_on())
    found = list(Submission.objects.values_list("kind", flat=True))
    assert (found.count("added"), found.count("removed")) == (60, 60)
    assert not UrlChange.objects.filter(queued_at=None).exists()


def test_what_happens_waits_for_an_address_and_not_for_an_engine_that_comes_later(
    heard: Heard, settings: Any
) -> None:
    # Without it the site has another key, so what happened before would be another's.
    settings.SITE_ID = None
    happened("/articles/a/")
    happened("/articles/b/", kind=Kind.REMOVED)
    heard.set(BASE_URL=None)
    assert not gate.Search().waits()
    gate.pass_on()
    heard.set(BASE_URL=BASE)
    assert UrlChange.objects.filter(queued_at=None).count() == 2
    known = settings.SITEMAPS_PLUS
    heard.set(ENGINES={})
    happened("/articles/a/", "/articles/b/", kind=Kind.REMOVED)
    gate.pass_on()
    settings.SITEMAPS_PLUS = known
    assert heard.told() == []


# What happens while pages are searched


def test_a_page_that_is_split_meanwhile_is_searched(heard: Heard) -> None:
    """What it lists goes on to a page that was not there when the search began."""
    one = featured()[3]
    happened(f"/articles{path(one)}", kind=Kind.REMOVED, section="live")

    def split() -> None:
        Article.objects.bulk_create(
            Article(pk=-1 - number, slug=f"s{number}", weight=1.0)
            for number in range(4)
        )
        Page.objects.update(verified_at=0)
        heard.build("featured")

    numbers = set(Page.objects.values_list("pk", flat=True))
    with just_before(*READ, do=split):
        gate.Search().do()
    assert set(Page.objects.values_list("pk", flat=True)) > numbers, "it was split"
    assert ("removed", path(one)) not in heard.told()


def test_what_is_lost_meanwhile_is_judged_by_another_search(heard: Heard) -> None:
    """It was found where it is listed no longer."""
    one = featured()[0]
    one.weight = 0.0
    one.save()
    heard.build("featured")

    def lose() -> None:
        one.delete()
        heard.build("live")

    # The pages were read, and whether more were written is asked.
    with just_before("checksum", do=lose, skip=3):
        gate.Search().do()
    assert heard.told() == [("removed", path(one))]


def test_pages_that_are_written_all_the_time_are_searched_later(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listed, "_ROUNDS", 3)
    [one] = delete()
    other = Article.objects.order_by("pk")[0]
    heard.pages()

    def write() -> None:
        dated_anew(other).save()
        heard.build("live")

    with just_before("checksum", do=write, times=10, skip=2):
        assert not gate.Search().do()
    assert UrlChange.objects.filter(kind=Kind.REMOVED, queued_at=None).exists()
    assert ("removed", path(one)) in heard.told()


# What cannot be known


def test_a_removal_is_a_change_where_nobody_knows_what_is_listed(
    heard: Heard, register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What can be known of a section by position is told to nobody, too."""
    fails = False

    class Some(Sitemap):
        limit = 2

        def items(self) -> list[str]:
            if fails:
                raise LookupError("The service is away.")
            return ["x", "y", "z", first]

        def location(self, item: str) -> str:
            return f"/articles/{item}/"

    def lost() -> list[tuple[str, str]]:
        [one] = delete()
        heard.pages()
        return [("changed", path(one))]

    with monkeypatch.context() as patch:
        patch.setattr(listed, "MOST_BYTES", 1_000)
        assert lost() == heard.told(), "the pages are too large"
    first = Article.objects.order_by("pk")[0].slug
    register("some", Some)
    lost()
    assert heard.told() == [], "it lists this one"
    with monkeypatch.context() as patch:
        patch.setattr(listed, "MOST_ITEMS", 2)
        assert lost() == heard.told(), "it is too long"
    fails = True
    assert lost() == heard.told(), "it raises"
    fails, expected = False, lost()
    PageFile.objects.filter(page__section__name="featured").delete()
    assert heard.told() == expected, "a page is damaged"


def test_what_only_news_list_is_removed(heard: Heard, register: Register) -> None:
    """It never says which URLs it removes, so nobody would."""

    class News(NewsSitemap):
        model = Article
        publication_date = F("updated")
        publication_name = "Times"
        location = Live.location

    register("news", News)
    one = Article.objects.order_by("pk")[0]
    one.updated = timezone.now()
    one.save()
    heard.build("news")
    heard.told()
    Article.objects.filter(pk=one.pk).update(live=False)
    heard.compare()
    assert heard.told() == [("removed", path(one))]


# Pages without a former listing


def test_what_such_a_page_lists_is_told_if_it_was_removed(heard: Heard) -> None:
    one = Article.objects.order_by("pk")[0]

    def lose() -> None:
        """Have it removed, and the pages lost."""
        one.live = False
        one.save()
        heard.pages()
        assert heard.told() == [("removed", path(one))]
        PageFile.objects.all().delete()

    def show() -> None:
        Article.objects.filter(pk=one.pk).update(live=True)
        heard.compare()

    lose()
    show()
    assert Page.objects.filter(searched=False).exists()
    assert heard.told() == [("changed", path(one))]
    assert not Page.objects.filter(searched=False).exists()
    assert heard.told() == []
    lose()
    heard.compare()

    def lose_again() -> None:
        """Of a page that is written again, what was searched is not enough."""
        PageFile.objects.all().delete()
        show()

    with just_before("sitemaps_plus_urlchange", "location", do=lose_again):
        gate.Search().do()
    assert heard.told() == [("changed", path(one))]


# On hold


def test_many_removals_are_on_hold_until_they_are_confirmed(heard: Heard) -> None:
    heard.set(MAX_REMOVED=3)
    delete(4)
    heard.pages()
    assert heard.told() == []
    assert UrlChange.objects.filter(on_hold=True, section="live").count() == 4
    happened("/articles/more/", section="live", kind=Kind.REMOVED)
    assert heard.told() == [], "one more is one too many"
    happened("/articles/more/", section="featured", kind=Kind.REMOVED)
    assert heard.told() == [], "no other section tells it"
    assert gate.confirm("live") == 5
    assert len(heard.told()) == 5
    happened("/articles/again/", section="live", kind=Kind.REMOVED)
    assert heard.told() == [("removed", "/again/")], "what is confirmed counts no more"


def test_what_comes_counts_against_what_goes(heard: Heard) -> None:
    """Renamed, or replaced: a section that changes all its URLs loses none."""
    heard.set(MAX_REMOVED=3)
    for article in Article.objects.all():
        article.slug = f"new-{article.slug}"
        dated_anew(article).save()
    heard.pages()
    assert [kind for kind, _ in heard.told()] == ["added"] * 12 + ["removed"] * 12


def test_what_came_within_the_hour_may_go(heard: Heard) -> None:
    """Ordinary coming and going of a small section is never on hold."""
    heard.set(MAX_REMOVED=3)
    for _ in range(2):
        some = articles(6)
        for article in some:
            article.save()
        heard.pages()
        heard.told()
        for article in some:
            article.delete()
        heard.pages()
        assert [kind for kind, _ in heard.told()] == ["removed"] * 6


def test_a_section_that_loses_most_of_its_urls_has_them_on_hold(heard: Heard) -> None:
    delete(10)
    heard.pages()
    assert heard.told() == []
    held = UrlChange.objects.filter(on_hold=True)
    assert set(held.values_list("section", flat=True)) == {"live", "featured"}
    assert gate.confirm("live") == 10
    assert len(heard.told()) == 10, "whoever else has lost them"


def test_a_few_removals_are_never_on_hold(heard: Heard) -> None:
    delete(9)
    heard.pages()
    assert len(heard.told()) == 9, "though it lists three more only"


def test_what_is_listed_again_leaves_the_hold_by_itself(heard: Heard) -> None:
    heard.set(MAX_REMOVED=3)
    some = list(Article.objects.order_by("pk")[:4])
    Article.objects.filter(pk__in=[a.pk for a in some]).update(live=False)
    heard.compare()
    assert heard.told() == []
    Article.objects.filter(pk=some[0].pk).update(live=True)
    heard.compare()
    assert heard.told() == [("changed", path(some[0]))]
    held = UrlChange.objects.filter(on_hold=True).values_list("location", flat=True)
    assert sorted(held) == sorted(f"/articles{path(one)}" for one in some[1:])


def test_what_waited_for_hours_counts_not_what_was_told(heard: Heard) -> None:
    """Nobody passed it on, so nobody saw what was lost."""
    heard.set(MAX_REMOVED=3)
    for number in range(6):
        happened(f"/articles/{number}/", section="live", kind=Kind.REMOVED)
        assert heard.told() == [("removed", f"/{number}/")]
        UrlChange.objects.update(at=F("at") - 1800, queued_at=F("queued_at") - 1800)
    UrlChange.objects.all().delete()
    for hours in range(1, 7):
        at = time.time() - hours * 3600
        happened(f"/articles/{hours}/", section="live", kind=Kind.REMOVED, at=at)
    assert heard.told() == []
    assert UrlChange.objects.filter(on_hold=True).count() == 6
