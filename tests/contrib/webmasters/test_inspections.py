"""Google is asked about URLs: which, how many, and what its answers mean."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus.contrib.webmasters import coverage, quota
from django_sitemaps_plus.contrib.webmasters.models import Inspection, InspectionQuota
from django_sitemaps_plus.engines import http
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site, working_for
from tests.contrib.webmasters.inspected import (
    BASE,
    google,
    inspect,
    options,
    store,
    urls_of,
    verdicts,
)
from tests.support.fakes.faults import Reply
from tests.support.fakes.inspection import INDEXED, UNKNOWN, FakeInspection
from tests.support.helpers import ArticleSitemap, later
from tests.support.processes import at_once

__all__ = ["google"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def blog() -> Iterator[str]:
    """Give the address of a second site, with a section of the same name."""
    registry.add("about", ArticleSitemap, "blog")
    yield "https://blog.example.com"
    registry.remove("about", "blog")


def state() -> InspectionQuota:
    return InspectionQuota.objects.get()


def test_a_small_section_is_inspected_whole_and_once_a_week(
    google: FakeInspection,
) -> None:
    store("about", urls_of("about", 60))
    assert inspect(most=70) == 60
    assert set(google.asked) == set(urls_of("about", 60))
    assert inspect() == 0
    later(6.9 * quota.DAY)
    assert inspect() == 0
    later(0.2 * quota.DAY)
    store("about", urls_of("about", 30, start=35))
    assert inspect(most=70) == 30, "the new ones, too"
    assert set(verdicts()) == {
        url.removeprefix(BASE) for url in urls_of("about", 30, 35)
    }


def test_of_a_large_section_a_sample_is_inspected(google: FakeInspection) -> None:
    store("about", urls_of("about", 1_001), limit=400)
    assert inspect(most=500) == 100
    for _ in range(2):
        later(quota.DAY)
        assert inspect(most=500) == 36
    assert Inspection.objects.count() == len(set(google.asked))
    # Some that were inspected before are drawn again.
    assert 140 < len(set(google.asked)) <= 172


def test_a_section_that_grows_is_sampled_as_if_it_had_never_been_inspected_whole(
    google: FakeInspection,
) -> None:
    store("about", urls_of("about", 1_000))
    assert inspect(most=150) == 150
    assert not Inspection.objects.filter(is_drawn=True).exists()
    store("about", urls_of("about", 9_000))
    assert inspect(most=500) == 100
    numbers = [int(path.split("/")[2]) for path in verdicts()]
    assert 95 < len(numbers) <= 100, "some of the first may be drawn again"
    assert sum(number < 1_000 for number in numbers) < 40


def test_what_is_new_is_drawn_as_often_as_anything_else(google: FakeInspection) -> None:
    """Though almost all others were inspected within 28 days."""
    store("about", urls_of("about", 1_100))
    rows = [
        Inspection(
            section="about",
            url=url,
            digest=coverage.digest_of(url),
            inspected_at=time.time() - 2 * quota.DAY,
            is_drawn=True,
        )
        for url in urls_of("about", 1_000)
    ]
    Inspection.objects.bulk_create(rows)
    for _ in range(4):
        assert inspect(most=36) == 36
        Inspection.objects.update(inspected_at=time.time() - 2 * quota.DAY)
    numbers = [int(url.split("/")[4]) for url in google.asked]
    assert sum(number >= 1_000 for number in numbers) < 40, "13 of 144, on average"


def test_each_place_is_drawn_as_often_as_any_other() -> None:
    sizes, counts = [1, 30, 9, 60], [0] * 100
    random.seed(33)
    for _ in range(4_000):
        for page, places in coverage.drawn(sizes, 5).items():
            assert all(0 <= place < sizes[page] for place in places)
            for place in places:
                counts[sum(sizes[:page]) + place] += 1
    assert sum(counts) == 20_000
    assert min(counts) > 140
    assert max(counts) < 260


def test_sections_share_the_quota(google: FakeInspection, register: Any) -> None:
    for name in ("about", "blog", "shop"):
        register(name, ArticleSitemap)
        store(name, urls_of(name, 2_000))
    while inspect(most=50):
        if len(google.asked) >= 150:
            break
    sections = [url.split("/")[3] for url in google.asked]
    assert {name: sections.count(name) for name in set(sections)} == {
        "about": 50,
        "blog": 50,
        "shop": 50,
    }


def test_what_is_asked_and_stored(google: FakeInspection) -> None:
    said = {
        **UNKNOWN,
        "googleCanonical": f"{BASE}/other/",
        "indexingState": "BLOCKED_BY_META_TAG",
        "lastCrawlTime": "2026-10-01T00:00:00Z",
    }
    google.says = lambda url: said
    store("about", [f"{BASE}/a&amp;b/"])
    assert inspect() == 1
    assert google.asked == [f"{BASE}/a&b/"]
    row = Inspection.objects.get()
    assert (row.url, row.verdict, row.reason, row.canonical, row.obstacle) == (
        f"{BASE}/a&b/",
        "NEUTRAL",
        "URL is unknown to Google",
        f"{BASE}/other/",
        "BLOCKED_BY_META_TAG",
    )
    assert row.crawled_at is not None
    assert row.lastmod == row.crawled_at + quota.DAY
    assert row.link.startswith("https://search.google.com/search-console/inspect?")
    later(8 * quota.DAY)
    google.says = lambda url: {**INDEXED, "googleCanonical": url}
    assert inspect() == 1
    row = Inspection.objects.get()
    said = (row.verdict, row.former_verdict, row.canonical, row.obstacle)
    assert said == ("PASS", "NEUTRAL", "", "")


def test_any_field_may_be_missing_or_new(google: FakeInspection) -> None:
    cases: list[tuple[Any, str, str]] = [
        (None, "", ""),
        ({}, "", ""),
        ({"verdict": "VERDICT_UNSPECIFIED"}, "VERDICT_UNSPECIFIED", ""),
        ({"verdict": "NEW", "robotsTxtState": "NEW", "crawledAs": 3}, "NEW", ""),
        ({"verdict": 7, "coverageState": ["a"], "lastCrawlTime": "soon"}, "", ""),
        ({"verdict": "P" * 99, "coverageState": "a\0b"}, "P" * 40, "a\\x00b"),
        ([], "", ""),
    ]
    google.says = lambda url: cases[int(url.split("/")[4])][0]
    store("about", urls_of("about", len(cases)))
    assert inspect() == len(cases)
    rows = Inspection.objects.order_by("url").values_list("verdict", "reason")
    assert list(rows) == [(verdict, reason) for _, verdict, reason in cases]


# The quota


def test_the_quota_is_never_passed(google: FakeInspection, settings: Any) -> None:
    settings.SITEMAPS_PLUS |= {"INSPECTIONS": 7}
    store("about", urls_of("about", 30))
    assert inspect() == 7
    assert inspect() == 0
    assert google.used[0] == 7
    yesterday = quota.midnight(time.time() - 86_400).date()
    InspectionQuota.objects.update(day=yesterday)
    assert inspect() == 7
    tomorrow = quota.midnight(time.time() + 86_400).date()
    InspectionQuota.objects.update(day=tomorrow, used=0)
    assert inspect() == 0, "the clock was set back"


@pytest.mark.django_db(transaction=True)
def test_the_quota_is_never_passed_by_two_at_once(
    google: FakeInspection, settings: Any
) -> None:
    settings.SITEMAPS_PLUS |= {"INSPECTIONS": 23}
    store("about", urls_of("about", 60))
    google.seconds = 0.02

    def work(number: int) -> None:
        over, rounds = time.monotonic() + 60, 0
        # A busy machine needs more rounds; and some follow when nothing is left.
        while time.monotonic() < over and (rounds < 20 or google.used[0] < 23):
            inspect(most=4)
            time.sleep(0.01)
            rounds += 1

    at_once(3, work)
    assert google.used[0] == 23
    assert len(set(google.asked)) == 23, "none twice"
    assert state().used == 23


def test_sites_of_one_property_share_its_quota_and_take_turns(
    google: FakeInspection, blog: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    google.properties = {"sc-domain:example.com": "siteOwner"}
    settings.SITEMAPS_PLUS = {
        "BASE_URL": BASE,
        "SITES": {"blog": {"BASE_URL": blog}},
        "ENGINES": options(google, site="sc-domain:example.com"),
    }
    clock = [quota.tomorrow(time.time()) + 12 * 3_600]
    for module in (coverage, quota):
        monkeypatch.setattr(module, "database_time", lambda using: clock[0])
    for site in Site.of_process():
        with working_for(site):
            store("about", [f"{Site.current().base_url}/{n}/" for n in range(900)])
    for _ in range(4):
        for site in Site.of_process():
            with working_for(site):
                coverage.inspect_in_turn(lambda: False)
        clock[0] += 5 * quota.DAY / 500
    hosts = [url.split("/")[2] for url in google.asked]
    assert hosts.count("www.example.com") == hosts.count("blog.example.com") == 100
    assert state().used == 200
    with working_for(Site.from_key("blog")):
        InspectionQuota.objects.update(used=490)
        assert inspect(most=500) == 10, "what is left of the property's 500"


def test_each_property_has_a_quota_of_its_own(
    google: FakeInspection, blog: str, settings: Any
) -> None:
    google.properties[f"{blog}/"] = "siteOwner"
    other = options(google, site=f"{blog}/")["google"]
    settings.SITEMAPS_PLUS = {
        "BASE_URL": BASE,
        "SITES": {"blog": {"BASE_URL": blog}},
        "ENGINES": {**options(google), "other": other},
        "INSPECTIONS": 20,
    }
    for site, base in (("", BASE), ("blog", blog)):
        with working_for(Site.from_key(site)):
            store("about", [f"{base}/{number}/" for number in range(30)])
            assert inspect() == 20
    assert set(InspectionQuota.objects.values_list("property", "used")) == {
        (f"{BASE}/", 20),
        (f"{blog}/", 20),
    }


@pytest.mark.django_db(transaction=True)
def test_who_has_lost_the_claim_asks_for_nothing(google: FakeInspection) -> None:
    store("about", urls_of("about", 60))
    name = f"{BASE}/"
    first = quota.Turn(name)
    assert first.take(5) == 5
    assert not quota.Turn(name).is_mine
    InspectionQuota.objects.update(claimed_until=0)
    second = quota.Turn(name)
    assert second.is_mine
    assert (first.take(5), second.take(5)) == (0, 5)
    first.end()
    assert not quota.Turn(name).is_mine
    second.end()
    assert quota.Turn(name).is_mine


def test_an_answer_may_take_thirty_seconds(
    google: FakeInspection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than the engine's own timeout of 5: it takes six as a rule."""
    store("about", urls_of("about", 1))
    given, send = list[dict[str, Any]](), http.send

    def noted(method: str, url: str, **options: Any) -> http.Response:
        given.append(options)
        return send(method, url, **options)

    monkeypatch.setattr(http, "send", noted)
    assert inspect() == 1
    assert given[-1]["timeout"] == 30.0


