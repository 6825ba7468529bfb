"""What was counted day by day: the charts, and how much of late."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from functools import cached_property

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.contrib.insight import history
from django_sitemaps_plus.contrib.insight.history import Topic

from . import display
from .charts import Chart, by_day, by_name

#: Days that the charts show, and after which a section's growth is counted.
_DAYS, _WEEK = 30, 7
#: Crawlers in the chart.
_CRAWLERS = 8
#: The outcomes of submissions, in the order of the chart.
_LATELY = {
    "accepted": _("%s accepted"),
    "rejected": _("%s rejected"),
    "failed": _("%s given up"),
}


class Days:
    """The counts of the last month, read once."""

    def __init__(self) -> None:
        today = history.today()
        self.days = [today - dt.timedelta(days=n) for n in range(_DAYS - 1, -1, -1)]

    @cached_property
    def _rows(self) -> dict[str, list[tuple[dt.date, str, str, int]]]:
        """The counts by topic: days, names, outcomes and numbers."""
        found: dict[str, list[tuple[dt.date, str, str, int]]] = defaultdict(list)
        columns = "topic", "day", "name", "outcome", "number"
        for topic, *row in history.counts(_DAYS).values_list(*columns):
            found[topic].append(tuple(row))
        return found

    def growth(self, name: str, now: int) -> int | None:
        """Return how many URLs a section lists more than a week ago."""
        before = self.days[-1 - _WEEK]
        for day, section, _outcome, number in self._rows[Topic.ENTRIES]:
            if (day, section) == (before, name):
                return now - number
        return None

    def lately(self, alias: str) -> str:
        """Return what an engine answered in the last week."""
        since = self.days[-_WEEK]
        counts = Counter[str]()
        for day, name, outcome, number in self._rows[Topic.SUBMISSIONS]:
            if name == alias and day >= since:
                counts[outcome] += number
        words = [
            word % display.number(counts[outcome])
            for outcome, word in _LATELY.items()
            if counts[outcome]
        ]
        return ", ".join(map(str, words)) or "–"

    def entries(self) -> Chart:
        """Return the chart of listed URLs."""
        chart = Chart(
            gettext("Listed URLs"),
            gettext("How many URLs the sitemaps listed on each of the last 30 days."),
            (_("Day"), _("URLs")),
            [("sitemaps-fill-1", _("URLs"))],
        )
        return self._by_day(chart, Topic.ENTRIES, [""])

    def submissions(self) -> Chart:
        """Return the chart of submissions by outcome."""
        chart = Chart(
            gettext("Submissions"),
            gettext("How many submissions ended how, on each of the last 30 days."),
            (_("Day"), _("accepted"), _("rejected"), _("given up")),
            [
                ("sitemaps-fill-good", _("accepted")),
                ("sitemaps-fill-bad", _("rejected")),
                ("sitemaps-fill-odd", _("given up")),
            ],
        )
        return self._by_day(chart, Topic.SUBMISSIONS, list(_LATELY))

    def _by_day(self, chart: Chart, topic: Topic, outcomes: list[str]) -> Chart:
        """Draw the numbers of some outcomes of each day."""
        found: dict[dt.date, list[int | None]] = {
            day: [None] * len(outcomes) for day in self.days
        }
        for day, _name, outcome, number in self._rows[topic]:
            if day in found and outcome in outcomes:
                index = outcomes.index(outcome)
                found[day][index] = (found[day][index] or 0) + number
        return by_day(chart, found)

    def reads(self) -> Chart:
        """Return the chart of reads by crawler."""
        found: dict[str, list[int]] = {}
        for _day, name, outcome, number in self._rows[Topic.READS]:
            parts = found.setdefault(name or gettext("others"), [0, 0])
            parts[outcome == "304"] += number
        most = sorted(found.items(), key=lambda item: -sum(item[1]))[:_CRAWLERS]
        chart = Chart(
            gettext("Reads by crawler"),
            gettext("How often each crawler read a sitemap in the last 30 days."),
            (_("Crawler"), _("whole file"), _("unchanged")),
            [
                ("sitemaps-fill-1", _("whole file (200)")),
                ("sitemaps-fill-2", _("unchanged (304)")),
            ],
        )
        return by_name(chart, dict(most))
