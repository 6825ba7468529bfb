"""
Work that others do in between, forced: before any statement of a build, a split, an
assignment, a search or the gate, another process may do anything.

One process plays all of them. Before a statement that stands in no transaction, by lot,
something else is done first: an object is saved, renamed or deleted, a page is asked
for, changes are assigned, the gate passes on. After each round all is brought to its
end, and then the last that anybody heard of each URL has to be what pages list.

``SITEMAPS_PLUS_THOROUGH=1`` has three times as many rounds.
"""

from __future__ import annotations

import datetime as dt
import random
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.test import Client

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.building import joining
from django_sitemaps_plus.building import pages as building
from django_sitemaps_plus.building.refresh import assign_all, refresh_all
from django_sitemaps_plus.delivery import background, gate
from django_sitemaps_plus.delivery.dispatcher import DeliveryOptions, deliver
from django_sitemaps_plus.models import Change, Page, PageFile, UrlChange
from django_sitemaps_plus.pagination import queries
from django_sitemaps_plus.serving.index import usable
from django_sitemaps_plus.signals import urls_changed
from tests.conftest import COSTLY, Register
from tests.support.ledger_world import place
from tests.support.outbox_world import BASE, use
from tests.support.processes import THOROUGH
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 12 if COSTLY else 6
#: How likely something else is done before a statement, and how deep it goes.
LIKELY, DEEP = 0.15, 2
_SLUGS = [f"k{number}" for number in range(30)]
_LOC = re.compile(r"<loc>https://www\.example\.com(/articles/[^<]*)</loc>")
_FIRST = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def section(limit: int, *, dated: bool, **wanted: Any) -> type[Sitemap]:
    """Return a section of small pages, whose articles others may list, too."""

    class Listed(Sitemap):
        location = Route("article", slug=F("slug"))

        def items(self) -> QuerySet[Article]:
            return Article.objects.filter(live=True, **wanted)

    Listed.limit = limit
    if dated:
        Listed.lastmod = F("updated")  # type: ignore[assignment]  # as a class says it
    return Listed


