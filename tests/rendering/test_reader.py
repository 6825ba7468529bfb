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
from tests.support.helpers import (
    ArticleSitemap,
    Entry,
    body,
    crawled,
    locations,
    urlset,
)
from tests.support.two_paths import by_object, instances
from tests.testapp.models import Article, ByPair, Category, Elsewhere, Tag
from tests.testapp.routers import ReplicaRouter

pytestmark = pytest.mark.django_db
HOST = "https://www.example.com"


def all_of(client: Client, name: str) -> list[str]:
    pages = crawled(client, f"/sitemap-{name}.xml")
    return [entry.loc for page in pages for entry in page]


# Which path


def test_the_row_path_makes_no_instance_and_one_query(
    client: Client, page_of: Any
) -> None:
    articles(30)
    page_of()
    Page.objects.update(verified_at=0)
    with instances(Article) as made, CaptureQueriesContext(connection) as captured:
        assert len(urlset(client.get("/sitemap-article-1.xml"))) == 30
    assert made == []
    assert len([q for q in captured if "testapp_article" in q["sql"]]) == 1


@pytest.mark.parametrize(
    "name",
    ["location", "lastmod", "changefreq", "priority", "images", "videos", "news"],
)
@pytest.mark.costly
def test_one_method_is_enough_for_the_object_path(page_of: Any, name: str) -> None:
    def method(self: Any, item: Article) -> Any:
        return f"/{item.slug}/" if name == "location" else None

    articles(3)
    with instances(Article) as made:
        assert len(urlset(page_of(**{name: method}))) == 3
    assert len(made) == 3


def test_the_object_path_reads_in_chunks_by_key(
    page_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django_sitemaps_plus.rendering.reader.OBJECTS_AT_ONCE", 4)
    made = articles(10)
    with CaptureQueriesContext(connection) as captured:
        found = locations(page_of(by_object(ArticleSitemap)))
    assert found == [f"{HOST}/articles/{a.slug}/" for a in made]
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
    both: Any, attributes: dict[str, Any], rows: list[Article]
) -> None:
    Article.objects.all().delete()
    for row in rows:
        row.pk = None
    Article.objects.bulk_create(rows)
    both(Everything, may_fail=True, **attributes)


