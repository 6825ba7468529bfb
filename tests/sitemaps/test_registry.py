"""Which sections there are, and by which names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps

from django_sitemaps_plus import Sitemap
from django_sitemaps_plus import register as register_sitemap
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.registry import registry
from tests.support.helpers import ArticleSitemap, PagesSitemap
from tests.testapp.models import Note

#: Named by tests through SITEMAPS_PLUS["SITEMAPS"].
CONTRIB_STYLE = {"pages": PagesSitemap, "notes": PagesSitemap()}
WITH_BAD_NAME = {"news/today": PagesSitemap}
NO_DICT = [PagesSitemap]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Forget the sections that a test leaves behind."""
    before = set(registry.sources())
    yield
    for name in set(registry._sources.get("", {})) - before:
        registry.remove(name)


def refusal(name: Any, source: Any = PagesSitemap) -> str:
    """Return the message with which a section is refused."""
    with pytest.raises(ConfigurationError) as caught:
        registry.add(name, source)
    return str(caught.value)


# Default names


@pytest.mark.parametrize(
    ("class_name", "model", "name"),
    [
        ("Whatever", Note, "note"),
        ("StaticPagesSitemap", None, "staticpages"),
        ("Legal", None, "legal"),
        ("Sitemap", None, "sitemap"),
        ("ПогодаSitemap", None, "погода"),
    ],
)
def test_a_section_is_called_after_its_model_or_its_class(
    class_name: str, model: Any, name: str
) -> None:
    made = type(class_name, (Sitemap,), {"model": model})
    assert register_sitemap(made) is made
    assert register_sitemap(name="stories")(made) is made
    assert registry.sources() == {name: made, "stories": made}


# Names


def refused(name: object) -> str:
    return (
        f"{name!r} cannot name a section: use letters, digits, '-' and '_' (at most "
        "100 of them), because the name is part of the address /sitemap-<name>.xml."
    )


@pytest.mark.parametrize("name", ["", "a b", "a.xml", "a\n", "x" * 101, None])
def test_a_name_that_no_address_could_carry_is_refused(name: Any) -> None:
    assert refusal(name) == refused(name)
    assert refusal("news-index") == (
        "'news-index' cannot name a section: addresses ending in '-index' belong to "
        "further index files. Choose another, for example 'news-index-pages'."
    )


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            Note,
            "not the model Note. Declare a class NoteSitemap(Sitemap) with model = "
            "Note, and register that.",
        ),
        (dict, "and dict is not a subclass of django_sitemaps_plus.Sitemap."),
        ("notes", "not 'notes'. Write @register above the class, or @register(name="),
    ],
)
def test_what_is_not_a_sitemap_class_is_refused(given: Any, problem: str) -> None:
    decorators: Any = (register_sitemap, register_sitemap(name="x"))
    for decorate in decorators:
        with pytest.raises(ConfigurationError) as caught:
            decorate(given)
        assert str(caught.value).startswith("register() takes a sitemap class, ")
        assert problem in str(caught.value)


def test_two_sitemaps_of_one_name_are_refused() -> None:
    other = type("Other", (ArticleSitemap,), {"__module__": "shop.sitemaps"})
    registry.add("article", ArticleSitemap)
    registry.add("article", type("ArticleSitemap", (), dict(vars(ArticleSitemap))))
    assert refusal("article", other) == (
        "Two sitemaps are called 'article': tests.support.helpers.ArticleSitemap and "
        'shop.sitemaps.Other. Give one another name: @register(name="article-2nd").'
    )


@pytest.mark.parametrize(
    ("first", "second"), [("news", "News"), ("cafe", "café"), ("strasse", "straße")]
)
def test_names_that_a_database_takes_for_one_are_refused(
    first: str, second: str
) -> None:
    registry.add(first, PagesSitemap)
    registry.add(second, PagesSitemap)
    with pytest.raises(ConfigurationError) as caught:
        registry.sources()
    assert str(caught.value) == (
        f"The sections {first!r} and {second!r} differ only in case or accents, which "
        "some databases do not distinguish. Rename one of them."
    )


# The dict that the settings name


def test_the_dict_of_the_settings_is_registered(settings: Any) -> None:
    registry.add("article", ArticleSitemap)
    settings.SITEMAPS_PLUS = {"SITEMAPS": f"{__name__}.CONTRIB_STYLE"}
    assert list(registry.sources()) == ["article", "pages", "notes"]
    settings.SITEMAPS_PLUS = {}
    assert list(registry.sources()) == ["article"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "CONTRIB_STYLE",
            "{} is 'CONTRIB_STYLE', which cannot be imported: CONTRIB_STYLE doesn't "
            "look like a module path",
        ),
        (
            f"{__name__}.MISSING",
            f"{{}} is '{__name__}.MISSING', which cannot be imported: Module "
            f'"{__name__}" does not define a "MISSING" attribute/class',
        ),
        (
            f"{__name__}.NO_DICT",
            f"{{}} is '{__name__}.NO_DICT', which is not a dict of sitemaps but list.",
        ),
        (f"{__name__}.WITH_BAD_NAME", refused("news/today")),
        (
            f"{__name__}.CONTRIB_STYLE",
            "The section 'pages' is both registered and in the dict that {} names. "
            "Remove one of them.",
        ),
    ],
)
def test_a_dict_that_cannot_be_used_is_refused(
    settings: Any, value: str, message: str
) -> None:
    registry.add("pages", PagesSitemap)
    settings.SITEMAPS_PLUS = {"SITEMAPS": value}
    with pytest.raises(ConfigurationError) as caught:
        registry.sources()
    assert str(caught.value) == message.replace("{}", "SITEMAPS_PLUS['SITEMAPS']")


# Instances


def test_a_source_is_a_class_an_instance_or_a_factory() -> None:
    instance = PagesSitemap()
    for source in (PagesSitemap, instance, lambda: instance):
        registry.add("pages", source)
        assert isinstance(registry.get("pages"), PagesSitemap)
        registry.remove("pages")
        with pytest.raises(KeyError):
            registry.get("pages")


# Autodiscovery


def test_the_sitemaps_module_of_an_app_is_found_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    package = tmp_path / "weather_app_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "sitemaps.py").write_text(
        "from django_sitemaps_plus import StaticSitemap, register\n"
        "@register\n"
        "class WeatherSitemap(StaticSitemap):\n"
        "    names = ['home']\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, package.name]
    apps.get_app_config("sitemaps_plus").ready()
    assert registry.get("weather").items() == ["home"]