@pytest.mark.django_db(transaction=True)
def test_five_are_asked_at_once_of_two_seconds_each(google: FakeInspection) -> None:
    google.seconds = 2.0
    store("about", urls_of("about", 6))
    begun = time.monotonic()
    assert inspect() == 6
    assert google.at_once == 5
    assert time.monotonic() - begun < 2 * 2 + 6, "one that asks for permission, five"


def test_the_background_spreads_the_quota_over_the_day(google: FakeInspection) -> None:
    start, row = quota.tomorrow(time.time()), InspectionQuota()

    def left(hours: float) -> int:
        return quota.left(start + 3_600 * hours, row, by_now=True)

    assert (left(0), left(6), left(23.99)) == (0, 125, 500)
    row.day, row.used = quota.midnight(start + 60).date(), 100
    assert (left(1), left(6), left(30)) == (0, 25, 125)
    store("about", urls_of("about", 900))
    assert coverage.inspect_in_turn(lambda: True) == 5 * 86_400 / 500
    assert google.used[0] == 0


# What keeps it from asking


def test_a_quota_that_other_tools_have_used_ends_the_day(
    google: FakeInspection,
) -> None:
    store("about", urls_of("about", 60))
    google.others = 1_990
    inspect(most=60)
    assert len(google.asked) == 10
    assert state().closed_until == pytest.approx(quota.tomorrow(time.time()), abs=900)
    assert state().problem == ""
    used = google.used[0]
    assert inspect() is None
    assert google.used[0] == used
    assert Inspection.objects.count() == 10


