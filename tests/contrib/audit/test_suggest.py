"""``manage.py check_sitemaps --suggest``: what is suggested, and what is not."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.auth.models import User
from django.db import models
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import translation

from django_sitemaps_plus import GenericSitemap, Route, Sitemap
from django_sitemaps_plus.contrib.audit import suggestions
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.sitemaps.attributes import ATTRIBUTES
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import object_path_reason, source
from tests.support.factories import (
    ArticleFactory,
    CategoryFactory,
    ElsewhereFactory,
    NoteFactory,
    StoryFactory,
    TagFactory,
    articles,
)
from tests.support.helpers import ArticleSitemap, PagesSitemap, body, run_command
from tests.testapp.models import Article, ByPair, ByUuid, Elsewhere, Note, Story, Tag

pytestmark = pytest.mark.django_db

Register = Callable[..., Any]


@pytest.fixture(autouse=True)
def urls(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.support.suggest_urls"


def located(
    model: type[models.Model], location: Callable[[Any], Any], **more: Any
) -> type[Sitemap]:
    """Return a sitemap of a model with a method for its locations."""
    method = staticmethod(location)
    return type("Located", (Sitemap,), {"model": model, "location": method, **more})


def dated(lastmod: Callable[[Any], Any]) -> type[Sitemap]:
    """Return a sitemap of articles with a method for their dates."""
    return type("Dated", (ArticleSitemap,), {"lastmod": staticmethod(lastmod)})


def suggest(*names: str) -> dict[str, Any]:
    """Return what is suggested for the class of some sections."""
    out, err, code = run_command(
        "check_sitemaps", "--suggest", "--format", "json", *names
    )
    assert (err, code) == ("", 0)
    (found,) = json.loads(out)["suggestions"]
    return dict(found)


def page(name: str) -> bytes:
    """Return the first page of a section."""
    return body(Client().get(f"/sitemap-{name}-1.xml"))


def assert_same_bytes(found: dict[str, Any], register: Register) -> None:
    """The lines that are suggested lead to the row path, and change no byte."""
    (name,) = found["sections"]
    before = page(name)
    assert before.count(b"<url>") == found["rows"] > 0
    old = registry.sources()[name]
    old = old if isinstance(old, type) else type(old)
    names: dict[str, Any] = {"Sitemap": Sitemap}
    names |= {cls.__name__: cls for cls in old.__mro__}
    exec(found["code"], names)  # noqa: S102 (that is what it is for)
    new = names[found["code"].partition("class ")[2].partition("(")[0]]
    declared = {one: vars(new)[one] for one in ATTRIBUTES if one in vars(new)}
    pasted = type("Pasted", (old, Sitemap) if old is not new else (new,), declared)
    assert object_path_reason(pasted()) == ""
    register(name, pasted)
    assert page(name) == before


# Locations


def dated_articles() -> None:
    """Make articles whose dates, slugs and categories are all different."""
    for number, day in enumerate(("2025-12-26", "2026-03-04", "2024-11-25")):
        moment = dt.datetime.fromisoformat(f"{day}T23:30:00+00:00")
        ArticleFactory(
            slug=f"s-{number}",
            title=f"Größe {number}",
            updated=moment,
            day=moment.date(),
            category=CategoryFactory(slug=f"c-{number}"),
        )


LOCATIONS: dict[str, tuple[Callable[[Any], str], str]] = {
    "the slug": (
        lambda item: reverse("article", kwargs={"slug": item.slug}),
        'Route("article", slug=F("slug"))',
    ),
    "the primary key": (
        lambda item: reverse("by-number", args=[item.pk]),
        'Route("by-number", pk=F("pk"))',
    ),
    "made by hand": (
        lambda item: f"/articles/{item.slug}/",
        'Route("article", slug=F("slug"))',
    ),
    "of this site's address": (
        lambda item: f"https://www.example.com/articles/{item.slug}/",
        'Route("article", slug=F("slug"))',
    ),
    "not ASCII": (
        lambda item: f"/wörter/{item.title}/",
        'Route("word", slug=F("title"))',
    ),
    "a foreign key": (
        lambda item: reverse("in-category", args=[item.category.slug, item.slug]),
        'Route("in-category", category=F("category__slug"), slug=F("slug"))',
    ),
    "a date": (
        lambda item: reverse(
            "dated", args=[item.day.year, item.day.month, item.day.day, item.slug]
        ),
        'Route("dated", year=F("day__year"), month=F("day__month"), '
        'day=F("day__day"), slug=F("slug"))',
    ),
    "padded": (
        lambda item: f"/padded/{item.day:%Y/%m/%d}/{item.slug}/",
        'Route("padded", year=F("day__year"), '
        'month=LPad(Cast(F("day__month"), CharField()), 2, Value("0")), '
        'day=LPad(Cast(F("day__day"), CharField()), 2, Value("0")), slug=F("slug"))',
    ),
    "positional": (
        lambda item: reverse("positional", args=[item.pk, item.slug]),
        'Route("positional", F("pk"), F("slug"))',
    ),
    "a constant": (
        lambda item: reverse("kind", args=["news", item.slug]),
        'Route("kind", kind="news", slug=F("slug"))',
    ),
    "one of two patterns": (
        lambda item: reverse("style", kwargs={"slug": item.slug, "style": "list"}),
        'Route("style", slug=F("slug"), style="list")',
    ),
    "a keyword of Python": (
        lambda item: reverse("reserved", args=[item.slug]),
        'Route("reserved", **{"class": F("slug")})',
    ),
    "a namespace with a parameter": (
        lambda item: reverse(
            "two:page", kwargs={"year": item.day.year, "slug": item.slug}
        ),
        'Route("two:page", year=F("day__year"), slug=F("slug"))',
    ),
}


@pytest.mark.parametrize("name", LOCATIONS)
def test_a_route_is_found(register: Register, name: str) -> None:
    location, expected = LOCATIONS[name]
    dated_articles()
    register("article", located(Article, location))
    found = suggest("article")
    assert (found["lines"], found["refused"]) == ({"location": expected}, {})
    assert found["rows"] == 3
    assert_same_bytes(found, register)


def test_the_parts_of_a_time_are_left_alone_outside_of_utc(
    register: Register, settings: Any
) -> None:
    """No row tells which zone the method means, until one is near midnight."""
    dated_articles()
    register(
        "article",
        located(
            Article, lambda item: reverse("year", args=[item.updated.year, item.slug])
        ),
    )
    Article.objects.update(day=None)
    assert "takes year '2025', and no column" in suggest()["refused"]["location"]
    settings.TIME_ZONE = "UTC"
    found = suggest()
    assert 'year=F("updated__year")' in found["lines"]["location"]
    assert_same_bytes(found, register)


@pytest.mark.django_db(databases=["default", "other"])
def test_other_keys_tables_and_databases(register: Register) -> None:
    class Annotated(Sitemap):
        def items(self) -> Any:
            return Tag.objects.annotate(address=F("pk") + 7)

        def location(self, item: Any) -> str:
            return reverse("by-number", args=[item.address])

    ElsewhereFactory.create_batch(3)
    StoryFactory.create_batch(3)
    for number in range(3):
        category = CategoryFactory(slug=f"c-{number}")
        TagFactory(name=f"tag {number}", article__category=category)
    ByPair.objects.bulk_create(ByPair(shop=n % 2, code=f"c{n}") for n in range(5))
    ByUuid.objects.bulk_create(ByUuid(id=uuid.uuid4()) for _ in range(5))
    by_hand = staticmethod(lambda item: f"/articles/{item.slug}/")
    for name, cls, expected in [
        ("elsewhere", located(Elsewhere, by_hand), 'Route("article", slug=F("slug"))'),
        ("story", located(Story, by_hand), 'Route("article", slug=F("slug"))'),
        ("annotated", Annotated, 'Route("by-number", pk=F("address"))'),
        (
            "tag",
            located(Tag, lambda tag: f"/tags/{tag.article.category.slug}/{tag.name}/"),
            'Route("tag", category=F("article__category__slug"), name=F("name"))',
        ),
        (
            "pair",
            located(ByPair, lambda item: reverse("pair", args=[item.shop, item.code])),
            'Route("pair", shop=F("shop"), code=F("code"))',
        ),
        (
            "uuid",
            located(ByUuid, lambda item: reverse("uuid", args=[item.pk])),
            'Route("uuid", id=F("pk"))',
        ),
    ]:
        register(name, cls)
        found = suggest(name)
        assert found["lines"] == {"location": expected}
        assert_same_bytes(found, register)


def test_the_scheme_and_the_prefix_of_the_site(
    register: Register, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com/shop"}
    articles(3)
    register(
        "article",
        located(
            Article,
            lambda item: f"http://www.example.com/shop/articles/{item.slug}/",
            protocol="http",
        ),
    )
    assert suggest()["lines"] == {"location": 'Route("article", slug=F("slug"))'}


def test_what_is_printed(register: Register) -> None:
    register("article", type("ArticleSitemap", (Sitemap,), {"model": Article}))
    articles(3)
    assert run_command("check_sitemaps", "--suggest") == (
        "Section 'article' is on the object path, because location() is a method. "
        "This puts it on the row path:\n"
        "\n"
        "    from django.db.models import F\n"
        "    from django_sitemaps_plus import Route, Sitemap\n"
        "\n"
        "\n"
        "    class ArticleSitemap(Sitemap):\n"
        '        location = Route("article", slug=F("slug"))\n'
        "\n"
        "Proved on 3 rows.\n",
        "",
        0,
    )


def test_contrib_s_classes(register: Register) -> None:
    class News(contrib.Sitemap):
        def items(self) -> Any:
            return Article.objects.all()

    articles(3)
    register("news", News)
    found = suggest("news")
    assert found["reason"] == "its class is not a django_sitemaps_plus.Sitemap"
    assert found["code"].endswith(
        'class News(Sitemap):\n    location = Route("article", slug=F("slug"))\n'
    )
    assert found["notes"] == [
        "The base class is django_sitemaps_plus.Sitemap, not contrib's."
    ]
    as_compared = suggestions.suggested_section(source("news"), found["lines"]).sitemap
    assert object_path_reason(as_compared) == ""
    assert_same_bytes(found, register)


def test_generic(register: Register) -> None:
    articles(3)
    info = {"queryset": Article.objects.all(), "date_field": "day"}
    register("generic", GenericSitemap(info, priority=0.5))
    register("other", GenericSitemap({**info, "queryset": Article.objects.exclude()}))
    found = suggest("generic")
    assert found["code"] == (
        "from django.db.models import F\n"
        "from django_sitemaps_plus import Route, Sitemap\n"
        "from tests.testapp.models import Article\n\n\n"
        "class ArticleSitemap(Sitemap):\n"
        "    model = Article\n"
        '    location = Route("article", slug=F("slug"))\n'
        '    lastmod = F("day")\n'
        "    priority = 0.5\n"
    )
    before = page("generic")
    names: dict[str, Any] = {}
    exec(found["code"], names)  # noqa: S102 (that is what it is for)
    register("generic", names["ArticleSitemap"])
    assert page("generic") == before
    some = Article.objects.filter(live=True)
    register("generic", GenericSitemap({"queryset": some}))
    found = suggest("generic")
    assert found["lines"]["lastmod"] == "None"
    assert "items() has to return the queryset" in found["notes"][-1]


# The other attributes


def test_everything_else(register: Register) -> None:
    class Whole(ArticleSitemap):
        def lastmod(self, item: Any) -> Any:
            return item.updated

        def priority(self, item: Any) -> Any:
            return item.weight

        def changefreq(self, item: Any) -> str:
            return "weekly"

    for number in range(5):
        articles(1, weight=number / 10)
    articles(1, updated=None, day=None, weight=None)
    register("article", Whole)
    found = suggest("article")
    assert found["lines"] == {
        "lastmod": 'F("updated")',
        "changefreq": '"weekly"',
        "priority": 'F("weight")',
    }
    assert found["notes"] == [
        'changefreq() gives "weekly" on every row. It must always do so.'
    ]
    assert_same_bytes(found, register)


def test_the_date_of_today_is_no_constant(register: Register) -> None:
    register("article", dated(lambda item: "2026-11-21"))
    articles(3)
    assert "gives '2026-11-21', and no column" in suggest()["refused"]["lastmod"]


def test_a_line_that_gains_nothing_is_not_suggested(register: Register) -> None:
    class Mixed(Sitemap):
        model = Article

        def location(self, item: Any) -> str:
            return f"/articles/{item.slug[::-1]}/"

        def lastmod(self, item: Any) -> Any:
            return item.updated

    for number in range(3):
        articles(1, slug=f"{number}-x")
    register("article", Mixed)
    found = suggest()
    assert (found["lines"], found["code"]) == ({}, "")
    assert found["refused"]["lastmod"] == 'F("updated") alone gains nothing'


@pytest.mark.parametrize("name", ["images", "priority", "lastmod"])
def test_a_route_gains_something_where_another_method_stays(
    register: Register, name: str
) -> None:
    """The third lastmod is wrong in the middle, where no sample looks."""
    made = articles(300)
    odd = made[150].pk
    methods = {
        "images": lambda item: [],
        "priority": lambda item: len(item.slug) / 100 + item.pk % 7 / 100,
        "lastmod": lambda item: None if item.pk == odd else item.updated,
    }
    more = {"model": Article, name: staticmethod(methods[name])}
    register("article", type("Mixed", (Sitemap,), more))
    # What goes to the error output is how far it is, on a slow machine.
    out, _, code = run_command("check_sitemaps", "--suggest")
    assert code == 0
    assert "This saves reverse() for each row:\n" in out
    assert 'location = Route("article", slug=F("slug"))\n\nProved on 300 rows.' in out
    assert f"{name} = " not in out
    assert f"It stays on the object path:\n  {name}: " in out


# Fallbacks


def test_a_fallback_that_rows_use_becomes_coalesce(register: Register) -> None:
    dated_articles()
    articles(2, slug="", title="another")
    articles(1, slug="", title="a third")
    register("article", located(Article, lambda a: f"/wörter/{a.slug or a.title}/"))
    found = suggest()
    assert found["lines"] == {
        "location": 'Route("word", slug=Coalesce(NullIf(F("slug"), Value("")), '
        'F("title"), output_field=CharField()))'
    }
    assert_same_bytes(found, register)


def test_a_date_with_a_fallback(register: Register) -> None:
    class Users(Sitemap):
        model = User
        location = Route("by-number", pk=F("pk"))

        def lastmod(self, user: Any) -> Any:
            return user.last_login or user.date_joined

    for number, moment in enumerate(
        [None, *(dt.datetime(2026, 1, n + 1, tzinfo=dt.UTC) for n in range(3))]
    ):
        joined = dt.datetime(2025, 1, number + 1, tzinfo=dt.UTC)
        User.objects.create(
            username=f"u{number}", last_login=moment, date_joined=joined
        )
    register("user", Users)
    found = suggest()
    assert found["lines"] == {"lastmod": 'Coalesce(F("last_login"), F("date_joined"))'}
    assert_same_bytes(found, register)


@pytest.mark.parametrize(
    ("cls", "name", "said"),
    [
        (
            dated(lambda item: item.updated or dt.date(2026, 1, 1)),
            "lastmod",
            "lastmod() gives '2026-01-01' where 'updated' is empty: use Coalesce() ",
        ),
        (
            located(Article, lambda item: f"/wörter/{item.slug or item.title}/"),
            "location",
            "the URL pattern 'word' takes slug 'Größe 0' where 'slug' is empty",
        ),
        (
            located(
                Article,
                lambda item: f"/in/{item.category.slug if item.category else 'a'}/b/",
            ),
            "location",
            "the URL pattern 'in-category' takes category 'a' where 'category' is ",
        ),
    ],
)
def test_a_fallback_that_no_row_uses_is_not_dropped(
    register: Register, cls: type[Sitemap], name: str, said: str
) -> None:
    dated_articles()
    register("article", cls)
    found = suggest()
    assert found["lines"] == {}
    assert found["refused"][name].startswith(said)


def test_a_column_that_may_be_empty_needs_no_fallback(register: Register) -> None:
    dated_articles()
    register("article", dated(lambda item: item.updated))
    found = suggest()
    assert (found["lines"], found["notes"]) == ({"lastmod": 'F("updated")'}, [])


def test_of_two_columns_with_the_same_values_the_one_that_is_read_is_found(
    register: Register,
) -> None:
    for number in range(3):
        articles(1, slug=f"a-{number}", title=f"a-{number}")
    register("article", located(Article, lambda item: f"/wörter/{item.title}/"))
    found = suggest()
    assert found["lines"] == {"location": 'Route("word", slug=F("title"))'}
    assert found["notes"] == []


def test_columns_that_cannot_be_told_apart_are_named(register: Register) -> None:
    """Neither can be empty."""
    for key in (1, 2, 3):
        NoteFactory(pk=key, number=key)
    register("note", located(Note, lambda item: reverse("note", args=[item.number])))
    found = suggest()
    assert found["lines"] == {"location": 'Route("note", number=F("number"))'}
    assert found["notes"] == [
        'location: F("number") and F("pk") gave the same on every row checked. Use the '
        "one you mean."
    ]


# Several sections of one class


class InLanguage(Sitemap):
    """A section for one language, as django-oscar's sandbox has them."""

    model = Note

    def __init__(self, language: str, **items: Any) -> None:
        self.language, self.only = language, items

    def items(self) -> Any:
        return Note.objects.filter(**self.only)

    def location(self, item: Any) -> str:
        with translation.override(self.language):
            return reverse("note", args=[item.number])


