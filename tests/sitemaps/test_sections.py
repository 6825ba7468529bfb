"""How a section is paged: by key, or by position and why."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import F

from django_sitemaps_plus import Sitemap
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.sections import source_of
from tests.support.helpers import ArticleSitemap
from tests.testapp.models import Article


def hooked(name: str) -> Any:
    """Return a sitemap whose class overrides one of contrib's hooks."""
    return type("Hooked", (ArticleSitemap,), {name: getattr(Sitemap, name)})()


def evaluated() -> Any:
    """Return a queryset whose rows were read."""
    items = Article.objects.all()
    assert not items
    return items


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        (lambda: [], "items() returns list, not a queryset"),
        (lambda: Article.objects.all()[:9], "items() returns a sliced queryset"),
        (
            lambda: Article.objects.all().union(Article.objects.all()),
            "items() returns a queryset combined by union()",
        ),
        (
            lambda: Article.objects.distinct("title"),
            "items() returns a queryset with distinct() on some fields",
        ),
        (
            lambda: Article.objects.values("slug"),
            "items() returns values, not model instances",
        ),
        (evaluated, "items() returns an evaluated queryset"),
        (lambda: Article.objects.all(), ""),
    ],
    ids=["list", "slice", "union", "distinct", "values", "evaluated", "queryset"],
)
@pytest.mark.django_db
def test_why_items_are_paged_by_position(items: Any, reason: str) -> None:
    sitemap = type("Any", (Sitemap,), {"items": lambda self: items()})()
    assert source_of("any", sitemap).by_position == reason


@pytest.mark.parametrize(
    ("method", "base", "is_ignored"),
    [
        (lambda self, site=None: "www.example.com", "https://www.example.com", True),
        (lambda self, site=None: site.domain, "https://www.example.com", True),
        (lambda self, site=None: site.domain, None, True),
        (lambda self, site=None: f"m.{site.domain}", "https://www.example.com", False),
        (lambda self, site=None: "www.example.com", None, False),
    ],
    ids=["same", "given", "given by a request", "other", "unknown"],
)
def test_a_domain_that_counts_anyway_is_ignored(
    settings: Any, method: Any, base: str | None, is_ignored: bool
) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": base}
    cls = type("Any", (ArticleSitemap,), {"get_domain": method})
    expected = "" if is_ignored else "it overrides get_domain"
    assert source_of("any", cls()).by_position == expected
    more = type("More", (cls,), {"get_protocol": lambda self, protocol=None: "https"})
    assert source_of("any", more()).by_position == "it overrides get_protocol"


@pytest.mark.parametrize("limit", [None, 0, -1, "many", float("inf"), float("nan")])
def test_a_limit_that_is_none_is_a_configuration_error(limit: Any) -> None:
    source = source_of("any", type("Any", (ArticleSitemap,), {"limit": limit})())
    with pytest.raises(ConfigurationError, match=r"Any\.limit must be a whole number"):
        source.limit  # noqa: B018


def test_the_languages_of_an_item_stay_on_one_page() -> None:
    attributes = {"i18n": True, "languages": ["en", "de", "fr"], "limit": 2}
    source = source_of("any", type("Any", (ArticleSitemap,), attributes)())
    assert (source.limit, source.items_per_page) == (3, 1)
    news = source_of("any", type("Any", (ArticleSitemap,), {"news": F("title")})())
    assert (news.limit, news.items_per_page) == (1_000, 1_000)


@pytest.mark.parametrize("name", ["get_urls", "_urls", "_items", "paginator"])
def test_contrib_s_hooks_are_obeyed_by_position(name: str) -> None:
    assert source_of("any", hooked(name)).by_position == f"it overrides {name}"
    instance = ArticleSitemap()
    if name != "paginator":
        setattr(instance, name, lambda *args, **kwargs: [])
        assert source_of("any", instance).by_position == f"it overrides {name}"
