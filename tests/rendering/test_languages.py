"""Sections in several languages."""

from __future__ import annotations

from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.core.checks import run_checks
from django.db.models import CharField, F, Func, QuerySet, Value
from django.db.models.functions import Concat
from django.test import Client
from django.urls import include, path, reverse
from django.utils.translation import get_language, override

from django_sitemaps_plus import Related, Route, Sitemap
from django_sitemaps_plus.changes.dependencies import dependencies
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.protocol.entries import Image
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps.attributes import (
    alias,
    annotated,
    attribute_of,
    declared_expressions,
    in_language,
    tags,
)
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE
from tests.support.factories import NoteFactory
from tests.support.helpers import crawled, urlset
from tests.support.two_paths import both, instances
from tests.testapp.models import Article, Category, Note
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
@pytest.mark.costly
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


# Values that are others in each language


class Resolved(Func):
    """The title in German, the slug in others: decided when it is resolved."""

    def resolve_expression(self, query: Any = None, *args: Any, **options: Any) -> Any:
        name = "title" if get_language() == "de" else "slug"
        return F(name).resolve_expression(query, *args, **options)


class Compiled(Func):
    """The same, decided when it becomes SQL."""

    output_field = CharField()

    def as_sql(self, compiler: Any, connection: Any, **options: Any) -> Any:
        slug, title = self.source_expressions
        return compiler.compile(title if get_language() == "de" else slug)


class Translating(QuerySet[Any]):
    """What django-modeltranslation does: it changes the very F that it is given."""

    def annotate(self, *args: Any, **named: Any) -> Any:
        for value in named.values():
            if isinstance(value, F) and value.name == "slug" and get_language() == "de":
                value.name = "title"
        return super().annotate(*args, **named)


def translated(items: Any = None, **declared: Any) -> type[Sitemap]:
    """Return a sitemap in two languages."""
    declared |= {"i18n": True, "alternates": True, "languages": ["en", "de"]}
    declared["items"] = lambda self: (items or Article.objects).all()
    return type("Translated", (Sitemap,), declared)


SPOKEN = {
    "resolved": (Resolved(), None),
    "compiled": (Compiled("slug", "title"), None),
    "of a function": (Concat(Resolved(), Value("")), None),
    "by the queryset": (F("slug"), Translating(Article)),
}


@pytest.mark.parametrize("how", SPOKEN)
@pytest.mark.costly
def test_each_language_has_its_own_columns(
    client: Client, register: Any, how: str
) -> None:
    """On both paths, in contrib's views too, and on every page anew."""
    slug, items = SPOKEN[how]
    Article.objects.create(slug="rain", title="regen", weight=0.5)
    Article.objects.create(slug="sun", title="sonne", weight=0.5)
    cls = translated(
        items, location=Route("/x/{slug}/", slug=slug), priority=F("weight")
    )
    paths = ["rain", "regen", "sun", "sonne"]
    both(client, register, cls)
    for _ in range(2):
        entries = urlset(client.get("/sitemap-rows-1.xml"))
        assert [urlsplit(one.loc).path for one in entries] == [
            f"/x/{path}/" for path in paths
        ]
        links = {k: urlsplit(v).path for k, v in entries[0].alternates.items()}
        assert links == {"en": "/x/rain/", "de": "/x/regen/"}
        Page.objects.all().delete()
        Section.objects.all().delete()
    with override("de"):
        found = [urlsplit(one["location"]).path for one in cls().get_urls()]
    assert found == [f"/x/{path}/" for path in paths]


