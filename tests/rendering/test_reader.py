"""The row path and the object path: two ways to read, one result."""

from __future__ import annotations

import datetime as dt
import locale
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, ClassVar

import pytest
from django.core.files.storage import InMemoryStorage
from django.db import connection, connections
from django.db.models import (
    Case,
    CharField,
    Count,
    DateTimeField,
    Exists,
    F,
    Max,
    OuterRef,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, Concat
from django.db.models.signals import post_init
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.protocol.entries import Image, News, Video
from django_sitemaps_plus.sitemaps.sections import source_of
from tests.support.factories import (
    ElsewhereFactory,
    NoteFactory,
    StoryFactory,
    TagFactory,
    articles,
)
from tests.support.helpers import ArticleSitemap, Entry, body, listed, locations, urlset
from tests.testapp.models import Article, ByPair, Elsewhere, Note, Story, Tag

pytestmark = pytest.mark.django_db


@contextmanager
def instances(model: type) -> Iterator[list[int]]:
    """Note which instances of ``model`` are made."""
    made: list[int] = []

    def note(instance: Any, **kwargs: Any) -> None:
        made.append(instance.pk)

    post_init.connect(note, sender=model)
    yield made
    post_init.disconnect(note, sender=model)


def by_object(cls: type[Sitemap]) -> type[Sitemap]:
    """Return the same sitemap, read object by object: its priority is a method."""
    declared: Any = getattr(cls, "priority", None)

    def priority(self: Any, item: Any) -> Any:
        return item.weight if isinstance(declared, F) else declared

    return type(f"{cls.__name__}Objects", (cls,), {"priority": priority})


def both(client: Client, register: Any, cls: type[Sitemap]) -> bytes:
    """Return the page of a sitemap, after seeing that both paths give its bytes."""
    register("rows", cls)
    register("objects", by_object(cls))
    Page.objects.all().delete()
    Page._meta.get_field("section").related_model.objects.all().delete()
    rows = client.get("/sitemap-rows-1.xml")
    objects = client.get("/sitemap-objects-1.xml")
    assert rows.status_code == objects.status_code == 200, rows.content
    assert rows.content == objects.content
    return body(rows)


# Which path


def test_the_row_path_makes_no_instance_and_one_query(
    client: Client, register: Any
) -> None:
    register("article", ArticleSitemap)
    articles(30)
    client.get("/sitemap-article.xml")
    Page.objects.update(verified_at=0)
    with (
        instances(Article) as made,
        CaptureQueriesContext(connection) as captured,
    ):
        assert len(urlset(client.get("/sitemap-article-1.xml"))) == 30
    assert made == []
    rows = [q["sql"] for q in captured if "testapp_article" in q["sql"]]
    assert len(rows) == 1


@pytest.mark.parametrize(
    "name",
    ["location", "lastmod", "changefreq", "priority", "images", "videos", "news"],
)
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
    monkeypatch.setattr("django_sitemaps_plus.rendering.reader.CHUNK", 4)
    register("article", by_object(ArticleSitemap))
    made = articles(10)
    with CaptureQueriesContext(connection) as captured:
        found = locations(client.get("/sitemap-article-1.xml"))
    assert found == [f"https://www.example.com/articles/{a.slug}/" for a in made]
    reads = [q["sql"] for q in captured if "LIMIT 4" in q["sql"]]
    assert len(reads) == 3
    assert not any("OFFSET" in sql for sql in reads)


def test_without_a_location_get_absolute_url_is_asked(
    client: Client, register: Any
) -> None:
    register("article", type("Plain", (Sitemap,), {"model": Article}))
    (article,) = articles(1)
    assert locations(client.get("/sitemap-article-1.xml")) == [
        f"https://www.example.com{article.get_absolute_url()}"
    ]


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
    dt.datetime.fromisoformat("2100-01-01"),
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
SAMPLES = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


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
def test_both_paths_give_the_same_bytes(
    client: Client, register: Any, attributes: dict[str, Any], rows: list[Article]
) -> None:
    Article.objects.all().delete()
    for row in rows:
        row.pk = None
    Article.objects.bulk_create(rows)
    both(client, register, type("Any", (Everything,), attributes))


def test_the_whole_of_an_entry(client: Client, register: Any) -> None:
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC)
    articles(1, slug="ä & 'b'", updated=moment, weight=0.25)
    assert both(client, register, Everything).decode() == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        'xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
        "<url><loc>https://www.example.com/things/%C3%A4%20&amp;%20&apos;b&apos;/</loc>"
        "<lastmod>2026-01-02T03:04:05+00:00</lastmod><changefreq>daily</changefreq>"
        "<priority>0.25</priority></url>\n"
        "</urlset>\n"
    )


