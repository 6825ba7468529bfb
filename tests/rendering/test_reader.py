"""The row path and the object path: two ways to read, one result."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections
from django.db.models import (
    Case,
    CharField,
    Count,
    DateField,
    DateTimeField,
    Exists,
    ExpressionWrapper,
    F,
    Max,
    OuterRef,
    Q,
    Value,
    When,
    Window,
)
from django.db.models.functions import Cast, Coalesce, Concat, RowNumber, TruncDate
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps.sections import source_of
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE
from tests.support.factories import ElsewhereFactory, TagFactory, articles
from tests.support.helpers import ArticleSitemap, Entry, crawled, locations, urlset
from tests.support.two_paths import both, by_object, instances
from tests.testapp.models import Article, ByPair, Category, Elsewhere, Tag
from tests.testapp.routers import ReplicaRouter

pytestmark = pytest.mark.django_db


# Which path


def test_the_row_path_makes_no_instance_and_one_query(
    client: Client, register: Any
) -> None:
    register("article", ArticleSitemap)
    articles(30)
    client.get("/sitemap-article.xml")
    Page.objects.update(verified_at=0)
    with instances(Article) as made, CaptureQueriesContext(connection) as captured:
        assert len(urlset(client.get("/sitemap-article-1.xml"))) == 30
    assert made == []
    rows = [q["sql"] for q in captured if "testapp_article" in q["sql"]]
    assert len(rows) == 1


@pytest.mark.parametrize(
    "name",
    ["location", "lastmod", "changefreq", "priority", "images", "videos", "news"],
)
@pytest.mark.costly
def test_one_method_is_enough_for_the_object_path(
    client: Client, register: Any, name: str
) -> None:
    def method(self: Any, item: Article) -> Any:
        return f"/{item.slug}/" if name == "location" else None

    register("article", type("Methods", (ArticleSitemap,), {name: method}))
    articles(3)
    with instances(Article) as made:
        assert len(urlset(client.get("/sitemap-article-1.xml"))) == 3
    assert len(made) == 3


def test_the_object_path_reads_in_chunks_by_key(
    client: Client, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django_sitemaps_plus.rendering.reader.OBJECTS_AT_ONCE", 4)
    register("article", by_object(ArticleSitemap))
    made = articles(10)
    with CaptureQueriesContext(connection) as captured:
        found = locations(client.get("/sitemap-article-1.xml"))
    assert found == [f"https://www.example.com/articles/{a.slug}/" for a in made]
    reads = [q["sql"] for q in captured if "LIMIT 4" in q["sql"]]
    assert len(reads) == 3
    assert not any("OFFSET" in sql for sql in reads)


# The same bytes


class Everything(ArticleSitemap):
    """Each attribute as an expression."""

    location = Route("thing", code=F("slug"))
    changefreq = Case(
        When(live=True, then=Value("daily")),
        default=Value(None),
        output_field=CharField(),
    )
    priority = F("weight")


TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30
)
SLUGS = TEXT | st.sampled_from(
    ["a&b", 'q"q', "it's", "<x>", "ü/ö", "a b", "%41", "a%", ""]
)
MOMENTS = st.none() | st.datetimes(
    dt.datetime.fromisoformat("1971-01-01"),
    dt.datetime.fromisoformat("2025-01-01"),
    timezones=st.just(dt.UTC),
)
ROWS = st.lists(
    st.builds(
        Article,
        slug=SLUGS,
        updated=MOMENTS,
        day=st.none() | st.dates(dt.date(1000, 1, 1)),
        live=st.booleans(),
        weight=st.none() | st.sampled_from([0.0, 0.5, 1.0, 1.5, 1e-7]),
        title=st.sampled_from(["2026-01-02", "2026-01-02T03:04Z", "yesterday", ""]),
        photo=st.sampled_from(["", "a/b.jpg", "é ü.jpg"]),
    ),
    max_size=12,
)
SAMPLES = settings(max_examples=10)


@pytest.fixture
def any_may_be_bad(settings: Any) -> None:
    """Leave bad rows out, however many there are."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "MAX_BAD": 1.0}


@SAMPLES
@given(rows=ROWS)
@pytest.mark.usefixtures("any_may_be_bad")
@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"lastmod": F("day"), "location": Route("word", slug=F("slug"))},
        {"lastmod": F("title"), "location": F("slug")},
        {
            "lastmod": Coalesce("updated", Cast("day", DateTimeField())),
            "location": Concat(Value("/"), F("slug")),
            "images": F("photo"),
        },
    ],
    ids=["times", "days", "texts", "images"],
)
@pytest.mark.costly
def test_both_paths_give_the_same_bytes(
    client: Client, register: Any, attributes: dict[str, Any], rows: list[Article]
) -> None:
    Article.objects.all().delete()
    for row in rows:
        row.pk = None
    Article.objects.bulk_create(rows)
    made = type("Any", (Everything,), attributes)
    both(client, register, made, all_may_be_bad=True)


