"""The admin in German and French."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, run_command


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "words"),
    [("de", ["Abschnitt", "Seiten"]), ("fr", ["Section", "à jour"])],
)
@pytest.mark.costly
def test_the_admin_speaks_it(
    admin_client: Client, settings: Any, register: Any, language: str, words: list[str]
) -> None:
    settings.LANGUAGE_CODE = language
    register("article", ArticleSitemap)
    articles(2)
    assert run_command("build_sitemaps")[2] == 0
    text = admin_client.get("/admin/sitemaps_plus/page/").content.decode()
    for word in words:
        assert word in text
    assert "not built yet" not in text
