"""Sections in several languages."""

from __future__ import annotations

from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.core.checks import run_checks
from django.db.models import F
from django.test import Client
from django.urls import include, path, reverse

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.models import Page
from tests.support.factories import NoteFactory
from tests.support.helpers import crawled, urlset
from tests.support.two_paths import instances
from tests.testapp.models import Note
from tests.testapp.views import anything

pytestmark = pytest.mark.django_db

LOCALE = "django.middleware.locale.LocaleMiddleware"


class NoteSitemap(Sitemap):
    """A page in every language, each knowing the others."""

    model = Note
    location = Route("note", number=F("number"))
    i18n = True
    alternates = True
    x_default = True


class NoteObjects(NoteSitemap):
    """The same, by reverse() in each language."""

    def location(self, item: Note) -> str:
        return reverse("note", kwargs={"number": item.number})


ALL = {
    "en": "https://www.example.com/en/notes/1/",
    "de": "https://www.example.com/de/notes/1/",
    "pt-br": "https://www.example.com/pt-br/notes/1/",
}


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [{**ALL, "x-default": "https://www.example.com/notes/1/"}] * 3),
        ({"x_default": False}, [ALL] * 3),
        ({"alternates": False}, [{}] * 3),
        (
            {"languages": ["de", "pt-br"], "x_default": False},
            [{code: ALL[code] for code in ("de", "pt-br")}] * 2,
        ),
        ({"languages": ["de"]}, [{"de": ALL["de"]}]),
    ],
)
def test_every_language_names_all_of_them(
    client: Client, register: Any, attributes: Any, expected: list[dict[str, str]]
) -> None:
    NoteFactory(number=1)
    register("rows", type("Rows", (NoteSitemap,), attributes))
    register("objects", type("Objects", (NoteObjects,), attributes))
    with instances(Note) as made:
        rows = client.get("/sitemap-rows-1.xml")
    assert made == []
    assert client.get("/sitemap-objects-1.xml").content == rows.content
    entries = urlset(rows)
    assert [entry.alternates for entry in entries] == expected
    languages = attributes.get("languages", list(ALL))
    assert [entry.loc for entry in entries] == [ALL[code] for code in languages]


def test_an_item_s_languages_stay_on_one_page(client: Client, register: Any) -> None:
    register("note", type("Small", (NoteSitemap,), {"limit": 7}))
    NoteFactory.create_batch(5)
    pages = crawled(client, "/sitemap-note.xml")
    for entries in pages:
        there = {entry.loc for entry in entries}
        for entry in entries:
            links = {u for code, u in entry.alternates.items() if code != "x-default"}
            assert entry.loc in links <= there
    assert [len(entries) for entries in pages] == [3, 3, 3, 6]


def test_an_item_may_have_languages_of_its_own(client: Client, register: Any) -> None:
    class Chosen(NoteObjects):
        x_default = False

        def get_languages_for_item(self, item: Note) -> list[str]:
            if item.number == 4:
                raise LookupError("no translations")
            return {1: ["en", "de"], 2: ["de"], 3: []}[item.number]

    register("note", Chosen)
    for number in (1, 2, 3, 4):
        NoteFactory(number=number)
    assert [
        (entry.loc.removeprefix("https://www.example.com"), sorted(entry.alternates))
        for entry in urlset(client.get("/sitemap-note-1.xml"))
    ] == [
        ("/en/notes/1/", ["de", "en"]),
        ("/de/notes/1/", ["de", "en"]),
        ("/de/notes/2/", ["de"]),
    ]
    ((_, reason),) = Page.objects.get().problems
    assert reason == "LookupError: no translations"


@pytest.mark.parametrize("x_default", [True, False])
def test_beside_a_bad_row_entries_without_the_default_language_have_no_x_default(
    client: Client, register: Any, *, x_default: bool
) -> None:
    """Beside a bad row, each entry is written by itself."""

    class German(NoteObjects):
        languages = ("de", "pt-br")

        def location(self, item: Note) -> str:
            return super().location(item) if item.number == 1 else "//elsewhere/"

    register("note", type("Notes", (German,), {"x_default": x_default}))
    for number in (1, 2):
        NoteFactory(number=number)
    alternates = {code: ALL[code] for code in ("de", "pt-br")}
    assert [
        (entry.loc, entry.alternates)
        for entry in urlset(client.get("/sitemap-note-1.xml"))
    ] == [(ALL["de"], alternates), (ALL["pt-br"], alternates)]
    assert len(Page.objects.get().problems) == 1


class NoteOfOneLanguage(Sitemap):
    """A page in the default language."""

    model = Note
    location = Route("note", number=F("number"))


def _urlconf(**options: bool) -> ModuleType:
    module = ModuleType(f"tests.urlconf_with_{len(options)}_options")
    notes = path("notes/<int:number>/", anything, name="note")
    ours = path("maps/", include("django_sitemaps_plus.urls"))
    module.urlpatterns = i18n_patterns(notes, ours, **options)
    return module


@pytest.mark.parametrize(
    ("options", "start"), [({}, "/en"), ({"prefix_default_language": False}, "")]
)
def test_the_country_of_a_new_project_s_language_is_in_no_url(
    client: Client, register: Any, settings: Any, options: Any, start: str
) -> None:
    settings.LANGUAGE_CODE = "en-us"  # as startproject has it
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, LOCALE]
    settings.ROOT_URLCONF = _urlconf(**options)
    register("note", NoteOfOneLanguage)
    NoteFactory(number=1)
    (entry,) = urlset(client.get(f"{start}/maps/sitemap.xml"))
    assert entry.loc == f"https://www.example.com{start}/notes/1/"
    assert client.get(urlsplit(entry.loc).path).status_code == 200
    texts = {message.id: message.msg for message in run_checks(tags=["sitemaps_plus"])}
    address = f"The sitemap's address is {start}/maps/sitemap.xml: "
    assert texts["sitemaps_plus.W006"].startswith(address)


def test_the_default_language_is_also_that_of_x_default(
    client: Client, register: Any, settings: Any
) -> None:
    settings.LANGUAGE_CODE = "en-us"
    register("note", NoteSitemap)
    NoteFactory(number=1)
    for entry in urlset(client.get("/sitemap-note-1.xml")):
        assert entry.alternates["x-default"] == "https://www.example.com/notes/1/"
    register("german", type("German", (NoteSitemap,), {"languages": ["de"]}))
    (found,) = [
        one
        for one in run_checks(tags=["sitemaps_plus"])
        if one.id == "sitemaps_plus.W004"
    ]
    assert str(found.hint).startswith("Add 'en' to languages.")
