"""What became of submissions is counted, for the charts."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.contrib.insight.models import DailyCount
from tests.support.outbox_world import BASE, happened, run, use


@pytest.mark.django_db(databases=["default", "other"])
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
