"""What keeps an engine that shows figures by file from showing them by section."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.engines.memory import Memory
from django_sitemaps_plus.health.check import _SITE, check
from django_sitemaps_plus.models import Page, Section
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, PagesSitemap, Small, run_command
from tests.support.outbox_world import use

pytestmark = pytest.mark.django_db


class Showing(Memory):
    """Shows figures of three files."""

    name: ClassVar[str] = "Shower"
    shows_files: ClassVar[int] = 3


@pytest.fixture
def shows(settings: Any) -> None:
    """Give a site that is not public, so that nothing is asked over the network."""
    base = "http://127.0.0.1:9"
    use(settings, one=f"{__name__}.Showing", two="Few", BASE_URL=base)


def said() -> list[str]:
    results = check(list(engines()))
    return [one.text for name, one in results if name != _SITE and one.is_warning]


def test_what_keeps_an_engine_from_showing_figures_by_file_is_noted(
    shows: None, register: Any, settings: Any
) -> None:
    register("article", ArticleSitemap)
    articles(2)
    run_command("build_sitemaps")
    section = Section.objects.get(name="article")
    assert said() == [], "one section is the file"
    for number in (2, 3, 4):
        assert said() == [], "three are shown"
        Page.objects.create(
            section=section, number=number, position=number, lower=f"[{number}]"
        )
    assert said() == [
        "The index lists 4 sitemaps. Shower shows only 3 of them, though it reads all."
    ]
    out, _, _ = run_command("ping_sitemaps", "--check")
    assert "Set limit = 50_000 on the largest sitemap classes and divide" in out
    Page.objects.filter(number__gt=1).delete()
    register("pages", PagesSitemap)
    assert said() == [
        "2 sections are in one file, so Shower shows no figures by section."
    ]
    out, _, _ = run_command("ping_sitemaps", "--check")
    assert 'Set SITEMAPS_PLUS["INDEX"] = True if you want them.' in out
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "INDEX": True}
    assert said() == []


def test_a_section_is_divided_anew_as_the_documentation_says(register: Any) -> None:
    def numbers() -> list[int]:
        run_command("build_sitemaps")
        found = Page.objects.filter(entries__gt=0).order_by("number")
        return list(found.values_list("number", flat=True))

    register("article", Small)
    articles(27)
    assert numbers() == [1, 2, 3]
    register("article", ArticleSitemap)
    assert numbers() == [1, 2, 3], "a limit holds for pages to come"
    Section.objects.filter(name="article").update(key="")
    assert numbers() == [4]
