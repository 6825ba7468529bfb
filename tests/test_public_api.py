"""The promise: names, signatures and types that a project may build upon."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from pathlib import Path
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.core.exceptions import ImproperlyConfigured

import django_sitemaps_plus
from django_sitemaps_plus import exceptions, views
from django_sitemaps_plus.health.alerts import Alert, alerts, errors

PACKAGE = Path(django_sitemaps_plus.__file__).parent


def test_the_names() -> None:
    assert django_sitemaps_plus.__all__ == [
        "GenericSitemap",
        "Image",
        "News",
        "NewsSitemap",
        "Related",
        "Route",
        "Sitemap",
        "StaticSitemap",
        "Tenants",
        "Video",
        "atouch",
        "register",
        "submission_finished",
        "touch",
        "urls_changed",
    ]


def test_the_names_are_there_and_say_what_they_are() -> None:
    for name in django_sitemaps_plus.__all__:
        assert (getattr(django_sitemaps_plus, name).__doc__ or "").strip()


def test_contrib_s_names_can_be_imported_from_here() -> None:
    """One changed import: ``django.contrib.sitemaps`` → ``django_sitemaps_plus``."""
    for name in ("Sitemap", "GenericSitemap"):
        ours = getattr(django_sitemaps_plus, name)
        assert issubclass(ours, getattr(contrib, name))


@pytest.mark.parametrize("name", ["index", "sitemap"])
def test_the_views_take_what_contrib_s_take(name: str) -> None:
    ours = inspect.signature(getattr(views, name)).parameters
    theirs = inspect.signature(getattr(contrib_views, name)).parameters
    assert list(ours) == list(theirs)
    for parameter in ours:
        assert ours[parameter].default == theirs[parameter].default
        assert ours[parameter].kind == theirs[parameter].kind


def test_the_attributes_of_contrib_s_class_mean_the_same() -> None:
    for name in ("limit", "protocol", "i18n", "languages", "alternates", "x_default"):
        ours: Any = getattr(django_sitemaps_plus.Sitemap, name)
        assert ours == getattr(contrib.Sitemap, name)


def test_attributes_of_recording() -> None:
    assert django_sitemaps_plus.Sitemap.record_deletes is True
    assert django_sitemaps_plus.Sitemap.appears is None
    assert django_sitemaps_plus.Sitemap.expires is None


def test_what_a_class_may_override() -> None:
    parameters = {
        name: list(
            inspect.signature(getattr(django_sitemaps_plus.Sitemap, name)).parameters
        )
        for name in ("prepare_items", "get_urls_for_item")
    }
    assert parameters == {
        "prepare_items": ["self", "items"],
        "get_urls_for_item": ["self", "item"],
    }


def test_what_says_that_rows_changed() -> None:
    assert list(inspect.signature(django_sitemaps_plus.touch).parameters) == ["changed"]


def test_what_monitoring_asks_for() -> None:
    taken = inspect.signature(alerts).parameters.values()
    assert all(one.default is not one.empty for one in taken)
    assert list(inspect.signature(errors).parameters) == ["some"]
    names = {field.name for field in dataclasses.fields(Alert)}
    assert {"subject", "name", "level", "text", "fix"} <= names


def test_every_error_has_one_base() -> None:
    own = [
        value
        for value in vars(exceptions).values()
        if inspect.isclass(value) and value.__module__ == exceptions.__name__
    ]
    assert own
    assert all(issubclass(error, exceptions.SitemapsPlusError) for error in own)
    assert issubclass(exceptions.ConfigurationError, ImproperlyConfigured)
    assert exceptions.Filling("x").retry_after == 5


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def public(tree: ast.Module) -> list[ast.AST]:
    """Return what a module shows: classes and functions without an underscore."""
    kinds = ast.ClassDef | ast.FunctionDef
    found: list[ast.AST] = []
    for node in tree.body:
        if isinstance(node, kinds) and not node.name.startswith("_"):
            found.append(node)
            if isinstance(node, ast.ClassDef):
                found += [
                    item
                    for item in node.body
                    if isinstance(item, kinds) and not item.name.startswith("_")
                ]
    return found


def test_every_public_name_is_described() -> None:
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        if "migrations" in path.parts or not tree.body:
            continue
        assert ast.get_docstring(tree), path
        for node in public(tree):
            if isinstance(node, ast.ClassDef) and node.name in ("Meta", "Media"):
                continue
            decorators = [ast.unparse(d) for d in getattr(node, "decorator_list", [])]
            if "overload" not in decorators:
                assert ast.get_docstring(node), f"{path}: {ast.unparse(node)}"
