"""
One page, wherever it is built: a request, a thread or a command give the same bytes.

Each way of building a page differs in one thing that a naive renderer would let
through: the reader's language, the active time zone, the request's URLconf, its
script prefix or its Host.
"""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.core.management import call_command
from django.db import connections
from django.db.models import F
from django.test import Client
from django.urls import include, path, reverse
from django.utils import timezone, translation
from lxml import etree

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.building.pages import Serving
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.rendering import digest
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.sitemaps.site import Site
from tests.support.helpers import SITEMAP
from tests.testapp.models import Article, Note
from tests.testapp.views import anything

BASE_URL = "https://www.example.com/shop"
ZONE = ZoneInfo("Asia/Kathmandu")  # settings.TIME_ZONE is Europe/Berlin

# Another project's URLconf, which the middleware below hands to its requests.
urlpatterns = [
    path("elsewhere/<slug:slug>/", anything, name="article"),
    path("elsewhere/home/", anything, name="home"),
    *i18n_patterns(path("elsewhere/<int:number>/", anything, name="note")),
    path("", include("django_sitemaps_plus.urls")),
]


def other_urlconf(get_response: Any) -> Any:
    """Middleware of a project with a URLconf for each host, as django-hosts has."""

    def respond(request: Any) -> Any:
        if "x-urlconf" in request.headers:
            request.urlconf = __name__
        return get_response(request)

    return respond


# Sections whose entries would follow each of these things


class ByRow(Sitemap):
    """The row path: where midnight is, and what is live, is asked of Python."""

    location = Route("article", slug=F("slug"))
    lastmod = F("updated")

    def items(self) -> Any:
        midnight = timezone.make_aware(dt.datetime(2024, 3, 2))  # noqa: DTZ001 (given a zone)
        is_english = translation.get_language() == "en"
        return Article.objects.filter(updated__gte=midnight, live=is_english)


class ByObject(Sitemap):
    """The object path: methods that ask for the zone and the language."""

    model = Article

    def location(self, item: Article) -> str:
        language = translation.get_language()
        return f"{reverse('article', args=[item.slug])}?{language}"

    def lastmod(self, item: Article) -> dt.datetime:
        assert item.updated is not None
        return timezone.localtime(item.updated)


class InLanguages(Sitemap):
    """An i18n section: the entry's own language, and nobody's else."""

    model = Note
    i18n = True
    alternates = True
    x_default = True
    location = Route("note", number=F("number"))


class ByPosition(Sitemap):
    """Items that are no queryset, chosen by the language."""

    def items(self) -> list[int]:
        return [1, 2, 3] if translation.get_language() == "en" else [1]

    def location(self, item: int) -> str:
        return reverse("note", args=[item])

    def lastmod(self, item: int) -> dt.date:
        return timezone.localdate(dt.datetime(2024, 3, 1, 23, 30, tzinfo=dt.UTC))


class Paged(ByPosition):
    """Two pages in English, one in German, dated by a day that zones disagree on."""

    limit = 2


SECTIONS = {
    "row": ByRow,
    "object": ByObject,
    "languages": InLanguages,
    "position": ByPosition,
    "paged": Paged,
}
BY_KEY = ["row", "object", "languages"]


@pytest.fixture
def rows(settings: Any, transactional_db: None, register: Any) -> None:
    """Some rows of each model, one of them just before midnight in Berlin."""
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE_URL}
    late = dt.datetime(2024, 3, 1, 23, 30, tzinfo=dt.UTC)  # already March 2 in Berlin
    early = dt.datetime(2024, 3, 1, 22, 30, tzinfo=dt.UTC)  # March 2 in Kathmandu only
    Article.objects.create(slug="early", updated=early)
    Article.objects.create(slug="late", updated=late)
    Article.objects.create(slug="draft", updated=late, live=False)
    for number in (1, 2):
        Note.objects.create(number=number)
    for name, sitemap in SECTIONS.items():
        register(name, sitemap)


# Ways to build a page


