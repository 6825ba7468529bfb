"""URLs that patterns leave out, and items whose model does not want to be listed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st

from django_sitemaps_plus import Route, Sitemap, StaticSitemap
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.protocol.patterns import Pattern, matcher, problem_of
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.sections import object_path_reason, source
from tests.support.helpers import ArticleSitemap, locations, told, urlset
from tests.support.two_paths import both
from tests.testapp.models import Article, Leaflet, Note, Poster

SLUGS = ["a", "draft-1", "draft-2", "é-b", "z.print", "a&b"]


def slugs(client: Client, path: str = "/sitemap-rows-1.xml") -> list[str]:
    """Return the last part of each location that a page lists."""
    return [location.rsplit("/", 2)[-2] for location in locations(client.get(path))]


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        ((), SLUGS),
        (("/articles/draft-",), ["a", "%C3%A9-b", "z.print", "a&b"]),
        (("/articles/é",), ["a", "draft-1", "draft-2", "z.print", "a&b"]),
        (("/*.print/",), ["a", "draft-1", "draft-2", "%C3%A9-b", "a&b"]),
        (("/*.print",), SLUGS),
        (("/articles/a&", "*-1/"), ["a", "draft-2", "%C3%A9-b", "z.print"]),
        ((re.compile(r"/draft-\d/$"),), ["a", "%C3%A9-b", "z.print", "a&b"]),
        ((re.compile(r"^draft"),), SLUGS),
        (("/",), []),
    ],
)
@pytest.mark.django_db
def test_paths_that_a_pattern_matches_are_not_listed(
    client: Client, register: Any, patterns: tuple[Pattern, ...], left: list[str]
) -> None:
    Article.objects.bulk_create(Article(slug=slug) for slug in SLUGS)
    address = Concat(Value("/articles/"), "slug", Value("/"), output_field=CharField())
    declared = {"location": address, "exclude": patterns}
    both(client, register, type("Some", (ArticleSitemap,), declared))
    expected = ["%C3%A9-b" if slug == "é-b" else slug for slug in left]
    assert slugs(client) == expected


@pytest.mark.django_db
def test_the_setting_counts_for_every_section(
    client: Client, register: Any, settings: Any
) -> None:
    class Pages(StaticSitemap):
        names = ("home", "about")

    settings.SITEMAPS_PLUS = {
        **settings.SITEMAPS_PLUS,
        "EXCLUDE": ["/about/", "/articles/b"],
    }
    Article.objects.bulk_create(Article(slug=slug) for slug in "abc")
    register("rows", type("Some", (ArticleSitemap,), {"exclude": ["/articles/c"]}))
    register("pages", Pages)
    assert slugs(client) == ["a"]
    assert locations(client.get("/sitemap-pages-1.xml")) == ["https://www.example.com/"]


@pytest.mark.django_db
def test_a_language_that_is_left_out_is_no_alternate_of_the_others(
    client: Client, register: Any
) -> None:
    class Notes(Sitemap):
        model = Note
        location = Route("note", number=F("number"))
        i18n = True
        languages = ("en", "de")
        alternates = True
        exclude = ("/de/notes/2/",)

    Note.objects.bulk_create(Note(number=number) for number in (1, 2))
    both(client, register, Notes)
    found = {
        entry.loc.removeprefix("https://www.example.com"): sorted(entry.alternates)
        for entry in urlset(client.get("/sitemap-rows-1.xml"))
    }
    assert found == {
        "/en/notes/1/": ["de", "en"],
        "/de/notes/1/": ["de", "en"],
        "/en/notes/2/": ["en"],
    }


@pytest.mark.django_db(transaction=True)
def test_a_new_pattern_removes_what_was_listed(client: Client, register: Any) -> None:
    Article.objects.bulk_create(Article(slug=slug) for slug in "abc")
    register("rows", type("Some", (ArticleSitemap,), {}))
    assert slugs(client) == ["a", "b", "c"]
    former = definition(source("rows")).digest
    register("rows", type("Some", (ArticleSitemap,), {"exclude": ("/articles/b",)}))
    assert definition(source("rows")).digest != former
    assert slugs(client) == ["a", "c"]
    assert told() == [("removed", "/articles/b/")]


@pytest.mark.django_db
def test_pages_are_divided_as_without_the_pattern(
    client: Client, register: Any
) -> None:
    Article.objects.bulk_create(Article(slug=f"{n % 2}-{n}") for n in range(20))
    declared = {"exclude": ("/articles/1-",), "limit": 5}
    register("rows", type("Some", (ArticleSitemap,), declared))
    client.get("/sitemap-rows.xml")
    numbers = Page.objects.order_by("position").values_list("number", flat=True)
    each = [slugs(client, f"/sitemap-rows-{number}.xml") for number in numbers]
    assert [len(found) for found in each] == [2] * 5
    assert [slug for found in each for slug in found] == [
        f"0-{n}" for n in range(0, 20, 2)
    ]


@given(
    paths=st.lists(
        st.lists(st.sampled_from("ab/é*.?%"), max_size=6).map("".join), max_size=8
    ),
    prefix=st.lists(st.sampled_from("ab/é.?"), max_size=3).map("".join),
)
@example(paths=["/a.b", "/axb"], prefix="/a.b")
def test_prefix_glob_and_regular_expression_agree(
    paths: list[str], prefix: str
) -> None:
    start = f"/{prefix}"
    each = [
        matcher([start]),
        matcher([f"{start}*"]),
        matcher([re.compile("^" + re.escape(start.replace("é", "%C3%A9")))]),
    ]
    for path in paths:
        encoded = path.replace("é", "%C3%A9")
        assert len({matches(encoded) for matches in each}) == 1


@pytest.mark.parametrize("wrong", ["articles/", "", 3, re.compile(b"x"), None])
def test_what_is_no_pattern_is_refused(
    register: Any, settings: Any, wrong: Any
) -> None:
    assert problem_of(wrong)
    register("rows", type("Some", (ArticleSitemap,), {"exclude": [wrong]}))
    with pytest.raises(ConfigurationError, match=r"Some\.exclude"):
        definition(source("rows"))


# in_sitemap


@pytest.mark.django_db(transaction=True)
def test_a_boolean_field_is_a_condition_of_the_query(
    client: Client, register: Any
) -> None:
    class Leaflets(Sitemap):
        model = Leaflet
        location = Route("article", slug=F("name"))
        limit = 3

    made = [
        Leaflet.objects.create(name=f"n{n}", in_sitemap=n % 3 == 0) for n in range(9)
    ]
    register("rows", Leaflets)
    assert not object_path_reason(Leaflets())
    assert slugs(client) == ["n0", "n3", "n6"]
    made[3].in_sitemap = False
    made[3].save()
    assert slugs(client) == ["n0", "n6"]
    assert told() == [("removed", "/articles/n3/")]
    made[4].in_sitemap = True
    made[4].save()
    assert slugs(client) == ["n0", "n4", "n6"]
    assert Page.objects.count() == 1, "three of nine fit one page"


@pytest.mark.django_db(transaction=True)
def test_a_method_is_asked_of_each_object(client: Client, register: Any) -> None:
    class Posters(Sitemap):
        model = Poster
        location = Route("article", slug=F("name"))

    for name in ("a", "hidden", "broken", "z"):
        Poster.objects.create(name=name)
    register("rows", Posters)
    assert "Poster.in_sitemap" in object_path_reason(Posters())
    assert slugs(client) == ["a", "z"]
    Poster.objects.get(name="broken").delete()
    assert slugs(client) == ["a", "z"]
    told()
    poster = Poster.objects.get(name="a")
    poster.name = "hidden-too"
    poster.save()
    assert slugs(client) == ["z"]
    assert told() == [("removed", "/articles/a/")]


@pytest.mark.django_db
def test_lists_and_slices_of_objects_are_asked_too(
    client: Client, register: Any
) -> None:
    class Sliced(Sitemap):
        def items(self) -> Any:
            return Leaflet.objects.order_by("pk")[:4]

        def location(self, item: Any) -> str:
            return f"/articles/{item.name}/"

    class Listed(Sliced):
        def items(self) -> Any:
            return list(Leaflet.objects.order_by("pk"))

    class Evaluated(Sliced):
        def items(self) -> Any:
            items = Leaflet.objects.order_by("pk")
            for item in items:
                item.name = f"{item.name}-read"
            return items

    for n in range(6):
        Leaflet.objects.create(name=f"n{n}", in_sitemap=n % 2 == 0)
    register("sliced", Sliced)
    register("listed", Listed)
    register("evaluated", Evaluated)
    assert slugs(client, "/sitemap-sliced-1.xml") == ["n0", "n2"]
    assert slugs(client, "/sitemap-listed-1.xml") == ["n0", "n2", "n4"]
    read = slugs(client, "/sitemap-evaluated-1.xml")
    assert read == ["n0-read", "n2-read", "n4-read"]