def test_one_instance_for_each_language(register: Register, settings: Any) -> None:
    for number in (107, 108, 109):
        NoteFactory(number=number)
    for language in ("de", "en"):
        register(f"note-{language}", InLanguage(language))
    out, err, code = run_command("check_sitemaps", "--suggest")
    assert (err, code) == ("", 0)
    assert out == (
        "Sections 'note-de', 'note-en' are on the object path, because location() is a "
        "method. One class with i18n = True lists the same URLs:\n"
        "\n"
        "    from django.db.models import F\n"
        "    from django_sitemaps_plus import Route, Sitemap\n"
        "\n"
        "\n"
        "    class InLanguage(Sitemap):\n"
        "        i18n = True\n"
        '        languages = ["en", "de"]\n'
        '        location = Route("note", number=F("number"))\n'
        "\n"
        "Proved on 6 rows of 2 sections.\n"
        "  Register InLanguage once, in place of its 2 instances, and let it do "
        "without arguments.\n"
    )
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    assert suggest("note-de")["lines"] == {
        "i18n": "True",
        "location": 'Route("note", number=F("number"))',
    }


def test_one_instance_for_each_language_without_a_route(register: Register) -> None:
    """As django-oscar's categories are: what they have no column has."""

    class Doubled(Note):
        class Meta:
            proxy = True
            app_label = "testapp"

        def get_absolute_url(self) -> str:
            return reverse("note", args=[self.number * 2])

    class Own(InLanguage):
        def items(self) -> Any:
            return Doubled.objects.all()

        def location(self, item: Any) -> str:
            with translation.override(self.language):
                return str(item.get_absolute_url())

    NoteFactory.create_batch(3)
    for language in ("en", "de"):
        register(f"note-{language}", Own(language))
    found = suggest()
    assert found["lines"]["location"] == "Sitemap.location"
    assert found["lines"]["i18n"] == "True"
    assert found["rows"] == 6


