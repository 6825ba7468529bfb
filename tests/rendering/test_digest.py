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
from tests.conftest import Register
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


def digest(register: Register, cls: type[Sitemap]) -> str:
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
    register: Register, attributes: dict[str, Any]
) -> None:
    """A deploy that declares something else has every page made again."""
    before = digest(register, changed())
    assert digest(register, changed(**attributes)) != before
    assert digest(register, changed()) == before


def test_another_address_or_url_pattern_is_another_definition(
    register: Register, settings: Any
) -> None:
    """The class says the same, and every page lists addresses that are gone."""
    found = {digest(register, Plain)}
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://example.org"}
    found.add(digest(register, Plain))
    settings.ROOT_URLCONF = __name__
    found.add(digest(register, Plain))
    assert len(found) == 3


def test_a_definition_is_the_same_in_whatever_language_it_is_asked_for(
    register: Register,
) -> None:
    """Or each visitor would have pages made again that another one has just had."""
    found = set()
    cls = changed(items=lambda self: Article.objects.filter(slug=get_language()))
    for language in ("en", "de", None):
        with translation.override(language):
            found.add(digest(register, cls))
    assert len(found) == 1


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


def test_what_cannot_be_written_down_is_told_by_its_type(register: Register) -> None:
    class Unwritten:
        def __repr__(self) -> str:
            raise ValueError("not ready")

    before = digest(register, changed(changefreq=Unwritten()))
    assert digest(register, changed(changefreq=Unwritten())) == before
    assert digest(register, changed()) != before


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("updated", timezone.now),
        ("updated", Now),
        ("day", timezone.localdate),
        ("day", lambda: dt.date(2020, 1, 1)),
    ],
    ids=["timezone.now", "Now", "today", "a fixed date"],
)
def test_a_query_on_the_clock_is_recognised(
    register: Register, name: str, moment: Callable[[], Any]
) -> None:
    """Such a page is compared with its rows each minute, under one definition."""
    named = f"{name}__lte"
    cls = changed(items=lambda self: Article.objects.filter(**{named: moment()}))
    first = digest(register, cls)
    is_fixed = moment() == dt.date(2020, 1, 1)
    assert bool(digests.definition(source("article")).clock) is not is_fixed
    assert digest(register, cls) == first


class Opaque:
    def __str__(self) -> str:
        return "daily"


def of_sets() -> str:
    """Return the digest of what Python shows and sorts otherwise in each process."""
    items = Article.objects.filter(slug__in={"a", "b", "c", "d", "e", "f"})
    registry.add("sets", changed(changefreq=Opaque(), items=lambda self: items))
    try:
        return digests.definition(source("sets")).digest
    finally:
        registry.remove("sets")


def test_every_process_has_the_same_definition() -> None:
    """Or the workers of one site would have each other's pages made again for ever."""
    code = "import django; django.setup(); from tests.rendering import test_digest"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(test_digest.of_sets(), end='')"],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        cwd=Path(__file__).parent.parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == of_sets()
