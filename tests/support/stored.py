"""
The database of a site that began with 0.1.0, as the rows of each table of each app.

``python -m tests.support.store`` wrote ``stored_0_1_0.json``. From the release of 0.1.0
on, that file stays as it is.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from django_sitemaps_plus import hooks
from django_sitemaps_plus.engines.base import SitemapStatus
from django_sitemaps_plus.engines.memory import Memory
from tests import contrib
from tests.support.factories import FIRST
from tests.support.helpers import ArticleSitemap, PagesSitemap
from tests.support.published import followed
from tests.testapp.models import Article, Category

FILE = Path(__file__).parent / "stored_0_1_0.json"
APP = "sitemaps_plus"
#: Seconds since the site was left, for whoever loads it.
AGO = 3600
SETTINGS: dict[str, Any] = {
    "BASE_URL": "https://www.example.com",
    "ENGINES": {"one": {"BACKEND": "tests.support.stored.Telling"}},
}
STORAGES = {
    name: {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    for name in ("default", "staticfiles", "sitemaps")
}


def of_apps() -> list[ModuleType]:
    """Return the modules ``tests/contrib/<app>/stored``: what a site does with them."""
    return [
        importlib.import_module(f"tests.contrib.{path.parent.name}.stored")
        for path in sorted(Path(contrib.__path__[0]).glob("*/stored.py"))
    ]


for app in of_apps():
    SETTINGS |= app.SETTINGS


class Telling(Memory):
    """An engine that says something of the sitemaps, too."""

    def status(self, locations: Sequence[str]) -> list[SitemapStatus]:
        """Return that they were read."""
        return [SitemapStatus(location=one, is_pending=False) for one in locations]


class Filed(ArticleSitemap):
    """Two articles a page, of a category that is shown."""

    limit = 2

    def items(self) -> Any:
        """Return these articles."""
        return Article.objects.filter(category__slug="shown")


SECTIONS = {"article": Filed, "pages": PagesSitemap}


def article(key: int) -> Article:
    """Return a row of the project to be saved: 2 and 3 share a URL."""
    category, _ = Category.objects.get_or_create(pk=1, slug="shown")
    slug = ["one", "two", "two", "four", "five", "six"][key - 1]
    return Article(pk=key, slug=slug, category=category, updated=FIRST)


def labels() -> list[str]:
    """Return the labels of the core and of the installed apps."""
    return [
        config.label
        for config in apps.get_app_configs()
        if config.label == APP or hasattr(config, hooks.ATTRIBUTE)
    ]


def digests(label: str) -> dict[str, str]:
    """Return a digest of each migration of an app."""
    folder = Path(apps.get_app_config(label).path, "migrations")
    return {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.glob("[0-9]*.py")
    }


def listed(client: Any) -> dict[str, list[str]]:
    """Return what the site's files list, by their names."""
    return followed(lambda name: client.get(f"/{name}").content)


def read() -> dict[str, Any]:
    """
    Return what was stored: when; and by which migrations, and the rows by model.

    The last two of each app that is installed, by its label.
    """
    found: dict[str, Any] = json.loads(FILE.read_text())
    for what in ("migrations", "rows"):
        there = {label: found[what].get(label, {}) for label in labels()}
        found[what] = {label: some for label, some in there.items() if some}
    return found


def load(stored: dict[str, Any]) -> None:
    """Write the rows into the tables of their version."""
    later = time.time() - AGO - stored["at"]
    last = [(label, max(names)) for label, names in stored["migrations"].items()]
    then = MigrationLoader(connection).project_state(last).apps
    models = []
    for label, tables in stored["rows"].items():
        for name, rows in tables.items():
            model = then.get_model(label, name)
            models.append(model)
            fields = {field.attname: field for field in model._meta.fields}
            model._default_manager.bulk_create(
                model(
                    **{
                        field: moved(fields[field].to_python(value), later)
                        for field, value in row.items()
                    }
                )
                for row in rows
            )
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def moved(value: Any, seconds: float) -> Any:
    """Return a time that much later; any other value as it is."""
    return value + seconds if isinstance(value, float) and value > 1e9 else value
