"""Dicts of sitemaps that are lazy or ask the database: migrate works without tables."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client, RequestFactory
from django.utils.functional import SimpleLazyObject

from django_sitemaps_plus import Sitemap, views
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.registry import Registry
from tests.support.helpers import PagesSitemap, listed, locations
from tests.support.processes import ROOT

MODELS = """
    from django.db import models

    class Shelf(models.Model):
        slug = models.SlugField()

        class Meta:
            app_label = "shop"
"""
START = """
    from collections.abc import Mapping
    from django.utils.functional import SimpleLazyObject
    from django_sitemaps_plus import Sitemap, register
    from .models import Shelf

    class Books(Sitemap):
        slug = "?"

        def items(self):
            return [self.slug]

        def location(self, item):
            return f"/{item}/"

    def classes():
        slugs = [shelf.slug for shelf in Shelf.objects.all()]
        return {slug: type("Of", (Books,), {"slug": slug}) for slug in slugs}

"""
KINDS = {
    "registered-at-import": """
        for name, found in classes().items():
            register(name=name)(found)
        """,
    "dict-at-import": "sitemaps = classes()",
    "lazy": "sitemaps = SimpleLazyObject(classes)",
    "computed": """
        class Computed(Mapping):
            def __iter__(self):
                return iter(classes())

            def __len__(self):
                return len(classes())

            def __getitem__(self, name):
                return classes()[name]

        sitemaps = Computed()
        """,
    "items": """
        @register(name="books")
        class OfAll(Books):
            def items(self):
                return [shelf.slug for shelf in Shelf.objects.all()]
        """,
}
SCRIPT = """
    import io, sys
    import django
    from django.conf import settings

    settings.configure(
        SECRET_KEY="-",
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}
        },
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        INSTALLED_APPS=["django.contrib.contenttypes", "django_sitemaps_plus", "shop"],
        ROOT_URLCONF="shop.urls",
        ALLOWED_HOSTS=["*"],
        SITEMAPS_PLUS={"BASE_URL": "https://www.example.com", **NAMED},
    )
    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    def run(*arguments):
        out = io.StringIO()
        call_command(*arguments, stdout=out, stderr=out, no_color=True)
        return out.getvalue()

    run("migrate", "--run-syncdb", "-v0")
    asked = []

    def listen(execute, sql, *rest):
        result = execute(sql, *rest)
        asked.extend([sql] if "shop" in sql else [])
        return result

    with connection.execute_wrapper(listen):
        print(run("check"))
    print("asked", asked)
    from shop.models import Shelf

    Shelf.objects.create(slug="books")
    print(run("migrate", "-v0"), run("check", "--database", "default"))
    print(Client().get("/sitemap-books.xml").content.decode())
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.costly
def test_migrate_and_check_work_on_an_empty_database(tmp_path: Path, kind: str) -> None:
    body = dedent(START) + dedent(KINDS[kind])
    (tmp_path / "shop").mkdir()
    for name, text in {
        "__init__": "",
        "models": dedent(MODELS),
        "sitemaps": body,
        "urls": "from django.urls import include, path\n"
        "urlpatterns = [path('', include('django_sitemaps_plus.urls'))]\n",
    }.items():
        (tmp_path / "shop" / f"{name}.py").write_text(text)
    named = {"SITEMAPS": "shop.sitemaps.sitemaps"} if "sitemaps =" in body else {}
    done = subprocess.run(
        [sys.executable, "-c", f"NAMED = {named}\n{dedent(SCRIPT)}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "asked []" in done.stdout
    assert done.stdout.count("System check identified no issues") == 2, done.stdout
    assert "<loc>https://www.example.com/books/</loc>" in done.stdout


# What a mapping may be


class Computed(Mapping[str, Any]):
    """Keys and values made when they are asked for."""

    def __iter__(self) -> Iterator[str]:
        return iter(["pages"])

    def __len__(self) -> int:
        return 1

    def __getitem__(self, name: str) -> Any:
        return {"pages": PagesSitemap}[name]


class Ducklike:
    """No Mapping by its class, and yet one."""

    def keys(self) -> list[str]:
        return ["pages"]

    def __getitem__(self, name: str) -> Any:
        return PagesSitemap()


class Broken(Computed):
    def __getitem__(self, name: str) -> Any:
        raise LookupError("not there")


class Offline(Computed):
    """As on a database that is down, until it is up again."""

    is_down = True

    def __getitem__(self, name: str) -> Any:
        if self.is_down:
            raise OperationalError("no connection")
        return super().__getitem__(name)


computed, ducklike, broken, offline = Computed(), Ducklike(), Broken(), Offline()
lazy = SimpleLazyObject(lambda: {"pages": PagesSitemap})
lazy_value = {"pages": SimpleLazyObject(PagesSitemap)}


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["computed", "ducklike", "lazy", "lazy_value"])
def test_any_mapping_can_be_named_or_given_to_contribs_views(
    client: Client, rf: RequestFactory, settings: Any, name: str
) -> None:
    named = {**settings.SITEMAPS_PLUS, "SITEMAPS": f"{__name__}.{name}"}
    settings.SITEMAPS_PLUS = named
    assert len(locations(client.get("/sitemap-pages.xml"))) == 2
    if name != "ducklike":
        settings.ROOT_URLCONF = "tests.test_contrib_views"
        given = globals()[name]
        assert len(listed(views.index(rf.get("/"), given))) == 1
        assert len(locations(views.sitemap(rf.get("/"), given, "pages"))) == 2
        assert len(locations(views.sitemap(rf.get("/"), given))) == 2


def test_a_mapping_that_cannot_be_read_is_named(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"SITEMAPS": f"{__name__}.broken"}
    with pytest.raises(ConfigurationError, match="cannot be read: LookupError"):
        Registry().sources()


def test_registered_sections_are_there_while_the_mapping_is_not(settings: Any) -> None:
    registry = Registry()
    told: list[int] = []
    registry.add("other", Sitemap)
    registry.subscribe(lambda: told.append(1))
    settings.SITEMAPS_PLUS = {"SITEMAPS": f"{__name__}.offline"}
    with pytest.raises(OperationalError):
        registry.sources()
    assert registry.known() == {"other": Sitemap}
    assert type(registry.get("other")) is Sitemap
    assert told == []
    Offline.is_down = False
    assert set(registry.sources()) == {"other", "pages"}
    assert told == [1], "whoever listens to models is told of the others"
    assert registry.sources() is registry.known()