def test_the_whole_of_an_entry(client: Client, register: Any) -> None:
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC)
    articles(1, slug="ä & 'b'", updated=moment, weight=0.25)
    assert both(client, register, Everything).decode() == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<?xml-stylesheet type="text/css" href="sitemap-style"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        'xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
        "<url><loc>https://www.example.com/things/%C3%A4%20&amp;%20&apos;b&apos;/</loc>"
        "<lastmod>2026-01-02T03:04:05+00:00</lastmod><changefreq>daily</changefreq>"
        "<priority>0.25</priority></url>\n"
        "</urlset>\n"
    )
    # Nothing is invented.
    Article.objects.update(slug="a", updated=None, live=False, weight=None)
    both(client, register, Everything)
    (entry,) = urlset(client.get("/sitemap-rows-1.xml"))
    assert entry == Entry("https://www.example.com/things/a/")


def test_expressions_of_every_kind(client: Client, register: Any) -> None:
    class Related(ArticleSitemap):
        lastmod = Max("tags__article__updated")
        changefreq = F("changes")
        images = Concat(Value("/"), Cast(Count("tags"), CharField(max_length=9)))

        def items(self) -> Any:
            tagged = Tag.objects.filter(article=OuterRef("pk"))
            return (
                Article.objects.filter(Exists(tagged))
                .annotate(changes=Value("hourly"))
                .select_related("category")
                .order_by("-title")
            )

    one, _two = articles(2)
    for _ in range(2):
        TagFactory(article=one)
    both(client, register, Related)
    (entry,) = urlset(client.get("/sitemap-rows-1.xml"))
    assert entry.changefreq == "hourly"
    assert entry.images == ("https://www.example.com/2",)
    assert entry.lastmod == one.updated.strftime("%Y-%m-%dT%H:%M:%S+00:00")


@pytest.mark.parametrize(
    "narrow",
    [
        lambda items: items.order_by("-title").reverse(),
        lambda items: items.reverse(),
        lambda items: items.distinct(),
        lambda items: items.defer("slug").prefetch_related("tags"),
        lambda items: items.annotate(n=Count("tags")).filter(n=0),
    ],
)
@pytest.mark.costly
def test_whatever_order_the_items_have_pages_go_by_the_key(
    client: Client, register: Any, narrow: Any
) -> None:
    class Narrowed(ArticleSitemap):
        limit = 4

        def items(self) -> Any:
            return narrow(Article.objects.all())

    register("rows", Narrowed)
    register("objects", by_object(Narrowed))
    made = articles(10)
    expected = [f"https://www.example.com/articles/{a.slug}/" for a in made]
    for name in ("rows", "objects"):
        pages = crawled(client, f"/sitemap-{name}.xml")
        assert [entry.loc for page in pages for entry in page] == expected


def test_no_rows_and_a_route_without_parameters(client: Client, register: Any) -> None:
    class One(Everything):
        location = Route("about")

    class Nothing(Everything):
        def items(self) -> Any:
            return Article.objects.none()

    assert b"<url>" not in both(client, register, One)
    articles(2)
    assert b"<url>" not in both(client, register, Nothing)
    assert both(client, register, One).count(b"https://www.example.com/about/") == 2


def newest() -> dict[str, Any]:
    """Two ways to say: the last article of each category."""
    place = Window(RowNumber(), partition_by="category", order_by=F("pk").desc())
    ranked = Article.objects.annotate(place=place)
    inner = ranked.filter(place=1).values("pk")
    return {
        "filtered": ranked.filter(place=1),
        "one of two": ranked.filter(Q(place=1) | Q(place__lt=1)),
        "negated": ranked.exclude(place__gt=1),
        "subquery": Article.objects.filter(pk__in=inner),
    }


