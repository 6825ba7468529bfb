"""Photos of an article that are saved and deleted: which pages show it, and what."""

from __future__ import annotations

import pytest
from django.db.models import F, Q
from django.test import Client

from django_sitemaps_plus import Related, Route, Sitemap
from django_sitemaps_plus.changes.assignment import assign
from django_sitemaps_plus.models import Change, Page, RelatedState, Section
from django_sitemaps_plus.sitemaps.sections import source
from tests.conftest import Register
from tests.support.helpers import ArticleSitemap, told, urlset
from tests.testapp.models import Article, Folio, Label, Photo, Scan, Spot

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

PHOTOS = Related("photos", F("title"), filter=Q(public=True), order_by="position")


class Pictured(ArticleSitemap):
    """Two articles a page, with the titles of their photos for addresses."""

    limit = 3
    images = PHOTOS


class Labelled(Sitemap):
    """Two spots a page, with the names of their labels."""

    model = Spot
    location = Route("article", slug=F("name"))
    limit = 3
    images = Related("labels", F("name"))


def pages(client: Client) -> list[list[tuple[str, tuple[str, ...]]]]:
    """Return the last part of each location, and the images, of each page."""
    numbers = Page.objects.order_by("number").values_list("number", flat=True)
    return [
        [
            (
                entry.loc.rsplit("/", 2)[-2],
                tuple(image.rsplit("/", 1)[1] for image in entry.images),
            )
            for entry in urlset(client.get(f"/sitemap-news-{number}.xml"))
        ]
        for number in numbers
    ]


@pytest.fixture
def album(register: Register, client: Client) -> list[Photo]:
    """Four articles on two pages, all built; the first and the third have photos."""
    articles = [Article.objects.create(slug=slug) for slug in "abcd"]
    made = [
        Photo.objects.create(article=articles[index], title=f"/{index}-{number}")
        for index in (0, 2)
        for number in (1, 2)
    ]
    register("news", Pictured)
    client.get("/sitemap-news.xml")
    assert pages(client) == [
        [("a", ("0-1", "0-2")), ("b", ())],
        [("c", ("2-1", "2-2")), ("d", ())],
    ]
    told()
    return made


def concerned() -> list[int]:
    """Return the pages that are to be built again."""
    assign(source("news"), Section.objects.get(name="news"))
    waiting = set(Change.objects.values_list("page", flat=True))
    marked = Page.objects.filter(verified_at=0).values_list("number", flat=True)
    return sorted(waiting | {*marked})


def test_photos_that_are_new_saved_or_deleted_rebuild_only_the_page_of_their_article(
    album: list[Photo], client: Client
) -> None:
    photo = album[0]
    Photo.objects.create(article=photo.article, title="/new", position=-1)
    assert pages(client)[0] == [("a", ("new", "0-1", "0-2")), ("b", ())]
    assert told() == [("changed", "/articles/a/")]
    for field, value, expected in (
        ("title", "/x", ("new", "x", "0-2")),
        ("position", 9, ("new", "0-2", "x")),
        ("public", False, ("new", "0-2")),
    ):
        setattr(photo, field, value)
        photo.save()
        assert concerned() == [1]
        assert pages(client)[0][0] == ("a", expected)
        assert told() == [("changed", "/articles/a/")]
    photo.film = "/x.mp4"
    photo.save(update_fields=["film"])
    assert not Change.objects.exists(), "no entry reads it"
    album[2].delete()
    assert pages(client)[1] == [("c", ("2-2",)), ("d", ())]
    assert told() == [("changed", "/articles/c/")]


def test_a_photo_that_moves_concerns_both_articles(
    album: list[Photo], client: Client
) -> None:
    album[0].save()
    pages(client)
    told()
    album[0].article = moved = Article.objects.get(slug="d")
    album[0].save()
    assert concerned() == [1, 2]
    state = RelatedState.objects.get(key=str(album[0].pk)).state
    assert state == f'["{moved.pk}"]'
    assert pages(client) == [
        [("a", ("0-2",)), ("b", ())],
        [("c", ("2-1", "2-2")), ("d", ("0-1",))],
    ]
    assert told() == [("changed", "/articles/a/"), ("changed", "/articles/d/")]


def test_labels_that_several_rows_share_rebuild_the_pages_of_these(
    register: Register, client: Client
) -> None:
    spots = [Spot.objects.create(name=name) for name in "abcdef"]
    shared, lonely = (Label.objects.create(name=f"/{name}") for name in ("s", "l"))
    for spot in (spots[0], spots[5]):
        spot.labels.add(shared)
    spots[3].labels.add(lonely)
    register("news", Labelled)
    client.get("/sitemap-news.xml")
    pages(client)
    for label in (shared, lonely):
        label.save()
    pages(client)
    shared.name = "/t"
    shared.save()
    assert concerned() == [1, 3]
    first, second, third = pages(client)
    assert (first[0], third[1]) == (("a", ("t",)), ("f", ("t",)))
    assert second == [("c", ()), ("d", ("l",))]
    spots[2].labels.add(shared)
    assert pages(client)[1] == [("c", ("t",)), ("d", ("l",))]
    spots[3].labels.clear()
    assert pages(client)[1] == [("c", ("t",)), ("d", ())]


def test_pictures_of_a_generic_relation_are_those_of_their_own_model(
    register: Register, client: Client
) -> None:
    class Folios(Sitemap):
        model = Folio
        location = Route("article", slug=F("name"))
        limit = 3
        images = Related("scans", F("file"))

    folios = [Folio.objects.create(name=name) for name in "abcd"]
    article = Article.objects.create(pk=folios[0].pk, slug="other")
    mine = Scan.objects.create(target=folios[2], file="mine")
    other = Scan.objects.create(target=article, file="other")
    register("news", Folios)
    client.get("/sitemap-news.xml")
    assert pages(client) == [[("a", ()), ("b", ())], [("c", ("mine",)), ("d", ())]]
    for scan in (mine, other):
        scan.save()
    pages(client)
    told()
    mine.file = "new"
    mine.save()
    other.file = "else"
    other.save()
    assert concerned() == [2]
    assert pages(client)[1] == [("c", ("new",)), ("d", ())]
    assert told() == [("changed", "/articles/c/")]
    Scan.objects.create(target=folios[0], file="first")
    assert pages(client)[0] == [("a", ("first",)), ("b", ())]
    mine.delete()
    assert pages(client)[1] == [("c", ()), ("d", ())]
    told()
    other.delete()
    pages(client)
    assert told() == []