def test_nothing_is_invented(client: Client, register: Any) -> None:
    articles(1, slug="a", updated=None, live=False)
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
        lambda items: items.only("title"),
        lambda items: items.defer("slug"),
        lambda items: items.prefetch_related("tags"),
        lambda items: items.select_related("category"),
        lambda items: items.annotate(n=Count("tags")).filter(n=0),
        lambda items: items.exclude(slug=""),
        lambda items: items.using("default"),
    ],
)
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
        found = []
        for address in listed(client.get(f"/sitemap-{name}.xml")):
            path = address.removeprefix("https://www.example.com")
            found += locations(client.get(path))
        assert found == expected


def test_an_empty_table(client: Client, register: Any) -> None:
    assert b"<url>" not in both(client, register, Everything)
    assert urlset(client.get("/sitemap.xml")) == []


def test_a_queryset_that_can_have_no_rows(client: Client, register: Any) -> None:
    class Nothing(Everything):
        def items(self) -> Any:
            return Article.objects.none()

    articles(1)
    assert b"<url>" not in both(client, register, Nothing)


def test_a_route_without_parameters_from_the_row(client: Client, register: Any) -> None:
    articles(2)
    both(client, register, type("One", (Everything,), {"location": Route("about")}))
    assert (
        locations(client.get("/sitemap-rows-1.xml"))
        == ["https://www.example.com/about/"] * 2
    )


@pytest.mark.django_db(databases=["default", "other"])
def test_a_model_on_another_database(client: Client, register: Any) -> None:
    class ElsewhereSitemap(Sitemap):
        model = Elsewhere
        location = Route("article", slug=F("slug"))
        limit = 2

    register("elsewhere", ElsewhereSitemap)
    made = ElsewhereFactory.create_batch(3)
    found = []
    for address in listed(client.get("/sitemap.xml")):
        path = address.removeprefix("https://www.example.com")
        found += locations(client.get(path))
    assert found == [f"https://www.example.com/articles/{item.slug}/" for item in made]
    both(client, register, type("All", (ElsewhereSitemap,), {"limit": 50}))


def test_a_multi_table_child(client: Client, register: Any) -> None:
    class StorySitemap(ArticleSitemap):
        model = Story
        changefreq = F("source")

    articles(1)
    story = StoryFactory(source="weekly")
    both(client, register, StorySitemap)
    (entry,) = urlset(client.get("/sitemap-rows-1.xml"))
    assert entry.loc == f"https://www.example.com/articles/{story.slug}/"
    assert entry.changefreq == "weekly"


def test_a_composite_primary_key(client: Client, register: Any) -> None:
    class PairSitemap(Sitemap):
        model = ByPair
        location = Route("pair", shop=F("shop"), code=F("code"))

    ByPair.objects.bulk_create(
        ByPair(shop=shop, code=code) for shop in (2, 1) for code in ("b", "a")
    )
    both(client, register, PairSitemap)
    assert locations(client.get("/sitemap-rows-1.xml")) == [
        f"https://www.example.com/shops/{shop}/{code}/"
        for shop in (1, 2)
        for code in ("a", "b")
    ]


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


