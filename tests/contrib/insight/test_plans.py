"""The admin and what monitors a site read by an index, however much there is."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import RequestFactory

from django_sitemaps_plus.contrib.insight.admin import base
from django_sitemaps_plus.contrib.insight.admin.overview import overview
from django_sitemaps_plus.contrib.insight.metrics import metrics
from django_sitemaps_plus.contrib.insight.models import DailyCount, Read
from django_sitemaps_plus.db import digest_of
from django_sitemaps_plus.models import (
    Change,
    EngineState,
    Page,
    Section,
    Submission,
    UrlChange,
)
from django_sitemaps_plus.pagination import lately
from tests.contrib.insight.test_pages import address, admin, text
from tests.contrib.insight.test_story import story
from tests.support.helpers import ArticleSitemap
from tests.support.ledger_kinds import VENDOR
from tests.support.outbox_world import BASE, use
from tests.support.plans import Statement, analyze, scans, statements, touched

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

YESTERDAY = lately.today() - dt.timedelta(days=1)
#: Enough rows that no planner prefers to read them all; SQLite never does.
ROWS = 600 if VENDOR == "sqlite" else 6_000
MODELS = (Change, DailyCount, Page, Read, Submission, UrlChange)


def of_url(url: str, column: str) -> dict[str, Any]:
    return {column: url, "digest": digest_of(url)}


@pytest.fixture
def full(settings: Any) -> None:
    """Very much of this site, and as much of another one."""
    use(settings, one="Few")
    EngineState.objects.create(engine="one", host="www.example.com")
    # With two sections in all, a planner expects half of the pages in each.
    others = [Section.objects.create(site="other", name=f"s{n}") for n in range(20)]
    now, today = time.time(), lately.today()
    own = Section.objects.create(site="1", name="article")
    rows: list[Any] = [Page(section=own, number=n, position=n) for n in range(20)]
    sent = {"state": "accepted", "sent_at": now}
    due = {"state": "pending", "live": True, "due_at": now}
    changed = {"kind": "changed", "queued_at": now}
    for number in range(ROWS):
        url, section = f"/{number}/", {"section": "article", "at": now}
        site = {"site": "1" if number % 3 else "other"}
        of_engine = {"engine": "one", "host": "www.example.com", "created_at": now}
        of_engine |= sent if number % 50 else due
        other = {"site": "other"}
        read = {"document": url, "crawler": "bingbot", "first_at": now, "last_at": now}
        rows += [
            Change(**section, site=f"other{number % 9}", key=f"[{number}]"),
            Page(section=others[number % 20], number=number, position=number),
            DailyCount(**other, day=today, topic="reads", name=str(number)),
            Read(**other, **read),
            Submission(**site, **of_engine, **of_url(BASE + url, "url")),
            UrlChange(**site, **section, **changed, **of_url(url, "location")),
        ]
    for model in MODELS:
        some = [row for row in rows if type(row) is model]
        model._default_manager.bulk_create(some, batch_size=500)
        analyze(model._meta.db_table)


def check(found: list[Statement], least: int, models: Any = MODELS) -> None:
    """Check that each statement reads the large tables by an index."""
    tables = [model._meta.db_table for model in models]
    large = [one for one in found if any(table in one[0] for table in tables)]
    assert len(large) >= least
    for statement in large:
        # Sections are few: whether they are scanned is for the planner to say.
        assert scans(statement, *tables) == [], statement


#: Lists of what matches few rows: else a scan ends at the rows that a list counts.
LISTS = [
    *("submission/?state__exact=failed", "submission/?q=/17/"),
    *(f"submission/?day={YESTERDAY}", f"urlchange/?day={YESTERDAY}"),
    *("urlchange/?kind=removed", "urlchange/?on_hold=yes", "urlchange/?q=/17/"),
    *("change/", "change/?of=article", "read/?crawler=-", "read/?since=3600"),
]


def test_lists_read_by_indexes(full: None, register: Any) -> None:
    register("article", ArticleSitemap)
    client = admin()
    for path in LISTS:
        with statements("sitemaps_plus_") as found:
            client.get(address(path))
        check(found, 2)


def test_what_is_new_is_counted_without_reading_what_is_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planners think that new rows lie everywhere, while they are the last ones."""
    monkeypatch.setattr(base, "MOST", 150)
    old, given = 6 * 86_400, {"section": "article", "kind": "changed", "location": "/"}
    first = time.time() - old
    UrlChange.objects.bulk_create(
        UrlChange(**given, at=first + old * n / ROWS) for n in range(ROWS)
    )
    analyze(UrlChange._meta.db_table)
    with statements("sitemaps_plus_urlchange") as found:
        text("urlchange/?since=86400")
    check(found, 2)
    read = [touched(statement) for statement in found]
    assert all(number is None or number < ROWS / 10 for number in read), read


def test_the_index_and_a_story_read_by_indexes(full: None) -> None:
    request = RequestFactory().get("/")
    request.user = User(is_superuser=True, is_active=True)
    with statements("sitemaps_plus_") as found:
        overview(request)
    check(found, 6)
    request.user = AnonymousUser()
    with statements("sitemaps_plus_") as found:
        overview(request)
    assert found == [], "what may not be viewed is not read"
    with statements("sitemaps_plus_") as found:
        story(f"{BASE}/17/")
    check(found, 2)


def test_the_numbers_are_read_by_indexes(full: None, register: Any) -> None:
    register("article", ArticleSitemap)
    Change.objects.create(section="article", key="[1]", at=time.time())
    with statements("sitemaps_plus_") as found:
        numbers = metrics()
    assert numbers.waiting == 1 + ROWS // 75
    check(found, 4)
