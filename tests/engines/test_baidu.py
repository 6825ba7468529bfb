"""Baidu: URLs are pushed as lines, and single ones may be refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.baidu import Baidu
from django_sitemaps_plus.engines.base import Answer, Batch, Outcome
from django_sitemaps_plus.engines.errors import OptionError
from tests.support.fakes.baidu import FakeBaidu
from tests.support.fakes.faults import reply

TOKEN = "0123456789abcdef"
SITE = "https://www.example.com"


@pytest.fixture
def baidu() -> Iterator[FakeBaidu]:
    with FakeBaidu(TOKEN) as server:
        yield server


def engine(baidu: FakeBaidu, **options: Any) -> Baidu:
    given = {"site": "www.example.com", "token": TOKEN, "timeout": 5.0, **options}
    return Baidu(alias="it", endpoint=baidu.endpoint, **given)


def submit(baidu: FakeBaidu, *urls: str) -> Answer:
    return asking.submit(engine(baidu), Batch(origin=SITE, urls=urls))


def test_urls_are_pushed_a_line_each(baidu: FakeBaidu) -> None:
    urls = [f"{SITE}/{number}.html" for number in range(3)]
    answer = submit(baidu, *urls)
    assert answer.outcome is Outcome.ACCEPTED
    assert answer.message.endswith("It takes 99,997 more today.")
    assert baidu.pushed == urls


def test_urls_of_another_site_are_refused_alone(baidu: FakeBaidu) -> None:
    other = "https://other.example/"
    answer = submit(baidu, f"{SITE}/a", other, "no-url")
    assert (answer.outcome, answer.refused) == (Outcome.ACCEPTED, [other, "no-url"])
    assert baidu.pushed == [f"{SITE}/a"]
    assert submit(baidu, other).outcome is Outcome.REJECTED


def test_over_the_quota_one_url_finds_out_how_many_are_taken(baidu: FakeBaidu) -> None:
    baidu.left = 3
    answer = submit(baidu, *(f"{SITE}/{number}" for number in range(5)))
    assert (answer.outcome, answer.taken, answer.left) == (Outcome.ACCEPTED, 1, 2)
    assert submit(baidu, f"{SITE}/1", f"{SITE}/2").left == 0
    assert len(baidu.pushed) == 3


@pytest.mark.parametrize("count", [1, 2_000])
def test_a_quota_that_is_used_up_is_renewed_the_next_day_in_beijing(
    baidu: FakeBaidu, count: int
) -> None:
    baidu.left = 1
    [*answers] = (submit(baidu, f"{SITE}/a"), submit(baidu, *[f"{SITE}/b"] * count))
    assert [one.outcome for one in answers] == [Outcome.ACCEPTED, Outcome.EXHAUSTED]
    assert len(baidu.requests) == 1 + min(count, 2)
    for answer in answers:
        wait = answer.retry_after
        assert wait is not None
        at_beijing = (time.time() + wait + 8 * 3_600) % 86_400
        # Some minutes later: clocks differ.
        assert 0 < wait <= 86_400
        assert 590 <= at_beijing <= 610


@pytest.mark.parametrize(
    "said",
    [
        '{"remain": 9, "success": 0}',
        '{"remain": 9, "success": 1}',
        '{"remain": 9, "success": 3}',
        '{"remain": 9, "success": 2, "not_valid": ["https://www.example.com/a"]}',
        '{"remain": 9}',
    ],
)
def test_an_answer_accounts_for_each_url(baidu: FakeBaidu, said: str) -> None:
    baidu.fault = reply(200, said)
    answer = submit(baidu, f"{SITE}/a", f"{SITE}/b")
    assert (answer.outcome, answer.is_unsent) == (Outcome.UNAVAILABLE, False)


@pytest.mark.parametrize(
    ("status", "message", "outcome"),
    [
        (400, "site error", Outcome.UNAVAILABLE),
        (400, "site init fail", Outcome.UNAVAILABLE),
        (400, "empty content", Outcome.REJECTED),
        (401, "token is not valid", Outcome.UNAVAILABLE),
        (404, "not found", Outcome.UNAVAILABLE),
        (500, "internal error, please try later", Outcome.UNAVAILABLE),
    ],
)
def test_errors_are_explained(
    baidu: FakeBaidu, status: int, message: str, outcome: Outcome
) -> None:
    baidu.fault = reply(status, f'{{"error": {status}, "message": "{message}"}}')
    answer = submit(baidu, f"{SITE}/a")
    assert answer.outcome is outcome


def test_removed_urls_are_not_pushed(baidu: FakeBaidu) -> None:
    assert engine(baidu).wants("article", "changed")
    assert not engine(baidu).wants("article", "removed")


def test_the_check_compares_the_host(baidu: FakeBaidu) -> None:
    assert asking.check(engine(baidu), SITE)[0].is_good
    assert asking.check(engine(baidu, site=SITE), SITE)[0].is_good
    [found] = asking.check(engine(baidu), "https://shop.example.com")
    assert (found.is_good, found.fix) == (False, "Correct 'site'.")


@pytest.mark.parametrize(("option", "value"), [("site", "/"), ("token", None)])
def test_impossible_options_are_refused(option: str, value: object) -> None:
    options: dict[str, Any] = {"site": SITE, "token": TOKEN, option: value}
    with pytest.raises(OptionError) as caught:
        Baidu(alias="it", **options)
    assert caught.value.option == option
