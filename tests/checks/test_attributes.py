"""Checks of what a sitemap class has: a model with rows, and no misspelt names."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.db import models
from django.db.models import F

from django_sitemaps_plus import Sitemap, StaticSitemap
from tests.checks.test_checks import declare, found, only
from tests.conftest import Register
from tests.support.helpers import ArticleSitemap
from tests.testapp.models import Article


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("last_mod", F("updated"), "lastmod"),
        ("lastMod", F("updated"), "lastmod"),
        ("last_modified", lambda self, item: item.updated, "lastmod"),
        ("protocoll", "http", "protocol"),
        ("change_freq", "daily", "changefreq"),
        ("changefrequency", "daily", "changefreq"),
        ("prioriy", 0.5, "priority"),
        ("image", F("slug"), "images"),
        ("get_latest_last_mod", lambda self: None, "get_latest_lastmod"),
        ("language", ["en"], "languages"),
    ],
)
def test_a_misspelt_attribute_is_named(
    register: Register, name: str, value: Any, meant: str
) -> None:
    attributes = {"model": Article, "location": "/all/", name: value}
    register("article", type("Own", (Sitemap,), attributes))
    assert only("W012") == (
        f"Own.{name} is not an attribute of sitemaps, and is ignored. Did you mean "
        f"{meant!r}?",
        f"Rename it to {meant}, or give it a name that is less alike.",
    )


class Helpers(ArticleSitemap):
    language = "en"
    site = None
    priorities = ()  # where priority is declared, too
    _lastmod = None

    def items(self) -> Any:
        return Article.objects.filter(slug__in=[self.language for _ in range(2)])

    def last_modified(self, item: Any) -> Any:
        return item.updated

    @property
    def prioritys(self) -> list[float]:
        return [self.title_of_all, 0.5]

    def lastmod(self, item: Any) -> Any:
        return self.last_modified(item)

    def priority(self, item: Any) -> Any:
        return self.prioritys[0]


class Heir(Helpers):
    item_of = None


@pytest.mark.parametrize("cls", [Helpers, Heir])
def test_what_a_class_reads_itself_is_its_own(register: Register, cls: type) -> None:
    register("article", cls)
    assert found() == []


def test_misspelt_attributes_of_contribs_classes_are_named(register: Register) -> None:
    attributes = {"items": lambda self: [], "location": "/", "last_mod": None}
    register("plain", type("Plain", (ContribSitemap,), attributes))
    assert "Did you mean 'lastmod'?" in only("W012")[0]


class Base(models.Model):
    class Meta:
        abstract = True
        app_label = "testapp"

    def __str__(self) -> str:
        return ""


@pytest.mark.parametrize(
    ("model", "problem", "hint"),
    [
        (
            Base,
            "Declared.model of section 'article' is Base, an abstract model, which "
            "has no rows.",
            "Name a model that inherits from it; each needs a sitemap class of its "
            "own.",
        ),
        (
            "testapp.Article",
            "Declared.model of section 'article' must be a model class, not "
            "'testapp.Article'.",
            "Import the class, and write model = Article.",
        ),
        (
            None,
            "Declared of section 'article' has neither model nor items(): it lists "
            "nothing.",
            "Set model = Article, or define items().",
        ),
    ],
)
@pytest.mark.django_db
def test_a_class_without_rows_is_named(
    register: Register, model: Any, problem: str, hint: str
) -> None:
    declare(register, model=model)
    for databases in ([], ["default"]):
        assert only("E021", databases) == (problem, hint)


def test_a_model_may_be_abstract_where_items_come_from_elsewhere(
    register: Register,
) -> None:
    declare(register, model=Base, items=lambda self: Article.objects.all())
    assert found() == []


def test_names_that_are_one_text_are_named_once(register: Register) -> None:
    register("pages", type("Pages", (StaticSitemap,), {"names": "home"}))
    assert only("E015") == (
        "Section 'pages': names is the text 'home', not a list, so each letter would "
        "be the name of a URL pattern.",
        "Write names = ['home'].",
    )


@pytest.mark.django_db
def test_what_is_not_a_sitemap_is_named(register: Register) -> None:
    register("article", Article)
    for databases in ([], ["default"]):
        assert only("E005", databases) == (
            "What is registered as section 'article' is not a sitemap: it is of the "
            "class tests.testapp.models.Article.",
            "Register a subclass of django_sitemaps_plus.Sitemap.",
        )
