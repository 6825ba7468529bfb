"""What happened to URLs becomes submissions: one for each URL and engine."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.delivery import gate, outbox
from django_sitemaps_plus.delivery.engines import EngineHealth, engines
from django_sitemaps_plus.models import EngineState, Submission, UrlChange
from tests.support.helpers import later
from tests.support.ledger_world import place
from tests.support.outbox_world import BASE, Kind, happened, rows, run, sent, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


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
        found[row.engine] = found.get(row.engine, "") + row.url[-2]
    assert found == {"all": "abcdef", "some": "abe", "gone": "cef"}


def test_further_changes_join_the_submission_that_waits(engine: Any) -> None:
    happened("/a/", "/a/", kind=Kind.ADDED)
    gate.pass_on()
    found = Submission.objects.values_list("kind", "section")
    assert list(found) == [("added", "article")]
    happened("/a/", kind=Kind.REMOVED, section="news")
    gate.pass_on()
    assert list(found.all()) == [("removed", "news")], "the last one counts"
    run()
    assert sent(engine) == [["/a/"]]


def test_urls_of_other_hosts_have_batches_of_their_own(engine: Any) -> None:
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


def test_a_sitemap_is_submitted_once_in_an_interval(settings: Any) -> None:
    engine = use(settings, one="Sitemaps")
    for path in ("/a/", "/b/"):
        happened(path)
        run()
    [batch] = engine.sent
    assert (list(batch.urls), batch.are_sitemaps) == ([f"{BASE}/sitemap.xml"], True)
    # Once more for /b/; then nothing has changed since.
    for _ in range(2):
        later(601)
        run()
        assert len(engine.sent) == 2


def test_feeds_are_submitted_together_to_their_engine(settings: Any) -> None:
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
    engine: Any, django_assert_max_num_queries: Any
) -> None:
    count = 2 * outbox.AT_ONCE + 7
    happened(*(f"/{n}/" for n in range(count)))
    with django_assert_max_num_queries(70):
        gate.pass_on()
    assert Submission.objects.count() == count
    assert not UrlChange.objects.filter(queued_at=None).exists()


def test_old_rows_are_pruned(engine: Any) -> None:
    happened("/a/")
    run()
    later(UrlChange.KEEP + 1)
    happened("/b/")
    gate.pass_on()
    assert outbox.prune() == 1
    assert rows() == [("/b/", "pending")]
