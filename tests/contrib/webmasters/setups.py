"""The engines of this app with their fakes: see ``tests/engines/setups``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from django_sitemaps_plus.contrib.webmasters import google_auth
from django_sitemaps_plus.contrib.webmasters.bing import BingWebmaster
from django_sitemaps_plus.contrib.webmasters.google import SearchConsole
from django_sitemaps_plus.contrib.webmasters.google_auth import GoogleEngine
from django_sitemaps_plus.contrib.webmasters.google_indexing import GoogleIndexing
from django_sitemaps_plus.contrib.webmasters.yandex import YandexWebmaster
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import Batch
from tests.engines.setups import A_SITEMAP, KEY, SITE, SetUp, Setup, submit_sitemap
from tests.support.fakes.bing import FakeBing
from tests.support.fakes.google import CLIENT_SECRET, REFRESH_TOKEN, FakeGoogle
from tests.support.fakes.google_indexing import FakeIndexing
from tests.support.fakes.site import FakeSite
from tests.support.fakes.yandex import FakeYandex

JOB = '<script type="application/ld+json">{"@type": "JobPosting"}</script>'


def search_console(server: FakeGoogle, **options: Any) -> SearchConsole:
    own: Any = {"site": f"{SITE}/", "credentials": server.user_credentials}
    given = {**own, "endpoint": server.endpoint, "timeout": 5.0, **options}
    return SearchConsole(alias="it", **given)


def indexing(server: FakeIndexing, **options: Any) -> GoogleIndexing:
    own: Any = {"sections": ["job"], "credentials": server.user_credentials}
    return GoogleIndexing(alias="it", endpoint=server.endpoint, **{**own, **options})


def bing_webmaster(server: FakeBing, **options: Any) -> BingWebmaster:
    given: Any = {"site": f"{SITE}/", "key": KEY, "timeout": 5.0, **options}
    return BingWebmaster(alias="it", endpoint=server.endpoint, **given)


def yandex_webmaster(server: FakeYandex, **options: Any) -> YandexWebmaster:
    given: Any = {"token": KEY, "timeout": 5.0, **options}
    return YandexWebmaster(alias="it", endpoint=server.endpoint, **given)


@contextlib.contextmanager
def google(site: FakeSite, timeout: float) -> Iterator[Setup]:
    with FakeGoogle(resolve={"www.example.com": site.host}) as server:
        yield with_token(search_console(server, timeout=timeout), A_SITEMAP, server)


def with_token(engine: GoogleEngine, batch: Batch, server: FakeGoogle) -> Setup:
    """Have a token issued; it is as secret as what it is issued for."""
    asking.submit(engine, batch)
    token = server.calls[0].headers["authorization"].removeprefix("Bearer ")
    server.requests.clear()
    return Setup(engine, batch, server, [CLIENT_SECRET, REFRESH_TOKEN, token])


@contextlib.contextmanager
def bing(site: FakeSite, timeout: float) -> Iterator[Setup]:
    with FakeBing(KEY) as server:
        yield Setup(bing_webmaster(server, timeout=timeout), A_SITEMAP, server, [KEY])


@contextlib.contextmanager
def yandex(site: FakeSite, timeout: float) -> Iterator[Setup]:
    with FakeYandex(KEY) as server:
        engine = yandex_webmaster(server, timeout=timeout)
        submit_sitemap(engine)  # to know the user
        server.requests.clear()
        yield Setup(engine, A_SITEMAP, server, [KEY])


@contextlib.contextmanager
def google_indexing(site: FakeSite, timeout: float) -> Iterator[Setup]:
    site.pages["/jobs/1/"] = JOB
    batch = Batch(origin=site.origin, urls=[f"{site.origin}/jobs/1/"])
    with FakeIndexing(properties={f"{site.origin}/": "siteOwner"}) as server:
        yield with_token(indexing(server, timeout=timeout), batch, server)


SETUPS: dict[str, SetUp] = {"bing": bing, "yandex": yandex}
ABSENT: list[str] = []
if google_auth.is_installed():
    SETUPS |= {"google": google, "google_indexing": google_indexing}
else:
    ABSENT += ["google", "google_indexing"]
STRICT = list(SETUPS)
PROOFS: dict[str, str] = {"bing": "key"}
