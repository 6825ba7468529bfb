"""WebSub: feeds that changed are published to a hub, which reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus.contrib.formats.websub import WebSub
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import Batch, OptionError, Outcome
from tests.contrib.formats.setups import feed
from tests.support.fakes.site import FakeSite
from tests.support.fakes.websub import FakeWebSubHub


@pytest.fixture
def hub() -> Iterator[FakeWebSubHub]:
    with FakeWebSubHub() as server:
        yield server


def engine(hub: FakeWebSubHub, *feeds: str) -> WebSub:
    given = list(feeds or ["/feed.atom"])
    return WebSub(alias="it", feeds=given, hub=hub.url, timeout=5.0)


def test_feeds_are_published_by_one_request(hub: FakeWebSubHub, site: FakeSite) -> None:
    urls = [f"{site.origin}/{name}.atom" for name in ("a", "b")]
    site.pages |= {url.removeprefix(site.origin): feed(url, hub.url) for url in urls}
    answer = asking.submit(engine(hub), Batch(origin=site.origin, urls=urls))
    assert (answer.outcome, answer.status) == (Outcome.ACCEPTED, 204)
    assert hub.published == urls
    assert len(hub.requests) == 1
    # One that the hub cannot read does not take others along.
    batch = Batch(origin=site.origin, urls=[f"{site.origin}/none.atom"])
    answer = asking.submit(engine(hub), batch)
    assert (answer.outcome, answer.is_divisible) == (Outcome.REJECTED, True)


def test_the_feeds_are_those_of_the_option(hub: FakeWebSubHub) -> None:
    client = engine(hub, "/a.atom", "https://blog.example.com/b.rss")
    assert client.feeds_of_site() == ["/a.atom", "https://blog.example.com/b.rss"]


def test_the_check_says_what_a_feed_lacks(hub: FakeWebSubHub, site: FakeSite) -> None:
    def checked() -> tuple[bool, str]:
        [found] = asking.check_engine(engine(hub), site.origin, force=True)
        return found.is_good, found.text

    assert checked() == (False, "The feed /feed.atom answers with status 404.")
    url = f"{site.origin}/feed.atom"
    site.pages["/feed.atom"] = feed(url, "https://other.example/")
    assert "has no link to the hub" in checked()[1]
    site.pages["/feed.atom"] = f'<rss><atom:link rel="hub" href="{hub.url}"/></rss>'
    assert checked() == (False, "The feed /feed.atom has no link to itself.")
    site.pages["/feed.atom"] = feed(url, hub.url)
    assert checked() == (True, "The feed /feed.atom names the hub.")
    [private] = asking.check_engine(engine(hub), site.origin)
    assert "is not a public address" in private.text


@pytest.mark.parametrize(
    "feeds", [[], "/feed.atom", ["feed.atom"], ["//other.example/feed"], ["/a b"], [7]]
)
def test_impossible_feeds_are_refused(feeds: Any) -> None:
    with pytest.raises(OptionError):
        WebSub(alias="it", feeds=feeds)


@pytest.mark.parametrize("more", [{"hub": "http://hub.example/"}, {"sections": ["a"]}])
def test_impossible_options_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        WebSub(alias="it", feeds=["/feed.atom"], **more)
