"""Images, videos and news of an entry."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.storage import InMemoryStorage
from django.db.models import F

from django_sitemaps_plus.protocol.entries import Image, News, Video
from tests.support.factories import articles
from tests.support.helpers import body, urlset
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

HOST = "https://www.example.com"
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
        ("images", Image("/a.jpg"), pictures(f"{HOST}/a.jpg")),
        (
            "images",
            ["/a.jpg", Image("/b.jpg")],
            pictures(f"{HOST}/a.jpg", f"{HOST}/b.jpg"),
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
    both: Any, name: str, value: Any, expected: bytes
) -> None:
    articles(1)
    assert expected in body(both(**{name: value}))


@pytest.mark.parametrize(
    ("base_url", "start"),
    [("/media/", f"{HOST}/media/"), ("https://cdn.example/", "https://cdn.example/")],
)
def test_a_file_s_image_is_its_address_in_its_storage(
    both: Any, page_of: Any, monkeypatch: pytest.MonkeyPatch, base_url: str, start: str
) -> None:
    field: Any = Article._meta.get_field("photo")
    monkeypatch.setattr(field, "storage", InMemoryStorage(base_url=base_url))
    articles(1, photo="x/é 1.jpg")
    articles(1)
    page = both(images=F("photo"))
    method = page_of(images=lambda self, item: [item.photo] if item.photo else None)
    assert body(method) == body(page)
    found = [entry.images for entry in urlset(page)]
    assert found == [(f"{start}x/%C3%A9%201.jpg",), ()]