@pytest.mark.parametrize("items", [{"number": 1}, {"number__gt": 0}])
def test_sections_that_differ_in_more_than_language(
    register: Register, items: dict[str, int]
) -> None:
    NoteFactory(number=1)
    NoteFactory(number=2)
    register("note-en", InLanguage("en"))
    register("note-de", InLanguage("de", **items))
    found = suggest()
    assert found["lines"] == {}
    reason = found["refused"]["location"]
    assert reason.startswith("in section 'note-de', row ")
    assert reason.endswith(
        ' is \'/de/notes/1/\' now, and with Route("note", number=F("number")) it is '
        "'/en/notes/1/'"
    )


def test_all_languages_are_proved_on_every_row(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd(InLanguage):
        def location(self, item: Any) -> str:
            return super().location(item).replace("/de/notes/3/", "/de/notes/1/")

    monkeypatch.setattr(suggestions, "STEP", 1)
    for number in (1, 2, 3):
        NoteFactory(number=number)
    for language in ("en", "de"):
        register(f"note-{language}", Odd(language))
    assert suggest()["lines"] == {}


def test_a_line_is_proved_in_the_sections_of_subclasses(register: Register) -> None:
    class Base(Sitemap):
        model = Article

    class Inherits(Base):
        def items(self) -> Any:
            return Article.objects.filter(live=False)

    class Overrides(Base):
        def location(self, item: Any) -> str:
            return "/none/"

    articles(2)
    for name, cls in {"a": Base, "b": Inherits, "c": Overrides}.items():
        register(name, cls)
    assert suggest("a")["sections"] == ["a"]
    assert suggest("a")["lines"] == {"location": 'Route("article", slug=F("slug"))'}
    assert suggest("a")["notes"] == [
        "Section 'b' has no row: nothing was compared there."
    ]
    register("d", type("Sliced", (Base,), {"items": lambda self: [1]}))
    assert suggest("a")["refused"]["location"] == (
        "in section 'd', all is paged by position: items() returns list, not a queryset"
    )


def test_languages(register: Register) -> None:
    def location(item: Any) -> str:
        return reverse("note", args=[item.number])

    more = {"i18n": True, "alternates": True, "languages": ("en", "de")}
    NoteFactory.create_batch(3)
    register("note", located(Note, location, **more))
    found = suggest("note")
    assert found["lines"] == {"location": 'Route("note", number=F("number"))'}
    wrong = lambda item: location(item).replace("/de/", "/en/")  # noqa: E731 (as users write it)
    register("note", located(Note, wrong, **more))
    assert suggest("note")["lines"] == {}


# What is refused


@pytest.mark.parametrize(
    ("odd", "shown"),
    [
        (lambda item: "/articles/else/", "'/articles/else/'"),
        (lambda item: 1 / 0, "left out (ZeroDivisionError: division by zero)"),
        (
            lambda item: "https://other.example/articles/",
            "left out (location 'https://other.example/articles/': not a URL of "
            "https://www.example.com)",
        ),
    ],
)
@pytest.mark.parametrize("place", [0, 150, 299])
def test_one_row_differs(
    register: Register, odd: Callable[[Any], str], shown: str, place: int
) -> None:
    made = articles(300)
    key, slug = made[place].pk, made[place].slug

    def location(item: Any) -> str:
        return odd(item) if item.pk == key else f"/articles/{item.slug}/"

    register("article", located(Article, location))
    found = suggest()
    assert (found["lines"], found["code"]) == ({}, "")
    if "else" not in shown or place == 150:
        assert found["refused"]["location"] == (
            f"in section 'article', row {key} is {shown} now, and with "
            f'Route("article", slug=F("slug")) it is \'/articles/{slug}/\''
        )


def test_a_row_that_is_bad_both_ways_is_left_out_both_ways(register: Register) -> None:
    articles(3)
    articles(1, slug="not a slug")
    register("article", type("Plain", (Sitemap,), {"model": Article}))
    found = suggest("article")
    assert found["lines"] == {"location": 'Route("article", slug=F("slug"))'}
    assert found["rows"] == 4


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        (
            lambda item: f"/articles/{item.slug}/?page=2",
            "row {0}: '/articles/a-1/?page=2' has a query, which no Route writes",
        ),
        (lambda item: "/none/", "row {0}: no URL pattern matches '/none/'"),
        (
            lambda item: f"/nameless/{item.slug}/",
            "row {0}: the URL pattern of '/nameless/a-1/' has no name",
        ),
        (
            lambda item: f"/articles/{item.slug[::-1]}/",
            "row {0}: the URL pattern 'article' takes slug '1-a', and no column within "
            "two foreign keys of Article has it on every row checked",
        ),
        (
            lambda item: f"/{'articles' if item.slug == 'a-1' else 'kinds/x'}/a/",
            "row {0} has the URL pattern 'article' (slug), row {1} has the URL pattern "
            "'kind' (kind, slug); a Route is of one",
        ),
    ],
)
def test_why_there_is_no_route(register: Register, location: Any, reason: str) -> None:
    keys = [articles(1, slug=f"a-{number}")[0].pk for number in (1, 2)]
    register("article", located(Article, location))
    assert suggest()["refused"] == {"location": reason.format(*keys)}


