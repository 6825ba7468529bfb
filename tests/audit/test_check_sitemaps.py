"""``manage.py check_sitemaps``: what it says of sections, and what it suggests."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.db import connection, models
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from django_sitemaps_plus import GenericSitemap, Route, Sitemap
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.models import EngineState
from django_sitemaps_plus.rendering import reader
from django_sitemaps_plus.sitemaps.attributes import ATTRIBUTES
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import object_path_reason
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


class Addressed(Article):
    """Articles with an address that is not theirs."""

    class Meta:
        proxy = True
        app_label = "testapp"

    def get_absolute_url(self) -> str:
        return reverse("word", args=[self.title])


def check(*arguments: str) -> tuple[str, str, int]:
    """Run the command."""
    return run_command("check_sitemaps", *arguments)


def located(model: type[models.Model], location: Callable[[Any], Any]) -> type[Sitemap]:
    """Return a sitemap of a model with a method for its locations."""
    method = staticmethod(location)
    return type("Located", (Sitemap,), {"model": model, "location": method})


def suggest(name: str) -> dict[str, Any]:
    """Return what is suggested for a section."""
    out, err, code = check("--suggest", "--format", "json", name)
    assert (err, code) == ("", 0)
    (found,) = json.loads(out)["sections"]
    return dict(found)


def pasted(found: dict[str, Any], register: Register) -> Any:
    """Paste what was suggested into the section's class, and register that."""
    namespace: dict[str, Any] = {"ArticleSitemap": ArticleSitemap, "Sitemap": Sitemap}
    exec(found["code"], namespace)  # noqa: S102 (that is what it is for)
    *_, new = [value for value in namespace.values() if isinstance(value, type)]
    old = registry.sources()[found["name"]]
    old = old if isinstance(old, type) else type(old)
    declared = {name: vars(new)[name] for name in ATTRIBUTES if name in vars(new)}
    return register(found["name"], type("Pasted", (old,), declared))


def assert_same_bytes(found: dict[str, Any], register: Register) -> None:
    """What is suggested puts the section on the row path, and changes no byte."""
    address = f"/sitemap-{found['name']}-1.xml"
    before = body(Client().get(address))
    assert before.count(b"<url>") == found["rows"]
    cls = pasted(found, register)
    assert object_path_reason(cls()) == ""
    assert body(Client().get(address)) == before


# What is suggested for locations

TIMES = [
    # In Berlin it is the first of January 2026; in UTC the last of December.
    dt.datetime(2025, 12, 31, 23, 30, tzinfo=dt.UTC),
    dt.datetime(2026, 3, 9, 12, 0, tzinfo=dt.UTC),
    dt.datetime(2024, 11, 30, 12, 0, tzinfo=dt.UTC),
]


