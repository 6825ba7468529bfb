"""What a project's own tests use: deliver, and look at what was sent."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus import Sitemap, testing
from django_sitemaps_plus.exceptions import ConfigurationError
from tests.conftest import Register
from tests.support.helpers import ArticleSitemap, remove_sites, run_command
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

SITE = "https://www.example.com"


@pytest.fixture
def memory(settings: Any, register: Register) -> None:
    """A site on somebody's own machine, whose only engine is ``Memory``."""
    backend = {"BACKEND": "django_sitemaps_plus.engines.memory.Memory"}
    settings.SITEMAPS_PLUS = {"BASE_URL": SITE, "ENGINES": {"one": backend}}
    settings.DEBUG = True
    register("article", ArticleSitemap)
    run_command("build_sitemaps")


@pytest.mark.usefixtures("memory")
def test_what_happened_is_delivered_and_can_be_looked_at() -> None:
    assert testing.sent() == []
    first, _ = (Article.objects.create(slug=slug) for slug in ("one", "two"))
    report = testing.deliver()
    assert report.total("accepted") == 3
    sitemap = (f"{SITE}/sitemap.xml", "sitemap")
    assert sorted(testing.sent()) == [
        (f"{SITE}/articles/one/", "added"),
        (f"{SITE}/articles/two/", "added"),
        sitemap,
    ]
    first.delete()
    testing.deliver()
    # Nothing is sent twice within the engine's interval.
    assert (f"{SITE}/articles/one/", "removed") not in testing.sent()


def test_without_an_address_it_says_what_to_set(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {}
    remove_sites(settings)
    with pytest.raises(ConfigurationError, match="Set SITEMAPS_PLUS"):
        testing.deliver()


@pytest.mark.usefixtures("memory")
def test_a_class_says_of_what_type_its_items_are(register: Register) -> None:
    class Typed(Sitemap[Article]):
        model = Article

        def location(self, item: Article) -> str:
            return f"/typed/{item.slug}/"

    assert Typed.__mro__[1] is Sitemap
    register("typed", Typed)
    Article.objects.create(slug="one")
    testing.deliver()
    assert (f"{SITE}/typed/one/", "added") in testing.sent()