def ask(name: str, **extra: Any) -> bytes:
    """Ask for the first page of a section, or ("") for the site's index."""
    address = f"/sitemap-{name}-1.xml.gz" if name else "/sitemap.xml.gz"
    response = Client().get(address, **extra)
    assert response.status_code == 200, response.content
    return gzip.decompress(response.getvalue())


def in_thread(name: str) -> bytes:
    site, source = Site.current().address(), sections.source(name)
    assert site is not None

    def run() -> bytes:
        try:
            fill(source)
            page = Page.objects.select_related("section").get(section__name=name)
            return Serving(source, site).build(page).stored.body_for(site)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def by_command(name: str) -> bytes:
    call_command("build_sitemaps", name, verbosity=0)
    before = Page.objects.get(section__name=name)
    data = ask(name)
    after = Page.objects.get(section__name=name)
    assert after.verified_at == before.verified_at  # served as the command built it
    return data


@pytest.fixture
def ways(settings: Any) -> dict[str, Callable[[str], bytes]]:
    settings.MIDDLEWARE = [
        "django.middleware.locale.LocaleMiddleware",
        f"{__name__}.other_urlconf",
        *settings.MIDDLEWARE,
    ]
    return {
        "a plain request": ask,
        "a German reader": partial(ask, headers={"accept-language": "de"}),
        "another URLconf": partial(ask, headers={"x-urlconf": "yes"}),
        "another Host": partial(ask, headers={"host": "example.org"}),
        "another prefix": partial(ask, SCRIPT_NAME="/mounted"),
        "https": partial(ask, secure=True),
    }


def abroad(way: Callable[[str], bytes], name: str) -> bytes:
    """Build a page where another language and zone are active."""
    with translation.override("de"), timezone.override(ZONE):
        return way(name)


EXPECTED: dict[str, list[tuple[str, str | None]]] = {
    "row": [("articles/late/", "2024-03-01T23:30:00+00:00")],
    "object": [
        ("articles/early/?en", "2024-03-01T23:30:00+01:00"),
        ("articles/late/?en", "2024-03-02T00:30:00+01:00"),
        ("articles/draft/?en", "2024-03-02T00:30:00+01:00"),
    ],
    "languages": [
        (f"{language}/notes/{number}/", None)
        for number in (1, 2)
        for language in ("en", "de", "pt-br")
    ],
    "position": [(f"en/notes/{number}/", "2024-03-02") for number in (1, 2, 3)],
    "": [
        *((f"sitemap-{name}-1.xml", None) for name in BY_KEY),
        ("sitemap-position-1.xml", "2024-03-02T00:00:00+00:00"),
        ("sitemap-paged-1.xml", None),
        ("sitemap-paged-2.xml", None),
    ],
}


def entries(packed: bytes) -> list[tuple[str, str | None]]:
    start = f"{BASE_URL}/"
    return [
        (
            one.findtext(f"{SITEMAP}loc").removeprefix(start),
            one.findtext(f"{SITEMAP}lastmod"),
        )
        for one in etree.fromstring(packed)
    ]


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("name", [*BY_KEY, "position", ""])
@pytest.mark.costly
def test_a_document_is_the_same_for_every_reader(name: str, ways: Any) -> None:
    built, states = {}, set()
    if name in BY_KEY:
        ways |= {"a thread": partial(abroad, in_thread)}
        ways |= {"a command": partial(abroad, by_command)}
    for way, run in {**ways, "abroad": partial(abroad, ask)}.items():
        Section.objects.all().delete()
        digest._definition.cache_clear()
        # Once an index, the site stays one until its pages are counted.
        Section.objects.create(name="", is_index=True)
        built[way] = run(name)
        columns = ("checksum", "digest", "entries", "lastmod")
        states |= set(Page.objects.filter(section__name=name).values_list(*columns))
    plain = built["a plain request"]
    assert entries(plain) == EXPECTED[name]
    assert [way for way in built if built[way] != plain] == []
    assert len(states) == (name in BY_KEY)