class World:
    """A site, all who work on it, and what those heard who are notified."""

    def __init__(self, seed: int, engine: Any, *, loses: bool) -> None:
        self.lot = random.Random(seed)  # noqa: S311 (nothing secret)
        self.client, self.engine, self.depth = Client(), engine, 0
        self.moment, self.loses = _FIRST, loses
        #: What engines and receivers heard last of each URL.
        self.heard: dict[str, str] = {}
        self.signalled: dict[str, str] = {}
        self.deeds: list[Callable[[], object]] = [
            *[self.rename] * 6,
            *[self.create, self.delete, self.hide] * 4,
            *[self.feature, self.swap, self.take_over, self.edit] * 3,
            *[self.ask, self.ask] * 4,
            *[self.assign, self.pass_on] * 4,
            *[self.refresh, self.work] * 2,
            *[self.expire, self.join] * 2,
            self.roll_back,
            self.lose,
        ]

    # What others do

    def act(self) -> None:
        self.lot.choice(self.deeds)()

    @contextmanager
    def in_between(self) -> Iterator[None]:
        """Let others work before any statement that stands in no transaction."""

        def execute(run: Any, *args: Any) -> Any:
            is_free = self.depth < DEEP and not connection.in_atomic_block
            if is_free and self.lot.random() < LIKELY:
                self.depth += 1
                try:
                    self.act()
                finally:
                    self.depth -= 1
            return run(*args)

        with connection.execute_wrapper(execute):
            yield

    def some(self) -> Article:
        return self.lot.choice(list(Article.objects.order_by("pk")))

    def free(self) -> str:
        used = set(Article.objects.values_list("slug", flat=True))
        return self.lot.choice([s for s in _SLUGS if s not in used] or ["one-more"])

    def now(self) -> dt.datetime:
        self.moment += dt.timedelta(seconds=1)
        return self.moment

    def save(self, article: Article, **values: Any) -> None:
        for name, value in values.items():
            setattr(article, name, value)
        article.updated = self.now()
        with transaction.atomic():
            # It may be deleted by now.
            if Article.objects.filter(pk=article.pk).exists():
                article.save()

    def rename(self) -> None:
        self.save(self.some(), slug=self.free())

    def edit(self) -> None:
        self.save(self.some(), title=str(self.lot.random()))

    def create(self) -> None:
        if Article.objects.count() < 40:
            weight = self.lot.choice((0.0, 1.0))
            Article.objects.create(slug=self.free(), weight=weight, updated=self.now())

    def delete(self) -> None:
        # Some are left, whatever is done in between.
        if Article.objects.count() > 5:
            self.some().delete()

    def hide(self) -> None:
        article = self.some()
        self.save(article, live=not article.live)

    def feature(self) -> None:
        article = self.some()
        self.save(article, weight=1.0 - (article.weight or 0.0))

    def swap(self) -> None:
        first, second = self.some(), self.some()
        if first != second:
            with transaction.atomic():
                slug, other = first.slug, second.slug
                self.save(first, slug=other)
                self.save(second, slug=slug)

    def take_over(self) -> None:
        """A new article has the address of one that is deleted."""
        article = self.some()
        with transaction.atomic():
            article.delete()
            Article.objects.create(
                slug=article.slug, weight=article.weight, updated=self.now()
            )

    def roll_back(self) -> None:
        with transaction.atomic():
            Article.objects.create(slug="rolled-back", weight=1.0)
            transaction.set_rollback(True)

    def ask(self) -> None:
        """Ask for a page, perhaps as if whoever builds it had died."""
        if self.lot.random() < 0.3:
            Page.objects.update(claimed_until=0)
        pages = list(Page.objects.select_related("section").order_by("pk"))
        if pages:
            page = self.lot.choice(pages)
            self.client.get(f"/sitemap-{page.section.name}-{page.number}.xml")

    def assign(self) -> None:
        assign_all(usable())

    def refresh(self) -> None:
        refresh_all(usable(), place(), at_leisure=True)

    def pass_on(self) -> None:
        gate.pass_on()

    def work(self) -> None:
        background.prepare(place())
        self.deliver()

    def expire(self) -> None:
        if page := Page.objects.order_by("?").first():
            building.expire(page)

    def join(self) -> None:
        """Join pages, so that they are divided again."""
        for source in usable():
            joining.join(source, place())

    def lose(self) -> None:
        """Lose the bytes of a page, as a table does that is not logged."""
        if self.loses and (file := PageFile.objects.order_by("?").first()):
            file.delete()

    def deliver(self) -> None:
        deliver(DeliveryOptions())
        for batch in self.engine.sent:
            for url, kind in zip(batch.urls, batch.kinds, strict=True):
                self.heard[url.removeprefix(BASE)] = kind
        self.engine.sent.clear()

    def receive(self, *, section: str, **urls: list[str]) -> None:
        """Be a receiver of ``urls_changed``."""
        for kind in ("added", "changed", "removed"):
            for url in urls[kind]:
                self.signalled[url.removeprefix(BASE)] = kind

    # What comes of it

    def settle(self) -> None:
        """Bring everything to its end."""
        for _ in range(8):
            background.prepare(place())
            background.send_due(DeliveryOptions())
            self.deliver()
            self.crawl()
            events = UrlChange.objects.filter(queued_at=None)
            if not (Change.objects.exists() or events.exists()):
                return

    def crawl(self) -> list[str]:
        """Return what is listed, by all pages."""
        found = list[str]()
        for name in ("articles", "featured"):
            answer = self.client.get(f"/sitemap-{name}.xml")
            assert answer.status_code == 200, answer.content
            body = answer.content.decode()
            files = re.findall(rf"/sitemap-{name}-\d+\.xml", body)
            for path in files:
                body += self.client.get(path).content.decode()
            found += _LOC.findall(body)
        return found

    def wanted(self) -> list[str]:
        live = Article.objects.filter(live=True)
        rows = [*live, *live.filter(weight=1.0)]
        return [article.get_absolute_url() for article in rows]

    def check(self) -> None:
        wanted = self.wanted()
        assert sorted(self.crawl()) == sorted(wanted)
        for heard in (self.heard, self.signalled):
            lost = {url for url, kind in heard.items() if kind == "removed"}
            assert not lost & set(wanted), "told as removed, and listed"
            if not self.loses:
                # Nobody knows what a page listed whose bytes were lost.
                gone = heard.keys() - lost
                assert gone <= set(wanted), "last told as there, and not listed"
                assert set(wanted) <= heard.keys(), "never told"
        assert not any("rolled-back" in url for url in self.heard)


#: Each is 20 rounds. Five have all kinds of worlds.
SEEDS = 15 if THOROUGH else 5


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.costly
def test_the_last_that_is_told_of_a_url_is_what_pages_list(
    seed: int, register: Register, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = use(
        settings,
        one=("TellsKinds", {"interval": 0.0}),
        HOLD_MOST=False,
        BACKGROUND=False,
    )
    monkeypatch.setattr(building, "PATIENCE", 0.05)
    monkeypatch.setattr(queries, "WAIT", 0.05)
    dated, loses = seed % 2 == 0, seed % 5 == 4
    register("articles", section(8, dated=dated))
    register("featured", section(6, dated=dated, weight=1.0))
    world = World(seed, engine, loses=loses)
    with ExitStack() as stack:
        urls_changed.connect(world.receive)
        stack.callback(urls_changed.disconnect, world.receive)
        world.settle()
        for slug in _SLUGS[:20]:
            Article.objects.create(slug=slug, weight=float(slug[-1] in "02468"))
        world.settle()
        world.check()
        for _ in range(ROUNDS):
            with world.in_between():
                for _ in range(world.lot.randint(3, 14)):
                    world.act()
            world.settle()
            world.check()