def test_a_403_after_a_200_is_a_pause(google: FakeInspection) -> None:
    store("about", urls_of("about", 60))
    inspect(most=11)
    google.pressure = 3
    inspect(most=20)
    assert state().problem == ""
    assert 0 < state().closed_until - time.time() <= 900
    later(901)
    google.pressure = 0
    assert inspect(most=10) == 10


def test_a_403_from_the_start_is_no_permission(google: FakeInspection) -> None:
    google.properties = {"sc-domain:example.com": "siteOwner"}
    store("about", urls_of("about", 60))
    inspect()
    assert google.used[0] == 1, "one asks for all"
    assert (
        "The account has no permission for https://www.example.com/" in state().problem
    )
    assert state().closed_until > time.time() + 3_600
    assert Inspection.objects.count() == 0
    [found] = coverage.check_inspections()
    assert "No URL is inspected. The account has no permission" in found.text
    google.properties = {f"{BASE}/": "siteOwner"}
    later(7 * 3_600)
    assert inspect() == 50
    assert list(coverage.check_inspections()) == []


def test_a_token_that_ends_is_renewed(google: FakeInspection) -> None:
    store("about", urls_of("about", 30))
    inspect(most=10)
    google.expire_tokens()
    assert inspect(most=10) == 10
    assert len(google.asked) == 20
    google.expire_tokens()
    google.is_revoked = True
    inspect(most=10)
    assert "Google issues no token" in state().problem


