"""The classic ping, and the addresses that are not pinged any more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus.engines import retired
from django_sitemaps_plus.engines.base import Answer, Batch, Outcome
from django_sitemaps_plus.engines.errors import OptionError
from django_sitemaps_plus.engines.ping import Ping
from tests.support.fakes.faults import redirect, reply
from tests.support.fakes.hub import FakeHub
from tests.support.fakes.site import FakeSite

ORIGIN = "https://www.example.com"
SITEMAP = f"{ORIGIN}/sitemap.xml"


@pytest.fixture
def hub(site: FakeSite) -> Iterator[FakeHub]:
    with FakeHub(resolve={"www.example.com": site.host}) as server:
        yield server


def ping(url: str, location: str = SITEMAP) -> Answer:
    engine = Ping(alias="hub", url=url, timeout=5.0)
    return engine.submit(Batch(origin=ORIGIN, urls=[location], are_sitemaps=True))


@pytest.mark.parametrize(
    "form",
    [
        "/ping?sitemap={sitemap}",
        "/ping?sitemap=",
        "/ping?siteMap=",
        "/ping?from=us&sitemap={sitemap}&lang=en",
    ],
)
def test_every_form_of_the_address_brings_the_sitemap(
    hub: FakeHub, site: FakeSite, form: str
) -> None:
    answer = ping(f"{hub.origin}{form}")
    assert (answer.outcome, answer.status) == (Outcome.ACCEPTED, 200)
    assert hub.pinged == [SITEMAP]
    assert b"<urlset" in hub.read[SITEMAP]
    assert [request.path for request in site.requests] == ["/sitemap.xml"]


def test_the_address_of_the_sitemap_is_encoded_whole(hub: FakeHub) -> None:
    hub.fault = reply(204)
    assert ping(hub.url, f"{SITEMAP}?p=1&q=a%20b").outcome is Outcome.ACCEPTED
    assert hub.requests[0].path == (
        "/ping?sitemap=https%3A%2F%2Fwww.example.com%2Fsitemap.xml%3Fp%3D1%26q%3Da%2520b"
    )


def test_a_sitemap_that_the_hub_cannot_read(hub: FakeHub) -> None:
    answer = ping(hub.url, f"{ORIGIN}/missing.xml")
    assert (answer.outcome, answer.status) == (Outcome.REJECTED, 422)
    assert answer.excerpt == "cannot read it: 404"


def test_a_redirect_names_the_option(hub: FakeHub) -> None:
    hub.fault = redirect("https://elsewhere.example/")
    assert ping(hub.url).message == (
        f"{hub.host} redirects (301): write the address to which it leads as 'url'."
    )


def test_nobody_listens_there(hub: FakeHub) -> None:
    answer = ping(f"{hub.origin}/pong?sitemap=")
    assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, 404)
    assert answer.message.startswith("Nobody listens at this address")


@pytest.mark.parametrize(
    "url",
    [
        "https://hub.example/ping",
        "https://hub.example/ping?a={sitemap}&b={sitemap}",
        "hub.example/ping?sitemap=",
        "https://user:s3cr3t@hub.example/ping?sitemap=",
        None,
    ],
)
def test_an_address_that_cannot_be_pinged(url: Any) -> None:
    with pytest.raises(OptionError) as caught:
        Ping(alias="hub", url=url)
    assert caught.value.option == "url"
    assert "s3cr3t" not in str(caught.value)


def test_a_hub_may_speak_plain_http() -> None:
    Ping(alias="hub", url="http://hub.example/ping?sitemap=")


def test_a_repr_shows_the_address_without_a_token() -> None:
    engine = Ping(alias="hub", url="https://hub.example/p?k=s3cr3t%2Dt0ken&l=en&s=")
    assert repr(engine) == "Ping(alias='hub', url='https://hub.example/p?k=…&l=en&s=')"
    assert engine.redact("s3cr3t-t0ken in clear") == "… in clear"


# Retired addresses

INDEXNOW = "django_sitemaps_plus.engines.indexnow.IndexNow"
SEARCH_CONSOLE = "django_sitemaps_plus.engines.google.SearchConsole"


@pytest.mark.parametrize(
    ("url", "successor"),
    [
        ("www.google.com/webmasters/sitemaps/ping?sitemap=", SEARCH_CONSOLE),
        ("http://google.com/webmasters/sitemaps/ping?sitemap=", SEARCH_CONSOLE),
        ("https://www.google.com/webmasters/tools/ping?sitemap=", SEARCH_CONSOLE),
        ("https://www.google.com/ping?sitemap={sitemap}", SEARCH_CONSOLE),
        ("https://www.google.co.uk/ping?sitemap=", SEARCH_CONSOLE),
        ("http://www.bing.com/webmaster/ping.aspx?siteMap=", INDEXNOW),
        ("https://www.bing.com/ping?sitemap=", INDEXNOW),
        ("https://WWW.BING.com/PING?sitemap=", INDEXNOW),
        ("http://webmaster.live.com/ping.aspx?siteMap=", INDEXNOW),
        ("http://search.msn.com/webmaster/ping.aspx?siteMap=", INDEXNOW),
        (
            "http://search.yahooapis.com/SiteExplorerService/V1/updateNotification"
            "?appid=SitemapWriter&url=",
            INDEXNOW,
        ),
        (
            "http://search.yahooapis.com/SiteExplorerService/V1/ping?sitemap=",
            INDEXNOW,
        ),
        ("http://submissions.ask.com/ping?sitemap=", "closed in May 2026"),
    ],
)
def test_a_retired_address_names_what_took_its_place(url: str, successor: str) -> None:
    assert successor in retired.sentence(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://hub.example/ping?sitemap=",
        "https://www.bing.com/indexnow",
        "https://notgoogle.com/ping?sitemap=",
        "https://www.google.com.evil.example/ping",
        "https://webmaster.yandex.ru/ping?sitemap=",
        "https://[broken/ping",
        "",
    ],
)
def test_other_addresses_are_not_retired(url: str) -> None:
    assert retired.sentence(url) == ""


def test_a_retired_address_is_not_called() -> None:
    """It would be DNS for a name of the real engine, which no test may ask."""
    answer = ping("https://submissions.ask.com/ping?sitemap=")
    assert (answer.outcome, answer.status) == (Outcome.REJECTED, None)
    sentence = retired.sentence("https://submissions.ask.com/ping")
    assert answer.message == sentence
    engine = Ping(alias="hub", url="https://submissions.ask.com/ping?sitemap=")
    (finding,) = engine.check(ORIGIN)
    assert (finding.is_good, finding.text) == (False, sentence)
