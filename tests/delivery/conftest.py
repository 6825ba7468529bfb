"""Servers of a site with articles, whose pages are built."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.conftest import Register
from tests.storing.test_freshness import News
from tests.support.servers import Server
from tests.testapp.models import Article

#: Starts a server: its command and its settings.
Serve = Callable[..., Server]


@pytest.fixture
def serve(tmp_path: Path, register: Register) -> Iterator[Serve]:
    """Start servers of a site with 120 articles on 15 pages, which are built."""
    register("news", News)
    Article.objects.bulk_create(Article(slug=f"a{n}") for n in range(120))
    for page in ["", *(f"-{n}" for n in range(1, 16))]:
        Client().get(f"/sitemap-news{page}.xml")
    started: list[Server] = []

    def start(*args: Any, **settings: Any) -> Server:
        started.append(Server(tmp_path, *args, **settings))
        return started[-1]

    yield start
    for server in started:
        server.close()


@pytest.fixture
def keys(serve: Serve) -> list[int]:
    """The keys of the articles, in their order."""
    return list(Article.objects.order_by("pk").values_list("pk", flat=True))
