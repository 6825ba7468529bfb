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
    names = (
        "GenericSitemap Image News NewsSitemap Related Route Sitemap StaticSitemap "
        "Tenants Video atouch register submission_finished touch urls_changed"
    )
    assert django_sitemaps_plus.__all__ == names.split()
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
    ours: Any = django_sitemaps_plus.Sitemap
    for name in ("limit", "protocol", "i18n", "languages", "alternates", "x_default"):
        assert getattr(ours, name) == getattr(contrib.Sitemap, name)
    assert (ours.record_deletes, ours.appears, ours.expires) == (True, None, None)


def parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_what_a_class_may_override_and_what_says_that_rows_changed() -> None:
    cls = django_sitemaps_plus.Sitemap
    assert parameters(cls.prepare_items) == ["self", "items"]
    assert parameters(cls.get_urls_for_item) == ["self", "item"]
    assert parameters(django_sitemaps_plus.touch) == ["changed"]


def test_what_monitoring_asks_for() -> None:
    taken = inspect.signature(alerts).parameters.values()
    assert all(one.default is not one.empty for one in taken)
    assert parameters(errors) == ["some"]
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


def public(tree: ast.Module | ast.ClassDef) -> list[ast.AST]:
    """Return what a module or a class shows: all without an underscore."""
    found: list[ast.AST] = []
    for node in tree.body:
        if not getattr(node, "name", "_").startswith("_"):
            found += [node, *public(node)] if isinstance(node, ast.ClassDef) else [node]
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
