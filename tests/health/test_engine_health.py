"""How engines are doing, from before anything was sent."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.engines.base import CheckResult
from django_sitemaps_plus.health.engines import Health, all_engines
from django_sitemaps_plus.models import EngineState
from tests.support.outbox_world import happened, run, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def test_engines_are_known_before_anything_was_sent(settings: Any) -> None:
    use(settings, one=("Keyed", {"key": "abc12345"}), two="Few")
    found = all_engines("")
    assert [(one.state.engine, one.state.host) for one in found] == [
        ("one", "www.example.com"),
        ("two", "www.example.com"),
    ]
    assert {one.health for one in found} == {Health.UNUSED}
    assert {one.health for one in all_engines("DEBUG is on.")} == {Health.REFUSED}


def test_health_follows_what_an_engine_does(settings: Any) -> None:
    engine = use(settings, one=("Keyed", {"key": "abc12345"}))
    happened("/a/")
    engine.findings.append(CheckResult(is_good=False, text="No file abc12345."))
    run()
    [one] = all_engines("")
    assert (one.health, one.reason, one.waiting) == (Health.BLOCKED, "No file ….", 1)
    EngineState.objects.update(problem="", failures=1, message="It sleeps.")
    [one] = all_engines("")
    assert (one.health, one.reason) == (Health.PAUSED, "It sleeps.")
    EngineState.objects.update(failures=0, paused_until=0, answered_at=1)
    [one] = all_engines("")
    assert (one.health, one.reason) == (Health.REJECTING, "It sleeps.")
    EngineState.objects.update(succeeded_at=1)
    [one] = all_engines("")
    assert (one.health, one.reason) == (Health.FINE, "")
