"""Images and videos of related rows, and records that hold expressions."""

from __future__ import annotations

from datetime import UTC
from typing import Any
from unittest import mock

import pytest
from django.core.files.storage import FileSystemStorage, Storage
from django.db import connection
from django.db.models import Case, CharField, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Cast, Concat, Upper
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
from django_sitemaps_plus.rendering.columns import RowBatch
from django_sitemaps_plus.rendering.media_columns import as_record, bulk_media
from django_sitemaps_plus.sitemaps.media import FileUrl
from tests.support.helpers import ArticleSitemap, body, urlset
from tests.testapp.models import Article, Category, Label, Photo, Spot

#: A number as text, which Concat() wants.
TEXT = Cast("position", CharField())
FILES = Related("photos", F("file"))


def images(*locations: str) -> tuple[str, ...]:
    return tuple(f"https://www.example.com/media/{name}" for name in locations)


def slugs(response: Any) -> dict[str, Any]:
    """Return the images of each entry by its slug."""
    return {entry.loc.rsplit("/", 2)[-2]: entry.images for entry in urlset(response)}


@pytest.fixture
def media_url(settings: Any) -> None:
    settings.MEDIA_URL = "/media/"


@pytest.fixture
def album(db: Any, media_url: None) -> list[Article]:
    """Three articles: of three pictures, of none, of one."""
    slugs = ("one", "two", "three")
    made = [Article.objects.create(slug=slug, title=slug) for slug in slugs]
    for name, position, public in (
        ("c.jpg", 3, True),
        ("b.jpg", 1, False),
        ("a é.jpg", 1, True),
    ):
        made[0].photos.create(file=name, position=position, public=public)
    made[2].photos.create(file="d.jpg", film="/d.mp4")
    made[2].photos.create(file="")
    return made


IN_ORDER = ["b.jpg", "a%20%C3%A9.jpg", "c.jpg"]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (FILES, IN_ORDER),
        (Related("photos", Image(F("file"))), IN_ORDER),
        (
            Related("photos", F("file"), order_by="-position"),
            ["c.jpg", "b.jpg", "a%20%C3%A9.jpg"],
        ),
        (Related("photos", F("file"), order_by=[F("public").asc(), "-pk"]), IN_ORDER),
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
@pytest.mark.usefixtures("album")
@pytest.mark.costly
def test_related_rows_are_images_in_their_order(
    both: Any, declared: Any, expected: list[str]
) -> None:
    assert slugs(both(images=declared))["one"] == images(*expected)


@pytest.mark.usefixtures("album")
def test_images_are_those_of_their_rows(both: Any, monkeypatch: Any) -> None:
    """In each chunk, in each language, and in entries that a class gives."""
    expected = {"one": images(*IN_ORDER), "two": (), "three": images("d.jpg")}
    assert slugs(both(images=FILES)) == expected
    monkeypatch.setattr(reader, "BLOCK", 2)
    assert slugs(both(images=FILES)) == expected
    page = both(images=FILES, i18n=True, languages=["en", "de"])
    assert body(page).count(b"<image:image>") == 8
    same = {
        "get_urls_for_item": lambda self, item: Sitemap.get_urls_for_item(self, item)
    }
    assert slugs(both(images=FILES, **same)) == expected
    name = Case(
        When(Q(public=F("public"), film=""), then="file"),
        default="film",
        output_field=CharField(),
    )
    page = both(images=Related("photos", name))
    assert slugs(page)["three"] == ("https://www.example.com/d.mp4",)


@pytest.mark.django_db
def test_many_to_many_relations_and_relations_of_relations_have_images(
    both: Any, media_url: None
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
    declared = (
        Related("labels", address, order_by="-name"),
        Related("guarded__article__photos", F("file")),
    )
    location = Route("article", slug=F("name"))
    page = both(Sitemap, model=Spot, location=location, images=declared)
    pets = images("cat.jpg", "dog.jpg")
    assert slugs(page) == {"a": (*images("Y", "X"), *pets), "b": (*images("Y"), *pets)}


@pytest.mark.usefixtures("album")
def test_a_video_is_filled_with_the_values_of_the_row(both: Any) -> None:
    video = Video(
        thumbnail_loc=F("file"),
        title=Upper("title"),
        description="About it",
        content_loc=F("film"),
        uploader=Uploader(F("article__title"), info="/by/"),
        family_friendly=F("public"),
    )
    pictures = Related("photos", F("file"), filter=Q(position=3))
    page = body(both(videos=Related("photos", video), images=(pictures,)))
    assert page.count(b"<video:video>") == 1
    assert [found.problems for found in Page.objects.all()] == [[], []]
    assert (
        b"<video:thumbnail_loc>https://www.example.com/media/d.jpg</video:thumbnail_loc>"
        b"<video:title>A PICTURE</video:title>"
        b"<video:description>About it</video:description>"
        b"<video:content_loc>https://www.example.com/d.mp4</video:content_loc>"
        b"<video:family_friendly>yes</video:family_friendly>"
        b'<video:uploader info="https://www.example.com/by/">three</video:uploader>'
    ) in page
    # A film on another site has no file here; a row without either has no film.
    page = body(
        both(videos=Related("photos", Video(F("file"), "A", "B", None, F("film"))))
    )
    assert page.count(b"<video:video>") == 1
    player = b"<video:player_loc>https://www.example.com/d.mp4</video:player_loc>"
    assert player in page
    assert [found.problems for found in Page.objects.all()] == [[], []]


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [News, dict])
def test_an_article_without_a_date_is_no_news(both: Any, kind: Any) -> None:
    news = kind(
        name="The E", language="en", publication_date=F("day"), title=F("title")
    )
    Article.objects.create(slug="old", title="Old & new", day="2026-01-02")
    Article.objects.create(slug="undated", title="x")
    page = body(both(news=news))
    assert page.count(b"<url>") == 2
    assert page.count(b"<news:news>") == 1
    assert b"<news:publication_date>2026-01-02</news:publication_date>" in page
    assert b"<news:title>Old &amp; new</news:title>" in page


