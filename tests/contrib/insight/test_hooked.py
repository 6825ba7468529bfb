"""What an app that no app of ours is adds to the admin and to monitoring."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from django.contrib.admin import ModelAdmin, site

from django_sitemaps_plus.contrib.insight import admin as own_admin
from django_sitemaps_plus.contrib.insight.metrics import metrics
from django_sitemaps_plus.exceptions import HookError
from tests.contrib.insight.test_pages import admin
from tests.hooked import hooks as app
from tests.support.helpers import ArticleSitemap
from tests.support.hooked import hooked

__all__ = ["hooked"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("hooked"),
]

FIRST = "/admin/sitemaps_plus/"
#: Of the first of the two articles.
STORY = "/admin/sitemaps_plus/urlchange/story/?url=/articles/"
FAULTS = [app.breaks, app.asks_in_vain, lambda: None]


def story_of_an_article() -> str:
    """Return the address of what is known of an article's URL."""
    slug = ArticleSitemap.model.objects.first().slug  # type: ignore[union-attr]
    return f"{STORY}{slug}/"


def test_an_app_adds_parts_to_the_pages_of_the_admin() -> None:
    assert "The mirror is shown." in admin().get(FIRST).text
    (page,) = app.given["panels"][-1]
    assert page.request.path == FIRST
    assert "The mirror knows the URL." in admin().get(story_of_an_article()).text
    _, url, sections = app.given["stories"][-1]
    assert url.startswith("https://www.example.com/articles/")
    assert list(sections) == ["article"]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.costly
def test_an_error_stands_in_place_of_an_app_s_part(fault: Any) -> None:
    app.instead.update(panels=fault, stories=fault)
    for address in (FIRST, story_of_an_article()):
        response = admin().get(address)
        assert response.status_code == 200
        assert "tests.hooked could not check" in response.text


def test_an_app_adds_lists_of_rows() -> None:
    class List(ModelAdmin):
        """How an article is shown."""

    app.instead["admin_lists"] = lambda: [(ArticleSitemap.model, List)]
    before = dict(site._registry)
    for model in [one for one in before if one._meta.label.startswith("sitemaps_plus")]:
        site.unregister(model)
    try:
        importlib.reload(own_admin)
        assert isinstance(site._registry[ArticleSitemap.model], List)
        base, display = app.given["admin_lists"][-1]
        own = own_admin.__name__
        assert (base.__name__, display.__name__) == (f"{own}.base", f"{own}.display")
    finally:
        site._registry.clear()
        site._registry.update(before)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.costly
def test_the_admin_is_not_imported_without_the_lists_of_an_app(fault: Any) -> None:
    app.instead["admin_lists"] = fault
    with pytest.raises(HookError, match=r"The hook 'admin_lists' of tests\.hooked"):
        importlib.reload(own_admin)


def test_an_app_says_when_all_was_audited() -> None:
    assert metrics().last_audit_seconds is not None
    app.instead["audited_at"] = lambda: None
    assert metrics().last_audit_seconds is None


@pytest.mark.parametrize("fault", [app.breaks, app.asks_in_vain, lambda: "never"])
@pytest.mark.costly
def test_monitoring_fails_if_an_app_cannot_say_when(fault: Any) -> None:
    app.instead["audited_at"] = fault
    with pytest.raises(HookError, match=r"The hook 'audited_at' of tests\.hooked"):
        metrics()
