"""
Projects moved over as the docs say: their sitemaps list what they listed.

First by one changed import, then as sections that are stored. django CMS, with a page
in each of several languages, is moved in ``test_packages``.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import django
import pytest

from tests.compat.environments import INSIDE, Environment, environment

pytestmark = pytest.mark.network

DJANGO = f"Django=={django.get_version()}"
#: For those that do not support Django 6.1 yet.
SUPPORTED = DJANGO if django.VERSION < (6, 1) else "Django>=6.0,<6.1"
#: The one change that moving over takes, for each package whose views a project has.
IMPORTS = {
    r"from django\.contrib\.sitemaps\b": "from django_sitemaps_plus",
    r"from wagtail\.contrib\.sitemaps\.views\b": (
        "from django_sitemaps_plus.contrib.wagtail"
    ),
}

Entries = list[list[Any]]


@dataclass
class Project:
    """A project in a folder of its own."""

    environment: Environment
    folder: Path
    package: Path
    settings: str
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str) -> str:
        """Run Python in the project's folder."""
        return self.environment.run(
            *arguments,
            path=[self.folder, self.package, INSIDE],
            variables={"DJANGO_SETTINGS_MODULE": self.settings, **self.variables},
            cwd=self.folder,
        )

    def manage(self, *arguments: str) -> str:
        """Run ``manage.py``."""
        return self.run("-m", "django", *arguments)

    def crawl(self, *addresses: str) -> dict[str, Entries]:
        """Return what a crawler finds from each address on."""
        # As a module: a script's own folder comes before the project's.
        self.run("-m", "crawl", "found.json", *addresses)
        found: dict[str, Entries] = json.loads((self.folder / "found.json").read_text())
        return found

    def change_imports(self) -> None:
        """Move over, in each file of the project."""
        changed = 0
        for file in self.folder.rglob("*.py"):
            text = file.read_text()
            for former, new in IMPORTS.items():
                text, count = re.subn(former, new, text)
                changed += count
            file.write_text(text)
        assert changed


def locations(entries: Sequence[Sequence[Any]]) -> list[str]:
    """Return each location once."""
    return sorted({entry[0] for entry in entries})


def test_a_shop_of_django_oscar(package: Path, tmp_path: Path) -> None:
    """A sitemap for each kind of page and each language, outside of i18n_patterns."""
    for name in ("shop_urls.py", "shop_sitemaps.py"):
        shutil.copy(INSIDE / name, tmp_path)
    oscar = environment(
        SUPPORTED, "django-oscar==4.2.1", "sorl-thumbnail==13.4.0", "urllib3>=2.2"
    )
    shop = Project(oscar, tmp_path, package, "shop_settings")
    shop.manage("migrate", "-v0")
    shop.run("-m", "shop_fill")
    before = shop.crawl("/sitemap.xml")
    assert len(before["/sitemap.xml"]) == (40 + 4 + 2) * 3 == 138
    # Nine sections, three for each language, may become three.
    shop.variables["SUITE_SITEMAPS"] = "shop_sitemaps.OURS"
    for former in ("shop_sitemaps.SITEMAPS", "sitemaps"):
        found = shop.manage("check_sitemaps", "--compare", former)
        assert "Before: 138 URLs" in found
        assert "Now: 138 URLs, 3 registered sections." in found
        assert "Nothing is lost." in found
    shop.variables["SUITE_SITEMAPS"] = "shop_sitemaps.WRONG"
    lost = r"(?s)80 URLs are lost\..*Of these, 80 are under /de/, /fr/\."
    with pytest.raises(AssertionError, match=lost):
        shop.manage("check_sitemaps", "--compare", "sitemaps")
    shop.change_imports()
    del shop.variables["SUITE_SITEMAPS"]
    assert shop.crawl("/sitemap.xml") == before
    shop.variables["SUITE_SITEMAPS"] = "shop_sitemaps.SITEMAPS"
    shop.manage("build_sitemaps", "-v0")
    stored = shop.crawl("/new/sitemap.xml")["/new/sitemap.xml"]
    assert stored == before["/sitemap.xml"]


def test_a_new_project_of_wagtail(package: Path, tmp_path: Path) -> None:
    """``wagtail start``, with the view that Wagtail's documentation adds."""
    wagtail = environment(DJANGO, "wagtail==8.0.1", "Jinja2==3.1.6")
    start = "from wagtail.bin.wagtail import main; main()"
    wagtail.run("-c", start, "start", "mysite", str(tmp_path), path=[], cwd=tmp_path)
    site = Project(wagtail, tmp_path, package, "mysite.settings.moved")
    (tmp_path / "mysite" / "settings" / "moved.py").write_text(WAGTAIL_SETTINGS)
    urls = tmp_path / "mysite" / "urls.py"
    text = urls.read_text().replace(
        '    path("search/"', '    path("sitemap.xml", sitemap),\n    path("search/"'
    )
    urls.write_text(f"from wagtail.contrib.sitemaps.views import sitemap\n{text}")
    site.manage("migrate", "--run-syncdb", "-v0")
    site.run("-m", "wagtail_fill")
    before = site.crawl("/sitemap.xml")
    assert len(before["/sitemap.xml"]) == 17
    site.change_imports()
    assert site.crawl("/sitemap.xml") == before
    (tmp_path / "home" / "sitemaps.py").write_text(WAGTAIL_SITEMAPS)
    ours = 'path("", include("django_sitemaps_plus.urls")),'
    urls.write_text(urls.read_text().replace('path("sitemap.xml", sitemap),', ours))
    site.manage("build_sitemaps", "-v0")
    assert site.crawl("/sitemap.xml") == before


WAGTAIL_SETTINGS = """
from base_settings import OursOnly
from mysite.settings.dev import *

ALLOWED_HOSTS = ["www.example.com"]
INSTALLED_APPS += ["django.contrib.sitemaps", "django_sitemaps_plus"]
SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com"}

MIGRATION_MODULES = OursOnly()
"""
WAGTAIL_SITEMAPS = """
from django_sitemaps_plus import register
from django_sitemaps_plus.contrib.wagtail import PageSitemap

register(name="pages")(PageSitemap)
"""


def test_a_project_that_has_its_sitemap_in_each_language(
    package: Path, tmp_path: Path
) -> None:
    """Everything is inside ``i18n_patterns``: each sitemap lists its language."""
    shutil.copy(INSIDE / "photologue_i18n_urls.py", tmp_path)
    photos = Project(
        environment(SUPPORTED, "django-photologue==3.20", "factory-boy==3.3.3"),
        tmp_path,
        package,
        "photologue_i18n_settings",
    )
    photos.manage("migrate", "-v0")
    photos.run("-m", "photologue_fill")
    addresses = ["/en/sitemap.xml", "/de/sitemap.xml"]
    before = photos.crawl(*addresses)
    assert [len(entries) for entries in before.values()] == [42, 42]
    assert locations(before["/en/sitemap.xml"]) != locations(before["/de/sitemap.xml"])
    photos.change_imports()
    assert photos.crawl(*addresses) == before
