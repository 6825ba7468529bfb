"""How engines are doing, from before anything was sent."""

from __future__ import annotations

import time
from typing import Any

import pytest

from django_sitemaps_plus.delivery.engines import EngineHealth, Health, engines
from django_sitemaps_plus.delivery.gate import pass_on
from django_sitemaps_plus.engines.base import CheckResult
from django_sitemaps_plus.models import EngineState, Submission
from tests.support.outbox_world import happened, run, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def test_engines_are_known_before_anything_was_sent(settings: Any) -> None:
    use(settings, one=("Keyed", {"key": "abc12345"}), two="Few")
    found = EngineHealth.all("")
    assert [(one.state.engine, one.state.host) for one in found] == [
        ("one", "www.example.com"),
        ("two", "www.example.com"),
    ]
    known = engines()
    assert [one.name for one in found] == [known["one"].name, known["two"].name]
    assert {one.health for one in found} == {Health.UNUSED}
    assert {one.health for one in EngineHealth.all("DEBUG is on.")} == {Health.REFUSED}


def test_health_follows_what_an_engine_does(settings: Any) -> None:
    engine = use(settings, one=("Keyed", {"key": "abc12345"}))
    happened("/a/")
    engine.findings.append(CheckResult(is_good=False, text="No file abc12345."))
    run()
    [one] = EngineHealth.all("")
    assert (one.health, one.reason, one.waiting) == (Health.BLOCKED, "No file ….", 1)
    EngineState.objects.update(problem="", failures=1, message="It sleeps.")
    [one] = EngineHealth.all("")
    assert (one.health, one.reason) == (Health.PAUSED, "It sleeps.")
    EngineState.objects.update(failures=0, paused_until=0, answered_at=1)
    [one] = EngineHealth.all("")
    assert (one.health, one.reason) == (Health.REJECTING, "It sleeps.")
    EngineState.objects.update(succeeded_at=1)
    [one] = EngineHealth.all("")
    assert (one.health, one.reason) == (Health.FINE, "")


def test_what_waits_for_a_quota_is_not_late(settings: Any) -> None:
    use(settings, one="Few")
    happened("/a/")
    pass_on()
    Submission.objects.update(due_at=time.time() - 1000)
    [one] = EngineHealth.all("")
    assert (one.health, one.waiting, one.late) == (Health.UNUSED, 1, 1)
    EngineState.objects.update(exhausted_until=time.time() + 60, answered_at=1)
    [one] = EngineHealth.all("")
    assert (one.health, one.waiting, one.late) == (Health.EXHAUSTED, 1, 0)
    # What it rejected before it took no more is over.
    EngineState.objects.update(exhausted_until=time.time() - 60)
    [one] = EngineHealth.all("")
    assert one.health is Health.FINE


def test_what_is_paused_is_tried_after_the_longer_wait(settings: Any) -> None:
    use(settings, one="Few")
    now = time.time()
    happened("/a/")
    pass_on()
    EngineState.objects.update(paused_until=now + 60, exhausted_until=now + 90)
    [one] = EngineHealth.all("")
    assert one.health is Health.PAUSED, "without a failure: an engine asked for it"
    assert one.next_try == pytest.approx(now + 90)
    assert one.due_at == pytest.approx(now + 90)
    EngineState.objects.update(paused_until=0, exhausted_until=0)
    [one] = EngineHealth.all("")
    assert one.next_try is None
    assert one.due_at <= time.time()


def test_what_waits_is_counted_by_section(settings: Any) -> None:
    use(settings, one="Few")
    happened("/a/")
    pass_on()
    Submission.objects.update(section="article")
    assert [one.waiting for one in EngineHealth.all("", ["article"])] == [1]
    assert [one.waiting for one in EngineHealth.all("", ["film"])] == [0]