def test_a_method_s_times_keep_their_own_offset(client: Client, register: Any) -> None:
    tokyo = dt.timezone(dt.timedelta(hours=9))
    values: list[Any] = [
        dt.datetime(2026, 7, 2, 3, 4, 5, 6, tzinfo=tokyo),
        dt.datetime.fromisoformat("2026-07-02T03:04:05"),
        dt.date(2026, 7, 2),
        "2026-07-02T03:04:05.5-03:00",
        None,
    ]

    class Timed(ArticleSitemap):
        def lastmod(self, item: Article) -> Any:
            return values[int(item.slug)]

    register("article", Timed)
    for number in range(5):
        articles(1, slug=str(number))
    assert [
        entry.lastmod for entry in urlset(client.get("/sitemap-article-1.xml"))
    ] == [
        "2026-07-02T03:04:05+09:00",
        "2026-07-02T03:04:05+02:00",  # Berlin, in summer
        "2026-07-02",
        "2026-07-02T03:04:05.5-03:00",
        None,
    ]


def test_a_comma_locale_changes_no_number(client: Client, register: Any) -> None:
    class Weighed(ArticleSitemap):
        def priority(self, item: Article) -> Decimal:
            return Decimal("0.30")

    register("article", Weighed)
    register("constant", type("Constant", (ArticleSitemap,), {"priority": 0.8}))
    articles(1, weight=0.5)
    before = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "de_DE.utf8", "C"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
            break
        except locale.Error:
            continue
    try:
        pages = [client.get(f"/sitemap-{n}-1.xml") for n in ("article", "constant")]
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)
    assert [urlset(page)[0].priority for page in pages] == ["0.30", "0.8"]


# Rows that come more than once


class Tagged(ArticleSitemap):
    """Its join gives an article once for each of its tags."""

    def items(self) -> Any:
        return Article.objects.filter(tags__name__startswith="t")


@pytest.mark.parametrize("cls", [Tagged, by_object(Tagged)], ids=["rows", "objects"])
@pytest.mark.parametrize("limit", [1, 2, 3, 50_000])
def test_a_row_that_comes_more_than_once_is_refused_with_the_remedy(
    client: Client, register: Any, cls: type[Sitemap], limit: int
) -> None:
    register("tagged", type("Limited", (cls,), {"limit": limit}))
    for article in articles(3):
        for number in range(5):
            TagFactory(article=article, name=f"t{number}")
    with pytest.raises(ConfigurationError) as caught:
        client.get("/sitemap-tagged-1.xml")
    assert str(caught.value) == (
        "Section 'tagged': items() returns rows more than once, because it joins a "
        "relation that has several rows for one item. Add .distinct(), or filter with "
        "Exists()."
    )


def test_distinct_mends_it(client: Client, register: Any) -> None:
    class Distinct(Tagged):
        def items(self) -> Any:
            return super().items().distinct()

    (article,) = articles(1)
    for number in range(3):
        TagFactory(article=article, name=f"t{number}")
    both(client, register, Distinct)
    assert len(urlset(client.get("/sitemap-rows-1.xml"))) == 1


# Images, videos, news

VIDEO = {
    "thumbnail_loc": "/thumb.jpg",
    "title": "A <title>",
    "description": "Text",
    "content_loc": "https://cdn.example/film.mp4",
}


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        ("/a.jpg", ["https://www.example.com/a.jpg"]),
        ("https://cdn.example/a b.jpg", ["https://cdn.example/a%20b.jpg"]),
        (Image("/a.jpg"), ["https://www.example.com/a.jpg"]),
        (
            ["/a.jpg", Image("/b.jpg")],
            [f"https://www.example.com/{x}.jpg" for x in "ab"],
        ),
        ((), []),
        ("", []),
    ],
)
def test_images_as_constants(
    client: Client, register: Any, images: Any, expected: list[str]
) -> None:
    articles(1)
    both(client, register, type("Pictured", (ArticleSitemap,), {"images": images}))
    (entry,) = urlset(client.get("/sitemap-rows-1.xml"))
    assert list(entry.images) == expected


