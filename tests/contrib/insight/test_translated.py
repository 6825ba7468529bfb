"""The admin in German and French."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contrib.insight.test_pages import text
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, run_command


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "words"),
    [("de", ["Abschnitt", "Seiten"]), ("fr", ["Section", "à jour"])],
)
@pytest.mark.costly
def test_the_admin_speaks_it(
    settings: Any, register: Any, language: str, words: list[str]
) -> None:
    settings.LANGUAGE_CODE = language
    register("article", ArticleSitemap)
    articles(2)
    assert run_command("build_sitemaps")[2] == 0
    shown = text("page/")
    assert [word for word in words if word not in shown] == []
    assert "not built yet" not in shown