def dated_articles() -> None:
    """Make articles whose dates, slugs and categories are all different."""
    for number, moment in enumerate(TIMES):
        ArticleFactory(
            slug=f"s-{number}",
            title=f"Größe {number}",
            updated=moment,
            day=moment.date() - dt.timedelta(days=5),
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
    "not ASCII, quoted": (
        lambda item: reverse("word", args=[item.title]),
        'Route("word", slug=F("title"))',
    ),
    "not ASCII, not quoted": (
        lambda item: f"/wörter/{item.title}/",
        'Route("word", slug=F("title"))',
    ),
    "a foreign key": (
        lambda item: reverse("in-category", args=[item.category.slug, item.slug]),
        'Route("in-category", category=F("category__slug"), slug=F("slug"))',
    ),
    "the key of a foreign key": (
        lambda item: reverse("by-number", args=[item.category_id]),
        'Route("by-number", pk=F("category_id"))',
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
        'month=LPad(Cast("day__month", CharField()), 2, Value("0")), '
        'day=LPad(Cast("day__day", CharField()), 2, Value("0")), slug=F("slug"))',
    ),
    "a time in UTC": (
        lambda item: reverse("year", args=[item.updated.year, item.slug]),
        'Route("year", year=ExtractYear("updated", tzinfo=UTC), slug=F("slug"))',
    ),
    "positional": (
        lambda item: reverse("positional", args=[item.pk, item.slug]),
        'Route("positional", F("pk"), F("slug"))',
    ),
    "a constant": (
        lambda item: reverse("kind", args=["news", item.slug]),
        'Route("kind", kind="news", slug=F("slug"))',
    ),
    "the first of two patterns": (
        lambda item: reverse("style", kwargs={"slug": item.slug, "style": "list"}),
        'Route("style", slug=F("slug"), style="list")',
    ),
    "the last of two patterns": (
        lambda item: reverse("style", kwargs={"slug": item.slug}),
        'Route("style", slug=F("slug"))',
    ),
    "a keyword of Python": (
        lambda item: reverse("reserved", args=[item.slug]),
        'Route("reserved", **{"class": F("slug")})',
    ),
    "a namespace": (
        lambda item: reverse("one:page", args=[item.slug]),
        'Route("one:page", slug=F("slug"))',
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
    assert (found["proved"], found["refused"]) == ({"location": expected}, {})
    assert (found["rows"], found["gets_to_row_path"]) == (3, True)
    assert_same_bytes(found, register)


def test_local_dates(register: Register) -> None:
    def location(item: Any) -> str:
        return reverse("year", args=[timezone.localtime(item.updated).year, item.slug])

    dated_articles()
    register("article", located(Article, location))
    if not _knows_zones():
        assert suggest("article")["proved"] == {}
        return
    found = suggest("article")
    expected = 'Route("year", year=F("updated__year"), slug=F("slug"))'
    assert found["proved"] == {"location": expected}
    assert_same_bytes(found, register)


def test_a_zone_that_the_rows_do_not_tell(register: Register) -> None:
    """All at noon: the method's code says which zone it is, and a note says it too."""

    def in_utc(item: Any) -> str:
        return reverse("year", args=[item.updated.year, item.slug])

    def local(item: Any) -> str:
        return reverse("year", args=[timezone.localtime(item.updated).year, item.slug])

    for year in (2024, 2025, 2026):
        articles(1, updated=dt.datetime(year, 6, 1, 12, tzinfo=dt.UTC), day=None)
    utc, own = 'ExtractYear("updated", tzinfo=UTC)', 'F("updated__year")'
    knows_zones = _knows_zones()
    for location, expected, other in [(in_utc, utc, own), (local, own, utc)]:
        register("article", located(Article, location))
        found = suggest("article")
        if knows_zones:
            route = f'Route("year", year={expected}, slug=F("slug"))'
            assert found["proved"] == {"location": route}
            assert found["notes"] == [
                f"location: {expected} and {other} gave the same on all rows that were "
                "looked at. Use the one that is meant."
            ]
        else:
            assert utc in found["proved"]["location"]
        assert_same_bytes(found, register)


def _knows_zones() -> bool:
    """MySQL without its tables of zones knows none but UTC, and gives NULL."""
    if connection.vendor != "mysql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT CONVERT_TZ('2025-01-01', 'UTC', 'Europe/Berlin')")
        return bool(cursor.fetchone() != (None,))


def test_an_extra_value_of_one_row(register: Register) -> None:
    articles(1)
    register(
        "article",
        located(
            Article,
            lambda item: reverse("style", kwargs={"slug": item.slug, "style": "list"}),
        ),
    )
    assert suggest("article")["proved"] == {
        "location": 'Route("style", slug=F("slug"), style="list")'
    }


def test_the_scheme_of_the_sitemap(register: Register) -> None:
    class Plain(Sitemap):
        model = Article
        protocol = "http"

        def location(self, item: Any) -> str:
            return f"http://www.example.com/articles/{item.slug}/"

    articles(3)
    register("article", Plain)
    found = suggest("article")
    assert found["proved"] == {"location": 'Route("article", slug=F("slug"))'}
    assert_same_bytes(found, register)


@pytest.mark.django_db(databases=["default", "other"])
def test_another_database(register: Register) -> None:
    ElsewhereFactory.create_batch(3)
    register("elsewhere", located(Elsewhere, lambda item: f"/articles/{item.slug}/"))
    found = suggest("elsewhere")
    assert found["proved"] == {"location": 'Route("article", slug=F("slug"))'}
    assert_same_bytes(found, register)


@pytest.mark.parametrize("where", ["first", "middle"])
def test_a_foreign_key_that_leads_nowhere(register: Register, where: str) -> None:
    """The method raises there, the URL would say "None": no suggestion stands."""
    made = [
        articles(1, category=CategoryFactory(slug=f"c-{number}"))[0]
        for number in range(120)
    ]
    odd = made[0 if where == "first" else 60]
    Article.objects.filter(pk=odd.pk).update(category=None)

    def location(item: Any) -> str:
        return reverse("in-category", args=[item.category.slug, item.slug])

    register("article", located(Article, location))
    found = suggest("article")
    assert found["proved"] == {}
    assert (
        f"row {odd.pk}: location() gives nothing legal (AttributeError: "
        in (found["refused"]["location"])
    )
    assert f"gives '/in/None/{odd.slug}/'" in found["refused"]["location"]


def test_get_absolute_url(register: Register) -> None:
    register("article", type("ArticleSitemap", (Sitemap,), {"model": Article}))
    articles(3)
    assert check("--suggest") == (
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


def test_a_proxy(register: Register) -> None:
    register("article", type("Plain", (Sitemap,), {"model": Addressed}))
    dated_articles()
    found = suggest("article")
    assert found["proved"] == {"location": 'Route("word", slug=F("title"))'}
    assert_same_bytes(found, register)


def test_a_child_s_table(register: Register) -> None:
    StoryFactory.create_batch(3)
    register("story", located(Story, lambda item: f"/articles/{item.slug}/"))
    found = suggest("story")
    assert found["proved"] == {"location": 'Route("article", slug=F("slug"))'}
    assert_same_bytes(found, register)


def test_two_foreign_keys(register: Register) -> None:
    for number in range(3):
        TagFactory(
            name=f"tag {number}",
            article__category=CategoryFactory(slug=f"c-{number}"),
        )

    def location(item: Any) -> str:
        return reverse("tag", args=[item.article.category.slug, item.name])

    register("tag", located(Tag, location))
    found = suggest("tag")
    expected = 'Route("tag", category=F("article__category__slug"), name=F("name"))'
    assert found["proved"] == {"location": expected}
    assert_same_bytes(found, register)


def test_an_annotation(register: Register) -> None:
    class Annotated(Sitemap):
        def items(self) -> Any:
            return Article.objects.annotate(address=F("title"))

        def location(self, item: Any) -> str:
            return reverse("word", args=[item.address])

    dated_articles()
    register("article", Annotated)
    found = suggest("article")
    assert found["proved"] == {"location": 'Route("word", slug=F("address"))'}
    assert_same_bytes(found, register)


def test_pairs_and_uuids(register: Register) -> None:
    ByPair.objects.bulk_create(ByPair(shop=n % 2, code=f"c{n}") for n in range(5))
    ByUuid.objects.bulk_create(ByUuid(id=uuid.uuid4()) for _ in range(5))
    pairs = located(ByPair, lambda item: reverse("pair", args=[item.shop, item.code]))
    register("pair", pairs)
    register("uuid", located(ByUuid, lambda item: reverse("uuid", args=[item.pk])))
    pair, by_uuid = suggest("pair"), suggest("uuid")
    assert pair["proved"] == {
        "location": 'Route("pair", shop=F("shop"), code=F("code"))'
    }
    assert_same_bytes(pair, register)
    assert by_uuid["proved"]["location"] in (
        'Route("uuid", id=F("pk"))',
        'Route("uuid", id=F("id"))',
    )
    assert_same_bytes(by_uuid, register)


def test_languages(register: Register) -> None:
    class Notes(Sitemap):
        model = Note
        i18n = True
        alternates = True
        languages = ("en", "de")

        def location(self, item: Any) -> str:
            return reverse("note", args=[item.number])

    NoteFactory.create_batch(3)
    register("note", Notes)
    found = suggest("note")
    assert found["proved"] == {"location": 'Route("note", number=F("number"))'}
    before = body(Client().get("/sitemap-note-1.xml"))
    assert before.count(b"<url>") == 6
    pasted(found, register)
    assert body(Client().get("/sitemap-note-1.xml")) == before


def test_another_value_in_one_language(register: Register) -> None:
    class Notes(Sitemap):
        model = Note
        i18n = True
        languages = ("en", "de")

        def location(self, item: Any) -> str:
            return reverse("note", args=[item.number]).replace("/de/", "/en/")

    NoteFactory(number=7)
    register("note", Notes)
    found = suggest("note")
    assert found["proved"] == {}
    assert found["refused"]["location"].endswith(
        "location() gives '/en/notes/7/', "
        'Route("note", number=F("number")) gives \'/de/notes/7/\''
    )


def test_a_prefix(register: Register, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com/shop"}
    register("article", located(Article, lambda item: reverse("article", args=["x"])))
    register("other", type("Plain", (Sitemap,), {"model": Article}))
    articles(3)
    found = suggest("other")
    assert found["proved"] == {"location": 'Route("article", slug=F("slug"))'}


def test_contrib_s_classes(register: Register) -> None:
    class News(contrib.Sitemap):  # type: ignore[type-arg]
        def items(self) -> Any:
            return Article.objects.all()

        def lastmod(self, item: Any) -> Any:
            return item.updated

    articles(3)
    register("news", News)
    found = suggest("news")
    assert found["object_path"] == "its class is not a django_sitemaps_plus.Sitemap"
    assert found["code"] == (
        "from django.db.models import F\n"
        "from django_sitemaps_plus import Route, Sitemap\n\n\n"
        "class News(Sitemap):\n"
        '    location = Route("article", slug=F("slug"))\n'
        '    lastmod = F("updated")\n'
    )
    assert found["notes"] == [
        "The base class is django_sitemaps_plus.Sitemap, not contrib's."
    ]


def test_generic(register: Register) -> None:
    articles(3)
    info = {"queryset": Article.objects.all(), "date_field": "day"}
    register("generic", GenericSitemap(info, priority=0.5))
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
    assert "items() has to return the queryset" in found["notes"][-1]
    before = body(Client().get("/sitemap-generic-1.xml"))
    namespace: dict[str, Any] = {}
    exec(found["code"], namespace)  # noqa: S102 (that is what it is for)
    register("generic", namespace["ArticleSitemap"])
    assert body(Client().get("/sitemap-generic-1.xml")) == before


# What is suggested for the rest


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
    register("article", Whole)
    found = suggest("article")
    assert found["proved"] == {
        "lastmod": 'F("updated")',
        "changefreq": '"weekly"',
        "priority": 'F("weight")',
    }
    assert_same_bytes(found, register)


def test_no_date_is_no_date_in_the_column_either(register: Register) -> None:
    articles(3)
    articles(2, updated=None, day=None)

    class Dated(ArticleSitemap):
        def lastmod(self, item: Any) -> Any:
            return item.updated

    register("article", Dated)
    found = suggest("article")
    assert found["proved"] == {"lastmod": 'F("updated")'}
    assert_same_bytes(found, register)


def test_a_column_of_another_table(register: Register) -> None:
    class Tags(Sitemap):
        model = Tag
        location = Route("word", slug=F("name"))

        def lastmod(self, item: Any) -> Any:
            return item.article.updated

    for number in range(3):
        TagFactory(name=f"tag-{number}")
    register("tag", Tags)
    found = suggest("tag")
    assert found["proved"] == {"lastmod": 'F("article__updated")'}
    assert_same_bytes(found, register)


def test_the_date_of_today_is_no_constant(register: Register) -> None:
    class Today(ArticleSitemap):
        def lastmod(self, item: Any) -> str:
            return "2026-11-21"

    register("article", Today)
    articles(3)
    found = suggest("article")
    assert found["proved"] == {}
    assert "no column or constant gives that" in found["refused"]["lastmod"]


def test_part_of_it(register: Register) -> None:
    class Mixed(Sitemap):
        model = Article

        def priority(self, item: Any) -> float:
            return len(item.slug) / 100

    register("article", Mixed)
    for number in range(3):
        articles(1, slug="x" * (number + 1))
    out, err, code = check("--suggest", "article")
    assert (err, code) == ("", 0)
    assert "This does without some of its methods:" in out
    assert 'location = Route("article", slug=F("slug"))' in out
    assert "It stays on the object path:\n  priority: row " in out


# What is refused


def test_one_row_is_different(register: Register, monkeypatch: Any) -> None:
    """In the middle, where no sample looks; chunks are short."""
    monkeypatch.setattr(reader, "CHUNK", 40)
    made = articles(300)
    odd = made[150]

    def location(item: Any) -> str:
        slug = "else" if item.pk == odd.pk else item.slug
        return reverse("article", args=[slug])

    register("article", located(Article, location))
    out, err, code = check("--suggest", "article")
    assert (err, code) == ("", 0)
    assert "Nothing can be suggested:" in out
    assert "Proved" not in out
    assert (
        f"row {odd.pk}: location() gives '/articles/else/', "
        f'Route("article", slug=F("slug")) gives \'/articles/{odd.slug}/\''
    ) in out


@pytest.mark.parametrize("place", [0, 150])
def test_one_row_raises(register: Register, place: int) -> None:
    made = articles(300)
    odd = made[place]

    def location(item: Any) -> str:
        if item.pk == odd.pk:
            raise ValueError("no address")
        return reverse("article", args=[item.slug])

    register("article", located(Article, location))
    assert suggest("article")["refused"] == {
        "location": f"row {odd.pk}: location() gives nothing legal (ValueError: no "
        f'address), Route("article", slug=F("slug")) gives \'/articles/{odd.slug}/\''
    }


def test_a_row_that_is_bad_both_ways(register: Register) -> None:
    """It is left out on either path: the bytes are the same."""
    articles(3)
    articles(1, slug="not a slug")
    register("article", type("Plain", (Sitemap,), {"model": Article}))
    found = suggest("article")
    assert found["proved"] == {"location": 'Route("article", slug=F("slug"))'}
    assert found["rows"] == 4


@pytest.mark.parametrize("place", [0, 150])
def test_one_row_is_on_another_host(register: Register, place: int) -> None:
    made = articles(300)
    odd = made[place]

    def location(item: Any) -> str:
        host = "https://other.example" if item.pk == odd.pk else ""
        return f"{host}/articles/{item.slug}/"

    register("article", located(Article, location))
    found = suggest("article")
    assert found["proved"] == {}
    assert (
        f"row {odd.pk}: location() gives nothing legal"
        in (found["refused"]["location"])
    )
    assert "not a URL of https://www.example.com" in found["refused"]["location"]


def test_all_rows_are_on_another_host(register: Register) -> None:
    register("article", located(Article, lambda item: "https://other.example/"))
    (first, *_) = articles(3)
    assert suggest("article")["refused"] == {
        "location": f"row {first.pk}: location() gives nothing legal: location "
        "'https://other.example/': not a URL of https://www.example.com"
    }


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        (
            lambda item: f"/articles/{item.slug}/?page=2",
            "'/articles/a-1/?page=2' has a query string, which no Route writes",
        ),
        (lambda item: f"/none/{item.slug}", "no URL pattern matches '/none/a-1'"),
        (
            lambda item: f"/nameless/{item.slug}/",
            "the URL pattern of '/nameless/a-1/' has no name, which a Route needs",
        ),
        (
            lambda item: f"/articles/{item.slug[::-1]}/",
            "the URL pattern 'article' takes slug '1-a', and no column of Article, or "
            "of a model up to two foreign keys away, has the value on every row that "
            "was checked",
        ),
    ],
)
def test_why_there_is_no_route(register: Register, location: Any, reason: str) -> None:
    (first, _) = (articles(1, slug=f"a-{number}")[0] for number in (1, 2))
    register("article", located(Article, location))
    assert suggest("article")["refused"] == {"location": f"row {first.pk}: {reason}"}


def test_two_patterns(register: Register) -> None:
    one, other = articles(2)

    def location(item: Any) -> str:
        if item.pk == one.pk:
            return reverse("article", args=[item.slug])
        return reverse("by-number", args=[item.pk])

    register("article", located(Article, location))
    assert suggest("article")["refused"] == {
        "location": f"row {one.pk} has the URL pattern 'article' (slug), row "
        f"{other.pk} has 'by-number' (pk); a Route is of one"
    }


def test_columns_that_are_the_same_but_on_one_row(register: Register) -> None:
    """The proof refuses the wrong one, whichever comes first, and tries the other."""
    made = [articles(1, slug=f"a-{n}", title=f"a-{n}")[0] for n in range(300)]
    Article.objects.filter(pk=made[150].pk).update(title="another")
    for column, other in [("slug", "title"), ("title", "slug")]:

        def location(item: Any, column: str = column) -> str:
            # Which column it reads, its code does not say.
            return reverse("word", args=[getattr(item, column)])

        register("article", located(Article, location))
        found = suggest("article")
        assert found["proved"] == {"location": f'Route("word", slug=F("{column}"))'}
        assert other not in found["code"].replace(f'"{column}"', "").replace(
            "slug=", ""
        )
        assert_same_bytes(found, register)


def test_columns_that_cannot_be_told_apart(register: Register) -> None:
    for number in range(3):
        articles(1, slug=f"a-{number}", title=f"a-{number}")

    def location(item: Any) -> str:
        return reverse("word", args=[str(vars(item)["tit" + "le"])])

    register("article", located(Article, location))
    (note,) = suggest("article")["notes"]
    assert note == (
        'location: F("slug") and F("title") gave the same on all rows that were looked '
        "at. Use the one that is meant."
    )


def test_an_empty_table(register: Register) -> None:
    register("article", type("Plain", (Sitemap,), {"model": Article}))
    assert check("--suggest", "article") == (
        "Section 'article' is on the object path, because location() is a method. "
        "Nothing can be suggested:\n"
        "  items: it has no row, so nothing can be proved.\n",
        "",
        0,
    )


def test_on_the_row_path_and_by_position(register: Register) -> None:
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    assert check("--suggest") == (
        "Section 'article' is on the row path already.\n"
        "Section 'pages' is on the object path, because location() is a method. "
        "Nothing can be suggested:\n"
        "  items: it is paged by position: items() returns list, not a queryset.\n",
        "",
        0,
    )


def test_hooks_and_images(register: Register) -> None:
    class Hooked(Sitemap):
        model = Article

        def _location(self, item: Any, force_lang_code: Any = None) -> str:
            return "/"

    class Pictured(Sitemap):
        model = Article

        def images(self, item: Any) -> Any:
            return []

    articles(3)
    register("hooked", Hooked)
    register("pictured", Pictured)
    assert suggest("hooked")["refused"] == {
        "_location": "_location() is overridden: only it knows what it gives"
    }
    found = suggest("pictured")
    assert found["proved"] == {"location": 'Route("article", slug=F("slug"))'}
    assert set(found["refused"]) == {"images"}
    assert found["gets_to_row_path"] is False


def test_what_is_disproved_is_not_tried_again(register: Register) -> None:
    """A row that is itself bad teaches nothing, and the search ends all the same."""
    made = articles(300)
    odd = {made[140].pk, made[160].pk}

    def location(item: Any) -> str:
        return "" if item.pk in odd else reverse("article", args=[item.slug])

    register("article", located(Article, location))
    found = suggest("article")
    assert found["proved"] == {}
    assert found["refused"]["location"].startswith(f"row {made[140].pk}: ")


def test_progress(register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CHUNK", 40)
    monkeypatch.setattr(utils, "EVERY", 0)
    register("article", type("Plain", (Sitemap,), {"model": Article}))
    articles(100)
    out, err, code = check("--suggest", "--format", "json")
    assert json.loads(out)["sections"][0]["rows"] == 100
    assert err == (
        "Section 'article': 40 of 100 rows compared\n"
        "Section 'article': 80 of 100 rows compared\n"
        "Section 'article': 100 of 100 rows compared\n"
    )
    assert code == 0


def test_a_proof_ends_where_nothing_is_left_to_prove(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row that disproves it is in the second of eight chunks."""
    monkeypatch.setattr(reader, "CHUNK", 40)
    monkeypatch.setattr(utils, "EVERY", 0)
    odd = articles(300)[60]

    def location(item: Any) -> str:
        return "/" if item.pk == odd.pk else reverse("article", args=[item.slug])

    register("article", located(Article, location))
    _, err, _ = check("--suggest")
    assert err == (
        "Section 'article': 40 of 300 rows compared\n"
        "Section 'article': 80 of 300 rows compared\n"
    )


def test_what_the_last_row_disproves_is_not_compared_with_all(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utils, "EVERY", 0)
    odd = articles(300)[-1]

    def location(item: Any) -> str:
        return "" if item.pk == odd.pk else reverse("article", args=[item.slug])

    register("article", located(Article, location))
    out, err, _ = check("--suggest")
    assert f"row {odd.pk}: location() gives nothing legal" in out
    assert err == ""


def test_a_proof_reads_in_chunks(
    register: Register,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_max_num_queries: Any,
) -> None:
    """Each query returns a chunk at most, and there is no query for a single row."""
    monkeypatch.setattr(reader, "CHUNK", 100)
    register("article", type("Plain", (Sitemap,), {"model": Article}))
    articles(1000)
    with django_assert_max_num_queries(24) as queries:
        assert suggest("article")["rows"] == 1000
    selects = [q["sql"] for q in queries.captured_queries if "slug" in q["sql"]]
    assert len(selects) >= 10
    assert all("LIMIT" in sql or " IN (" in sql for sql in selects)


# How sections stand


def test_how_sections_stand(register: Register) -> None:
    register("article", ArticleSitemap)
    register("plain", type("Plain", (Sitemap,), {"model": Article}))
    register("pages", PagesSitemap)
    articles(2)
    run_command("build_sitemaps", "article")
    out, err, code = check()
    assert (err, code) == ("", 0)
    assert out == (
        "Section 'article':\n"
        "  Paged by key (id).\n"
        "  On the row path: it declares no method.\n"
        "  1 page, built, with 2 entries and 0 bad rows.\n"
        "  Next: nothing to do\n"
        "Section 'plain':\n"
        "  Paged by key (id).\n"
        "  On the object path: location() is a method.\n"
        "  The page boundaries are yet to be found.\n"
        "  Next: run manage.py build_sitemaps plain\n"
        "Section 'pages':\n"
        "  Paged by position: items() returns list, not a queryset.\n"
        "  On the object path: location() is a method.\n"
        "  Next: nothing to do\n"
    )
    run_command("build_sitemaps", "plain")
    out, _, _ = check("plain")
    assert out.endswith("  Next: run manage.py check_sitemaps --suggest plain\n")


def test_pages_of_another_key_are_void(register: Register) -> None:
    class ByNumber(Sitemap):
        model = Note
        location = Route("note", number=F("number"))
        page_by = "number"

    NoteFactory.create_batch(2)
    register("note", ByNumber)
    run_command("build_sitemaps")
    assert "  1 page, built" in check()[0]
    register("note", type("ByPk", (ByNumber,), {"page_by": "pk"}))
    out, _, _ = check()
    assert "  The page boundaries are yet to be found.\n" in out
    assert out.endswith("  Next: run manage.py build_sitemaps note\n")


def test_bad_rows(register: Register) -> None:
    register("article", ArticleSitemap)
    articles(2)
    (bad,) = articles(1, slug="no slug")
    run_command("build_sitemaps")
    out, err, code = check("article")
    assert (err, code) == ("", 0)
    assert "with 2 entries and 1 bad row.\n" in out
    assert f"  Row {bad.pk} is left out: No URL pattern named 'article'" in out
    assert out.endswith(
        "  Next: correct the rows, then run manage.py build_sitemaps article "
        "--reconcile\n"
    )


def test_a_page_in_error(register: Register) -> None:
    register("article", ArticleSitemap)
    articles(20, slug="no slug")
    run_command("build_sitemaps")
    out, err, code = check("--format", "json")
    (section,) = json.loads(out)["sections"]
    assert section["errors"][0].startswith(
        "20 of the 20 rows of page article-1 are bad"
    )
    assert section["next"] == (
        "correct the rows, then run manage.py build_sitemaps article"
    )
    assert (err, code) == ("CommandError: In error: article.\n", 1)


def test_a_section_whose_items_raise(register: Register) -> None:
    register("broken", type("Broken", (ArticleSitemap,), {"items": lambda self: 1 / 0}))
    out, err, code = check()
    assert "  In error: ZeroDivisionError: division by zero\n" in out
    assert out.endswith("  Next: correct the sitemap class\n")
    assert (err.startswith("CommandError: In error: "), code) == (True, 1)


def test_a_check_in_error(register: Register) -> None:
    wrong = Route("no-such-name", slug=F("slug"))
    register("article", type("Wrong", (ArticleSitemap,), {"location": wrong}))
    out, err, code = check()
    assert "(sitemaps_plus.E007) The location of section 'article'" in out
    assert (err, code) == ("CommandError: In error: sitemaps_plus.E007.\n", 1)


def test_a_silenced_check(register: Register, settings: Any) -> None:
    wrong = Route("no-such-name", slug=F("slug"))
    register("article", type("Wrong", (ArticleSitemap,), {"location": wrong}))
    settings.SILENCED_SYSTEM_CHECKS = ["sitemaps_plus.E007"]
    out, _, code = check("--format", "json")
    assert (json.loads(out)["checks"], code) == ([], 0)


def test_by_position_and_long(register: Register) -> None:
    class Sliced(ArticleSitemap):
        limit = 2

        def items(self) -> Any:
            return Article.objects.order_by("pk")[:5]

    register("article", Sliced)
    articles(5)
    out, err, code = check("--format", "json")
    document = json.loads(out)
    assert [message["id"] for message in document["checks"]] == ["sitemaps_plus.W009"]
    assert document["sections"][0]["by_position"] == "items() returns a sliced queryset"
    assert document["sections"][0]["object_path"] == "it is paged by position"
    assert document["sections"][0]["next"] == (
        "let items() return a plain queryset, so that it is paged by key"
    )
    assert (err, code) == ("", 0)


class Needy(ArticleSitemap):
    """It cannot be made without an argument."""

    def __init__(self, needed: str) -> None:
        self.needed = needed


@pytest.mark.parametrize("options", [[], ["--suggest"]])
def test_a_class_that_cannot_be_made(register: Register, options: list[str]) -> None:
    register("needy", Needy)
    register("article", ArticleSitemap)
    out, err, code = check(*options)
    assert "Section 'article'" in out
    assert "needed" in out + err
    assert code == 1
    assert err.endswith("needy.\n")


def test_nothing_registered() -> None:
    nothing = (
        "Nothing to check: no sitemap is registered. Add @register to a Sitemap class "
        "in an app's sitemaps.py.\n"
    )
    assert check() == check("--suggest") == (nothing, "", 0)


@pytest.mark.parametrize("options", [[], ["--suggest"]])
def test_an_unknown_section(register: Register, options: list[str]) -> None:
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    assert check(*options, "article", "nothing") == (
        "",
        "CommandError: There is no section 'nothing'. Registered: article, pages.\n",
        2,
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("options", [[], ["--suggest"]])
def test_the_database_fails(register: Register, options: list[str]) -> None:
    class Broken(Sitemap):
        def items(self) -> Any:
            return Article.objects.extra(where=["no_such_column = 1"])[:9]

    class BrokenPages(Sitemap):
        def items(self) -> Any:
            return Article.objects.extra(where=["no_such_column = 1"])

    register("article", BrokenPages if options else Broken)
    out, err, code = check(*options)
    assert (out, code) == ("", 1)
    assert err.startswith("CommandError: The database failed: ")
    assert "no_such_column" in err


@pytest.mark.django_db(transaction=True)
def test_the_tables_are_missing(register: Register) -> None:
    register("article", ArticleSitemap)
    with connection.schema_editor() as editor:
        editor.delete_model(EngineState)
    try:
        out, err, code = check()
    finally:
        with connection.schema_editor() as editor:
            editor.create_model(EngineState)
    assert (err, code) == ("", 0)
    assert "sitemaps_plus.W008" in out
    assert out.endswith(
        "  The tables are missing.\n  Next: run manage.py migrate sitemaps_plus\n"
    )


def test_help() -> None:
    out, err, code = check("--help")
    text = " ".join(out.split())
    assert (err, code) == ("", 0)
    assert "Ends with 0 when done, 1 if a check or a page is in error" in text
    assert "--suggest look for the Route and the expressions" in text
    assert "--format {text,json}" in text