@pytest.mark.parametrize(
    ("base_url", "start"),
    [
        ("/media/", "https://www.example.com/media/"),
        ("https://cdn.example/", "https://cdn.example/"),
    ],
)
def test_a_file_s_image_is_its_address_in_its_storage(
    client: Client,
    register: Any,
    monkeypatch: pytest.MonkeyPatch,
    base_url: str,
    start: str,
) -> None:
    field: Any = Article._meta.get_field("photo")
    monkeypatch.setattr(field, "storage", InMemoryStorage(base_url=base_url))

    class Method(ArticleSitemap):
        def images(self, item: Article) -> Any:
            return [item.photo] if item.photo else None

    articles(1, photo="x/é 1.jpg")
    articles(1)
    expression = both(
        client, register, type("Pictured", (ArticleSitemap,), {"images": F("photo")})
    )
    register("method", Method)
    assert body(client.get("/sitemap-method-1.xml")) == expression
    pictured, bare = urlset(client.get("/sitemap-rows-1.xml"))
    assert pictured.images == (f"{start}x/%C3%A9%201.jpg",)
    assert bare.images == ()


def test_more_images_than_an_entry_may_have_make_a_bad_row(
    client: Client, register: Any
) -> None:
    class Pictured(ArticleSitemap):
        def images(self, item: Article) -> list[str]:
            return [f"/{number}.jpg" for number in range(int(item.slug))]

    register("article", Pictured)
    articles(1, slug="1000")
    articles(1, slug="1001")
    (entry,) = urlset(client.get("/sitemap-article-1.xml"))
    assert len(entry.images) == 1000
    assert Page.objects.get().problems[0][1] == "images: 1001, over 1000"


@pytest.mark.parametrize("videos", [VIDEO, Video(**VIDEO), [VIDEO], (Video(**VIDEO),)])
def test_videos(client: Client, register: Any, videos: Any) -> None:
    articles(1)
    page = both(client, register, type("Filmed", (ArticleSitemap,), {"videos": videos}))
    assert (
        b"<video:video>"
        b"<video:thumbnail_loc>https://www.example.com/thumb.jpg</video:thumbnail_loc>"
        b"<video:title>A &lt;title&gt;</video:title>"
        b"<video:description>Text</video:description>"
        b"<video:content_loc>https://cdn.example/film.mp4</video:content_loc>"
        b"</video:video>"
    ) in page


@pytest.mark.parametrize(
    ("video", "problem"),
    [
        ({**VIDEO, "titel": "x"}, "TypeError: "),
        ({**VIDEO, "title": ""}, "videos.title '': empty"),
        ({**VIDEO, "duration": 0}, "videos.duration 0: not within 1 and 28800"),
        ({"title": "x"}, "TypeError: "),
        (7, "TypeError: "),
    ],
)
def test_a_video_that_is_none_makes_a_bad_row(
    client: Client, register: Any, video: Any, problem: str
) -> None:
    class Filmed(ArticleSitemap):
        def videos(self, item: Article) -> Any:
            return video if item.slug == "bad" else None

    register("article", Filmed)
    articles(1, slug="good")
    articles(1, slug="bad")
    assert len(urlset(client.get("/sitemap-article-1.xml"))) == 1
    ((_, reason),) = Page.objects.get().problems
    assert reason.startswith(problem)


class NewsSitemap(ArticleSitemap):
    """What a news sitemap says."""

    def news(self, item: Article) -> Any:
        return News(
            "The Example", "en", item.updated or dt.date(2026, 1, 2), item.title
        )


def test_news(client: Client, register: Any) -> None:
    register("news", NewsSitemap)
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    articles(1, title="Rain & wind", updated=moment)
    assert (
        b"<news:news><news:publication><news:name>The Example</news:name>"
        b"<news:language>en</news:language></news:publication>"
        b"<news:publication_date>2026-01-02T03:04:05+00:00</news:publication_date>"
        b"<news:title>Rain &amp; wind</news:title></news:news></url>"
    ) in client.get("/sitemap-news-1.xml").content


