"""Images and videos of related rows, and records that hold expressions."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage, Storage
from django.db import connection
from django.db.models import Case, CharField, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Cast, Concat, Upper
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import example, given
from hypothesis import strategies as st

from django_sitemaps_plus import Related, Route, Sitemap
from django_sitemaps_plus.checks.sections import check_section
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.protocol.entries import Image, News, Uploader, Video
from django_sitemaps_plus.protocol.errors import EntryError
from django_sitemaps_plus.protocol.extensions import Place, image_xml
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.rendering import reader
from django_sitemaps_plus.rendering.columns import LastmodColumn, RowBatch
from django_sitemaps_plus.rendering.media_columns import as_record, bulk_media
from django_sitemaps_plus.sitemaps.media import FileUrl
from tests.support.helpers import ArticleSitemap, urlset
from tests.support.two_paths import both
from tests.testapp.models import Article, Category, Label, Photo, Spot

#: A number as text, which Concat() wants.
TEXT = Cast("position", CharField())


def images(*locations: str) -> tuple[str, ...]:
    return tuple(f"https://www.example.com/media/{name}" for name in locations)


def pictured(client: Client, register: Any, **declared: Any) -> dict[str, Any]:
    """Return the images of each entry by its slug; the same on both paths."""
    both(client, register, type("Pictured", (ArticleSitemap,), declared))
    entries = urlset(client.get("/sitemap-rows-1.xml"))
    return {entry.loc.rsplit("/", 2)[-2]: entry.images for entry in entries}


@pytest.fixture
def media_url(settings: Any) -> None:
    settings.MEDIA_URL = "/media/"


@pytest.fixture
def album(db: Any, media_url: None) -> list[Article]:
    """Three articles: of three pictures, of none, of one."""
    first, second, third = (
        Article.objects.create(slug=slug, title=slug)
        for slug in ("one", "two", "three")
    )
    for name, position, public in (
        ("c.jpg", 3, True),
        ("b.jpg", 1, False),
        ("a é.jpg", 1, True),
    ):
        Photo.objects.create(article=first, file=name, position=position, public=public)
    Photo.objects.create(article=third, file="d.jpg", film="/d.mp4")
    Photo.objects.create(article=third, file="")
    return [first, second, third]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (Related("photos", F("file")), ["b.jpg", "a%20%C3%A9.jpg", "c.jpg"]),
        (Related("photos", Image(F("file"))), ["b.jpg", "a%20%C3%A9.jpg", "c.jpg"]),
        (
            Related("photos", F("file"), order_by="-position"),
            ["c.jpg", "b.jpg", "a%20%C3%A9.jpg"],
        ),
        (
            Related("photos", F("file"), order_by=[F("public").asc(), "-pk"]),
            ["b.jpg", "a%20%C3%A9.jpg", "c.jpg"],
        ),
        (
            Related("photos", F("file"), filter=Q(public=True) & ~Q(position=3)),
            ["a%20%C3%A9.jpg"],
        ),
        (
            Related("photos", Concat(Value("/media/x-"), TEXT, Value(".png"))),
            ["x-1.png", "x-1.png", "x-3.png"],
        ),
        (
            [
                Related("photos", F("file"), filter=Q(public=False)),
                Concat(Value("/media/"), "title"),
            ],
            ["b.jpg", "one"],
        ),
    ],
)
@pytest.mark.costly
def test_related_rows_are_images_in_their_order(
    album: list[Article],
    client: Client,
    register: Any,
    declared: Any,
    expected: list[str],
) -> None:
    found = pictured(client, register, images=declared)
    assert found["one"] == images(*expected)


def test_items_without_related_rows_or_files_have_no_images(
    album: list[Article], client: Client, register: Any
) -> None:
    found = pictured(client, register, images=Related("photos", F("file")))
    assert found["two"] == ()
    assert found["three"] == images("d.jpg")


def test_a_condition_of_a_related_row_may_be_a_case(
    album: list[Article], client: Client, register: Any
) -> None:
    name = Case(
        When(Q(public=F("public"), film=""), then="file"),
        default="film",
        output_field=CharField(),
    )
    assert pictured(client, register, images=Related("photos", name))["three"] == (
        "https://www.example.com/d.mp4",
    )


@pytest.mark.django_db
def test_many_to_many_relations_and_relations_of_relations_have_images(
    client: Client, register: Any, media_url: None
) -> None:
    category = Category.objects.create(slug="pets")
    for slug in ("cat", "dog"):
        article = Article.objects.create(slug=slug, category=category)
        Photo.objects.create(article=article, file=f"{slug}.jpg")
    spots = [Spot.objects.create(name=name, guarded=category) for name in "ab"]
    labels = [Label.objects.create(name=name) for name in ("x", "y")]
    spots[0].labels.set(labels)
    spots[1].labels.set(labels[1:])
    address = Concat(Value("/media/"), Upper("name"), output_field=CharField())

    class Spots(Sitemap):
        model = Spot
        location = Route("article", slug=F("name"))
        images = (
            Related("labels", address, order_by="-name"),
            Related("guarded__article__photos", F("file")),
        )

    both(client, register, Spots)
    pets = images("cat.jpg", "dog.jpg")
    first, second = urlset(client.get("/sitemap-rows-1.xml"))
    assert first.images == (*images("Y", "X"), *pets)
    assert second.images == (*images("Y"), *pets)


@pytest.mark.django_db
def test_a_video_is_filled_with_the_values_of_the_row(
    album: list[Article], client: Client, register: Any
) -> None:
    class Films(ArticleSitemap):
        videos: Any = Related(
            "photos",
            Video(
                thumbnail_loc=F("file"),
                title=Upper("title"),
                description="About it",
                content_loc=F("film"),
                uploader=Uploader(F("article__title"), info="/by/"),
                family_friendly=F("public"),
            ),
        )
        images = (Related("photos", F("file"), filter=Q(position=3)),)

    page = both(client, register, Films)
    assert page.count(b"<video:video>") == 1
    assert (
        b"<video:thumbnail_loc>https://www.example.com/media/d.jpg</video:thumbnail_loc>"
        b"<video:title>A PICTURE</video:title>"
        b"<video:description>About it</video:description>"
        b"<video:content_loc>https://www.example.com/d.mp4</video:content_loc>"
        b"<video:family_friendly>yes</video:family_friendly>"
        b'<video:uploader info="https://www.example.com/by/">three</video:uploader>'
    ) in page


@pytest.mark.parametrize("where", ["content_loc", "player_loc"])
def test_a_video_has_a_file_or_a_player(
    album: list[Article], client: Client, register: Any, where: str
) -> None:
    """A film on another site has no file here; a row without either has no film."""
    film = {"thumbnail_loc": F("file"), "title": "A film", "description": "About it"}
    videos = Related("photos", Video(**film, **{where: F("film")}))
    page = both(client, register, type("Films", (ArticleSitemap,), {"videos": videos}))
    assert page.count(b"<video:video>") == 1
    assert (
        f"<video:{where}>https://www.example.com/d.mp4</video:{where}>".encode() in page
    )
    assert [found.problems for found in Page.objects.all()] == [[], []]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "news",
    [
        News(name="The E", language="en", publication_date=F("day"), title=F("title")),
        {
            "name": "The E",
            "language": "en",
            "publication_date": F("day"),
            "title": F("title"),
        },
    ],
)
def test_an_article_without_a_date_is_no_news(
    client: Client, register: Any, news: Any
) -> None:
    Article.objects.create(slug="old", title="Old & new", day="2026-01-02")
    Article.objects.create(slug="undated", title="x")
    page = both(client, register, type("Daily", (ArticleSitemap,), {"news": news}))
    assert page.count(b"<url>") == 2
    assert page.count(b"<news:news>") == 1
    assert b"<news:publication_date>2026-01-02</news:publication_date>" in page
    assert b"<news:title>Old &amp; new</news:title>" in page


def test_a_file_without_an_address_is_no_image(
    album: list[Article], client: Client, register: Any, monkeypatch: Any
) -> None:
    class Broken(Storage):
        def url(self, name: str | None) -> str:
            if name == "d.jpg":
                raise ValueError("no such bucket")
            return f"https://cdn.example/{name}"

    field: Any = Photo._meta.get_field("file")
    monkeypatch.setattr(field, "storage", Broken())
    found = pictured(
        client, register, images=Related("photos", F("file"), filter=~Q(position=1))
    )
    assert found == {"one": ("https://cdn.example/c.jpg",), "two": (), "three": ()}
    for page in Page.objects.all():
        ((_, reason),) = page.problems
        assert reason == "listed without images: ValueError: no such bucket"


def test_a_page_takes_one_more_query_however_many_images_there_are(
    album: list[Article], client: Client, register: Any
) -> None:
    def queries(**declared: Any) -> int:
        register("rows", type("Pictured", (ArticleSitemap,), declared))
        Section.objects.all().delete()
        with CaptureQueriesContext(connection) as found:
            assert client.get("/sitemap-rows-1.xml").status_code == 200
        return len([q for q in found if "testapp_" in q["sql"]])

    plain = queries()
    assert queries(images=Related("photos", F("file"))) == plain + 1
    Photo.objects.bulk_create(
        Photo(article=article, file=f"{number}.jpg")
        for article in album
        for number in range(40)
    )
    assert queries(images=Related("photos", F("file"))) == plain + 1


def test_images_are_those_of_their_rows_in_each_chunk(
    album: list[Article], client: Client, register: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(reader, "BLOCK", 2)
    found = pictured(client, register, images=Related("photos", F("file")))
    assert found["three"] == images("d.jpg")
    assert len(found["one"]) == 3


@pytest.mark.parametrize("last", [7, 10_000_000])
def test_rows_that_are_not_listed_lend_nobody_their_images(
    db: Any, media_url: None, client: Client, register: Any, last: int
) -> None:
    """Near one another keys are read as a range, else one by one."""
    for pk, live in ((5, True), (6, False), (last, True)):
        article = Article.objects.create(pk=pk, slug=f"a{pk}", live=live)
        for position in (2, 1):
            name = f"{pk}-{position}.jpg"
            Photo.objects.create(article=article, file=name, position=position)
    declared = {
        "images": Related("photos", F("file")),
        "items": lambda self: Article.objects.filter(live=True),
    }
    assert pictured(client, register, **declared) == {
        "a5": images("5-1.jpg", "5-2.jpg"),
        f"a{last}": images(f"{last}-1.jpg", f"{last}-2.jpg"),
    }


def test_a_language_has_the_images_of_its_item(
    album: list[Article], client: Client, register: Any
) -> None:
    declared = {
        "images": Related("photos", F("file")),
        "i18n": True,
        "languages": ["en", "de"],
    }
    page = both(client, register, type("Pictured", (ArticleSitemap,), declared))
    assert page.count(b"<image:image>") == 8


@pytest.mark.django_db
def test_a_class_that_gives_its_entries_has_the_images_that_it_declares(
    album: list[Article], client: Client, register: Any
) -> None:
    class Given(ArticleSitemap):
        images: Any = Related("photos", F("file"), order_by="pk")

        def get_urls_for_item(self, item: Any) -> Any:
            return super().get_urls_for_item(item)

    register("given", Given)
    entries = urlset(client.get("/sitemap-given-1.xml"))
    assert entries[0].images == images("c.jpg", "b.jpg", "a%20%C3%A9.jpg")


@pytest.mark.parametrize(
    ("related", "reason"),
    [
        (Related("pictures", F("file")), "pictures"),
        (Related("title", F("file")), "not a relation"),
        (Related("photos", F("fil")), "fil"),
        (Related("photos", [Related("article", F("photo"))]), "another Related"),
        (
            Related("photos", Exists(Photo.objects.filter(pk=OuterRef("pk")))),
            "cannot read",
        ),
    ],
)
def test_what_cannot_be_read_is_a_check_error(
    register: Any, related: Related, reason: str
) -> None:
    register("rows", type("Wrong", (ArticleSitemap,), {"images": related}))
    (found,) = check_section("rows")
    assert found.id == "sitemaps_plus.E008"
    assert reason in found.msg


# In bulk


TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "/a.jpg",
                "/b/ä.png",
                "https://cdn.example/x.jpg",
                "https://cdn.example/a&b.jpg",
                "https://cdn.example:8443/x",
                "HTTPS://CDN.example/y.jpg",
                "//cdn.example/x",
                "/../x",
                "/a b",
                "x.jpg",
                "/a\n/b",
                "/%zz",
                "https://cdn.example",
                "/a?b=1&c=2",
            ]
        ),
        st.text(max_size=6),
    ),
    max_size=4,
)


@given(rows=st.lists(TEXTS, min_size=1, max_size=4))
@example(rows=[["https://cdn.example/x.jpg", "/a.jpg"]])
@example(rows=[["/a&b.jpg"], [], ["/c.jpg", "/d.jpg"]])
def test_images_in_bulk_are_the_images_one_by_one(rows: list[list[str]]) -> None:
    batch = RowBatch(
        labels=list(range(len(rows))),
        locations={},
        lastmods=LastmodColumn([]),
        changefreqs=[],
        priorities=[],
        media={None: {"images": rows}},
    )
    found = bulk_media(batch)
    if found is None:
        return
    ((literals, columns),) = found
    texts = columns[0] if columns else [""] * len(rows)
    assert literals == ("", "") or not columns
    try:
        expected = [
            "".join(
                image_xml(image, Place(ORIGIN_MARK, "", UTC))
                for image in (as_record(value, "images") for value in row)
                if image
            )
            for row in rows
        ]
    except EntryError as error:
        pytest.fail(f"{rows} is refused one by one: {error}")
    assert list(texts) == expected


@given(names=st.lists(st.one_of(st.text(max_size=8), st.none()), max_size=4))
@example(names=["a/b.jpg", None, "", "c-d_(e).png"])
@example(names=["a", "..", "b"])
@example(names=["a//b"])
@example(names=["a", "/b"])
@pytest.mark.parametrize("base", ["/media/", "https://cdn.example/a/"])
def test_addresses_of_many_files_are_those_of_each(
    names: list[str | None], base: str
) -> None:
    field: Any = Photo(file="x").file.field
    former = field.storage
    field.storage = FileSystemStorage(base_url=base)
    try:
        convert = FileUrl(field)
        found = convert.many(names)
        if found is not None:
            assert found == [convert(name) for name in names]
    finally:
        field.storage = former


def test_plain_names_of_files_are_converted_together() -> None:
    field: Any = Photo(file="x").file.field
    assert FileUrl(field).many(["a/b.jpg", None]) is not None
