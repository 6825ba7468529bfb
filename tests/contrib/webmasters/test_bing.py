"""Bing's Webmaster API: its quota is read and obeyed, and its errors are explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus.contrib.webmasters.bing import BingWebmaster
from django_sitemaps_plus.delivery.engines import reports_of
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import (
    RENEWED_IN,
    Answer,
    Batch,
    OptionError,
    Outcome,
)
from tests.support.fakes.bing import FakeBing
from tests.support.fakes.faults import Cut, reply

KEY = "0123456789abcdef0123456789abcdef"
SITE = "https://www.example.com"
SITEMAP = f"{SITE}/sitemap.xml"


@pytest.fixture
def bing() -> Iterator[FakeBing]:
    with FakeBing(KEY) as server:
        yield server


def engine(bing: FakeBing, **options: Any) -> BingWebmaster:
    given: dict[str, Any] = {"site": f"{SITE}/", "key": KEY, "timeout": 5.0, **options}
    return BingWebmaster(alias="it", endpoint=bing.endpoint, **given)


def submit(bing: FakeBing, count: int, **options: Any) -> Answer:
    urls = [f"{SITE}/{number}/" for number in range(count)]
    return asking.submit(engine(bing, **options), Batch(origin=SITE, urls=urls))


def submit_sitemap(bing: FakeBing) -> Answer:
    batch = Batch(origin=SITE, urls=[SITEMAP], are_sitemaps=True)
    return asking.submit(engine(bing), batch)


def test_as_many_urls_are_sent_as_the_quota_allows(bing: FakeBing) -> None:
    bing.quota = {"DailyQuota": 5, "MonthlyQuota": 3}
    answer = submit(bing, 4)
    assert (answer.outcome, answer.taken) == (Outcome.ACCEPTED, 3)
    assert bing.urls == [f"{SITE}/{number}/" for number in range(3)]
    answer = submit(bing, 1)
    assert (answer.outcome, answer.retry_after) == (Outcome.EXHAUSTED, RENEWED_IN)
    assert bing.methods.count("SubmitUrlBatch") == 1, "nothing was sent in vain"


@pytest.mark.parametrize(
    "message",
    [
        "ERROR!!! Quota remaining for today: 0, Submitted: 3",
        "ERROR!!! You have exceeded your daily url submission quota : 100",
    ],
)
def test_a_quota_that_somebody_else_used_up_meanwhile_is_no_failure(
    bing: FakeBing, message: str
) -> None:
    fault = json.dumps({"ErrorCode": 8, "Message": message})
    bing.faults = [reply(200, '{"d":{"DailyQuota":9,"MonthlyQuota":9}}')]
    bing.fault = reply(400, fault)
    assert submit(bing, 3).outcome is Outcome.EXHAUSTED


def test_a_quota_that_cannot_be_read_sends_nothing(bing: FakeBing) -> None:
    bing.faults = [reply(200, '{"d":null}')]
    answer = submit(bing, 2)
    assert (answer.outcome, answer.is_unsent) == (Outcome.UNAVAILABLE, True)
    assert bing.urls == []


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (1, Outcome.UNAVAILABLE),
        (3, Outcome.UNAVAILABLE),
        (4, Outcome.THROTTLED),
        (5, Outcome.THROTTLED),
        (7, Outcome.UNAVAILABLE),
        (8, Outcome.UNAVAILABLE),  # as for some minutes after a verification
        (12, Outcome.ACCEPTED),
        (14, Outcome.UNAVAILABLE),
        (16, Outcome.UNAVAILABLE),
    ],
)
@pytest.mark.parametrize("status", [400, 200])
def test_errors_are_explained_whatever_the_status(
    bing: FakeBing, status: int, code: int, outcome: Outcome
) -> None:
    bing.fault = reply(status, json.dumps({"ErrorCode": code, "Message": "ERROR!!!"}))
    answer = submit_sitemap(bing)
    assert answer.outcome is outcome
    assert (answer.retry_after is None) == (outcome is not Outcome.THROTTLED)


def test_one_invalid_url_does_not_take_the_others_along(bing: FakeBing) -> None:
    batch = Batch(origin=SITE, urls=[f"{SITE}/a/", "https://other.example/"])
    answer = asking.submit(engine(bing), batch)
    assert (answer.outcome, answer.is_divisible) == (Outcome.REJECTED, True)


def test_urls_of_another_host_are_not_sent(bing: FakeBing) -> None:
    batch = Batch(origin="https://shop.example.com", urls=["https://shop.example.com/"])
    assert asking.submit(engine(bing), batch).outcome is Outcome.REJECTED
    assert bing.requests == []


def test_without_urls_it_is_notified_of_sitemaps_only(bing: FakeBing) -> None:
    assert engine(bing).wants("article", "added")
    assert not engine(bing, urls=False).wants("article", "added")
    assert not engine(bing, events=["removed"]).wants("article", "added")


def test_the_status_says_when_a_sitemap_was_submitted(bing: FakeBing) -> None:
    assert submit_sitemap(bing).outcome is Outcome.ACCEPTED
    bing.feeds[SITEMAP]["Submitted"] = "/Date(1316213995040-0700)/"
    [pending] = reports_of(engine(bing), [SITEMAP])
    assert pending.last_submitted == "2011-09-16T22:59:55Z"
    assert (pending.last_downloaded, pending.is_pending) == (None, True)
    read = {"Status": "Success", "LastCrawled": "/Date(1316213999040)/", "UrlCount": 7}
    bing.feeds[SITEMAP] |= read
    [found] = reports_of(engine(bing), [SITEMAP])
    assert (found.is_pending, found.submitted) == (False, {"web": 7})
    assert found.last_downloaded == "2011-09-16T22:59:59Z"
    [unknown] = reports_of(engine(bing), [f"{SITE}/other.xml"])
    assert unknown.problem == "The sitemap was never submitted to Bing."
    bing.fault = Cut("answer")
    [failed] = reports_of(engine(bing), [SITEMAP])
    assert failed.problem.endswith(".")
    assert KEY not in failed.problem


@pytest.mark.parametrize(
    ("sites", "text"),
    [
        ({f"{SITE}/": True}, "is verified at Bing"),
        ({f"{SITE}/": False}, "is not verified"),
        ({SITE: True}, "not have the site https://www.example.com/ at Bing, but https"),
        ({}, "but none"),
    ],
)
def test_the_check_says_whether_the_site_is_verified(
    bing: FakeBing, sites: dict[str, bool], text: str
) -> None:
    bing.sites = sites
    found = asking.check_engine(engine(bing), SITE)
    assert text in found[0].text
    if found[0].is_good:
        assert "100 more URLs today, and 1,300 this month" in found[1].text
    else:
        assert found[0].fix


def test_the_check_says_that_the_key_is_wrong(bing: FakeBing) -> None:
    bing.key = "another"
    [found] = asking.check_engine(engine(bing), SITE)
    assert (found.is_good, found.fix) == (False, "")
    assert found.text.endswith("check 'key'.")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("site", "www.example.com"),
        ("key", " "),
        ("urls", "no"),
        ("endpoint", "ftp://a"),
    ],
)
def test_impossible_options_are_refused(
    bing: FakeBing, option: str, value: object
) -> None:
    options = {"site": f"{SITE}/", "key": KEY, "endpoint": bing.endpoint}
    with pytest.raises(OptionError) as caught:
        BingWebmaster(alias="it", **{**options, option: value})
    assert caught.value.option == option
