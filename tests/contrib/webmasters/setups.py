"""The engines of this app with their fakes: see ``tests/engines/setups``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from django_sitemaps_plus.contrib.webmasters import google_auth
from django_sitemaps_plus.contrib.webmasters.bing import BingWebmaster
from django_sitemaps_plus.contrib.webmasters.google import SearchConsole
from django_sitemaps_plus.contrib.webmasters.google_auth import GoogleEngine
from django_sitemaps_plus.contrib.webmasters.google_indexing import GoogleIndexing
from django_sitemaps_plus.contrib.webmasters.yandex import YandexWebmaster
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import Batch
from tests.engines.setups import KEY, SITE, SITEMAP, SetUp, Setup
from tests.support.fakes.bing import FakeBing
from tests.support.fakes.google import CLIENT_SECRET, REFRESH_TOKEN, FakeGoogle
from tests.support.fakes.google_indexing import FakeIndexing
from tests.support.fakes.site import FakeSite
from tests.support.fakes.yandex import FakeYandex

JOB = '<script type="application/ld+json">{"@type": "JobPosting"}</script>'


@contextlib.contextmanager
def google(site: FakeSite, timeout: float) -> Iterator[Setup]:
    batch = Batch(origin=SITE, urls=[SITEMAP], are_sitemaps=True)
    with FakeGoogle(resolve={"www.example.com": site.host}) as server:
        engine = SearchConsole(
            alias="it",
            timeout=timeout,
            site=f"{SITE}/",
            credentials=server.user_credentials,
            endpoint=server.endpoint,
        )
        yield with_token(engine, batch, server)


def with_token(engine: GoogleEngine, batch: Batch, server: FakeGoogle) -> Setup:
    """Have a token issued; it is as secret as what it is issued for."""
    asking.submit(engine, batch)
    token = server.calls[0].headers["authorization"].removeprefix("Bearer ")
    server.requests.clear()
    return Setup(engine, batch, server, [CLIENT_SECRET, REFRESH_TOKEN, token])


@contextlib.contextmanager
def bing(site: FakeSite, timeout: float) -> Iterator[Setup]:
    batch = Batch(origin=SITE, urls=[SITEMAP], are_sitemaps=True)
    with FakeBing(KEY) as server:
        engine = BingWebmaster(
            alias="it",
            timeout=timeout,
            site=f"{SITE}/",
            key=KEY,
            endpoint=server.endpoint,
        )
        yield Setup(engine, batch, server, [KEY])


@contextlib.contextmanager
def yandex(site: FakeSite, timeout: float) -> Iterator[Setup]:
    batch = Batch(origin=SITE, urls=[SITEMAP], are_sitemaps=True)
    with FakeYandex(KEY) as server:
        engine = YandexWebmaster(
            alias="it", timeout=timeout, token=KEY, endpoint=server.endpoint
        )
        asking.submit(engine, batch)  # to know the user
        server.requests.clear()
        yield Setup(engine, batch, server, [KEY])


@contextlib.contextmanager
def google_indexing(site: FakeSite, timeout: float) -> Iterator[Setup]:
    site.pages["/jobs/1/"] = JOB
    batch = Batch(origin=site.origin, urls=[f"{site.origin}/jobs/1/"])
    with FakeIndexing(properties={f"{site.origin}/": "siteOwner"}) as server:
        engine = GoogleIndexing(
            alias="it",
            timeout=timeout,
            sections=["job"],
            credentials=server.user_credentials,
            endpoint=server.endpoint,
        )
        yield with_token(engine, batch, server)


SETUPS: dict[str, SetUp] = {"bing": bing, "yandex": yandex}
ABSENT: list[str] = []
if google_auth.is_installed():
    SETUPS |= {"google": google, "google_indexing": google_indexing}
else:
    ABSENT += ["google", "google_indexing"]
STRICT = list(SETUPS)
PROOFS: dict[str, str] = {"bing": "key"}
