"""What happened to URLs becomes submissions: one for each URL and engine."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.changes import events as url_events
from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.delivery import outbox
from django_sitemaps_plus.models import EngineState, Section, Submission, UrlChange
from tests.support.outbox_world import BASE, Kind, happened, later, rows, run, sent, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def test_each_url_is_told_to_each_engine(settings: Any) -> None:
    use(settings, one="Scripted", two="Scripted")
    happened("/a/", "/b/")
    assert outbox.enqueue() == 2
    assert outbox.enqueue() == 0, "what was queued is queued"
    found = Submission.objects.values_list("engine", "url", "host", "kind", "section")
    assert sorted(found) == [
        (alias, f"{BASE}{path}", "www.example.com", "changed", "article")
        for alias in ("one", "two")
        for path in ("/a/", "/b/")
    ]
    assert EngineState.objects.count() == 2


def test_a_move_tells_of_both_addresses(settings: Any) -> None:
    use(settings, one="Scripted")
    happened("/new/", kind=Kind.MOVED, former="/old/")
    outbox.enqueue()
    found = Submission.objects.order_by("pk").values_list("url", "kind")
    assert list(found) == [(f"{BASE}/old/", "gone"), (f"{BASE}/new/", "moved")]


def test_what_changes_again_joins_what_waits(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/", "/a/")
    outbox.enqueue()
    happened("/a/", kind=Kind.GONE)
    outbox.enqueue()
    assert Submission.objects.get().kind == "gone", "the last one counts"
    run()
    assert sent(engine) == [["/a/"]]


def test_a_url_of_another_host_has_its_own_batch(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/", "https://shop.example.com/b/", "http://www.example.com/c/")
    run()
    batches = {batch.origin: sorted(batch.urls) for batch in engine.sent}
    assert batches == {
        BASE: ["http://www.example.com/c/", f"{BASE}/a/"],
        "https://shop.example.com": ["https://shop.example.com/b/"],
    }


def test_within_the_interval_a_url_waits_and_is_not_lost(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/")
    run()
    happened("/a/")
    happened("/b/")
    run()
    assert sent(engine) == [["/a/"], ["/b/"]]
    assert ("/a/", "pending") in rows()
    later(601)
    run()
    assert sent(engine) == [["/a/"], ["/b/"], ["/a/"]]
    assert {state for _, state in rows()} == {"accepted"}


def test_each_engine_has_its_own_interval(settings: Any) -> None:
    use(settings, slow=("Scripted", {"interval": 3600}), quick="Scripted")
    for _ in range(2):
        happened("/a/")
        run()
        later(601)
    assert rows().count(("/a/", "accepted")) == 3
    assert Submission.objects.get(live=True).engine == "slow"


def test_changes_are_gathered_for_some_seconds(settings: Any) -> None:
    engine = use(settings, one="Scripted", NOTIFY_AFTER=7)
    happened("/a/")
    run()
    assert sent(engine) == []
    wait = outbox.next_due()
    # Two of the seven have gone by when a page is made again.
    assert wait is not None
    assert 4 < wait <= 5
    happened("/b/", at=time.time() - 60)
    run()
    assert sent(engine) == [["/b/"]]
    later(6)
    run()
    assert sent(engine) == [["/b/"], ["/a/"]]
    assert outbox.next_due() is None


def test_somebody_who_asks_waits_for_nothing(settings: Any) -> None:
    engine = use(settings, one="Scripted", NOTIFY_AFTER=60)
    happened("/a/")
    outbox.enqueue(at_once=True)
    run()
    assert sent(engine) == [["/a/"]]


def test_what_is_held_waits_until_it_is_confirmed(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/", kind=Kind.GONE, held=True)
    happened("/b/")
    run()
    assert sent(engine) == [["/b/"]]
    assert url_events.confirm("article") == 1
    run()
    assert sent(engine) == [["/b/"], ["/a/"]]


def test_too_much_that_goes_is_taken_back_from_the_queue(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "MAX_GONE": 2}
    engine = outbox.engines()["one"]
    section = Section.objects.create(name="article")
    events = [url_events.Event(Kind.GONE, f"/{n}/") for n in range(4)]
    url_events.write(section, events[:2])
    outbox.enqueue()
    assert Submission.objects.count() == 2
    url_events.write(section, events[2:])
    run()
    assert sent(engine) == []
    assert url_events.confirm("article") == 4
    run()
    assert sorted(sent(engine)[0]) == ["/0/", "/1/", "/2/", "/3/"]


def few_may_go(settings: Any) -> tuple[Any, Section]:
    use(settings, one="Scripted")
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "MAX_GONE": 2}
    return outbox.engines()["one"], Section.objects.create(name="article")


def gone(*paths: str) -> list[url_events.Event]:
    return [url_events.Event(Kind.GONE, path) for path in paths]


def test_what_a_move_left_behind_is_not_taken_back(settings: Any) -> None:
    engine, section = few_may_go(settings)
    url_events.write(section, [url_events.Event(Kind.MOVED, "/new/", former="/old/")])
    outbox.enqueue()
    url_events.write(section, gone("/0/", "/1/", "/2/"))
    run()
    assert sent(engine) == [["/old/", "/new/"]]


def test_what_went_long_before_is_not_taken_back(settings: Any) -> None:
    engine, section = few_may_go(settings)
    url_events.write(section, gone("/early/"))
    outbox.enqueue()
    UrlChange.objects.update(at=F("at") - 2 * url_events.WITHIN)
    url_events.write(section, gone("/0/", "/1/", "/2/"))
    run()
    assert sent(engine) == [["/early/"]]


def test_what_was_confirmed_is_not_taken_back(settings: Any) -> None:
    engine, section = few_may_go(settings)
    url_events.write(section, gone("/0/", "/1/", "/2/"))
    assert url_events.confirm("article") == 3
    outbox.enqueue()
    url_events.write(section, gone("/3/", "/4/", "/5/"))
    run()
    assert sent(engine) == [["/0/", "/1/", "/2/"]]
    assert url_events.confirm("article") == 3
    run()
    assert sent(engine)[1:] == [["/3/", "/4/", "/5/"]]


def test_what_an_engine_that_is_gone_was_to_be_told_is_not_late(settings: Any) -> None:
    use(settings, one="Scripted", two="Scripted")
    happened("/a/")
    outbox.enqueue()
    later(2000)
    assert outbox.late(900) == 2
    use(settings, one="Scripted")
    assert outbox.late(900) == 1


def test_a_sitemap_is_told_of_once_in_an_interval(settings: Any) -> None:
    engine = use(settings, one="Sitemaps")
    for path in ("/a/", "/b/"):
        happened(path)
        run()
    [batch] = engine.sent
    assert batch.are_sitemaps
    assert list(batch.urls) == [f"{BASE}/sitemap.xml"]
    later(601)
    run()
    assert len(engine.sent) == 2, "for /b/"
    later(601)
    run()
    assert len(engine.sent) == 2, "nothing has changed since"


def test_without_engines_nothing_waits_for_one_that_comes_later(settings: Any) -> None:
    section = Section.objects.create(name="article")
    use(settings)
    url_events.write(section, [url_events.Event(Kind.ADDED, "/a/")])
    assert outbox.enqueue() == 0
    engine = use(settings, one="Scripted")
    url_events.write(section, [url_events.Event(Kind.ADDED, "/b/")])
    run()
    assert sent(engine) == [["/b/"]]


def test_without_an_address_nothing_is_queued(settings: Any) -> None:
    use(settings, one="Scripted")
    happened("/a/")
    given = {**settings.SITEMAPS_PLUS, "BASE_URL": None}
    with override_settings(SITEMAPS_PLUS=given, SITE_ID=None):
        assert outbox.enqueue() == 0
    assert outbox.enqueue() == 1


def test_many_are_queued_some_at_a_time(
    settings: Any, django_assert_max_num_queries: Any
) -> None:
    use(settings, one="Scripted")
    happened(*(f"/{n}/" for n in range(2 * outbox.CHUNK + 7)))
    with django_assert_max_num_queries(60):
        assert outbox.enqueue() == 2 * outbox.CHUNK + 7
    assert Submission.objects.count() == 2 * outbox.CHUNK + 7
    assert not UrlChange.objects.filter(queued_at=None).exists()


def test_old_rows_are_pruned(settings: Any) -> None:
    use(settings, one="Scripted")
    happened("/a/")
    run()
    later(url_events.KEEP + 1)
    happened("/b/")
    outbox.enqueue()
    assert outbox.prune() == 1
    assert rows() == [("/b/", "pending")]


def test_what_was_refused_is_retried(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    engine.bad.add(f"{BASE}/a/")
    happened("/a/", "/b/")
    run()
    assert rows() == [("/a/", "rejected"), ("/b/", "accepted")]
    engine.bad.clear()
    assert outbox.retry(Submission.objects.all()) == 1
    run()
    assert rows() == [("/a/", "accepted"), ("/b/", "accepted")]
    assert outbox.retry(Submission.objects.all()) == 0


def test_what_was_told_since_is_retried_after_the_interval(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    engine.bad.add(f"{BASE}/a/")
    happened("/a/")
    run()
    later(601)
    engine.bad.clear()
    happened("/a/")
    run()
    assert rows() == [("/a/", "rejected"), ("/a/", "accepted")]
    assert outbox.retry(Submission.objects.all()) == 1
    run()
    assert len(engine.sent) == 2
    later(601)
    run()
    assert len(engine.sent) == 3


def test_of_very_many_some_are_retried(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings, one="Scripted")
    monkeypatch.setattr(outbox, "MOST", 2)
    happened(*(f"/{n}/" for n in range(5)))
    outbox.enqueue()
    Submission.objects.update(state="rejected", live=None, due_at=None, status=422)
    with CaptureQueriesContext(connection) as queries:
        assert outbox.retry(Submission.objects.order_by("pk")) == 2
    assert "LIMIT 2" in queries[0]["sql"], "not all are read"
    assert [how for _, how in rows()] == ["pending"] * 2 + ["rejected"] * 3


def test_a_retry_of_nothing_ends_no_pause(settings: Any) -> None:
    use(settings, one="Scripted")
    happened("/a/")
    run()
    EngineState.objects.update(paused_until=1e12)
    assert outbox.retry(Submission.objects.all()) == 0
    assert EngineState.objects.get().paused_until == 1e12


def test_what_got_no_answer_is_retried_after_the_interval(settings: Any) -> None:
    use(settings, one="Scripted")
    happened("/a/")
    outbox.enqueue()
    now = database_time("default")
    Submission.objects.update(state="failed", live=None, due_at=None, answered_at=now)
    assert outbox.retry(Submission.objects.all()) == 1
    due_at = Submission.objects.get().due_at
    assert due_at is not None
    assert 590 < due_at - now < 610


def test_what_changed_since_it_failed_waits_already(settings: Any) -> None:
    use(settings, one="Scripted")
    happened("/a/")
    outbox.enqueue()
    Submission.objects.update(state="failed", live=None, due_at=None, status=500)
    happened("/a/")
    outbox.enqueue()
    assert outbox.retry(Submission.objects.filter(state="failed")) == 0
    assert rows() == [("/a/", "failed"), ("/a/", "pending")]
