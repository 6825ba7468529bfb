"""Baidu: URLs are pushed as lines, and single ones may be refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

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
    return engine(baidu).submit(Batch(origin=SITE, urls=urls))


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


def test_what_is_over_the_quota_is_sent_in_halves_until_nothing_is_taken(
    baidu: FakeBaidu,
) -> None:
    baidu.left = 1
    answer = submit(baidu, f"{SITE}/a", f"{SITE}/b")
    assert (answer.outcome, answer.is_divisible) == (Outcome.REJECTED, True)
    assert submit(baidu, f"{SITE}/a").outcome is Outcome.ACCEPTED
    assert submit(baidu, f"{SITE}/b").outcome is Outcome.EXHAUSTED


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
    assert engine(baidu).check(SITE)[0].is_good
    assert engine(baidu, site=SITE).check(SITE)[0].is_good
    [found] = engine(baidu).check("https://shop.example.com")
    assert (found.is_good, found.fix) == (False, "Correct 'site'.")


@pytest.mark.parametrize(("option", "value"), [("site", "/"), ("token", None)])
def test_impossible_options_are_refused(option: str, value: object) -> None:
    options: dict[str, Any] = {"site": SITE, "token": TOKEN, option: value}
    with pytest.raises(OptionError) as caught:
        Baidu(alias="it", **options)
    assert caught.value.option == option
