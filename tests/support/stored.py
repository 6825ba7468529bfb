"""
The database of a site that began with 0.1.0, as the rows of each table.

``python -m tests.support.store`` wrote ``stored_0_1_0.json``. From the release of 0.1.0
on, that file stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

from django.core.management.color import no_style
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from django_sitemaps_plus import migrations
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
    "ENGINES": {"one": {"BACKEND": "django_sitemaps_plus.engines.memory.Memory"}},
    "PUBLISH": {"STORAGE": "sitemaps"},
}
STORAGES = {
    name: {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    for name in ("default", "staticfiles", "sitemaps")
}


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


def digests() -> dict[str, str]:
    """Return a digest of each migration."""
    return {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(migrations.__file__).parent.glob("[0-9]*.py")
    }


def listed(client: Any) -> dict[str, list[str]]:
    """Return what the site's files list, by their names."""
    return followed(lambda name: client.get(f"/{name}").content)


def read() -> dict[str, Any]:
    """Return what was stored: when, by which migrations, and the rows by model."""
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def load(stored: dict[str, Any]) -> None:
    """Write the rows into the tables of their version."""
    later = time.time() - AGO - stored["at"]
    last = max(stored["migrations"])
    then = MigrationLoader(connection).project_state((APP, last)).apps
    models = [then.get_model(APP, name) for name in stored["rows"]]
    for model in models:
        fields = {field.attname: field for field in model._meta.fields}
        model._default_manager.bulk_create(
            model(
                **{
                    name: moved(fields[name].to_python(value), later)
                    for name, value in row.items()
                }
            )
            for row in stored["rows"][model.__name__]
        )
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def moved(value: Any, seconds: float) -> Any:
    """Return a time that much later; any other value as it is."""
    return value + seconds if isinstance(value, float) and value > 1e9 else value
