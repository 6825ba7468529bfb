"""Yandex's Webmaster API: a sitemap is registered once, pages within the quota."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from django_sitemaps_plus.contrib.webmasters.yandex import YandexWebmaster
from django_sitemaps_plus.delivery.engines import reports_of
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import (
    RENEWED_IN,
    Answer,
    Batch,
    OptionError,
    Outcome,
)
from tests.support.fakes.faults import Cut, reply
from tests.support.fakes.yandex import FakeYandex

TOKEN = "y0_0123456789abcdef"
SITE = "https://www.example.com"
SITEMAP = f"{SITE}/sitemap.xml"
PAGE = f"{SITE}/a/"


@pytest.fixture
def yandex() -> Iterator[FakeYandex]:
    with FakeYandex(TOKEN) as server:
        yield server


def engine(yandex: FakeYandex, **options: Any) -> YandexWebmaster:
    given = {"token": TOKEN, "timeout": 5.0, **options}
    return YandexWebmaster(alias="it", endpoint=yandex.endpoint, **given)


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
    ("until", "least", "most"),
    [
        (",000+0300", 7_190, 7_200),
        ("", RENEWED_IN, RENEWED_IN),
        (None, RENEWED_IN, RENEWED_IN),
    ],
)
def test_it_says_until_when_the_quota_is_used_up(
    yandex: FakeYandex, until: str | None, least: float, most: float
) -> None:
    """Also as a time that is over by our clock, or not at all."""
    client = engine(yandex, recrawl=True)
    submit(client, PAGE)
    moscow = timezone(timedelta(hours=3))
    ahead = timedelta(hours=2 if until else -2)
    at = (datetime.now(moscow) + ahead).strftime("%Y-%m-%dT%H:%M:%S")
    said = {"error_code": "QUOTA_EXCEEDED"}
    if until is not None:
        said["exceeded_until"] = f"{at}{until or '+0300'}"
    yandex.faults = [reply(200, '{"quota_remainder": 1}')]
    yandex.fault = reply(429, json.dumps(said))
    answer = submit(client, f"{SITE}/b/")
    assert answer.outcome is Outcome.EXHAUSTED
    assert least <= (answer.retry_after or 0) <= most


def test_urls_are_wanted_only_if_asked_for(yandex: FakeYandex) -> None:
    assert not engine(yandex).wants("article", "added")
    assert not engine(yandex).wants("", "requested")
    assert engine(yandex, recrawl=True).wants("article", "added")
    assert not engine(yandex, recrawl=True, events=["added"]).wants("a", "removed")


@pytest.mark.parametrize(
    ("status", "code", "outcome"),
    [
        (400, "INVALID_URL", Outcome.REJECTED),
        (400, "HOST_NOT_LOADED", Outcome.UNAVAILABLE),
        (401, "INVALID_OAUTH_TOKEN", Outcome.UNAVAILABLE),
        (404, "HOST_NOT_VERIFIED", Outcome.UNAVAILABLE),
        (409, "SOMETHING_ELSE", Outcome.UNAVAILABLE),
        (429, "TOO_MANY_REQUESTS_ERROR", Outcome.THROTTLED),
        (500, "", Outcome.UNAVAILABLE),
    ],
)
def test_errors_are_explained(
    yandex: FakeYandex, status: int, code: str, outcome: Outcome
) -> None:
    client = engine(yandex)
    submit(client, SITEMAP)
    yandex.fault = reply(status, f'{{"error_code": "{code}"}}')
    answer = submit(client, SITEMAP)
    assert answer.outcome is outcome
    assert code in answer.message
    is_not_theirs = status == 404 or code == "HOST_NOT_LOADED"
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
    yandex.crawled = [
        {
            "sitemap_url": SITEMAP,
            "last_access_date": "2026-01-01T00:00:00.000+0300",
            "errors_count": 1,
            "urls_count": 200,
        }
    ]
    [read] = reports_of(engine(yandex), [SITEMAP])
    assert (read.errors, read.submitted) == (1, {"web": 200})
    assert read.last_downloaded == "2026-01-01T00:00:00.000+0300"
    yandex.fault = Cut("answer")
    [failed] = reports_of(engine(yandex), [SITEMAP])
    assert failed.problem


@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        ({"https:www.example.com:443": True}, "is verified"),
        ({"https:www.example.com:443": False}, "is not verified"),
        ({"http:example.com:80": True}, "does not have the site https:www.example"),
    ],
)
def test_the_check_says_whether_the_site_is_verified(
    yandex: FakeYandex, hosts: dict[str, bool], text: str
) -> None:
    yandex.hosts = hosts
    found = asking.check_engine(engine(yandex, recrawl=True), SITE)
    assert text in found[0].text
    assert found[0].is_good or found[0].fix
    if found[0].is_good:
        assert found[1].text == "Yandex takes 3 more pages today."


def test_the_check_says_that_the_token_is_wrong(yandex: FakeYandex) -> None:
    yandex.token = "another"
    [found] = asking.check_engine(engine(yandex), SITE)
    assert (found.is_good, found.fix) == (False, "")
    assert found.text.endswith("check 'token'.")


@pytest.mark.parametrize(
    ("option", "value"),
    [("token", ""), ("token", "a\nb"), ("host_id", "example.com"), ("recrawl", 1)],
)
def test_impossible_options_are_refused(option: str, value: object) -> None:
    options: dict[str, Any] = {"token": TOKEN, option: value}
    with pytest.raises(OptionError) as caught:
        YandexWebmaster(alias="it", **options)
    assert caught.value.option == option