def test_the_whole_of_an_entry(both: Any) -> None:
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC)
    articles(1, slug="ä & 'b'", updated=moment, weight=0.25)
    assert body(both(Everything)).decode() == (
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
    assert urlset(both(Everything)) == [Entry(f"{HOST}/things/a/")]
    # A route without parameters is that of each row, if there are any.
    assert locations(both(Everything, location=Route("about"))) == [f"{HOST}/about/"]
    assert not urlset(both(Everything, items=lambda self: Article.objects.none()))
    Article.objects.all().delete()
    assert not urlset(both(Everything, location=Route("about")))


def test_expressions_of_every_kind(both: Any) -> None:
    def items(self: Any) -> Any:
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
    page = both(
        items=items,
        lastmod=Max("tags__article__updated"),
        changefreq=F("changes"),
        images=Concat(Value("/"), Cast(Count("tags"), CharField(max_length=9))),
    )
    lastmod = one.updated.strftime("%Y-%m-%dT%H:%M:%S+00:00")
    loc, images = f"{HOST}/articles/{one.slug}/", (f"{HOST}/2",)
    assert urlset(page) == [Entry(loc, lastmod, "hourly", images=images)]


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
    items = {"limit": 4, "items": lambda self: narrow(Article.objects.all())}
    narrowed = type("Narrowed", (ArticleSitemap,), items)
    register("rows", narrowed)
    register("objects", by_object(narrowed))
    expected = [f"{HOST}/articles/{article.slug}/" for article in articles(10)]
    for name in ("rows", "objects"):
        assert all_of(client, name) == expected


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
    own = {"limit": 2, "items": lambda self: newest()[how]}
    cls = type("Newest", (ArticleSitemap,), own)
    categories = [Category.objects.create(slug=name) for name in "abc"]
    made = [
        Article.objects.create(slug=f"{category}{number}", category=category)
        for number in range(3)
        for category in categories
    ]
    assert (source_of("newest", cls()).key is None) == (how != "subquery")
    register("newest", cls)
    expected = [f"{HOST}{item.get_absolute_url()}" for item in made[-3:]]
    assert all_of(client, "newest") == expected


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
    assert all_of(client, "rows") == [f"{HOST}/{nr}/" for nr in range(1, 6)]


class Later:
    """What is stored as another moment, as seconds since an epoch are."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return value and value + dt.timedelta(days=1)


class Shifted(Later, DateTimeField):  # type: ignore[type-arg]  # in the stubs only
    pass


class ShiftedDay(Later, DateField):  # type: ignore[type-arg]  # in the stubs only
    pass


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
    both: Any, lastmod: Any, written: str
) -> None:
    updated = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    Article.objects.create(slug="a", updated=updated, day=updated.date())
    assert [entry.lastmod for entry in urlset(both(lastmod=lastmod))] == [written]


@pytest.mark.django_db(databases=["default", "other"])
def test_another_database_and_a_composite_primary_key(both: Any) -> None:
    made = ElsewhereFactory.create_batch(3)
    page = both(Sitemap, model=Elsewhere, location=Route("article", slug=F("slug")))
    assert locations(page) == [f"{HOST}/articles/{item.slug}/" for item in made]
    pairs = [(shop, code) for shop in (2, 1) for code in ("b", "a")]
    ByPair.objects.bulk_create(ByPair(shop=shop, code=code) for shop, code in pairs)
    location = Route("pair", shop=F("shop"), code=F("code"))
    expected = [f"{HOST}/shops/{shop}/{code}/" for shop, code in sorted(pairs)]
    assert locations(both(Sitemap, model=ByPair, location=location)) == expected


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


def test_times_without_zones_are_of_the_site_s_zone(both: Any, settings: Any) -> None:
    settings.USE_TZ = False
    settings.TIME_ZONE = "America/New_York"
    for month in (1, 7):
        updated = dt.datetime.fromisoformat(f"2026-0{month}-02T03:04:05")
        articles(1, updated=updated)
    assert [entry.lastmod for entry in urlset(both(Everything))] == [
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
def test_times_that_are_not_stored_in_utc(page_of: Any) -> None:
    moment = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    articles(1, updated=moment)
    for cls in (Everything, by_object(Everything)):
        (entry,) = urlset(page_of(cls))
        assert dt.datetime.fromisoformat(entry.lastmod or "") == moment


# Rows that come more than once


@pytest.mark.parametrize(
    "cls", [ArticleSitemap, by_object(ArticleSitemap)], ids=["rows", "objects"]
)
@pytest.mark.parametrize(
    ("limit", "block"), [(1, 1000), (3, 1000), (50_000, 1000), (50_000, 1)]
)
@pytest.mark.costly
def test_a_row_that_comes_more_than_once_is_refused_with_the_remedy(
    page_of: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    cls: type[Sitemap],
    limit: int,
    block: int,
) -> None:
    """A join gives an article once for each of its tags."""
    monkeypatch.setattr("django_sitemaps_plus.rendering.reader.BLOCK", block)
    for article in articles(3):
        for number in range(5):
            TagFactory(article=article, name=f"t{number}")
    tagged = Article.objects.filter(tags__name__startswith="t")
    page = page_of(cls, limit=limit, items=lambda self: tagged.all())
    assert page.status_code == 503
    assert (
        "Section 'article': rows come more than once, because items() or an expression "
        "joins a relation that has several rows for one item. In items(), filter with "
        "Exists() or add .distinct(); in an expression, use Subquery()."
    ) in caplog.text


# Rows that come more than once


# By position


@pytest.mark.parametrize(
    "items",
    [
        lambda self: list("abcde"),
        lambda self: "abcde",
        lambda self: Article.objects.order_by("slug")[:5],
        lambda self: Article.objects.order_by("slug").values_list("slug", flat=True),
        lambda self: (
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
    def location(self: Any, item: Any) -> str:
        return f"/{getattr(item, 'slug', item)}/"

    own = {"limit": 2, "items": items, "location": location}
    register("letters", type("Sliced", (Sitemap,), own))
    for slug in "edcba":
        articles(1, slug=slug)
    pages = crawled(client, "/sitemap-letters.xml")
    found = [[entry.loc[-2] for entry in page] for page in pages]
    assert found == [["a", "b"], ["c", "d"], ["e"]]
    assert not Page.objects.exists(), "nothing of it is stored"
