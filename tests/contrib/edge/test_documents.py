"""``documents_changed``: caches hear which sitemaps have other bytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.building.refresh import Leisure
from django_sitemaps_plus.contrib.edge import documents
from django_sitemaps_plus.contrib.edge.models import AnnouncedDocument
from django_sitemaps_plus.contrib.edge.signals import documents_changed
from django_sitemaps_plus.delivery import background, gate
from django_sitemaps_plus.models import Page, PageFile
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.sitemaps.registry import registry
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.fakes.faults import reply
from tests.support.fakes.webhook import FakeWebhook
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    Small,
    later,
    run_command,
)
from tests.support.ledger_world import place
from tests.support.outbox_world import BASE, use
from tests.support.processes import at_once
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

Listen = Callable[[Callable[..., object]], None]
Heard = list[list[str]]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Connect receivers until the test ends."""
    receivers = []

    def connect(receiver: Callable[..., object]) -> None:
        receivers.append(receiver)
        documents_changed.connect(receiver, weak=False)

    yield connect
    for receiver in receivers:
        documents_changed.disconnect(receiver)


@pytest.fixture
def heard(listen: Listen, settings: Any) -> Heard:
    """The tags of each signal."""
    use(settings)
    found: Heard = []

    def receiver(tags: list[str], urls: list[str], **given: Any) -> None:
        twins = [f"{BASE}/{tag}" for tag in tags]
        feeds = (".atom", ".rss")
        gzipped = [f"{url}.gz" for url in twins if not url.endswith(feeds)]
        assert sorted(urls) == sorted(twins + gzipped)
        found.append(sorted(tags))

    listen(receiver)
    return found


def began(heard: Heard, register: Register, **sections: type) -> list[str]:
    """Build and announce 25 articles in sections; return the tags of that."""
    for name, sitemap in sections.items():
        register(name, sitemap)
    articles(25)
    assert run_command("build_sitemaps")[2] == 0
    (first,) = heard
    heard.clear()
    return first


@pytest.fixture
def site(heard: Heard, register: Register) -> Heard:
    """Three pages of a section, built and announced; returns what is heard of it."""
    first = began(heard, register, small=Small)
    assert first == sorted([*ALL, *INDEXES])
    return heard


ALL = ["sitemap-small-1.xml", "sitemap-small-2.xml", "sitemap-small-3.xml"]
INDEXES = ["sitemap-small.xml", "sitemap.xml"]


def rename(position: int, slug: str = "other") -> None:
    """Save an article with another URL."""
    article = Article.objects.order_by("pk")[position]
    article.slug = slug
    article.save()


# What is announced


def test_all_documents_are_announced_once_by_whoever_builds_them(site: Heard) -> None:
    run_command("build_sitemaps")
    run_command("ping_sitemaps")
    assert documents.announce_documents() is None
    assert site == []


@pytest.mark.parametrize(
    "work", [background.work, lambda: run_command("ping_sitemaps")]
)
def test_a_change_is_announced_for_its_page_and_the_indexes(
    site: Heard, work: Callable[[], object]
) -> None:
    rename(15)
    work()
    assert site == [["sitemap-small-2.xml", *INDEXES]]
    work()
    assert len(site) == 1


def test_what_a_request_has_rebuilt_is_announced_if_it_has_other_bytes(
    site: Heard, client: Client
) -> None:
    Page.objects.update(verified_at=0)
    before = Page.objects.get(number=2).read_at
    client.get("/sitemap-small-2.xml")
    assert Page.objects.get(number=2).read_at > before
    documents.announce_documents()
    rename(15)
    client.get("/sitemap-small-2.xml")
    assert site == []
    documents.announce_documents()
    assert site == [["sitemap-small-2.xml", *INDEXES]]


@pytest.fixture
def one(heard: Heard, register: Register) -> Heard:
    """A section of one page, built and announced; returns what is heard of it."""
    began(heard, register, article=ArticleSitemap)
    return heard


def test_one_file_is_announced_with_its_page(one: Heard) -> None:
    Article.objects.latest("pk").save()
    background.work()
    assert one == [], "it lists what it listed before"
    rename(0)
    background.work()
    assert one == [["sitemap-article-1.xml", "sitemap-article.xml", "sitemap.xml"]]


def test_what_is_gone_is_announced_once(heard: Heard, register: Register) -> None:
    class Few(PagesSitemap):
        limit = 1

    began(heard, register, few=Few, article=ArticleSitemap)
    Few.names = ("home",)
    documents.announce_documents()
    assert heard == [["sitemap-few-2.xml", "sitemap-few.xml", "sitemap.xml"]]
    registry.remove("article")
    documents.announce_documents()
    documents.announce_documents()
    registry.add("article", ArticleSitemap)
    gone = ["sitemap-article-1.xml", "sitemap-article.xml"]
    assert heard[1:] == [[*gone, "sitemap.xml"]]
    assert not AnnouncedDocument.objects.filter(document__in=gone).exists()


