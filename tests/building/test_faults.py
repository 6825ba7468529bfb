"""Processes that die, and clocks that are set: all is true afterwards."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F
from django.test import Client

from django_sitemaps_plus.building import build
from django_sitemaps_plus.building.refresh import assign_all, refresh_all
from django_sitemaps_plus.models import Change, Page, PageFile, Section, UrlChange
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.sitemaps.sections import SectionSource
from tests.support.fault_worker import (
    NAME,
    NEW,
    OPERATIONS,
    Workers,
    section_class,
)
from tests.support.helpers import later, locations
from tests.support.ledger_world import HOURS, place
from tests.support.processes import THOROUGH, database_names
from tests.testapp.models import Article, Story, Tag

ORIGIN = "https://www.example.com"
#: Articles there are at the beginning.
COUNT = 25

pytestmark = pytest.mark.django_db(transaction=True)


class News:
    """A section of articles, and what was listed at the beginning."""

    def __init__(self) -> None:
        self.client = Client()
        self.begun: set[str] = set()

    @property
    def source(self) -> SectionSource:
        """The section as it is read."""
        return sections.source(NAME)

    def begin(self) -> None:
        """Start again: articles from 1 on, all pages built, nothing told."""
        for model in (Tag, Story, Article):
            model._default_manager.all()._raw_delete("default")
        for ledger in (Section, Change, UrlChange):
            ledger._default_manager.all().delete()
        Article.objects.bulk_create(
            Article(pk=pk, slug=f"a{pk}") for pk in range(1, COUNT + 1)
        )
        # The row of the child alone, without a signal.
        own = Story._meta.local_concrete_fields
        child = Story(article_ptr_id=15, source="child")
        Story._base_manager.all()._insert([child], fields=own, using="default")
        build.build(self.source, place())
        self.begun = self.shown()
        assert self.begun == self.true()

    def true(self) -> set[str]:
        """Return what is to be listed."""
        slugs = Article.objects.filter(live=True).values_list("slug", flat=True)
        return {f"/articles/{slug}/" for slug in slugs}

    def shown(self) -> set[str]:
        """Return what all pages list, as a crawler sees it; nothing is there twice."""
        start = f"/sitemap-{NAME}-"
        # It has all bounds found, if they are not.
        self.client.get(f"{start}1.xml")
        found = list[str]()
        for number in Page.objects.values_list("number", flat=True):
            found += locations(self.client.get(f"{start}{number}.xml"))
        assert len(found) == len(set(found)), found
        return {location.removeprefix(ORIGIN) for location in found}

    def check(self, *, is_lost: bool = False) -> None:
        """
        The next run makes all true, and everybody was notified of what changed.

        ``is_lost`` says that a hint never came to be: then the comparison finds it.
        """
        later(HOURS, "claimed_until")
        assign_all([self.source])
        refresh_all([self.source], place())
        if not is_lost:
            assert self.shown() == self.true()
            assert not Change.objects.exists()
        before = dict(Page.objects.values_list("pk", "checksum"))
        assert build.reconcile(self.source, place(), deep=True).errors == []
        after = dict(Page.objects.values_list("pk", "checksum"))
        assert (before == after) >= (not is_lost), "there was nothing to mend"
        assert self.shown() == self.true()
        events = list(UrlChange.objects.values_list("kind", "location"))
        told = {location for _, location in events}
        assert told >= self.begun ^ self.true(), "what came and what went was told"
        removed = {location for kind, location in events if kind == "removed"}
        assert not removed & self.true()
        assert told <= self.begun | self.true()
        # Pages and their numbers come together or not at all.
        numbers = set(Page.objects.values_list("number", flat=True))
        assert numbers == set(range(1, Section.objects.get(name=NAME).next_number))
        # Of each page's version the bytes are there, and of no other.
        stored = set(PageFile.objects.values_list("page", "checksum"))
        assert stored == set(Page.objects.values_list("pk", "checksum"))


@pytest.fixture
def news(register: Callable[..., Any]) -> News:
    register(NAME, section_class())
    made = News()
    made.begin()
    return made


# kill -9


@pytest.fixture(scope="module")
def workers(django_db_setup: None) -> Iterator[Workers]:
    made = Workers(database_names())
    yield made
    made.close()


def stale(what: str) -> None:
    """Change what there is to do for a process that builds pages."""
    if what == "ask for the first page ever":
        Section.objects.all().delete()
    if what not in ("refresh", "ask for a page"):
        return
    with transaction.atomic():
        for pk in (2, 5, 21):
            save(pk, f"b{pk}")
        Article.objects.get(pk=13).delete()
        # The first page and the last one are to be split.
        for pk in (-1, -2, -3, *range(30, 36)):
            Article.objects.create(pk=pk, slug=f"new{pk}")


def save(pk: int, slug: str) -> None:
    article = Article.objects.get(pk=pk)
    article.slug = slug
    article.save()


@pytest.mark.parametrize("what", OPERATIONS)
@pytest.mark.costly
def test_a_process_killed_at_any_step_leaves_nothing_false(
    news: News, workers: Workers, what: str
) -> None:
    stale(what)
    steps = workers(do="operate", what=what, kill=0)["steps"]
    news.check()
    every = range(1, steps + 1)
    for moment in every if THOROUGH else random.sample(every, min(4, steps)):
        news.begin()
        stale(what)
        result = workers(do="operate", what=what, kill=moment)
        # Which steps there are depends on the time a little.
        assert result == {"killed": 9} or moment > steps - 3, (moment, result)
        # Between the commit and the INSERT of the hint.
        is_lost = news.true() != news.begun and not (
            Change.objects.exists() or UrlChange.objects.exists()
        )
        news.check(is_lost=is_lost)


# A clock that was set


@pytest.mark.parametrize("shift", [3600, -3600], ids=["ahead", "behind"])
@pytest.mark.costly
def test_a_clock_that_was_set_makes_no_page_false(news: News, shift: int) -> None:
    """The database's clock too: rows say another time than it is."""
    with transaction.atomic():
        save(5, "saved")
        Article.objects.create(pk=NEW, slug="created")
        Article.objects.get(pk=6).delete()
    Change.objects.update(at=F("at") + shift)
    Page.objects.update(
        verified_at=F("verified_at") + shift, changed_at=F("changed_at") + shift
    )
    Section.objects.update(ticked_at=F("ticked_at") + shift)
    assert news.shown() == news.true()
    assert not Change.objects.exists(), "none waits for ever"
    # Behind the signals' back: seen when a page is compared, which is due now.
    Page.objects.update(verified_at=F("verified_at") + shift)
    Article.objects.filter(pk=7).update(slug="updated")
    assert news.shown() == news.true()
    news.check()
