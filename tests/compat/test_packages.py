"""The suites of real packages pass with the app installed beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django
import pytest

from tests.compat.environments import INSIDE, Outcomes, environment, sdist

pytestmark = pytest.mark.network

DJANGO = f"Django=={django.get_version()}"


def assert_unharmed(outcomes: Outcomes, *, passing: int) -> None:
    """Nothing fails, and at least so many tests pass."""
    failed = [text for text in outcomes.values() if text not in ("passed", "skipped")]
    assert not failed, failed[0]
    assert list(outcomes.values()).count("passed") >= passing


def test_reversion_is_unharmed(package: Path, tmp_path: Path) -> None:
    """A version of every object, kept by the models' signals."""
    tests = sdist("django-reversion", "6.4.0") / "tests"
    outcomes = environment(DJANGO, "django-reversion==6.4.0").run_suite(
        "test_app", settings="reversion_settings", path=[package, tests], cwd=tmp_path
    )
    assert_unharmed(outcomes, passing=158)


def test_photologue_is_unharmed(package: Path, tmp_path: Path) -> None:
    """Photographs, with sitemaps of their own and several sites."""
    # It does not support Django 6.1 yet.
    supported = DJANGO if django.VERSION < (6, 1) else "Django>=6.0,<6.1"
    modules = (
        "effect gallery photo photosize resize sitemap sites views_gallery "
        "views_photo zipupload"
    )
    outcomes = environment(
        supported, "django-photologue==3.20", "factory-boy==3.3.3"
    ).run_suite(
        *(f"photologue.tests.test_{module}" for module in modules.split()),
        settings="photologue_settings",
        path=[package],
        cwd=tmp_path,
    )
    assert_unharmed(outcomes, passing=81)


# Packages that change models, managers, or how rows are saved

OTHERS = [
    *("django-modeltranslation==0.20.6", "django-modeltrans==0.10.2"),
    *("django-parler==2.4", "django-reversion==6.4.0", "django-cte==4.0.0"),
    *("django-polymorphic==4.11.7", "django-treebeard==7.0.3", "django-mptt==0.20.0"),
    *("django-hosts==7.0.0", "django-safedelete==1.5.0", "django-import-export==4.4.3"),
]


@pytest.mark.parametrize("seed", ["1", "2"])
def test_other_packages_change_nothing_that_is_listed(
    package: Path, tmp_path: Path, seed: str
) -> None:
    """By contrib, with one changed import, registered, and from expressions."""
    told = environment(DJANGO, *OTHERS, "urllib3>=2.2").run(
        *("-W", "ignore", str(INSIDE / "compare_others.py")),
        path=[INSIDE, package],
        variables={"PYTHONHASHSEED": seed},  # by which django-modeltranslation differs
        cwd=tmp_path,
    )
    assert json.loads(told.splitlines()[-1]) == {"built": {}, "changed": {}}


# Wagtail: a sitemap class and views of its own, over contrib's


Suite = Callable[..., None]


@pytest.fixture
def wagtail(package: Path, tmp_path: Path) -> Suite:
    """Run tests with Wagtail, of which so many pass."""
    python = environment(DJANGO, "wagtail==8.0.1", "Jinja2==3.1.6")

    def run(label: str, *, passing: int, **variables: str) -> None:
        outcomes = python.run_suite(
            label,
            settings="wagtail_settings",
            path=[package, tmp_path],
            variables=variables,
            runner="wagtail_runner.WagtailRunner",
            cwd=tmp_path,
        )
        assert_unharmed(outcomes, passing=passing)

    where = "import wagtail; print(wagtail.__path__[0])"
    run.installed = Path(python.run("-c", where, cwd=tmp_path).strip())  # type: ignore[attr-defined]
    return run


def test_wagtail_is_unharmed(wagtail: Suite) -> None:
    wagtail("wagtail.contrib.sitemaps", passing=13)


def test_wagtails_sitemaps_pass_through_our_views(wagtail: Any, tmp_path: Path) -> None:
    """The same suite with the views' import changed."""
    change_imports(
        wagtail.installed / "contrib/sitemaps/views.py",
        tmp_path / "wagtail_views.py",
        {
            "from django.contrib.sitemaps import": "from django_sitemaps_plus import",
            "from .sitemap_generator": "from wagtail.contrib.sitemaps",
        },
    )
    views = "from wagtail.contrib.sitemaps import views as sitemaps_views"
    change_imports(
        wagtail.installed / "test/urls.py",
        tmp_path / "wagtail_urls.py",
        {views: "import wagtail_views as sitemaps_views"},
    )
    wagtail("wagtail.contrib.sitemaps", passing=13, SUITE_URLCONF="wagtail_urls")


def test_wagtails_pages_are_a_section(wagtail: Suite) -> None:
    """``contrib.wagtail``: what it lists, and what of it reaches engines."""
    wagtail("wagtail_sections", passing=17)


@pytest.mark.parametrize("version", ["4.1.11", "5.1.3"])
@pytest.mark.parametrize("versions", ["", "djangocms-versioning==2.8.0"])
def test_django_cms_pages_are_a_section(
    package: Path, tmp_path: Path, version: str, versions: str
) -> None:
    """``contrib.djangocms``: what it lists, and what of it reaches engines."""
    # 4.1 does not support Django 6.
    supported = "Django>=5.2,<6.0" if version.startswith("4.") else DJANGO
    outcomes = environment(
        *(supported, f"django-cms=={version}", "djangocms-versioning==2.8.0"),
        "urllib3>=2.2",
    ).run_suite(
        "cms_sections",
        settings="cms_settings",
        path=[package],
        variables={
            "SUITE_SITEMAPS": "cms_sections.SITEMAPS",
            "SUITE_VERSIONS": versions,
        },
        cwd=tmp_path,
    )
    assert_unharmed(outcomes, passing=8)


def change_imports(source: Path, target: Path, changes: dict[str, str]) -> None:
    """Write ``source`` to ``target`` with each of ``changes`` made once."""
    text = source.read_text()
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    target.write_text(text)
