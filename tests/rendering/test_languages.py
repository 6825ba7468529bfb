"""Sections in several languages."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.models import Page
from tests.support.factories import NoteFactory
from tests.support.helpers import crawled, urlset
from tests.support.two_paths import instances
from tests.testapp.models import Note

pytestmark = pytest.mark.django_db


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
