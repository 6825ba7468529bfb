"""The classic ping, and retired addresses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from django_sitemaps_plus.engines import asking, retired
from django_sitemaps_plus.engines.base import Answer, Outcome
from django_sitemaps_plus.engines.ping import Ping
from tests.engines.setups import SITE, SITEMAP, submit_sitemap
from tests.support.fakes.faults import redirect, reply
from tests.support.fakes.hub import FakeHub
from tests.support.fakes.site import FakeSite


@pytest.fixture
def hub(site: FakeSite) -> Iterator[FakeHub]:
    with FakeHub(resolve={"www.example.com": site.host}) as server:
        yield server


def ping(url: str, location: str = SITEMAP) -> Answer:
    return submit_sitemap(Ping(alias="hub", url=url, timeout=5.0), location)


@pytest.mark.parametrize(
    "form", ["/ping?siteMap=", "/ping?from=us&sitemap={sitemap}&lang=en"]
)
def test_a_ping_submits_the_sitemap(hub: FakeHub, site: FakeSite, form: str) -> None:
    answer = ping(f"{hub.origin}{form}")
    assert (answer.outcome, answer.status) == (Outcome.ACCEPTED, 200)
    assert hub.pinged == [SITEMAP]
    assert b"<urlset" in hub.read[SITEMAP]
    assert [request.path for request in site.requests] == ["/sitemap.xml"]


def test_the_whole_url_of_the_sitemap_is_encoded(hub: FakeHub) -> None:
    hub.fault = reply(204)
    assert ping(hub.url, f"{SITEMAP}?p=1&q=a%20b").outcome is Outcome.ACCEPTED
    assert hub.requests[0].path == (
        "/ping?sitemap=https%3A%2F%2Fwww.example.com%2Fsitemap.xml%3Fp%3D1%26q%3Da%2520b"
    )


def test_a_wrong_address_names_the_option(hub: FakeHub) -> None:
    hub.fault = redirect("https://a.example/")
    answer = ping(hub.url)
    assert answer.outcome is Outcome.UNAVAILABLE
    assert answer.message.endswith(" answers with a redirect (301): check 'url'.")


def test_a_token_is_sent_and_never_shown(hub: FakeHub) -> None:
    url = f"{hub.origin}/ping?token={{token}}&sitemap="
    engine = Ping(alias="hub", url=url, token="a/b&c+d")
    assert submit_sitemap(engine).outcome is Outcome.ACCEPTED
    assert hub.requests[0].path.startswith("/ping?token=a%2Fb%26c%2Bd&sitemap=https")
    assert repr(engine) == f"Ping(alias='hub', url={url!r})"
    assert engine.redact("a/b&c+d or a%2Fb%26c%2Bd") == "… or …"


def test_a_hub_may_use_plain_http() -> None:
    answer = ping("http://no-such-hub.invalid/ping?sitemap=")
    assert "could not be resolved" in answer.message


def test_a_repr_shows_the_url_without_a_token() -> None:
    engine = Ping(alias="hub", url="https://hub.example/p?k=s3cr3t%2Dt0ken&l=en&s=")
    assert repr(engine) == "Ping(alias='hub', url='https://hub.example/p?k=…&l=en&s=')"
    assert engine.redact("s3cr3t-t0ken in clear") == "… in clear"


# Retired addresses

INDEXNOW = "django_sitemaps_plus.engines.indexnow.IndexNow"
SEARCH_CONSOLE = "Submit the sitemap in Search Console"


@pytest.mark.parametrize(
    ("url", "successor"),
    [
        ("www.google.com/webmasters/sitemaps/ping?sitemap=", SEARCH_CONSOLE),
        ("https://www.google.com/webmasters/tools/ping?sitemap=", SEARCH_CONSOLE),
        ("https://www.google.co.uk/ping?sitemap={sitemap}", SEARCH_CONSOLE),
        ("http://www.bing.com/webmaster/ping.aspx?siteMap=", INDEXNOW),
        ("https://WWW.BING.com/PING?sitemap=", INDEXNOW),
        ("http://webmaster.live.com/ping.aspx?siteMap=", INDEXNOW),
        ("http://search.msn.com/webmaster/ping.aspx?siteMap=", INDEXNOW),
        ("http://search.yahooapis.com/SiteExplorerService/V1/ping?url=", INDEXNOW),
        ("http://submissions.ask.com/ping?sitemap=", "closed in May 2026"),
        ("https://webmaster.yandex.ru/ping?sitemap=", INDEXNOW),
        ("https://Webmaster.Yandex.com/ping/?sitemap={sitemap}", INDEXNOW),
        ("https://webmaster.yandex.com.tr/ping?sitemap=", INDEXNOW),
        ("http://webmaster.yandex.ru/wmconsole/sitemap_list.xml?host=", INDEXNOW),
        ("webmaster.yandex.com/wmconsole", INDEXNOW),
    ],
)
def test_a_retired_address_names_the_replacement(url: str, successor: str) -> None:
    assert successor in retired.sentence(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://hub.example/ping?sitemap=",
        "https://www.bing.com/indexnow",
        "https://notgoogle.com/ping?sitemap=",
        "https://www.google.com.evil.example/ping",
        "https://yandex.com/indexnow",
        "https://webmaster.yandex.ru.evil.example/ping?sitemap=",
        "https://api.webmaster.yandex.net/v4/user",
        "https://[broken/ping",
        "",
    ],
)
def test_other_addresses_are_not_retired(url: str) -> None:
    assert retired.sentence(url) == ""


def test_a_retired_address_is_not_requested() -> None:
    """A request would ask the DNS for a real engine, which no test may do."""
    answer = ping("https://submissions.ask.com/ping?sitemap=")
    assert (answer.outcome, answer.status) == (Outcome.REJECTED, None)
    sentence = retired.sentence("https://submissions.ask.com/ping")
    assert answer.message == sentence
    engine = Ping(alias="hub", url="https://submissions.ask.com/ping?sitemap=")
    (finding,) = asking.check_engine(engine, SITE)
    assert (finding.is_good, finding.text) == (False, sentence)
