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
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.protocol.entries import Image
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps import attributes
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE
from tests.support.factories import NoteFactory
from tests.support.helpers import Entry, crawled, locations, urlset
from tests.support.two_paths import instances
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


def reversed_in_each(self: Any, item: Note) -> str:
    return reverse("note", kwargs={"number": item.number})


HOST = "https://www.example.com"
ALL = {code: f"{HOST}/{code}/notes/1/" for code in ("en", "de", "pt-br")}
GERMAN = {code: ALL[code] for code in ("de", "pt-br")}
X_DEFAULT = f"{HOST}/notes/1/"


def paths(response: Any) -> list[str]:
    return [loc.removeprefix(HOST) for loc in locations(response)]


@pytest.mark.parametrize(
    ("attributes", "listed", "expected"),
    [
        ({}, ALL, {**ALL, "x-default": X_DEFAULT}),
        ({"x_default": False}, ALL, ALL),
        ({"alternates": False}, ALL, {}),
        ({"languages": ["de", "pt-br"], "x_default": False}, GERMAN, GERMAN),
        ({"languages": ["de"]}, {"de": ALL["de"]}, {"de": ALL["de"]}),
    ],
)
@pytest.mark.costly
def test_every_language_names_all_of_them(
    page_of: Any, attributes: Any, listed: dict[str, str], expected: dict[str, str]
) -> None:
    NoteFactory(number=1)
    with instances(Note) as made:
        rows = page_of(NoteSitemap, **attributes)
    assert made == []
    objects = page_of(NoteSitemap, **attributes, location=reversed_in_each)
    assert objects.content == rows.content
    assert urlset(rows) == [Entry(loc, alternates=expected) for loc in listed.values()]


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


def test_an_item_may_have_languages_of_its_own(page_of: Any) -> None:
    def get_languages_for_item(self: Any, item: Note) -> list[str]:
        if item.number == 4:
            raise LookupError("no translations")
        return {1: ["en", "de"], 2: ["de"], 3: []}[item.number]

    for number in (1, 2, 3, 4):
        NoteFactory(number=number)
    own = {"x_default": False, "get_languages_for_item": get_languages_for_item}
    assert [
        (entry.loc.removeprefix(HOST), sorted(entry.alternates))
        for entry in urlset(page_of(NoteSitemap, **own))
    ] == [
        ("/en/notes/1/", ["de", "en"]),
        ("/de/notes/1/", ["de", "en"]),
        ("/de/notes/2/", ["de"]),
    ]
    ((_, reason),) = Page.objects.get().problems
    assert reason == "LookupError: no translations"


@pytest.mark.parametrize("x_default", [True, False])
def test_beside_a_bad_row_entries_without_the_default_language_have_no_x_default(
    page_of: Any, *, x_default: bool
) -> None:
    """Beside a bad row, each entry is written by itself."""

    def location(self: Any, item: Note) -> str:
        return reversed_in_each(self, item) if item.number == 1 else "//elsewhere/"

    for number in (1, 2):
        NoteFactory(number=number)
    own = {"languages": ("de", "pt-br"), "x_default": x_default, "location": location}
    expected = [Entry(loc, alternates=GERMAN) for loc in GERMAN.values()]
    assert urlset(page_of(NoteSitemap, **own)) == expected
    assert len(Page.objects.get().problems) == 1


@pytest.mark.parametrize(
    ("options", "start"), [({}, "/en"), ({"prefix_default_language": False}, "")]
)
def test_the_country_of_a_new_project_s_language_is_in_no_url(
    client: Client, register: Any, settings: Any, options: Any, start: str
) -> None:
    settings.LANGUAGE_CODE = "en-us"  # as startproject has it
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, LOCALE]
    notes = path("notes/<int:number>/", anything, name="note")
    ours = path("maps/", include("django_sitemaps_plus.urls"))
    settings.ROOT_URLCONF = ModuleType(f"tests.urlconf_with_{len(options)}_options")
    settings.ROOT_URLCONF.urlpatterns = i18n_patterns(notes, ours, **options)
    attributes = {"i18n": False, "alternates": False}
    register("note", type("OneLanguage", (NoteSitemap,), attributes))
    NoteFactory(number=1)
    (url,) = paths(client.get(f"{start}/maps/sitemap.xml"))
    assert url == f"{start}/notes/1/"
    assert client.get(url).status_code == 200
    texts = {message.id: message.msg for message in run_checks(tags=["sitemaps_plus"])}
    address = f"The sitemap's address is {start}/maps/sitemap.xml: "
    assert texts["sitemaps_plus.W006"].startswith(address)


def test_the_default_language_is_also_that_of_x_default(
    page_of: Any, settings: Any
) -> None:
    settings.LANGUAGE_CODE = "en-us"
    NoteFactory(number=1)
    for entry in urlset(page_of(NoteSitemap)):
        assert entry.alternates["x-default"] == X_DEFAULT
    page_of(NoteSitemap, languages=["de"])
    hints = {one.id: one.hint for one in run_checks(tags=["sitemaps_plus"])}
    assert str(hints["sitemaps_plus.W004"]).startswith("Add 'en' to languages.")


# Values that are others in each language


class Resolved(Func):
    """One column in German, another one elsewhere: decided when it is resolved."""

    german, other = "title", "slug"

    def resolve_expression(self, query: Any = None, *args: Any, **options: Any) -> Any:
        name = self.german if get_language() == "de" else self.other
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


