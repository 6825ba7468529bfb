"""What many tests need: reading sitemaps, running commands."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from django.apps import apps
from django.core.management import CommandError, call_command
from django.db.models import F
from django.db.models.functions import Sign
from django.urls import clear_script_prefix, set_script_prefix

from django_sitemaps_plus import Route, Sitemap, StaticSitemap
from django_sitemaps_plus.models import UrlChange
from django_sitemaps_plus.pagination import deploys
from tests.testapp.models import Article

#: Names of columns that have a moment, in seconds since the epoch.
_MOMENT = re.compile(r"at|\w+_(at|until|since|seen|served)")


class ArticleSitemap(Sitemap):
    """Every article, on the row path."""

    model = Article
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")


class Small(ArticleSitemap):
    """Ten articles to a page."""

    limit = 10


class Titled(ArticleSitemap):
    """Its locations are the titles, whatever they are."""

    location = F("title")


class PagesSitemap(StaticSitemap):
    """Two pages without a model, paged by position."""

    names = ("home", "about")


def use_backend(settings: Any, name: str) -> None:
    """Have Django Tasks use "Immediate" or "Dummy", a backend without workers."""
    package = "django.tasks" if find_spec("django.tasks") else "django_tasks"
    backend = f"{package}.backends.{name.lower()}.{name}Backend"
    settings.TASKS = {"default": {"BACKEND": backend}}


def remove_sites(settings: Any) -> None:
    """Do without Sites, and with all that the URLconf needs."""
    apps = settings.INSTALLED_APPS
    settings.INSTALLED_APPS = [app for app in apps if app != "django.contrib.sites"]


SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
XHTML = "{http://www.w3.org/1999/xhtml}"
IMAGE = "{http://www.google.com/schemas/sitemap-image/1.1}"


@dataclass(frozen=True)
class Entry:
    """One ``<url>``, or one ``<sitemap>`` of an index."""

    loc: str
    lastmod: str | None = None
    changefreq: str | None = None
    priority: str | None = None
    alternates: dict[str, str] = field(default_factory=dict)
    images: tuple[str, ...] = ()


def body(response: Any) -> bytes:
    """Return a response's XML, unpacked if it is gzipped."""
    data: bytes = response.content
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def urlset(response: Any) -> list[Entry]:
    """Return the entries of a urlset; fails for anything else."""
    assert response.status_code == 200, response.content
    root = _root(response)
    assert root.tag == f"{SITEMAP}urlset", root.tag
    return [_entry(element) for element in root]


def index(response: Any) -> list[Entry]:
    """Return the sitemaps that an index lists; fails for anything else."""
    assert response.status_code == 200, response.content
    root = _root(response)
    assert root.tag == f"{SITEMAP}sitemapindex", root.tag
    return [_entry(element) for element in root]


def locations(response: Any) -> list[str]:
    """Return the locations of a urlset."""
    return [entry.loc for entry in urlset(response)]


def listed(response: Any) -> list[str]:
    """Return the locations of an index."""
    return [entry.loc for entry in index(response)]


def crawled(client: Any, address: str) -> list[list[Entry]]:
    """Return the entries of each page that an index lists."""
    return [
        urlset(client.get(urlsplit(loc).path)) for loc in listed(client.get(address))
    ]


def _root(response: Any) -> ElementTree.Element:
    return ElementTree.fromstring(body(response))  # noqa: S314 (our own bytes)


def _entry(element: ElementTree.Element) -> Entry:
    return Entry(
        loc=element.findtext(f"{SITEMAP}loc", ""),
        lastmod=element.findtext(f"{SITEMAP}lastmod"),
        changefreq=element.findtext(f"{SITEMAP}changefreq"),
        priority=element.findtext(f"{SITEMAP}priority"),
        alternates={
            link.attrib["hreflang"]: link.attrib["href"]
            for link in element.findall(f"{XHTML}link")
        },
        images=tuple(
            loc.text or "" for loc in element.findall(f"{IMAGE}image/{IMAGE}loc")
        ),
    )


def later(seconds: float, *columns: str) -> None:
    """
    Let time pass: for all moments that are stored, or those in columns of some names.

    What never happened stays so.
    """
    for model in apps.get_models():
        if model._meta.app_label.startswith("sitemaps_plus"):
            fields = (field.name for field in model._meta.concrete_fields)
            names = [name for name in fields if name in columns or not columns]
            # Nothing is taken from 0, which says that it never happened.
            model._base_manager.update(
                **{
                    name: F(name) - seconds * Sign(F(name))
                    for name in filter(_MOMENT.fullmatch, names)
                }
            )


@contextmanager
def script_name(prefix: str) -> Iterator[None]:
    """Answer requests under ``prefix``, as a WSGI server does for SCRIPT_NAME."""
    set_script_prefix(prefix)
    try:
        yield
    finally:
        clear_script_prefix()


def run_command(*arguments: str) -> tuple[str, str, int]:
    """Run ``manage.py`` with ``arguments``: what it wrote, and its exit code."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out):
            call_command(*arguments, "--no-color", stdout=out, stderr=err)
    except CommandError as error:
        # As BaseCommand.run_from_argv() does, which also closes the connections.
        err.write(f"{type(error).__name__}: {error}\n")
        return out.getvalue(), err.getvalue(), error.returncode
    except SystemExit as stop:
        return out.getvalue(), err.getvalue(), int(stop.code or 0)
    return out.getvalue(), err.getvalue(), 0


@contextmanager
def as_older_code() -> Iterator[None]:
    """Run as code does that was started before other code that runs too."""
    former = deploys.STARTED
    deploys.STARTED = former - 3600
    try:
        yield
    finally:
        deploys.STARTED = former


def told() -> list[tuple[str, str]]:
    """Return what happened to URLs, the kind and the location, and forget it."""
    rows = UrlChange.objects.order_by("pk")
    found = list(rows.values_list("kind", "location"))
    rows.delete()
    return found
