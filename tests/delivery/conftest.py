"""Servers of a site with articles, whose pages are built."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tests.conftest import Register
from tests.storing.test_freshness import News
from tests.support.helpers import later
from tests.support.outbox_world import use
from tests.support.servers import Server
from tests.testapp.models import Article

#: Starts a server: its command and its settings.
Serve = Callable[..., Server]


@pytest.fixture
def serve(tmp_path: Path, register: Register) -> Iterator[Serve]:
    """
    Start servers of a site with 120 articles on 15 pages, which were built lately.

    The articles are dated, and no page is new: a save that a page had listed before it
    was recorded is then reported once.
    """
    register("news", News)
    some = [Article(slug=f"a{n}", updated=timezone.now()) for n in range(120)]
    Article.objects.bulk_create(some)
    for page in ["", *(f"-{n}" for n in range(1, 16))]:
        Client().get(f"/sitemap-news{page}.xml")
    later(300)
    started: list[Server] = []

    def start(*args: Any, **settings: Any) -> Server:
        started.append(Server(tmp_path, *args, **settings))
        return started[-1]

    yield start
    for server in started:
        server.close()


@pytest.fixture
def engine(settings: Any) -> Any:
    """The only engine: it gives the answers that a test puts into ``answers``."""
    return use(settings, one="Scripted")


@pytest.fixture
def keys(serve: Serve) -> list[int]:
    """The keys of the articles, in their order."""
    return list(Article.objects.order_by("pk").values_list("pk", flat=True))
