"""News is listed for two days, from its publication on."""

from __future__ import annotations

from django_sitemaps_plus.contrib.audit.entries import Entry
from django_sitemaps_plus.contrib.audit.rules import Listed, look
from tests.contrib.audit import kinds

from .test_lastmods import section


def test_news_are_listed_for_two_days() -> None:
    for published, kind in [
        ("2026-03-08T12:00:00+00:00", None),
        ("2026-03-08T11:59:59+00:00", kinds.OLD_NEWS),
        # A day is over at its end, and begins fourteen hours earlier in some zone.
        ("2026-03-08", None),
        ("2026-03-07", kinds.OLD_NEWS),
        ("2026-03-11", None),
        ("2026-03-12", kinds.FUTURE_NEWS),
        ("2026-03-10T12:05:00+00:00", None),
        ("2026-03-10T12:05:01+00:00", kinds.FUTURE_NEWS),
        ("some day", None),
    ]:
        url = "https://www.example.com/a/"
        entry = Entry(url, published=published)
        found = look(Listed(section(), "a-1", [url], [""], [entry]))
        expected = [(kind, f"published {published}", url)] if kind else []
        assert [one[:3] for one in found] == expected