def test_one_entry_has_one_piece_of_news(client: Client, register: Any) -> None:
    class Doubled(NewsSitemap):
        def news(self, item: Article) -> Any:
            return [super().news(item)] * int(item.slug)

    register("news", Doubled)
    for slug in ("0", "1", "2"):
        articles(1, slug=slug, title="x")
    assert len(urlset(client.get("/sitemap-news-1.xml"))) == 2
    assert Page.objects.get().problems[0][1] == "news: 2, over 1"


def test_a_page_of_news_has_at_most_1000(client: Client, register: Any) -> None:
    register("news", NewsSitemap)
    made = [Article(slug=f"a-{number}", title="x") for number in range(1001)]
    Article.objects.bulk_create(made[:1000])
    assert len(urlset(client.get("/sitemap-news.xml"))) == 1000
    made[1000].save()
    Page.objects.update(verified_at=0)
    client.get("/sitemap-news-1.xml")
    addresses = listed(client.get("/sitemap-news.xml"))
    counts = [
        len(urlset(client.get(address.removeprefix("https://www.example.com"))))
        for address in addresses
    ]
    assert counts == [1000, 1]


# Languages


class NoteSitemap(Sitemap):
    """A page in every language, each knowing the others."""

    model = Note
    location = Route("note", number=F("number"))
    i18n = True
    alternates = True
    x_default = True


class NoteObjects(NoteSitemap):
    """The same, by reverse() in each language."""

    def location(self, item: Note) -> str:  # type: ignore[override]
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
    rows, objects = (client.get(f"/sitemap-{n}-1.xml") for n in ("rows", "objects"))
    assert rows.content == objects.content
    entries = urlset(rows)
    assert [entry.alternates for entry in entries] == expected
    languages = attributes.get("languages", list(ALL))
    assert [entry.loc for entry in entries] == [ALL[code] for code in languages]


def test_languages_stay_on_the_row_path(client: Client, register: Any) -> None:
    register("note", NoteSitemap)
    NoteFactory.create_batch(5)
    with instances(Note) as made:
        assert len(urlset(client.get("/sitemap-note-1.xml"))) == 15
    assert made == []


def test_an_item_s_languages_stay_on_one_page(client: Client, register: Any) -> None:
    register("note", type("Small", (NoteSitemap,), {"limit": 7}))
    NoteFactory.create_batch(5)
    counts = []
    for address in listed(client.get("/sitemap-note.xml")):
        entries = urlset(client.get(address.removeprefix("https://www.example.com")))
        counts.append(len(entries))
        for entry in entries:
            assert entry.loc in entry.alternates.values()
            there = {other.loc for other in entries}
            hosted = {u for code, u in entry.alternates.items() if code != "x-default"}
            assert hosted <= there
    assert sum(counts) == 15
    assert all(count % 3 == 0 and count <= 7 for count in counts)


def test_an_item_may_have_languages_of_its_own(client: Client, register: Any) -> None:
    class Chosen(NoteObjects):
        x_default = False

        def get_languages_for_item(self, item: Note) -> list[str]:
            return {1: ["en", "de"], 2: ["de"], 3: []}[item.number]

    register("note", Chosen)
    for number in (1, 2, 3):
        NoteFactory(number=number)
    assert [
        (entry.loc.removeprefix("https://www.example.com"), sorted(entry.alternates))
        for entry in urlset(client.get("/sitemap-note-1.xml"))
    ] == [
        ("/en/notes/1/", ["de", "en"]),
        ("/de/notes/1/", ["de", "en"]),
        ("/de/notes/2/", ["de"]),
    ]


def test_an_item_whose_languages_cannot_be_had_is_left_out(
    client: Client, register: Any
) -> None:
    class Broken(NoteObjects):
        def get_languages_for_item(self, item: Note) -> list[str]:
            if item.number == 2:
                raise LookupError("no translations")
            return ["en"]

    register("note", Broken)
    for number in (1, 2, 3):
        NoteFactory(number=number)
    found = locations(client.get("/sitemap-note-1.xml"))
    assert [loc[-3:] for loc in found] == ["/1/", "/3/"]
    ((_, reason),) = Page.objects.get().problems
    assert reason == "LookupError: no translations"


