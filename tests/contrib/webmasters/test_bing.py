"""Bing's Webmaster API: its quota is read and obeyed, and its errors are explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from django_sitemaps_plus.delivery.engines import reports_of
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import RENEWED_IN, Answer, Batch, Outcome
from tests.contrib.webmasters.setups import bing_webmaster as engine
from tests.engines.setups import KEY, SITE, SITEMAP, submit_sitemap
from tests.support.fakes.bing import FakeBing
from tests.support.fakes.faults import Cut, reply


@pytest.fixture
def bing() -> Iterator[FakeBing]:
    with FakeBing(KEY) as server:
        yield server


def submit(bing: FakeBing, count: int, **options: Any) -> Answer:
    urls = [f"{SITE}/{number}/" for number in range(count)]
    return asking.submit(engine(bing, **options), Batch(origin=SITE, urls=urls))


def test_as_many_urls_are_sent_as_the_quota_allows(bing: FakeBing) -> None:
    bing.quota = {"DailyQuota": 5, "MonthlyQuota": 3}
    answer = submit(bing, 4)
    assert (answer.outcome, answer.taken) == (Outcome.ACCEPTED, 3)
    assert bing.urls == [f"{SITE}/{number}/" for number in range(3)]
    answer = submit(bing, 1)
    assert (answer.outcome, answer.retry_after) == (Outcome.EXHAUSTED, RENEWED_IN)
    assert bing.methods.count("SubmitUrlBatch") == 1, "nothing was sent in vain"


def test_a_quota_that_somebody_else_used_up_meanwhile_is_no_failure(
    bing: FakeBing,
) -> None:
    for message in (
        "ERROR!!! Quota remaining for today: 0, Submitted: 3",
        "ERROR!!! You have exceeded your daily url submission quota : 100",
    ):
        bing.faults = [reply(200, '{"d":{"DailyQuota":9,"MonthlyQuota":9}}')]
        bing.fault = reply(400, json.dumps({"ErrorCode": 8, "Message": message}))
        assert submit(bing, 3).outcome is Outcome.EXHAUSTED


def test_a_quota_that_cannot_be_read_sends_nothing(bing: FakeBing) -> None:
    bing.faults = [reply(200, '{"d":null}')]
    answer = submit(bing, 2)
    assert (answer.outcome, answer.is_unsent) == (Outcome.UNAVAILABLE, True)
    assert bing.urls == []


def test_errors_are_explained_whatever_the_status(bing: FakeBing) -> None:
    others = {4: Outcome.THROTTLED, 5: Outcome.THROTTLED, 12: Outcome.ACCEPTED}
    # 8 comes for some minutes after a verification.
    for code, status in product((1, 3, 4, 5, 7, 8, 12, 14, 16), (400, 200)):
        said = {"ErrorCode": code, "Message": "ERROR!!!"}
        bing.fault = reply(status, json.dumps(said))
        answer = submit_sitemap(engine(bing))
        assert answer.outcome is others.get(code, Outcome.UNAVAILABLE), code
        is_throttled = answer.outcome is Outcome.THROTTLED
        assert (answer.retry_after is not None) == is_throttled


def test_one_invalid_url_does_not_take_the_others_along(bing: FakeBing) -> None:
    """And those of another host only are not sent at all."""
    batch = Batch(origin="https://shop.example.com", urls=["https://shop.example.com/"])
    assert asking.submit(engine(bing), batch).outcome is Outcome.REJECTED
    assert bing.requests == []
    batch = Batch(origin=SITE, urls=[f"{SITE}/a/", "https://other.example/"])
    answer = asking.submit(engine(bing), batch)
    assert (answer.outcome, answer.is_divisible) == (Outcome.REJECTED, True)


def test_without_urls_it_is_notified_of_sitemaps_only(bing: FakeBing) -> None:
    assert engine(bing).wants("article", "added")
    assert not engine(bing, urls=False).wants("article", "added")
    assert not engine(bing, events=["removed"]).wants("article", "added")


def test_the_status_says_when_a_sitemap_was_submitted(bing: FakeBing) -> None:
    assert submit_sitemap(engine(bing)).outcome is Outcome.ACCEPTED
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


def test_the_check_says_whether_the_site_is_verified(bing: FakeBing) -> None:
    sites: list[tuple[dict[str, bool], str]] = [
        ({f"{SITE}/": False}, "is not verified"),
        ({SITE: True}, "not have the site https://www.example.com/ at Bing, but https"),
        ({}, "but none"),
    ]
    for bing.sites, text in sites:
        [found] = asking.check_engine(engine(bing), SITE)
        assert text in found.text
        assert found.fix
    bing.sites = {f"{SITE}/": True}
    found, quota = asking.check_engine(engine(bing), SITE)
    assert (found.is_good, "is verified at Bing" in found.text) == (True, True)
    assert "100 more URLs today, and 1,300 this month" in quota.text
    bing.key = "another"
    [found] = asking.check_engine(engine(bing), SITE)
    assert (found.is_good, found.fix) == (False, "")
    assert found.text.endswith("check 'key'.")
