"""Yandex's Webmaster API: a sitemap is registered once, pages within the quota."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

from django_sitemaps_plus.contrib.webmasters.yandex import YandexWebmaster
from django_sitemaps_plus.delivery.engines import reports_of
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import RENEWED_IN, Answer, Batch, Outcome
from tests.contrib.webmasters.setups import yandex_webmaster as engine
from tests.engines.setups import KEY, SITE, SITEMAP
from tests.support.fakes.faults import Cut, reply
from tests.support.fakes.yandex import FakeYandex

PAGE = f"{SITE}/a/"
USER = '{"user_id": 1130000}'


@pytest.fixture
def yandex() -> Iterator[FakeYandex]:
    with FakeYandex(KEY) as server:
        yield server


def submit(client: YandexWebmaster, url: str, origin: str = SITE) -> Answer:
    are_sitemaps = url.endswith(".xml")
    return asking.submit(
        client, Batch(origin=origin, urls=[url], are_sitemaps=are_sitemaps)
    )


def test_a_sitemap_is_registered_and_again_is_a_success(yandex: FakeYandex) -> None:
    client = engine(yandex)
    first, second = submit(client, SITEMAP), submit(client, SITEMAP)
    assert (first.outcome, first.status) == (Outcome.ACCEPTED, 201)
    assert (second.outcome, second.status) == (Outcome.ACCEPTED, 409)
    assert second.message == "Yandex has the sitemap already."
    assert yandex.added == [SITEMAP]
    assert yandex.calls.count("GET user") == 1, "the user is asked for once"


def test_pages_are_queued_within_the_quota(yandex: FakeYandex) -> None:
    client = engine(yandex, recrawl=True)
    yandex.quota = 1
    answer = submit(client, PAGE)
    assert (answer.outcome, answer.status) == (Outcome.ACCEPTED, 202)
    answer = submit(client, f"{SITE}/b/")
    assert (answer.outcome, answer.is_unsent) == (Outcome.EXHAUSTED, True)
    assert yandex.queue == [PAGE]
    assert yandex.calls.count("POST queue") == 1, "nothing was sent in vain"
    yandex.quota = 1
    assert submit(client, PAGE).message == "Yandex has the page already."
    yandex.faults = [reply(200, '{"quota_remainder": 1}')]
    yandex.quota = 0
    assert submit(client, f"{SITE}/b/").outcome is Outcome.EXHAUSTED, (
        "used up meanwhile"
    )


@pytest.mark.parametrize(
    ("hours", "zone", "least", "most"),
    [
        (2, ",000+0300", 7_190, 7_200),
        (-2, "+0300", RENEWED_IN, RENEWED_IN),
        (None, "", RENEWED_IN, RENEWED_IN),
    ],
)
def test_it_says_until_when_the_quota_is_used_up(
    yandex: FakeYandex, hours: int | None, zone: str, least: float, most: float
) -> None:
    """Also as a time that is over by our clock, or not at all."""
    said = {"error_code": "QUOTA_EXCEEDED"}
    if hours is not None:
        at = datetime.now(timezone(timedelta(hours=3))) + timedelta(hours=hours)
        said["exceeded_until"] = f"{at:%Y-%m-%dT%H:%M:%S}{zone}"
    yandex.faults = [reply(200, text) for text in (USER, '{"quota_remainder": 1}')]
    yandex.fault = reply(429, json.dumps(said))
    answer = submit(engine(yandex, recrawl=True), PAGE)
    assert answer.outcome is Outcome.EXHAUSTED
    assert least <= (answer.retry_after or 0) <= most


def test_urls_are_wanted_only_if_asked_for(yandex: FakeYandex) -> None:
    assert not engine(yandex).wants("article", "added")
    assert not engine(yandex).wants("", "requested")
    assert engine(yandex, recrawl=True).wants("article", "added")
    assert not engine(yandex, recrawl=True, events=["added"]).wants("a", "removed")


def test_errors_are_explained(yandex: FakeYandex) -> None:
    client = engine(yandex)
    submit(client, SITEMAP)
    for status, code, outcome in (
        (400, "INVALID_URL", Outcome.REJECTED),
        (400, "HOST_NOT_LOADED", Outcome.UNAVAILABLE),
        (401, "INVALID_OAUTH_TOKEN", Outcome.UNAVAILABLE),
        (404, "HOST_NOT_VERIFIED", Outcome.UNAVAILABLE),
        (409, "SOMETHING_ELSE", Outcome.UNAVAILABLE),
        (429, "TOO_MANY_REQUESTS_ERROR", Outcome.THROTTLED),
        (500, "", Outcome.UNAVAILABLE),
    ):
        yandex.fault = reply(status, f'{{"error_code": "{code}"}}')
        answer = submit(client, SITEMAP)
        assert (answer.outcome, answer.status) == (outcome, status)
        assert code in answer.message
        is_not_theirs = code in ("HOST_NOT_LOADED", "HOST_NOT_VERIFIED")
        assert ("verify it there" in answer.message) == is_not_theirs


def test_a_token_of_another_user_is_found_out(yandex: FakeYandex) -> None:
    client = engine(yandex)
    submit(client, SITEMAP)
    yandex.user += 1
    assert submit(client, SITEMAP).status == 403
    assert submit(client, SITEMAP).status == 409, "the user was asked for again"


def test_the_host_is_that_of_the_urls_or_of_the_option(yandex: FakeYandex) -> None:
    other = "http://shop.example.com:8080"
    yandex.hosts = {"http:shop.example.com:8080": True}
    answer = submit(engine(yandex), f"{other}/sitemap.xml", origin=other)
    assert answer.outcome is Outcome.ACCEPTED
    yandex.hosts = {"https:www.example.com:443": True}
    fixed = engine(yandex, host_id="https:www.example.com:443")
    assert submit(fixed, SITEMAP, origin=other).outcome is Outcome.ACCEPTED


def test_the_status_says_what_the_robots_read(yandex: FakeYandex) -> None:
    [unread] = reports_of(engine(yandex), [SITEMAP])
    assert unread.problem == "Yandex's robots have not read the sitemap yet."
    at = "2026-01-01T00:00:00.000+0300"
    said = {"last_access_date": at, "errors_count": 1, "urls_count": 200}
    yandex.crawled = [{"sitemap_url": SITEMAP, **said}]
    [read] = reports_of(engine(yandex), [SITEMAP])
    found = (read.last_downloaded, read.errors, read.submitted)
    assert found == (at, 1, {"web": 200})
    yandex.fault = Cut("answer")
    [failed] = reports_of(engine(yandex), [SITEMAP])
    assert failed.problem


def test_the_check_says_whether_the_site_is_verified(yandex: FakeYandex) -> None:
    hosts = [
        ({"https:www.example.com:443": False}, "is not verified"),
        ({"http:example.com:80": True}, "does not have the site https:www.example"),
    ]
    for yandex.hosts, text in hosts:
        [found] = asking.check_engine(engine(yandex, recrawl=True), SITE)
        assert text in found.text
        assert (found.is_good, bool(found.fix)) == (False, True)
    yandex.hosts = {"https:www.example.com:443": True}
    found, quota = asking.check_engine(engine(yandex, recrawl=True), SITE)
    assert (found.is_good, "is verified" in found.text) == (True, True)
    assert quota.text == "Yandex takes 3 more pages today."
    yandex.token = "another"
    [found] = asking.check_engine(engine(yandex), SITE)
    assert (found.is_good, found.fix) == (False, "")
    assert found.text.endswith("check 'token'.")
