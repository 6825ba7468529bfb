"""How engines are doing, from before anything was sent."""

from __future__ import annotations

import time
from typing import Any

import pytest

from django_sitemaps_plus.delivery.engines import EngineHealth, Health, engines
from django_sitemaps_plus.delivery.gate import pass_on
from django_sitemaps_plus.engines.base import CheckResult
from django_sitemaps_plus.models import EngineState
from tests.support.outbox_world import happened, run, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def test_engines_are_known_before_anything_was_sent(settings: Any) -> None:
    use(settings, one=("Keyed", {"key": "abc12345"}), two="Few")
    found = EngineHealth.all("")
    assert {one.state.host for one in found} == {"www.example.com"}
    names = [(alias, engine.name) for alias, engine in engines().items()]
    assert [(one.state.engine, one.name) for one in found] == names
    assert {one.health for one in found} == {Health.UNUSED}
    assert {one.health for one in EngineHealth.all("DEBUG is on.")} == {Health.REFUSED}


def test_health_follows_what_an_engine_does(settings: Any) -> None:
    engine = use(settings, one=("Keyed", {"key": "abc12345"}))
    engine.findings.append(CheckResult(is_good=False, text="No file abc12345."))
    happened("/a/")
    run()
    [one] = EngineHealth.all("")
    assert (one.health, one.reason, one.waiting) == (Health.BLOCKED, "No file ….", 1)
    for values, health, reason in (
        ({"problem": "", "failures": 1}, Health.PAUSED, "It sleeps."),
        ({"failures": 0}, Health.PAUSED, "It sleeps."),
        ({"paused_until": 0, "answered_at": 9}, Health.REJECTING, "It sleeps."),
        # What it rejected before it took no more is over.
        ({"exhausted_until": 10}, Health.FINE, ""),
        ({"exhausted_until": 0, "succeeded_at": 9}, Health.FINE, ""),
    ):
        EngineState.objects.update(message="It sleeps.", **values)
        [one] = EngineHealth.all("")
        assert (one.health, one.reason) == (health, reason), values


def test_what_is_paused_is_tried_after_the_longer_wait(settings: Any) -> None:
    use(settings, one="Few")
    now = time.time()
    happened("/a/")
    pass_on()
    EngineState.objects.update(paused_until=now + 60, exhausted_until=now + 90)
    [one] = EngineHealth.all("")
    for at in (one.next_try, one.due_at):
        assert at is not None
        assert abs(at - now - 90) < 0.01
    EngineState.objects.update(paused_until=0, exhausted_until=0)
    [one] = EngineHealth.all("", ["article"])
    assert (one.waiting, one.next_try) == (1, None)
    assert one.due_at <= time.time()
    assert [one.waiting for one in EngineHealth.all("", ["film"])] == [0]