# By position


def hooked(name: str) -> Any:
    """Return a sitemap whose class overrides one of contrib's hooks."""
    return type("Hooked", (ArticleSitemap,), {name: getattr(Sitemap, name)})()


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        (lambda: [], "items() returns list, not a queryset"),
        (lambda: Article.objects.all()[:9], "items() returns a sliced queryset"),
        (
            lambda: Article.objects.all().union(Article.objects.all()),
            "items() returns a queryset combined by union()",
        ),
        (
            lambda: Article.objects.distinct("title"),
            "items() returns a queryset with distinct() on some fields",
        ),
        (
            lambda: Article.objects.values("slug"),
            "items() returns values, not model instances",
        ),
        (lambda: Article.objects.all(), ""),
    ],
    ids=["list", "slice", "union", "distinct", "values", "queryset"],
)
def test_why_items_are_paged_by_position(items: Any, reason: str) -> None:
    sitemap = type("Any", (Sitemap,), {"items": lambda self: items()})()
    assert source_of("any", sitemap).by_position == reason


@pytest.mark.parametrize("name", ["get_urls", "_urls", "_items", "paginator"])
def test_contrib_s_hooks_are_obeyed_by_position(name: str) -> None:
    assert source_of("any", hooked(name)).by_position == f"it overrides {name}"
    instance = ArticleSitemap()
    if name != "paginator":
        setattr(instance, name, lambda *args, **kwargs: [])
        assert source_of("any", instance).by_position == f"it overrides {name}"


def test_a_class_that_overrides_location_s_hook_is_asked_through_it(
    client: Client, register: Any
) -> None:
    class Hooked(ArticleSitemap):
        def _location(self, item: Article, force_lang_code: Any = None) -> str:
            return f"{super()._location(item, force_lang_code)}?from=map"

    register("article", Hooked)
    (article,) = articles(1)
    assert locations(client.get("/sitemap-article-1.xml")) == [
        f"https://www.example.com/articles/{article.slug}/?from=map"
    ]


class Letters(Sitemap):
    """A list of Python objects."""

    letters: ClassVar[list[str]] = list("abcde")
    limit = 2

    def items(self) -> Any:
        return self.letters

    def location(self, item: str) -> str:
        return f"/{item}/"


@pytest.mark.parametrize(
    "items",
    [
        lambda: list("abcde"),
        lambda: tuple("abcde"),
        lambda: "abcde",
        lambda: Article.objects.order_by("slug")[:5],
        lambda: Article.objects.order_by("slug").values_list("slug", flat=True),
        lambda: (
            Article.objects.filter(slug__in="abc")
            .union(Article.objects.filter(slug__in="de"))
            .order_by("slug")
        ),
    ],
    ids=["list", "tuple", "text", "slice", "values", "union"],
)
def test_anything_that_can_be_sliced_is_paged_by_position(
    client: Client, register: Any, items: Any
) -> None:
    class Sliced(Letters):
        def items(self) -> Any:
            return items()

        def location(self, item: Any) -> str:
            return f"/{getattr(item, 'slug', item)}/"

    register("letters", Sliced)
    for slug in "edcba":
        articles(1, slug=slug)
    found = []
    for address in listed(client.get("/sitemap-letters.xml")):
        found += locations(client.get(address.removeprefix("https://www.example.com")))
    assert found == [f"https://www.example.com/{letter}/" for letter in "abcde"]
    assert not Page.objects.exists()


def test_values_have_no_instances(client: Client, register: Any) -> None:
    class Values(Sitemap):
        def items(self) -> Any:
            return Article.objects.order_by("pk").values("slug")

        def location(self, item: dict[str, str]) -> str:
            return f"/{item['slug']}/"

    register("values", Values)
    articles(1, slug="a")
    with instances(Article) as made:
        assert locations(client.get("/sitemap.xml")) == ["https://www.example.com/a/"]
    assert made == []
