"""The admin: what was submitted, what engines answered, and who may retry it."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.contrib.insight import retrying
from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.delivery import gate
from django_sitemaps_plus.engines.base import Answer, CheckResult, Outcome
from django_sitemaps_plus.models import EngineState, Submission
from tests.contrib.insight.test_pages import act, queries_of, staff, text
from tests.support.helpers import later
from tests.support.outbox_world import BASE, happened, rows, run, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


@pytest.fixture
def told(settings: Any) -> Any:
    """Give an engine that accepted one URL, refused one, and waits with one."""
    engine = use(settings, one="Few")
    refused = Answer(
        outcome=Outcome.REJECTED,
        status=422,
        excerpt="<script>alert(1)</script>\nsecond line",
        message="The host is another.",
    )
    asleep = Answer(outcome=Outcome.UNAVAILABLE, message="It sleeps.")
    for path, answers in (("/fine/", []), ("/bad/", [refused]), ("/later/", [asleep])):
        engine.answers.extend(answers)
        happened(path)
        run()
    return engine


def shown_of(state: str) -> str:
    """Return the page of the submission in a state."""
    pk = Submission.objects.get(state=state).pk
    return text(f"submission/{pk}/change/")


def test_each_state_is_shown_and_found_with_its_reasons(told: Any) -> None:
    shown = text("submission/")
    for state in ("accepted", "rejected", "pending"):
        assert shown.count(f'class="sitemaps-{state}"') == 1
        found = text(f"submission/?state__exact={state}")
        assert found.count('<strong class="sitemaps-') == 1
    assert f'href="{BASE}/fine/"' in shown
    assert "The host is another." in shown
    assert "in 9\xa0minutes" in shown or "in 10\xa0minutes" in shown
    assert '<strong class="sitemaps-' not in text("submission/?engine=two")
    # The answer in full, and escaped.
    shown = shown_of("rejected")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; second line</pre>" in shown
    assert "422" in shown
    assert 'name="_save"' not in shown
    # Why it waits.
    assert "It sleeps." in shown_of("pending")
    EngineState.objects.update(paused_until=0, problem="No key file.")
    assert "No key file." in shown_of("pending")
    EngineState.objects.update(problem="")
    with override_settings(DEBUG=True):
        assert "DEBUG is on" in shown_of("pending")
    happened("/fine/")
    gate.pass_on()
    for state, waits in (("pending", True), ("accepted", False)):
        row = Submission.objects.get(url=f"{BASE}/fine/", state=state)
        shown = text(f"submission/{row.pk}/change/")
        assert ("The same URL was submitted" in shown) is waits
        assert ("just now</time>." in shown) is waits
    assert re.search(r"\b\d+\.\d\d s\b", shown), "how long it took"


def test_who_may_can_submit_it_again(told: Any) -> None:
    row = Submission.objects.get(state="rejected")
    client = staff("view_submission")
    assert "retry" not in text("submission/", client)
    act("submission/", "retry", [row], client)
    assert ("/bad/", "rejected") in rows()
    shown = act("submission/", "retry", list(Submission.objects.all()))
    assert "1 URL will be submitted again." in shown
    run()
    assert ("/bad/", "accepted") in rows()
    for path in ("submission/add/", "enginestate/"):
        assert client.get(f"/admin/sitemaps_plus/{path}").status_code == 403


def test_engines_at_a_glance(told: Any, settings: Any) -> None:
    shown = text("enginestate/")
    assert ">paused</strong>" in shown
    assert "It sleeps." in shown
    assert 'id="sitemaps-refusal"' not in shown
    soon = time.time() + 30
    for change, said in (
        ({"paused_until": soon}, "Next try in under a minute."),
        ({"paused_until": 0}, "Next try now."),
        ({"failures": 0}, ">rejects what is sent</strong>"),
        ({"succeeded_at": soon - 30}, ">works</strong>"),
        ({"exhausted_until": soon}, ">quota used up</strong>"),
    ):
        EngineState.objects.update(**change)
        assert said in text("enginestate/")
    state = EngineState.objects.get()
    detail = text(f"enginestate/{state.pk}/change/")
    assert 'name="_save"' not in detail
    with override_settings(DEBUG=True):
        assert "DEBUG is on" in text("enginestate/")
    use(settings)
    shown = text("enginestate/")
    assert "not in the settings" in shown
    assert "No engine is configured" in shown
    # One that cannot be used breaks no list.
    settings.SITEMAPS_PLUS = {"ENGINES": {"one": {"BACKEND": "no.such"}}}
    for name in ("submission", "urlchange", "section"):
        text(f"{name}/")
    assert "cannot be imported" in text("enginestate/")


def test_a_proof_that_is_missing_is_seen(settings: Any) -> None:
    engine = use(settings, one=("Keyed", {"key": "s3cr3t-key"}))
    said = "The file s3cr3t-key.txt is missing."
    engine.findings.append(CheckResult(is_good=False, text=said, fix="Go."))
    happened("/a/")
    run()
    shown = text("enginestate/")
    assert "needs attention</strong>" in shown
    assert "The file ….txt is missing. Go." in shown
    assert "s3cr3t" not in shown


def test_the_number_of_queries_does_not_grow(settings: Any) -> None:
    def queries() -> list[int]:
        return [len(queries_of(f"{name}/")) for name in ("submission", "enginestate")]

    use(settings, one="Few", two="Few")
    happened("/a/")
    run()
    queries()
    few = queries()
    happened(*(f"https://shop{n}.example.com/{n}/" for n in range(30)))
    gate.pass_on()
    assert EngineState.objects.count() > 30
    assert queries() == few


# What is submitted once more


def test_what_was_rejected_or_failed_is_retried(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    engine.bad.add(f"{BASE}/a/")
    happened("/a/", "/b/")
    run()
    assert rows() == [("/a/", "rejected"), ("/b/", "accepted")]
    engine.bad.clear()
    later_today = time.time() + 7200
    EngineState.objects.update(paused_until=later_today)
    assert retrying.retry(Submission.objects.all()) == 1
    run()
    assert sorted(rows()) == [("/a/", "accepted"), ("/b/", "accepted")]
    EngineState.objects.update(paused_until=later_today)
    assert retrying.retry(Submission.objects.all()) == 0
    assert EngineState.objects.get().paused_until == later_today, "nothing is retried"


def test_a_retry_waits_for_the_interval_since_it_was_accepted(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    engine.bad.add(f"{BASE}/a/")
    happened("/a/")
    run()
    later(601)
    engine.bad.clear()
    happened("/a/")
    run()
    assert rows() == [("/a/", "rejected"), ("/a/", "accepted")]
    assert retrying.retry(Submission.objects.all()) == 1
    run()
    assert len(engine.sent) == 2
    later(601)
    run()
    assert len(engine.sent) == 3


def test_a_retry_of_what_failed_waits_for_the_interval(settings: Any) -> None:
    now = database_time("default")
    failed(settings, "/a/", answered_at=now)
    assert retrying.retry(Submission.objects.all()) == 1
    assert 590 < (Submission.objects.get().due_at or 0) - now < 610
    Submission.objects.update(**FAILED)
    happened("/a/")
    gate.pass_on()
    some = Submission.objects.filter(state="failed")
    assert retrying.retry(some) == 0, "what changed since waits already"
    assert rows() == [("/a/", "pending")]


FAILED = {"state": "failed", "live": None, "due_at": None}


def failed(settings: Any, *paths: str, **values: Any) -> None:
    """Have submissions given up, as the last attempt did."""
    use(settings, one="Scripted")
    happened(*paths)
    gate.pass_on()
    Submission.objects.update(**FAILED, **values)


def test_only_some_of_very_many_are_retried_at_once(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed(settings, *(f"/{n}/" for n in range(5)))
    monkeypatch.setattr(retrying, "MOST_RETRIED", 2)
    with CaptureQueriesContext(connection) as queries:
        assert retrying.retry(Submission.objects.order_by("pk")) == 2
    assert any("LIMIT 2" in query["sql"] for query in queries), "not all are read"
    assert [how for _, how in rows()] == ["failed"] * 3 + ["pending"] * 2
