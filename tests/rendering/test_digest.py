"""A section's definition: what has its pages made again, and what must not."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F, Value
from django.db.models.functions import Now
from django.urls import path
from django.utils import timezone, translation
from django.utils.translation import get_language

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.rendering import digest as digests
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import Site, working_for
from tests.testapp.models import Article
from tests.testapp.views import anything

pytestmark = pytest.mark.django_db

#: Those of a site whose articles have moved.
urlpatterns = [path("stories/<slug:slug>/", anything, name="article")]


class Plain(Sitemap):
    model = Article
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    priority = 0.5


def digest(register: Callable[..., Any], cls: type[Sitemap]) -> str:
    register("article", cls)
    return digests.definition(source("article")).digest


def changed(**attributes: Any) -> type[Sitemap]:
    return type("Plain", (Plain,), {"__module__": Plain.__module__, **attributes})


@pytest.mark.parametrize(
    "attributes",
    [
        {"priority": 0.6},
        {"changefreq": "daily"},
        {"limit": 1000},
        {"protocol": "http"},
        {"lastmod": F("day")},
        {"priority": Value(0.5)},
        {"location": Route("word", slug=F("slug"))},
        {"location": Route("article", slug=F("title"))},
        {"items": lambda self: Article.objects.filter(live=True)},
        {"page_by": "id", "i18n": True, "languages": ["en"]},
        {"changefreq": lambda self, item: "daily"},
    ],
    ids=",".join,
)
def test_another_declaration_is_another_definition(
    register: Callable[..., Any], attributes: dict[str, Any]
) -> None:
    """A deploy that declares something else has every page made again."""
    before = digest(register, changed())
    assert digest(register, changed(**attributes)) != before
    assert digest(register, changed()) == before


def test_another_address_is_another_definition(
    register: Callable[..., Any], settings: Any
) -> None:
    before = digest(register, Plain)
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://example.org"}
    assert digest(register, Plain) != before


def test_a_class_has_a_definition_for_each_site(settings: Any) -> None:
    blog = {"BASE_URL": "https://blog.example.com"}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "SITES": {"blog": blog}}
    found = set()
    for name in ("", "blog"):
        registry.add("shared", Plain, name)
        with working_for(Site(name, name)):
            found.add(digests.definition(source("shared")).digest)
        registry.remove("shared", name)
    assert len(found) == 2


def test_another_url_pattern_is_another_definition(
    register: Callable[..., Any], settings: Any
) -> None:
    """The class says the same, and every page lists addresses that are gone."""
    before = digest(register, changed())
    settings.ROOT_URLCONF = __name__
    assert digest(register, changed()) != before


def test_a_definition_is_the_same_in_whatever_language_it_is_asked_for(
    register: Callable[..., Any],
) -> None:
    """Or each visitor would have pages made again that another one has just had."""

    def items(self: Any) -> Any:
        return Article.objects.filter(slug=get_language())

    found = set()
    for language in ("en", "de", None):
        with translation.override(language):
            found.add(digest(register, changed(items=items)))
    assert len(found) == 1


def test_what_cannot_be_written_down_is_told_by_its_type(
    register: Callable[..., Any],
) -> None:
    class Unwritten:
        def __repr__(self) -> str:
            raise ValueError("not ready")

    before = digest(register, changed(changefreq=Unwritten()))
    assert digest(register, changed(changefreq=Unwritten())) == before
    assert digest(register, changed()) != before


@pytest.mark.parametrize(
    "items",
    [
        lambda self: Article.objects.filter(updated__lte=timezone.now()),
        lambda self: Article.objects.filter(updated__lte=Now()),
        lambda self: Article.objects.filter(day__lte=timezone.localdate()),
    ],
    ids=["timezone.now", "Now", "today"],
)
def test_a_query_on_the_clock_is_recognised(
    register: Callable[..., Any], items: Callable[[Any], Any]
) -> None:
    """Such a page is compared with its rows each minute, under one definition."""
    first = digest(register, changed(items=items))
    assert digests.definition(source("article")).clock
    assert digest(register, changed(items=items)) == first


def test_a_fixed_date_is_not_the_clock(register: Callable[..., Any]) -> None:
    since = dt.date(2020, 1, 1)
    register(
        "article", changed(items=lambda self: Article.objects.filter(day__gte=since))
    )
    assert not digests.definition(source("article")).clock


SCRIPT = """
import django
django.setup()
from django_sitemaps_plus import Sitemap, register
from django_sitemaps_plus.rendering import digest
from django_sitemaps_plus.sitemaps.sections import source
from tests.testapp.models import Article

class Opaque:
    def __str__(self):
        return "daily"

@register(name="sets")
class Sets(Sitemap):
    changefreq = Opaque()

    def items(self):
        return Article.objects.filter(slug__in={"a", "b", "c", "d", "e", "f"})

print(digest.definition(source("sets")).digest)
"""


def test_every_process_has_the_same_definition() -> None:
    """Or the workers of one site would have each other's pages made again for ever."""
    digests = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={
                **os.environ,
                "PYTHONHASHSEED": str(seed),
                "DJANGO_SETTINGS_MODULE": "tests.settings",
            },
            cwd=Path(__file__).parent.parent.parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(2)
    }
    assert len(digests) == 1
