"""What happened to URLs becomes submissions: one for each URL and engine."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.delivery import gate, outbox, requests
from django_sitemaps_plus.delivery.engines import EngineHealth, engines
from django_sitemaps_plus.models import EngineState, Page, Submission, UrlChange
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, later, run_command
from tests.support.ledger_world import HOURS, place
from tests.support.outbox_world import BASE, Kind, happened, rows, run, sent, use
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def kinds() -> list[tuple[str, ...]]:
    """Return the kind and the section of each submission."""
    return list(Submission.objects.order_by("pk").values_list("kind", "section"))


def test_each_url_is_queued_once_for_each_engine(settings: Any) -> None:
    use(settings, one="Scripted", two="Scripted")
    happened("/a/", "/b/")
    gate.pass_on()
    with CaptureQueriesContext(connection) as queries:
        gate.pass_on()
    assert {query["sql"][:6] for query in queries} == {"SELECT"}, "it waits for nobody"
    found = Submission.objects.values_list("engine", "url", "host", "kind", "section")
    assert sorted(found) == [
        (alias, f"{BASE}{path}", "www.example.com", "changed", "article")
        for alias in ("one", "two")
        for path in ("/a/", "/b/")
    ]
    assert EngineState.objects.count() == 2
    later(2000)
    assert [(one.waiting, one.late) for one in EngineHealth.all("")] == [(2, 2), (2, 2)]
    use(settings, one="Scripted")
    [one] = EngineHealth.all("")
    assert (one.waiting, one.late) == (2, 2), "of engines in the settings"
    later(-1500)
    assert EngineHealth.all("")[0].late == 0


def test_an_engine_is_notified_of_what_it_wants(settings: Any) -> None:
    use(
        settings,
        all="Scripted",
        some=("Scripted", {"sections": ["article", "news"], "exclude": ["news"]}),
        gone=("Scripted", {"events": ["removed"]}),
    )
    happened("/a/", "/b/", section="article")
    happened("/c/", section="news", kind=Kind.REMOVED)
    happened("/d/", section="other", kind=Kind.ADDED)
    gate.pass_on()
    asked = [("/e/", ""), ("/f/", "other")]
    outbox.request(asked, place(), ["all", "some", "gone"])
    found: dict[str, str] = {}
    for row in Submission.objects.order_by("url"):
        found[row.engine] = found.get(row.engine, "") + row.url.removeprefix(BASE)
    assert found == {
        "all": "/a//b//c//d//e//f/",
        "some": "/a//b//e/",
        "gone": "/c//e//f/",
    }


def test_further_changes_join_the_submission_that_waits(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/", "/a/", kind=Kind.ADDED)
    gate.pass_on()
    assert kinds() == [("added", "article")]
    happened("/a/", kind=Kind.REMOVED, section="news")
    gate.pass_on()
    assert kinds() == [("removed", "news")], "the last one counts"
    run()
    assert sent(engine) == [["/a/"]]


def test_urls_of_other_hosts_have_batches_of_their_own(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/", "https://shop.example.com/b/", "http://www.example.com/c/")
    run()
    batches = {batch.origin: sorted(batch.urls) for batch in engine.sent}
    assert batches == {
        BASE: ["http://www.example.com/c/", f"{BASE}/a/"],
        "https://shop.example.com": ["https://shop.example.com/b/"],
    }


def test_a_change_within_the_engine_s_interval_waits(settings: Any) -> None:
    engine = use(settings, one="Scripted", slow=("Scripted", {"interval": 3600}))
    happened("/a/")
    run()
    happened("/a/", "/b/")
    run()
    assert sent(engine) == [["/a/"], ["/b/"]]
    later(601)
    run()
    assert sent(engine) == [["/a/"], ["/b/"], ["/a/"]]
    assert Submission.objects.get(live=True).engine == "slow"
    later(3000)
    run()
    assert {state for _, state in rows()} == {"accepted"}


def test_removals_on_hold_wait_until_they_are_confirmed(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/", kind=Kind.REMOVED, on_hold=True)
    happened("/b/")
    run()
    assert sent(engine) == [["/b/"]]
    assert gate.confirm("article") == 1
    run()
    assert sent(engine) == [["/b/"], ["/a/"]]


@pytest.mark.django_db(transaction=True)
def test_nothing_of_a_section_in_error_is_submitted_until_it_is_fixed(
    settings: Any, register: Register, client: Client
) -> None:
    engine = use(settings, one="Scripted")
    register("article", ArticleSitemap)
    articles(30)
    client.get("/sitemap-article-1.xml")
    first, *others = Article.objects.order_by("pk")
    first.slug = "saved"
    first.save()
    Article.objects.exclude(pk=first.pk).update(slug="")
    Page.objects.update(verified_at=0)
    happened("/pages/", section="pages")
    run_command("ping_sitemaps")
    assert Page.objects.get().error
    assert sent(engine) == [["/pages/"]]
    assert outbox.next_due() is None
    for article in others:
        article.save()
    later(HOURS, "verified_at")
    run_command("ping_sitemaps")
    assert Page.objects.get().error == ""
    assert "/articles/saved/" in sent(engine)[1]


def test_a_sitemap_is_submitted_once_in_an_interval(settings: Any) -> None:
    engine = use(settings, one="Sitemaps")
    for path in ("/a/", "/b/"):
        happened(path)
        run()
    [batch] = engine.sent
    assert (list(batch.urls), batch.are_sitemaps) == ([f"{BASE}/sitemap.xml"], True)
    later(601)
    run()
    assert len(engine.sent) == 2, "for /b/"
    later(601)
    run()
    assert len(engine.sent) == 2, "nothing has changed since"


def test_feeds_are_submitted_together_to_the_engine_that_names_them(
    settings: Any,
) -> None:
    feeds = use(settings, feeds="Feeds", other="Scripted")
    happened("/a/")
    run()
    other = ["https://blog.example.com/feed.atom"]
    assert sorted(sent(feeds)) == [["/feed.atom", "/news.atom"], other]
    assert sent(engines()["other"]) == [["/a/"]]
    assert set(Submission.objects.values_list("kind", flat=True)) == {"feed", "changed"}
    happened("/b/")
    run()
    assert len(feeds.sent) == 2, "not within the interval"
    later(601)
    run()
    assert len(feeds.sent) == 4


def test_many_changes_are_queued_by_few_statements(
    settings: Any, django_assert_max_num_queries: Any
) -> None:
    use(settings, one="Scripted")
    count = 2 * outbox.AT_ONCE + 7
    happened(*(f"/{n}/" for n in range(count)))
    with django_assert_max_num_queries(70):
        gate.pass_on()
    assert Submission.objects.count() == count
    assert not UrlChange.objects.filter(queued_at=None).exists()


def test_old_rows_are_pruned(settings: Any) -> None:
    use(settings, one="Scripted")
    happened("/a/")
    run()
    later(UrlChange.KEEP + 1)
    happened("/b/")
    gate.pass_on()
    assert outbox.prune() == 1
    assert rows() == [("/b/", "pending")]


# A plan


def test_a_plan_counts_each_url_once_however_often_it_is_to_be_submitted(
    settings: Any,
) -> None:
    """What waits and what was asked for are often the same."""
    use(settings, one="Few")
    happened("/a/", "/b/", "/a/", "/c/", "/c/")
    gate.pass_on()
    site = place()
    asked = requests.given([f"{BASE}/a/", "/c/", "/d/", "/d/"], site)
    [plan] = requests.plan(asked, site, ["one"], [])
    assert (plan.urls, plan.requests, plan.postponed) == (4, 2, 0)
    assert Submission.objects.count() == 3, "what is asked for is only counted"