@pytest.mark.parametrize("images", [Resolved(), [Image(Resolved())]])
def test_a_location_without_a_route_images_and_titles_are_translated(
    client: Client, register: Any, images: Any
) -> None:
    Article.objects.create(slug="/rain/", title="/regen/", weight=0.5)
    own = {"location": Resolved(), "item_title": Resolved(), "images": images}
    both(client, register, translated(**own, priority=F("weight")))
    entries = urlset(client.get("/sitemap-rows-1.xml"))
    assert [urlsplit(one.loc).path for one in entries] == ["/rain/", "/regen/"]
    given = [urlsplit(one.images[0]).path for one in entries]
    assert given == ["/rain/", "/regen/"]
    reader = Reader(source("rows"), PLACEHOLDER_SITE, with_titles=True)
    (batch,) = reader.by_key(None, None, 10)
    assert [list(column) for column in batch.titles] == [["/rain/"], ["/regen/"]]


IMAGE = Compiled("film", "title")


@pytest.mark.parametrize("value", [IMAGE, Image(IMAGE), Concat(IMAGE, Value(""))])
@pytest.mark.costly
def test_related_rows_are_read_in_each_language_that_has_others(
    client: Client, register: Any, django_assert_num_queries: Any, value: Any
) -> None:
    article = Article.objects.create(slug="rain", title="regen", weight=0.5)
    for name in ("one", "two"):
        article.photos.create(film=f"/{name}/", title=f"/{name}/de/")
    cls = translated(
        location=Route("/x/{slug}/", slug=F("slug")),
        images=Related("photos", value),
        priority=F("weight"),
    )
    both(client, register, cls)
    given = urlset(client.get("/sitemap-rows-1.xml"))
    assert [[urlsplit(one).path for one in entry.images] for entry in given] == [
        ["/one/", "/two/"],
        ["/one/de/", "/two/de/"],
    ]
    own = {"images": Related("photos", F("film")), "location": Resolved()}
    register("usual", type("Usual", (cls,), own))
    with django_assert_num_queries(2):
        [*Reader(source("usual"), PLACEHOLDER_SITE).by_key(None, None, 10)]


def test_what_is_the_same_in_each_language_is_read_once() -> None:
    sitemap = translated(location=Route("/x/{a}/{b}/", a=F("slug"), b=Resolved()))()
    every = annotated(sitemap.items(), declared_expressions(sitemap), sitemap)
    assert [*every.query.annotations] == [
        "sitemaps_plus_location_a",
        "sitemaps_plus_location_b",
        "sitemaps_plus_location_b-de",
    ]


@pytest.mark.parametrize("part", [None, 0])
def test_an_alias_in_a_language_is_of_the_same_attribute(part: int | None) -> None:
    """So an image that fails in one language costs the image, not the URL."""
    assert attribute_of(in_language(alias("images", part), "pt-br")) in tags()


def test_another_column_in_one_language_is_another_definition(register: Any) -> None:
    def digest(slug: Any) -> str:
        register("rows", translated(location=Route("/x/{slug}/", slug=slug)))
        return definition(source("rows")).digest

    assert digest(Resolved()) != digest(F("slug"))
    assert digest(Compiled("slug", "title")) != digest(Compiled("slug", "photo"))

    def of_photos(name: str) -> str:
        class Spoken(Func):
            def resolve_expression(self, query: Any = None, *a: Any, **o: Any) -> Any:
                own = name if get_language() == "de" else "slug"
                return F(own).resolve_expression(query, *a, **o)

        images = Related("photos", Spoken())
        register("rows", translated(location=Resolved(), images=images))
        return definition(source("rows")).digest

    assert of_photos("title") != of_photos("photo")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_related", [False, True])
def test_a_row_that_only_another_language_reads_is_depended_on(
    register: Any, *, is_related: bool
) -> None:
    class Filed(Func):
        def resolve_expression(self, query: Any = None, *args: Any, **o: Any) -> Any:
            name = "category__slug" if get_language() == "de" else "slug"
            return F(name).resolve_expression(query, *args, **o)

    slug = F("slug") if is_related else Filed()
    images = Related("photos", Filed()) if is_related else None
    location = Route("/x/{slug}/", slug=slug)
    register("rows", translated(location=location, images=images))
    known = dependencies(source("rows"))
    assert known[Category].fields == {"slug"}