@pytest.mark.parametrize("how", newest())
def test_a_window_function_looks_at_all_rows(
    client: Client, register: Any, how: str
) -> None:
    """Not at those of one page: the oldest is not the newest of its page."""

    class Newest(ArticleSitemap):
        limit = 2

        def items(self) -> Any:
            return newest()[how]

    categories = [Category.objects.create(slug=name) for name in "abc"]
    made = [
        Article.objects.create(slug=f"{category}{number}", category=category)
        for number in range(3)
        for category in categories
    ]
    assert (source_of("newest", Newest()).key is None) == (how != "subquery")
    register("newest", Newest)
    found = [one.loc for page in crawled(client, "/sitemap-newest.xml") for one in page]
    paths = [item.get_absolute_url() for item in made[-3:]]
    assert found == [f"https://www.example.com{path}" for path in paths]


def test_a_method_shows_what_a_window_function_says_of_all_rows(
    client: Client, register: Any
) -> None:
    """Not of the rows of one page: an item's number in its URL."""

    class Numbered(Sitemap):
        limit = 2

        def items(self) -> Any:
            return Article.objects.annotate(nr=Window(RowNumber(), order_by="pk"))

        def location(self, item: Any) -> str:
            return f"/{item.nr}/"

    articles(5)
    register("rows", Numbered)
    reason = source_of("rows", Numbered()).by_position
    assert reason == "items() annotates a window function"
    found = [one.loc for page in crawled(client, "/sitemap-rows.xml") for one in page]
    assert found == [f"https://www.example.com/{nr}/" for nr in range(1, 6)]


