"""What engines say of the sitemaps is asked for in the background, and stored."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import F

from django_sitemaps_plus.delivery import background, reports
from django_sitemaps_plus.engines.base import CheckResult, SitemapStatus
from django_sitemaps_plus.health.engines import Health, all_engines
from django_sitemaps_plus.models import DailyCount, EngineState, SitemapReport
from tests.support.outbox_engines import Keyed, Scripted
from tests.support.outbox_world import BASE, happened, run, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])

SITEMAP = f"{BASE}/sitemap.xml"


@pytest.fixture
def asked(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Give an engine that reports on sitemaps, and what it was asked for."""
    use(settings, one="Scripted", two="Few")
    found: list[Any] = []

    def status(self: Any, locations: Any) -> list[SitemapStatus]:
        if self.alias == "two":
            return []
        found.append(list(locations))
        return [
            SitemapStatus(
                location=one,
                last_downloaded="2026-01-02T03:04:05.000Z",
                errors=len(found),
                submitted={"web": 3},
            )
            for one in locations
        ]

    monkeypatch.setattr(Scripted, "status", status)
    return found


def test_an_engine_is_asked_every_six_hours_by_one_process(asked: list[Any]) -> None:
    background.notify()
    reports.ask()
    assert asked == [[SITEMAP]]
    row = SitemapReport.objects.get()
    assert (row.engine, row.location, row.errors) == ("one", SITEMAP, 1)
    assert row.submitted == {"web": 3}
    EngineState.objects.update(asked_at=F("asked_at") - 6 * 3600)
    background.notify()
    assert len(asked) == 2
    assert SitemapReport.objects.get().errors == 2
    reports.ask(at_once=True)
    assert len(asked) == 3


def test_one_that_fails_is_asked_again_after_an_hour(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings, one=("Keyed", {"key": "abc12345"}))
    calls = []

    def status(self: Any, locations: Any) -> Any:
        calls.append(1)
        raise LookupError("no abc12345")

    monkeypatch.setattr(Keyed, "status", status)
    reports.ask()
    assert SitemapReport.objects.get().problem == "LookupError: no …"
    EngineState.objects.update(asked_at=F("asked_at") - 3000)
    reports.ask()
    assert len(calls) == 1
    EngineState.objects.update(asked_at=F("asked_at") - 700)
    reports.ask()
    assert len(calls) == 2


def test_nothing_is_asked_from_where_nothing_is_sent(
    asked: list[Any], settings: Any
) -> None:
    settings.DEBUG = True
    background.notify()
    assert asked == []


# Health


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


def test_outcomes_are_counted_by_day_and_engine(settings: Any) -> None:
    engine = use(settings, one="Few")
    engine.bad.add(f"{BASE}/bad/")
    happened(*(f"/{n}/" for n in range(7)), "/bad/")
    run()
    happened("/8/")
    run()
    rows = DailyCount.objects.filter(topic="submissions")
    found = {row[:2]: row[2] for row in rows.values_list("name", "outcome", "number")}
    assert found == {("one", "accepted"): 8, ("one", "rejected"): 1}