def translated(items: Any = None, **declared: Any) -> dict[str, Any]:
    """Return the attributes of a sitemap in two languages."""
    declared |= {"i18n": True, "alternates": True, "languages": ["en", "de"]}
    return {**declared, "items": lambda self: (items or Article.objects).all()}


SPOKEN = {
    "resolved": (Resolved(), None),
    "compiled": (Compiled("slug", "title"), None),
    "of a function": (Concat(Resolved(), Value("")), None),
    "by the queryset": (F("slug"), Translating(Article)),
}


@pytest.mark.parametrize("how", SPOKEN)
@pytest.mark.costly
def test_each_language_has_its_own_columns(both: Any, how: str) -> None:
    """On both paths, in contrib's views too, and on every page anew."""
    slug, items = SPOKEN[how]
    Article.objects.create(slug="rain", title="regen", weight=0.5)
    Article.objects.create(slug="sun", title="sonne", weight=0.5)
    location = Route("/x/{slug}/", slug=slug)
    declared = translated(items, location=location, priority=F("weight"))
    expected = [f"/x/{path}/" for path in ("rain", "regen", "sun", "sonne")]
    for _ in range(2):
        page = both(Sitemap, **declared)
        assert paths(page) == expected
        links = {"en": f"{HOST}/x/rain/", "de": f"{HOST}/x/regen/"}
        assert urlset(page)[0].alternates == links
    with override("de"):
        infos = type("Spoken", (Sitemap,), declared)().get_urls()
    assert [urlsplit(one["location"]).path for one in infos] == expected


@pytest.mark.parametrize("images", [Resolved(), [Image(Resolved())]])
def test_a_location_without_a_route_images_and_titles_are_translated(
    both: Any, images: Any
) -> None:
    Article.objects.create(slug="/rain/", title="/regen/", weight=0.5)
    own = {"location": Resolved(), "item_title": Resolved(), "images": images}
    page = both(Sitemap, **translated(**own, priority=F("weight")))
    assert paths(page) == ["/rain/", "/regen/"]
    assert [entry.images for entry in urlset(page)] == [
        (f"{HOST}/rain/",),
        (f"{HOST}/regen/",),
    ]
    reader = Reader(source("rows"), PLACEHOLDER_SITE, with_titles=True)
    (batch,) = reader.by_key(None, None, 10)
    assert [list(column) for column in batch.titles] == [["/rain/"], ["/regen/"]]


IMAGE = Compiled("film", "title")


@pytest.mark.parametrize("value", [IMAGE, Image(IMAGE), Concat(IMAGE, Value(""))])
@pytest.mark.costly
def test_related_rows_are_read_in_each_language_that_has_others(
    both: Any, register: Any, django_assert_num_queries: Any, value: Any
) -> None:
    article = Article.objects.create(slug="rain", title="regen", weight=0.5)
    for name in ("one", "two"):
        article.photos.create(film=f"/{name}/", title=f"/{name}/de/")
    declared = translated(
        location=Route("/x/{slug}/", slug=F("slug")),
        images=Related("photos", value),
        priority=F("weight"),
    )
    assert [entry.images for entry in urlset(both(Sitemap, **declared))] == [
        (f"{HOST}/one/", f"{HOST}/two/"),
        (f"{HOST}/one/de/", f"{HOST}/two/de/"),
    ]
    declared |= {"images": Related("photos", F("film")), "location": Resolved()}
    register("usual", type("Usual", (Sitemap,), declared))
    with django_assert_num_queries(2):
        [*Reader(source("usual"), PLACEHOLDER_SITE).by_key(None, None, 10)]


def test_what_is_the_same_in_each_language_is_read_once() -> None:
    location = Route("/x/{a}/{b}/", a=F("slug"), b=Resolved())
    sitemap = type("Spoken", (Sitemap,), translated(location=location))()
    expressions = attributes.declared_expressions(sitemap)
    every = attributes.annotated(sitemap.items(), expressions, sitemap)
    assert [*every.query.annotations] == [
        "sitemaps_plus_location_a",
        "sitemaps_plus_location_b",
        "sitemaps_plus_location_b-de",
    ]


@pytest.mark.parametrize("part", [None, 0])
def test_an_alias_in_a_language_is_of_the_same_attribute(part: int | None) -> None:
    """So an image that fails in one language costs the image, not the URL."""
    name = attributes.in_language(attributes.alias("images", part), "pt-br")
    assert attributes.attribute_of(name) in attributes.tags()


def test_another_column_in_one_language_is_another_definition(register: Any) -> None:
    def digest(**declared: Any) -> str:
        register("rows", type("Spoken", (Sitemap,), translated(**declared)))
        return definition(source("rows")).digest

    def of_photos(name: str) -> str:
        spoken = type("Spoken", (Resolved,), {"german": name})()
        return digest(location=Resolved(), images=Related("photos", spoken))

    location = [
        Resolved(),
        F("slug"),
        *(Compiled("slug", n) for n in ("title", "photo")),
    ]
    digests = {digest(location=Route("/x/{slug}/", slug=slug)) for slug in location}
    assert len(digests) == 4
    assert of_photos("title") != of_photos("photo")


@pytest.mark.parametrize("is_related", [False, True])
def test_a_row_that_only_another_language_reads_is_depended_on(
    register: Any, *, is_related: bool
) -> None:
    filed = type("Filed", (Resolved,), {"german": "category__slug"})()
    location = Route("/x/{slug}/", slug=F("slug") if is_related else filed)
    images = Related("photos", filed) if is_related else None
    declared = translated(location=location, images=images)
    register("rows", type("Spoken", (Sitemap,), declared))
    assert dependencies(source("rows"))[Category].fields == {"slug"}
