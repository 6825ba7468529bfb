"""Each engine with its fake, for the tests that all engines must pass."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from django_sitemaps_plus import engines
from django_sitemaps_plus.engines import asking, google_auth
from django_sitemaps_plus.engines.base import Batch, Engine
from tests.support.fakes.baidu import FakeBaidu
from tests.support.fakes.bing import FakeBing
from tests.support.fakes.google import CLIENT_SECRET, REFRESH_TOKEN, FakeGoogle
from tests.support.fakes.google_indexing import FakeIndexing
from tests.support.fakes.hub import FakeHub
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.fakes.server import FakeServer
from tests.support.fakes.site import FakeSite
from tests.support.fakes.webhook import FakeWebhook
from tests.support.fakes.websub import FakeWebSubHub
from tests.support.fakes.yandex import FakeYandex

KEY = "0123456789abcdef0123456789abcdef"
OLD_KEY = "fedcba9876543210fedcba9876543210"
HOST_KEY = "aaaabbbbccccddddeeeeffff00001111"
SITE = "https://www.example.com"
SITEMAP = f"{SITE}/sitemap.xml"
TOKEN = "token+of the/hub"
JOB = '<script type="application/ld+json">{"@type": "JobPosting"}</script>'


def found() -> dict[str, type[Engine]]:
    """Return the engines of the package, by the name of their module."""
    classes = {}
    for module in pkgutil.iter_modules(engines.__path__):
        path = f"{engines.__name__}.{module.name}"
        for _, value in inspect.getmembers(importlib.import_module(path)):
            is_class = inspect.isclass(value) and issubclass(value, Engine)
            if is_class and value.__module__ == path and not inspect.isabstract(value):
                classes[module.name] = value
    return classes


@dataclass
class Setup:
    """An engine, a batch for it, and its fake; None for those without network."""

    engine: Engine
    batch: Batch
    server: FakeServer | None = None
    #: Must not be in any text.
    secrets: list[str] = field(default_factory=list)


@contextlib.contextmanager
def indexnow(site: FakeSite, timeout: float) -> Iterator[Setup]:
    site.pages[f"/{KEY}.txt"] = KEY
    batch = Batch(origin=site.origin, urls=[f"{site.origin}/a", f"{site.origin}/b"])
    with FakeIndexNow() as server:
        server.trust("127.0.0.1", KEY)
        engine = found()["indexnow"](
            alias="it",
            timeout=timeout,
            key=KEY,
            keys={"other.example": HOST_KEY},
            old_keys=[OLD_KEY],
            endpoint=server.url,
        )
        secrets = [KEY, OLD_KEY, HOST_KEY]
        yield Setup(engine, batch, server, secrets)


@contextlib.contextmanager
def google(site: FakeSite, timeout: float) -> Iterator[Setup]:
    batch = Batch(origin=SITE, urls=[SITEMAP], are_sitemaps=True)
    with FakeGoogle(resolve={"www.example.com": site.host}) as server:
        engine = found()["google"](
            alias="it",
            timeout=timeout,
            site=f"{SITE}/",
            credentials=server.user_credentials,
            endpoint=server.endpoint,
        )
        asking.submit(engine, batch)  # to get a token
        token = server.calls[0].headers["authorization"].removeprefix("Bearer ")
        server.requests.clear()
        yield Setup(engine, batch, server, [CLIENT_SECRET, REFRESH_TOKEN, token])


@contextlib.contextmanager
def ping(site: FakeSite, timeout: float) -> Iterator[Setup]:
    batch = Batch(origin=SITE, urls=[SITEMAP], are_sitemaps=True)
    with FakeHub(resolve={"www.example.com": site.host}) as server:
        url = f"{server.origin}/ping?k={KEY}&token={{token}}&sitemap={{sitemap}}"
        engine = found()["ping"](alias="it", timeout=timeout, url=url, token=TOKEN)
        yield Setup(engine, batch, server, [TOKEN, KEY])


@contextlib.contextmanager
def webhook(site: FakeSite, timeout: float) -> Iterator[Setup]:
    batch = Batch(origin=SITE, urls=[f"{SITE}/a"], kinds=["removed"])
    with FakeWebhook(KEY) as server:
        engine = found()["webhook"](
            alias="it", timeout=timeout, url=server.url, secret=KEY
        )
        yield Setup(engine, batch, server, [KEY])


@contextlib.contextmanager
def bing(site: FakeSite, timeout: float) -> Iterator[Setup]:
    batch = Batch(origin=SITE, urls=[SITEMAP], are_sitemaps=True)
    with FakeBing(KEY) as server:
        engine = found()["bing"](
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
        engine = found()["yandex"](
            alias="it", timeout=timeout, token=KEY, endpoint=server.endpoint
        )
        asking.submit(engine, batch)  # to know the user
        server.requests.clear()
        yield Setup(engine, batch, server, [KEY])


@contextlib.contextmanager
def baidu(site: FakeSite, timeout: float) -> Iterator[Setup]:
    batch = Batch(origin=SITE, urls=[f"{SITE}/a"])
    with FakeBaidu(KEY) as server:
        engine = found()["baidu"](
            alias="it",
            timeout=timeout,
            site="www.example.com",
            token=KEY,
            endpoint=server.endpoint,
        )
        yield Setup(engine, batch, server, [KEY])


def feed(url: str, hub: str) -> str:
    """Return a feed that names its hub and itself."""
    links = f'<link rel="hub" href="{hub}"/><link rel="self" href="{url}"/>'
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{links}</feed>'


@contextlib.contextmanager
def websub(site: FakeSite, timeout: float) -> Iterator[Setup]:
    url = f"{site.origin}/feed.atom"
    with FakeWebSubHub() as server:
        site.pages["/feed.atom"] = feed(url, server.url)
        engine = found()["websub"](
            alias="it", timeout=timeout, feeds=["/feed.atom"], hub=server.url
        )
        yield Setup(engine, Batch(origin=site.origin, urls=[url]), server)


@contextlib.contextmanager
def google_indexing(site: FakeSite, timeout: float) -> Iterator[Setup]:
    site.pages["/jobs/1/"] = JOB
    batch = Batch(origin=site.origin, urls=[f"{site.origin}/jobs/1/"])
    with FakeIndexing(properties={f"{site.origin}/": "siteOwner"}) as server:
        engine = found()["google_indexing"](
            alias="it",
            timeout=timeout,
            sections=["job"],
            credentials=server.user_credentials,
            endpoint=server.endpoint,
        )
        asking.submit(engine, batch)  # to get a token
        token = server.calls[0].headers["authorization"].removeprefix("Bearer ")
        server.requests.clear()
        yield Setup(engine, batch, server, [CLIENT_SECRET, REFRESH_TOKEN, token])


@contextlib.contextmanager
def local(name: str) -> Iterator[Setup]:
    batch = Batch(origin=SITE, urls=[f"{SITE}/a"])
    yield Setup(found()[name](alias="it"), batch)


SETUPS: dict[str, Callable[[FakeSite, float], contextlib.AbstractContextManager]] = {
    "baidu": baidu,
    "bing": bing,
    "console": lambda site, timeout: local("console"),
    "google": google,
    "google_indexing": google_indexing,
    "indexnow": indexnow,
    "memory": lambda site, timeout: local("memory"),
    "ping": ping,
    "webhook": webhook,
    "websub": websub,
    "yandex": yandex,
}
#: Those that need an extra.
GOOGLE = ("google", "google_indexing")
if not google_auth.is_installed():
    for name in GOOGLE:
        del SETUPS[name]
REMOTE = [name for name in SETUPS if name not in ("console", "memory")]
#: Those whose protocol says what is in the body of an answer.
STRICT = [name for name in REMOTE if name in ("baidu", "bing", *GOOGLE, "yandex")]
