"""Images, videos and news of an entry."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.storage import InMemoryStorage
from django.db.models import F
from django.test import Client

from django_sitemaps_plus.models import Page
from django_sitemaps_plus.protocol.entries import Image, News, Video
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, body, crawled, urlset
from tests.support.two_paths import both
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

VIDEO = {
    "thumbnail_loc": "/thumb.jpg",
    "title": "A <title>",
    "description": "Text",
    "content_loc": "https://cdn.example/film.mp4",
}
FILM = (
    b"<video:video>"
    b"<video:thumbnail_loc>https://www.example.com/thumb.jpg</video:thumbnail_loc>"
    b"<video:title>A &lt;title&gt;</video:title>"
    b"<video:description>Text</video:description>"
    b"<video:content_loc>https://cdn.example/film.mp4</video:content_loc>"
    b"</video:video></url>"
)
NEWS = {
    "name": "The Example",
    "language": "en",
    "publication_date": "2026-01-02T03:04:05+00:00",
    "title": "Rain & wind",
}
STORY = (
    b"<news:news><news:publication><news:name>The Example</news:name>"
    b"<news:language>en</news:language></news:publication>"
    b"<news:publication_date>2026-01-02T03:04:05+00:00</news:publication_date>"
    b"<news:title>Rain &amp; wind</news:title></news:news></url>"
)


def pictures(*locations: str) -> bytes:
    images = (
        f"<image:image><image:loc>{location}</image:loc></image:image>"
        for location in locations
    )
    return f"</lastmod>{''.join(images)}</url>".encode()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("images", "", pictures()),
        (
            "images",
            "https://a.example/a b.jpg",
            pictures("https://a.example/a%20b.jpg"),
        ),
        ("images", Image("/a.jpg"), pictures("https://www.example.com/a.jpg")),
        (
            "images",
            ["/a.jpg", Image("/b.jpg")],
            pictures("https://www.example.com/a.jpg", "https://www.example.com/b.jpg"),
        ),
        ("videos", VIDEO, FILM),
        ("videos", Video(**VIDEO), FILM),
        ("videos", (VIDEO, Video(**VIDEO)), FILM.removesuffix(b"</url>") + FILM),
        ("news", NEWS, STORY),
        ("news", [News(**NEWS)], STORY),
    ],
)
@pytest.mark.costly
def test_what_is_declared_is_written(
    client: Client, register: Any, name: str, value: Any, expected: bytes
) -> None:
    articles(1)
    page = both(client, register, type("Declared", (ArticleSitemap,), {name: value}))
    assert expected in page


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


def test_a_page_of_news_has_at_most_1000(client: Client, register: Any) -> None:
    register("news", type("Daily", (ArticleSitemap,), {"news": NEWS}))
    rows = [Article(slug=f"a-{number}", title="x") for number in range(1001)]
    Article.objects.bulk_create(rows[:1000])
    assert len(urlset(client.get("/sitemap-news.xml"))) == 1000
    rows[1000].save()
    Page.objects.update(verified_at=0)
    client.get("/sitemap-news-1.xml")
    pages = crawled(client, "/sitemap-news.xml")
    assert [len(entries) for entries in pages] == [1000, 1]