def test_what_cannot_be_had_now_is_not_gone(one: Heard) -> None:
    PageFile.objects.all().delete()
    Page.objects.update(claimed_by="another", claimed_until=time.time() + 60)
    assert Client().get("/sitemap.xml").status_code == 503
    documents.announce_documents()
    assert one == []


def test_a_site_of_sites_has_tags_of_its_own(
    listen: Listen, settings: Any, register: Register
) -> None:
    found: list[dict[str, Any]] = []
    listen(lambda **given: found.append(given))
    use(settings, SITES={"blog": {"BASE_URL": "https://blog.example.com"}})
    registry.add("posts", ArticleSitemap, site="blog")
    try:
        run_command("build_sitemaps", "--site", "blog")
    finally:
        registry.remove("posts", site="blog")
    (given,) = found
    assert "blog/sitemap-posts.xml" in given["tags"]
    assert "https://blog.example.com/sitemap-posts.xml" in given["urls"]


# Who hears of it


def test_nothing_is_asked_where_nobody_listens(settings: Any, register: Any) -> None:
    register("small", Small)
    use(settings)
    with CaptureQueriesContext(connection) as queries:
        assert documents.announce_documents() is None
    assert len(queries) == 0


def test_signals_are_bounded_and_two_processes_do_not_announce_the_same(
    site: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "DOCUMENTS_AT_ONCE", 2)
    AnnouncedDocument.objects.all().delete()
    assert documents.announce_documents(lambda: bool(site)) == 0.0
    assert documents.announce_documents() is None
    assert [len(tags) for tags in site] == [2, 2, 1]
    site.clear()
    monkeypatch.setattr(documents, "DOCUMENTS_AT_ONCE", 1)
    AnnouncedDocument.objects.all().delete()
    at_once(2, lambda _: documents.announce_documents())
    assert sorted(site) == [[tag] for tag in sorted([*ALL, *INDEXES])]


def test_a_receiver_that_raises_hears_of_it_again(
    site: Heard, listen: Listen, caplog: Any
) -> None:
    answers = [LookupError("the cache is away")]

    def broken(**kwargs: Any) -> None:
        if answers:
            raise answers.pop()

    listen(broken)
    rename(15)
    background.work()
    own = [one for one in caplog.records if one.name == "django_sitemaps_plus"]
    assert "LookupError: the cache is away" in own[0].getMessage(), "whatever DEBUG is"
    _, err, code = run_command("ping_sitemaps", "--status")
    assert code == 1
    assert "3 documents changed, and a receiver of documents_changed failed" in err
    wait = documents.announce_documents()
    assert wait is not None
    assert 0 < wait <= documents.AGAIN
    assert len(site) == 1
    later(documents.AGAIN, "announce_at")
    assert documents.announce_documents() is None
    assert site == [["sitemap-small-2.xml", *INDEXES]] * 2
    assert "documents_changed" not in run_command("ping_sitemaps", "--status")[1]


def test_what_a_killed_process_was_sending_is_sent_again(
    site: Heard, listen: Listen
) -> None:
    def killed(**kwargs: Any) -> None:
        assert not connection.in_atomic_block
        raise SystemExit

    listen(killed)
    rename(15)
    with pytest.raises(SystemExit):
        background.work()
    documents_changed.disconnect(killed)
    documents.announce_documents()
    assert len(site) == 1, "its claim has not ended"
    later(documents.CLAIM, "announce_at")
    documents.announce_documents()
    assert site == [["sitemap-small-2.xml", *INDEXES]] * 2


# Webhooks


def test_a_webhook_hears_of_documents_only_and_later_if_it_failed(
    settings: Any, register: Register
) -> None:
    register("small", Small)
    articles(25)
    with FakeWebhook("0123456789abcdef") as hook:
        options = {"url": hook.url, "secret": hook.secret, "interval": 0}
        path = "django_sitemaps_plus.engines.webhook.Webhook"
        use(settings, hook=(path, {**options, "events": ["documents"]}))
        run_command("build_sitemaps")
        background.work()
        assert sorted(hook.received[0]["tags"]) == sorted([*ALL, *INDEXES])
        hook.received.clear()
        hook.fault = reply(503)
        rename(15)
        background.work()
        hook.fault = None
        later(1000)
        background.work()
    (told,) = hook.received
    assert sorted(told.pop("tags")) == ["sitemap-small-2.xml", *INDEXES]
    assert f"{BASE}/sitemap-small-2.xml.gz" in told.pop("documents")
    kinds = ("added", "changed", "removed", "requested")
    assert told == {"site": BASE, **{kind: [] for kind in kinds}}


# In the background


def test_behind_a_cache_changed_pages_do_not_wait_for_requests(site: Heard) -> None:
    version = Page.objects.get(number=2).version
    rename(15)
    background.notify_all()
    leisure = Leisure()
    leisure.step([sections.source("small")], place(), gate.Search())
    leisure.stop()
    assert Page.objects.get(number=2).version == version + 1
