"""A site with two articles, and an app that no app of ours is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.hooked import hooks as app
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, run_command


@pytest.fixture
def hooked(settings: Any, register: Any) -> Iterator[None]:
    """The app ``tests.hooked``, and a section with two articles that are built."""
    _forget()
    settings.INSTALLED_APPS = ["tests.hooked", *settings.INSTALLED_APPS]
    register("article", ArticleSitemap)
    articles(2)
    run_command("build_sitemaps")
    app.called.clear()
    yield
    _forget()


def _forget() -> None:
    for noted in (app.called, app.given, app.instead):
        noted.clear()
