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


def test_several_feeds_are_published_by_one_request(
    hub: FakeWebSubHub, site: FakeSite
) -> None:
    urls = [f"{site.origin}/{name}.atom" for name in ("a", "b")]
    for name, url in zip(("a", "b"), urls, strict=True):
        site.pages[f"/{name}.atom"] = feed(url, hub.url)
    answer = asking.submit(engine(hub), Batch(origin=site.origin, urls=urls))
    assert (answer.outcome, answer.status) == (Outcome.ACCEPTED, 204)
    assert hub.published == urls
    assert len(hub.requests) == 1


def test_a_feed_that_the_hub_cannot_read_does_not_take_others_along(
    hub: FakeWebSubHub, site: FakeSite
) -> None:
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
    "options",
    [
        {"feeds": []},
        {"feeds": "/feed.atom"},
        {"feeds": ["feed.atom"]},
        {"feeds": ["//other.example/feed"]},
        {"feeds": ["/a b"]},
        {"feeds": [7]},
        {"feeds": ["/feed.atom"], "hub": "http://hub.example/"},
        {"feeds": ["/feed.atom"], "sections": ["article"]},
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        WebSub(alias="it", **options)
