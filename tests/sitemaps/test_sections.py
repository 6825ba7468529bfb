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


def evaluated(self: Any) -> Any:
    """Return a queryset whose rows were read."""
    items = Article.objects.all()
    assert not items
    return items


def by_position(**declared: Any) -> str:
    """Return why a section of articles is paged by position, "" if it is not."""
    return source_of("any", type("Any", (ArticleSitemap,), declared)()).by_position


QUERYSET = "items() returns a queryset"


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        (lambda self: [], "items() returns list, not a queryset"),
        (lambda self: Article.objects.all()[:9], "items() returns a sliced queryset"),
        (
            lambda self: Article.objects.all().union(Article.objects.all()),
            f"{QUERYSET} combined by union()",
        ),
        (
            lambda self: Article.objects.distinct("title"),
            f"{QUERYSET} with distinct() on some fields",
        ),
        (
            lambda self: Article.objects.values("slug"),
            "items() returns values, not model instances",
        ),
        (evaluated, "items() returns an evaluated queryset"),
        (lambda self: Article.objects.all(), ""),
    ],
    ids=["list", "slice", "union", "distinct", "values", "evaluated", "queryset"],
)
@pytest.mark.django_db
def test_why_items_are_paged_by_position(items: Any, reason: str) -> None:
    assert by_position(items=items) == reason


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
    expected = "" if is_ignored else "it overrides get_domain"
    assert by_position(get_domain=method) == expected
    more = {"get_protocol": lambda self, protocol=None: "https"}
    assert by_position(get_domain=method, **more) == "it overrides get_protocol"


@pytest.mark.parametrize("limit", [None, 0, -1, "many", float("inf"), float("nan")])
def test_a_limit_that_is_none_is_a_configuration_error(limit: Any) -> None:
    source = source_of("any", type("Any", (ArticleSitemap,), {"limit": limit})())
    with pytest.raises(ConfigurationError, match=r"Any\.limit must be a whole number"):
        source.limit  # noqa: B018


@pytest.mark.parametrize(
    ("own", "limit", "items"),
    [
        # The languages of an item stay on one page.
        ({"i18n": True, "languages": ["en", "de", "fr"], "limit": 2}, 3, 1),
        ({"news": F("title")}, 1_000, 1_000),
    ],
)
def test_a_page_may_have_another_limit_than_declared(
    own: dict[str, Any], limit: int, items: int
) -> None:
    source = source_of("any", type("Any", (ArticleSitemap,), own)())
    assert (source.limit, source.items_per_page) == (limit, items)


@pytest.mark.parametrize("name", ["get_urls", "_urls", "_items", "paginator"])
def test_contrib_s_hooks_are_obeyed_by_position(name: str) -> None:
    reason = f"it overrides {name}"
    assert by_position(**{name: getattr(Sitemap, name)}) == reason
    if name != "paginator":
        instance = ArticleSitemap()
        setattr(instance, name, lambda *args, **kwargs: [])
        assert source_of("any", instance).by_position == reason
