"""The engine of this app with its fake: see ``tests/engines/setups``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from django_sitemaps_plus.contrib.formats.websub import WebSub
from django_sitemaps_plus.engines.base import Batch
from tests.engines.setups import SetUp, Setup
from tests.support.fakes.site import FakeSite
from tests.support.fakes.websub import FakeWebSubHub


def feed(url: str, hub: str) -> str:
    """Return a feed that names its hub and itself."""
    links = f'<link rel="hub" href="{hub}"/><link rel="self" href="{url}"/>'
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{links}</feed>'


@contextlib.contextmanager
def websub(site: FakeSite, timeout: float) -> Iterator[Setup]:
    url = f"{site.origin}/feed.atom"
    with FakeWebSubHub() as server:
        site.pages["/feed.atom"] = feed(url, server.url)
        engine = WebSub(
            alias="it", timeout=timeout, feeds=["/feed.atom"], hub=server.url
        )
        yield Setup(engine, Batch(origin=site.origin, urls=[url]), server)


SETUPS: dict[str, SetUp] = {"websub": websub}
STRICT: list[str] = []
PROOFS: dict[str, str] = {}
ABSENT: list[str] = []
