"""What the audit says of lastmods: impossible, built just then, equal."""

from __future__ import annotations

import datetime as dt

from django_sitemaps_plus.contrib.audit.rules import AuditedSection, Listed
from django_sitemaps_plus.contrib.audit.rules.lastmods import (
    ENOUGH_LASTMODS,
    Lastmods,
    lastmods,
)
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.sitemaps.site import SiteAddress
from tests.contrib.audit import kinds

SITE = SiteAddress(origin=Origin("https", "www.example.com"))
NOON = dt.datetime(2026, 3, 10, 12, tzinfo=dt.UTC)


def section(now: dt.datetime = NOON, per_item: int = 1) -> AuditedSection:
    return AuditedSection("a", SITE, now, per_item=per_item)


def kind_of(value: str, now: dt.datetime = NOON) -> str:
    """Return what is wrong with one lastmod, among good ones."""
    values = ["2026-01-02", value, ""]
    found = list(lastmods(Listed(section(now), "a-1", ["/a/", "/b/", "/c/"], values)))
    assert [one.url for one in found] == ["/b/"] * len(found)
    return found[0].kind if found else ""


def test_a_lastmod_is_a_date_that_has_come() -> None:
    for value, kind in [
        # Clocks differ by five minutes.
        ("2026-03-10T12:05:00+00:00", ""),
        ("2026-03-10T12:05:01+00:00", kinds.FUTURE),
        # Yesterday in its zone, and an hour ahead in UTC.
        ("2026-03-09T23:00:00-14:00", kinds.FUTURE),
        ("2026-03-11T01:00:00+14:00", ""),
        # Tomorrow has begun where days begin first.
        ("2026-03-11", ""),
        ("2026-03-12", kinds.FUTURE),
        ("2026-02-30", kinds.BAD_LASTMOD),
        ("2026-02-30T12:00:00+00:00", kinds.BAD_LASTMOD),
        ("yesterday", kinds.BAD_LASTMOD),
        ("2026", kinds.BAD_LASTMOD),
        ("1970-01-01T00:00:00+00:00", kinds.BEFORE_THE_WEB),
        ("1991-08-05", kinds.BEFORE_THE_WEB),
        ("1991-08-06", ""),
        ("", ""),
    ]:
        assert kind_of(value) == kind


def test_a_day_begins_fourteen_hours_earlier_in_the_first_zone() -> None:
    now = dt.datetime(2026, 3, 10, 9, 55, tzinfo=dt.UTC)
    assert kind_of("2026-03-11", now) == ""
    assert kind_of("2026-03-11", now - dt.timedelta(minutes=1)) == kinds.FUTURE


# Lastmods that are the time at which a page was built


def suspected(*values: str, built: dt.datetime = NOON, per_item: int = 1) -> list[str]:
    whole = section(per_item=per_item)
    urls = [f"/{n}/" for n in range(len(values))]
    page = Listed(whole, "article-1", urls, values, read_at=built.timestamp())
    list(lastmods(page))
    return whole.kept(Lastmods).suspected


def test_a_page_is_suspect_where_most_of_many_lastmods_are_when_it_was_built() -> None:
    for just, others, per_item, is_suspect in [
        (10, 0, 1, True),
        (9, 0, 1, False),
        (10, 10, 1, True),
        (10, 11, 1, False),
        (20, 0, 2, True),
        (19, 0, 2, False),
    ]:
        values = ["2026-03-10T12:00:00+00:00"] * just + ["2026-03-10"] * others
        found = suspected(*values, per_item=per_item)
        assert found == (["article-1"] if is_suspect else [])


def test_two_seconds_are_just_then() -> None:
    for value, built, is_just in [
        ("2026-03-10T11:59:58+00:00", "2026-03-10T12:00:00+00:00", True),
        ("2026-03-10T12:00:02Z", "2026-03-10T12:00:00+00:00", True),
        ("2026-03-10T11:59:57+00:00", "2026-03-10T12:00:00+00:00", False),
        ("2026-03-10", "2026-03-10T12:00:00+00:00", False),
        ("2026-03-10T12:00:00", "2026-03-10T12:00:00+00:00", False),
        ("", "2026-03-10T12:00:00+00:00", False),
        # It may be another day in the zone of the lastmods.
        ("2026-03-11T00:30:00+01:00", "2026-03-10T23:30:00+00:00", True),
        ("2026-03-09T19:30:00-05:00", "2026-03-10T00:30:00+00:00", True),
    ]:
        when = dt.datetime.fromisoformat(built)
        assert bool(suspected(*[value] * ENOUGH_LASTMODS, built=when)) is is_just


# Lastmods that are all equal


def test_ten_items_of_one_lastmod_say_that_none_means_anything() -> None:
    for values, per_item, are_equal in [
        (["2026-01-02"] * 10, 1, True),
        (["2026-01-02"] * 9 + [""], 1, False),
        (["2026-01-02"] * 10 + [""], 1, True),
        (["2026-01-02"] * 10 + ["2026-01-03"], 1, False),
        (["2026-01-02"] * 20, 2, True),
        (["2026-01-02"] * 19, 2, False),
    ]:
        whole = section(per_item=per_item)
        # Page by page.
        for some in (values[:7], values[7:]):
            urls = [f"/{n}/" for n in range(len(some))]
            assert list(lastmods(Listed(whole, "a-1", urls, some))) == []
        assert whole.kept(Lastmods).are_equal is are_equal
