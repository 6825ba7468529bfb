"""Rows of one site: which database they come from, and whose they are."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps

from django_sitemaps_plus.models import Change, Section
from django_sitemaps_plus.sitemaps.site import Site, working_for
from django_sitemaps_plus.sitemaps.site_rows import SiteRow
from tests.testapp.routers import ReplicaRouter

MODELS = [
    model
    for model in apps.get_app_config("sitemaps_plus").get_models()
    if issubclass(model, SiteRow)
]


@pytest.mark.parametrize("model", MODELS)
def test_rows_are_read_where_they_are_written(model: Any, settings: Any) -> None:
    settings.DATABASE_ROUTERS = [ReplicaRouter()]
    assert model.objects.on_site().db == "default"
    assert model.objects.of_all_sites().db == "default"
    assert model.objects.using("other").db == "other"


@pytest.mark.django_db
def test_a_row_is_of_the_site_that_is_worked_for() -> None:
    Change.objects.create(section="article", at=1)
    with working_for(Site("blog", "blog")):
        Change.objects.create(section="article", at=1)
        Section.objects.create(name="article")
        assert [row.site for row in Change.objects.on_site()] == ["blog"]
    assert [row.site for row in Change.objects.on_site()] == ["1"]
    assert Change.objects.of_all_sites().count() == 2
    assert not Section.objects.on_site().exists()


def test_a_site_is_found_by_the_key_of_its_rows(settings: Any) -> None:
    blog = {"BASE_URL": "https://blog.example.com", "URLCONF": "blog_urls"}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "SITES": {"blog": blog}}
    sites = Site.all()
    assert sites == [Site("1"), Site("blog", "blog")]
    assert [Site.from_key(site.key) for site in sites] == sites
    assert str(sites[1].address().origin) == "https://blog.example.com"
    assert [site.urlconf for site in sites] == [settings.ROOT_URLCONF, "blog_urls"]
