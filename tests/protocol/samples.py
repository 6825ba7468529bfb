"""Whole entries and files, of what the package writes for each of their parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zoneinfo import ZoneInfo

from django_sitemaps_plus.protocol import extensions, writers
from django_sitemaps_plus.protocol.dates import w3c
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.protocol.markup import escape

ORIGIN = Origin("https", "www.example.com")
SITE = str(ORIGIN)
BERLIN = ZoneInfo("Europe/Berlin")
FULL_HEADER = writers.urlset_header(extensions.MEDIA)


def url_xml(
    loc: Any,
    lastmod: Any = None,
    changefreq: Any = None,
    priority: Any = None,
    *,
    alternates: Any = (),
    images: Any = (),
    videos: Any = (),
    news: Any = (),
    zone: Any = BERLIN,
) -> str:
    """Return a ``<url>``; ``zone`` is that of a naive lastmod."""
    path = ORIGIN.local_path(loc)
    place = extensions.Place(SITE, path, zone)
    parts = [
        f"<url><loc>{SITE}{escape(path)}</loc>",
        "" if lastmod is None else writers.lastmod_xml(w3c(lastmod, zone)),
        writers.changefreq_xml(changefreq),
        writers.priority_xml(priority),
        *(
            writers.alternate_xml(code, ORIGIN.absolute(href))
            for code, href in alternates
        ),
        *(extensions.image_xml(image, place) for image in images),
        *(extensions.video_xml(video, place) for video in videos),
        *(extensions.news_xml(article, place) for article in news),
        "</url>\n",
    ]
    return "".join(parts)


def write_urlset(urls: Iterable[str], header: bytes = FULL_HEADER) -> bytes:
    """Return the bytes of a urlset."""
    written: list[bytes] = []
    writer = writers.UrlsetWriter(written.append, header=header)
    for url in urls:
        writer.add_xml(url.encode())
    writer.finish()
    return b"".join(written)