@pytest.mark.usefixtures("album")
def test_a_file_without_an_address_is_no_image(both: Any, monkeypatch: Any) -> None:
    class Broken(Storage):
        def url(self, name: str | None) -> str:
            if name == "d.jpg":
                raise ValueError("no such bucket")
            return f"https://cdn.example/{name}"

    field: Any = Photo._meta.get_field("file")
    monkeypatch.setattr(field, "storage", Broken())
    found = slugs(both(images=Related("photos", F("file"), filter=~Q(position=1))))
    assert found == {"one": ("https://cdn.example/c.jpg",), "two": (), "three": ()}
    for page in Page.objects.all():
        ((_, reason),) = page.problems
        assert reason == "listed without images: ValueError: no such bucket"


def test_a_page_takes_one_more_query_however_many_images_there_are(
    album: list[Article], page_of: Any
) -> None:
    def queries(**declared: Any) -> int:
        Section.objects.all().delete()
        with CaptureQueriesContext(connection) as found:
            assert page_of(**declared).status_code == 200
        return len([q for q in found if "testapp_" in q["sql"]])

    plain = queries()
    assert queries(images=FILES) == plain + 1
    Photo.objects.bulk_create(
        Photo(article=article, file=f"{number}.jpg")
        for article in album
        for number in range(40)
    )
    assert queries(images=FILES) == plain + 1


@pytest.mark.parametrize("last", [7, 10_000_000])
@pytest.mark.usefixtures("db", "media_url")
def test_rows_that_are_not_listed_lend_nobody_their_images(
    both: Any, last: int
) -> None:
    """Near one another keys are read as a range, else one by one."""
    for pk, live in ((5, True), (6, False), (last, True)):
        article = Article.objects.create(pk=pk, slug=f"a{pk}", live=live)
        for position in (2, 1):
            name = f"{pk}-{position}.jpg"
            Photo.objects.create(article=article, file=name, position=position)
    page = both(images=FILES, items=lambda self: Article.objects.filter(live=True))
    assert slugs(page) == {
        f"a{pk}": images(f"{pk}-1.jpg", f"{pk}-2.jpg") for pk in (5, last)
    }


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
    st.sampled_from(
        [
            *("/a.jpg", "/b/ä.png", "x.jpg", "/../x", "/a b", "/a\n/b", "/%zz"),
            *("https://cdn.example/x.jpg", "https://cdn.example/a&b.jpg"),
            *("https://cdn.example:8443/x", "HTTPS://CDN.example/y.jpg"),
            *("//cdn.example/x", "https://cdn.example", "/a?b=1&c=2"),
        ]
    )
    | st.text(max_size=6),
    max_size=4,
)


@given(rows=st.lists(TEXTS, min_size=1, max_size=4))
@example(rows=[["https://cdn.example/x.jpg", "/a.jpg"]])
@example(rows=[["/a&b.jpg"], [], ["/c.jpg", "/d.jpg"]])
def test_images_in_bulk_are_the_images_one_by_one(rows: list[list[str]]) -> None:
    found = bulk_media(RowBatch(rows, {}, media={None: {"images": rows}}))
    if found is None:
        return
    ((literals, columns),) = found
    texts = columns[0] if columns else [""] * len(rows)
    assert literals == ("", "") or not columns
    place = Place(ORIGIN_MARK, "", UTC)
    try:
        expected = [
            "".join(image_xml(as_record(one, "images"), place) for one in row if one)
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
    with mock.patch.object(field, "storage", FileSystemStorage(base_url=base)):
        convert = FileUrl(field)
        found = convert.many(names)
        if found is not None:
            assert found == [convert(name) for name in names]
        # Plain names are converted together.
        assert convert.many(["a/b.jpg", None]) is not None