def test_a_google_that_fails_is_asked_again_later(google: FakeInspection) -> None:
    store("about", urls_of("about", 30))
    bodies = (b"<html>Welcome</html>", b"{}", b'{"inspectionResult": 3}')
    failures = [Reply(status=500), *(Reply(body=one) for one in bodies)]
    for used, failure in enumerate([*failures, Reply(status=404, body=b"{}")], 1):
        google.says = lambda url, said=failure: said  # type: ignore[misc]
        inspect()
        assert google.used[0] == used
        assert state().problem
        assert Inspection.objects.count() == 0
        later(901)
    google.says = lambda url: INDEXED
    assert inspect() == 30
    assert state().problem == ""


def test_a_url_that_fails_alone_keeps_no_others(google: FakeInspection) -> None:
    store("about", urls_of("about", 30))
    bad = urls_of("about", 30)[7]
    google.says = lambda url: Reply(status=500) if url == bad else INDEXED
    inspect(most=30)
    later(901)
    inspect(most=30)
    assert len(verdicts()) == 30
    row = Inspection.objects.get(url=bad)
    assert (row.verdict, row.reason) == ("", "Google has an internal error (500).")


def test_nothing_is_asked_from_where_it_is_not_wanted(
    google: FakeInspection, settings: Any
) -> None:
    store("about", urls_of("about", 30))
    given = settings.SITEMAPS_PLUS
    for changes in (
        {"BASE_URL": "http://127.0.0.1:8000"},
        {"ROBOTS": [{"user_agent": "*", "disallow": ["/"]}]},
        {"ENGINES": {}},
        {"INSPECTIONS": 0},
        {"ENGINES": options(google, site="https://shop.example.com/")},
    ):
        settings.SITEMAPS_PLUS = {**given, **changes}
        assert coverage.inspect_in_turn(lambda: False) is None
    settings.SITEMAPS_PLUS, settings.DEBUG = given, True
    assert coverage.inspect_in_turn(lambda: False) is None
    assert google.requests == []