def test_nothing_to_prove_to_replace_or_to_gain(register: Register) -> None:
    class Hooked(Sitemap):
        model = Article

        def _location(self, item: Any, force_lang_code: Any = None) -> str:
            return "/"

    register("a", type("Plain", (Sitemap,), {"model": Article}))
    register("b", ArticleSitemap)
    register("c", PagesSitemap)
    register("d", Hooked)
    out, err, code = run_command("check_sitemaps", "--suggest")
    assert (err, code) == ("", 0)
    assert out == (
        "Section 'a' is on the object path, because location() is a method. Nothing "
        "can be suggested:\n"
        "  location: there is no row, so nothing can be proved.\n"
        "Section 'b' is on the row path already.\n"
        "Section 'c' is on the object path, because location() is a method. Nothing "
        "can be suggested:\n"
        "  items: it is paged by position: items() returns list, not a queryset.\n"
        "Section 'd' is on the object path, because location() is a method. Nothing "
        "can be suggested:\n"
        "  _location: _location() is overridden: only it knows what it gives.\n"
    )


# How it is proved


def test_a_proof_reads_some_rows_at_a_time_shows_progress_and_ends_early(
    register: Register,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_max_num_queries: Any,
) -> None:
    monkeypatch.setattr(suggestions, "STEP", 40)
    monkeypatch.setattr(utils, "LINE_EVERY", 0)
    made = articles(100)
    register("article", type("Plain", (Sitemap,), {"model": Article}))
    with django_assert_max_num_queries(24) as queries:
        _, err, _ = run_command("check_sitemaps", "--suggest")
    assert err == "".join(
        f"Section 'article': {count} of 100 rows compared\n" for count in (40, 80, 100)
    )
    selects = [query["sql"] for query in queries if "slug" in query["sql"]]
    assert all("LIMIT" in sql or " IN (" in sql for sql in selects)
    odd = made[60].pk
    articles(100)
    different = lambda item: f"/articles/{'x' if item.pk == odd else item.slug}/"  # noqa: E731 (as users write it)
    register("article", located(Article, different))
    _, err, _ = run_command("check_sitemaps", "--suggest")
    assert err.count("\n") == 2


def test_a_row_that_changes_meanwhile_is_read_again(register: Register) -> None:
    """It is another for the method than for the query, once."""
    made = articles(3)
    calls: list[int] = []

    def location(item: Any) -> str:
        calls.append(item.pk)
        if calls.count(made[1].pk) == 2:
            return "/articles/changes/"
        return f"/articles/{item.slug}/"

    register("article", located(Article, location))
    assert suggest()["lines"] == {"location": 'Route("article", slug=F("slug"))'}