class Shifted(DateTimeField):  # type: ignore[type-arg]  # in the stubs only
    """A time that is stored as another, as that of seconds since an epoch is."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return value and value + dt.timedelta(days=1)


class ShiftedDay(DateField):  # type: ignore[type-arg]  # in the stubs only
    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return value and value + dt.timedelta(days=1)


class SelectedDay(DateField):  # type: ignore[type-arg]  # in the stubs only
    """A day that is read as another by the statement itself."""

    def select_format(self, compiler: Any, sql: str, params: Any) -> Any:
        next_day = {
            "sqlite": f"date({sql}, '+1 day')",
            "postgresql": f"({sql} + 1)",
            "mysql": f"DATE_ADD({sql}, INTERVAL 1 DAY)",
        }
        return next_day[compiler.connection.vendor], params


class Converting(ExpressionWrapper):
    """An expression that converts its values itself."""

    def convert_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return value and value + dt.timedelta(days=1)


@pytest.mark.parametrize(
    ("lastmod", "written"),
    [
        (ExpressionWrapper(F("updated"), Shifted()), "2026-01-03T03:04:05+00:00"),
        (ExpressionWrapper(F("day"), ShiftedDay()), "2026-01-03"),
        (ExpressionWrapper(F("day"), SelectedDay()), "2026-01-03"),
        (Converting(F("updated"), DateTimeField()), "2026-01-03T03:04:05+00:00"),
        (TruncDate("updated", tzinfo=dt.UTC), "2026-01-02"),
        (Coalesce("updated", "updated"), "2026-01-02T03:04:05+00:00"),
    ],
)
@pytest.mark.costly
def test_a_time_is_written_as_its_field_converts_it(
    client: Client, register: Any, lastmod: Any, written: str
) -> None:
    day, time = dt.date(2026, 1, 2), dt.time(3, 4, 5)
    updated = dt.datetime.combine(day, time, dt.UTC)
    Article.objects.create(slug="a", updated=updated, day=day)
    both(client, register, type("Timed", (ArticleSitemap,), {"lastmod": lastmod}))
    (entry,) = urlset(client.get("/sitemap-rows-1.xml"))
    assert entry.lastmod == written


@pytest.mark.django_db(databases=["default", "other"])
def test_another_database_and_a_composite_primary_key(
    client: Client, register: Any
) -> None:
    class ElsewhereSitemap(Sitemap):
        model = Elsewhere
        location = Route("article", slug=F("slug"))

    class PairSitemap(Sitemap):
        model = ByPair
        location = Route("pair", shop=F("shop"), code=F("code"))

    made = ElsewhereFactory.create_batch(3)
    ByPair.objects.bulk_create(
        ByPair(shop=shop, code=code) for shop in (2, 1) for code in ("b", "a")
    )
    for sitemap, expected in (
        (ElsewhereSitemap, [f"articles/{item.slug}" for item in made]),
        (PairSitemap, [f"shops/{shop}/{code}" for shop in (1, 2) for code in "ab"]),
    ):
        both(client, register, sitemap)
        found = locations(client.get("/sitemap-rows-1.xml"))
        assert found == [f"https://www.example.com/{path}/" for path in expected]


@pytest.mark.parametrize("cls", [Everything, by_object(Everything)])
def test_rows_are_read_where_they_are_written(
    cls: type[Sitemap], settings: Any
) -> None:
    """A replica may not have received yet what was saved."""
    made = articles(2)
    settings.DATABASE_ROUTERS = [ReplicaRouter()]
    reader = Reader(source_of("rows", cls()), PLACEHOLDER_SITE)
    (batch,) = reader.by_key(None, None, 10)
    keys = [(article.pk,) for article in made]
    assert [(label,) for label in batch.labels] == keys
    assert sorted(key for key, _ in reader.of_keys(keys)) == keys


# Times


def test_times_without_zones_are_of_the_site_s_zone(
    client: Client, register: Any, settings: Any
) -> None:
    settings.USE_TZ = False
    settings.TIME_ZONE = "America/New_York"
    winter, summer = (
        dt.datetime.fromisoformat(f"2026-0{m}-02T03:04:05") for m in (1, 7)
    )
    articles(1, updated=winter)
    articles(1, updated=summer)
    both(client, register, Everything)
    assert [entry.lastmod for entry in urlset(client.get("/sitemap-rows-1.xml"))] == [
        "2026-01-02T03:04:05-05:00",
        "2026-07-02T03:04:05-04:00",
    ]


@pytest.fixture
def database_in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """DATABASES["default"]["TIME_ZONE"], for those who share a database."""

    behind_the_proxy = connections["default"]

    def forget() -> None:
        for name in ("timezone", "timezone_name"):
            behind_the_proxy.__dict__.pop(name, None)
        behind_the_proxy.ensure_connection()
        behind_the_proxy.ensure_timezone()

    with monkeypatch.context() as patch:
        patch.setitem(behind_the_proxy.settings_dict, "TIME_ZONE", "America/New_York")
        forget()
        yield
    forget()


@pytest.mark.usefixtures("database_in_new_york")
def test_times_that_are_not_stored_in_utc(client: Client, register: Any) -> None:
    moment = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    articles(1, updated=moment)
    register("rows", Everything)
    register("objects", by_object(Everything))
    for name in ("rows", "objects"):
        (entry,) = urlset(client.get(f"/sitemap-{name}-1.xml"))
        assert dt.datetime.fromisoformat(entry.lastmod or "") == moment


# Rows that come more than once


class Tagged(ArticleSitemap):
    """Its join gives an article once for each of its tags."""

    def items(self) -> Any:
        return Article.objects.filter(tags__name__startswith="t")


@pytest.mark.parametrize("cls", [Tagged, by_object(Tagged)], ids=["rows", "objects"])
@pytest.mark.parametrize(
    ("limit", "block"), [(1, 1000), (3, 1000), (50_000, 1000), (50_000, 1)]
)
@pytest.mark.costly
def test_a_row_that_comes_more_than_once_is_refused_with_the_remedy(
    client: Client,
    register: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    cls: type[Sitemap],
    limit: int,
    block: int,
) -> None:
    monkeypatch.setattr("django_sitemaps_plus.rendering.reader.BLOCK", block)
    register("tagged", type("Limited", (cls,), {"limit": limit}))
    for article in articles(3):
        for number in range(5):
            TagFactory(article=article, name=f"t{number}")
    assert client.get("/sitemap-tagged-1.xml").status_code == 503
    assert (
        "Section 'tagged': rows come more than once, because items() or an expression "
        "joins a relation that has several rows for one item. In items(), filter with "
        "Exists() or add .distinct(); in an expression, use Subquery()."
    ) in caplog.text


# By position


@pytest.mark.parametrize(
    "items",
    [
        lambda: list("abcde"),
        lambda: "abcde",
        lambda: Article.objects.order_by("slug")[:5],
        lambda: Article.objects.order_by("slug").values_list("slug", flat=True),
        lambda: (
            Article.objects.filter(slug__in="abc")
            .union(Article.objects.filter(slug__in="de"))
            .order_by("slug")
        ),
    ],
    ids=["list", "text", "slice", "values", "union"],
)
def test_anything_that_can_be_sliced_is_paged_by_position(
    client: Client, register: Any, items: Any
) -> None:
    class Sliced(Sitemap):
        limit = 2

        def items(self) -> Any:
            return items()

        def location(self, item: Any) -> str:
            return f"/{getattr(item, 'slug', item)}/"

    register("letters", Sliced)
    for slug in "edcba":
        articles(1, slug=slug)
    pages = crawled(client, "/sitemap-letters.xml")
    found = [[entry.loc[-2] for entry in page] for page in pages]
    assert found == [["a", "b"], ["c", "d"], ["e"]]
    assert not Page.objects.exists(), "nothing of it is stored"
