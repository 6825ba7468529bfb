"""One small file of each kind, by its name in tests/golden/."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from django_sitemaps_plus.protocol.dates import w3c
from django_sitemaps_plus.protocol.entries import (
    Image,
    News,
    Platform,
    Restriction,
    Uploader,
    Video,
)
from django_sitemaps_plus.protocol.extensions import image_xml, news_xml, video_xml
from django_sitemaps_plus.protocol.locations import Origin, absolute, local_path
from django_sitemaps_plus.protocol.markup import escape
from django_sitemaps_plus.protocol.robots import Group, robots_txt
from django_sitemaps_plus.protocol.writers import (
    IndexWriter,
    UrlsetWriter,
    alternate_xml,
    changefreq_xml,
    lastmod_xml,
    priority_xml,
    urlset_header,
)

GOLDEN = Path(__file__).parent.parent / "golden"
ORIGIN = Origin("https", "www.example.com")
SITE = str(ORIGIN)
BERLIN = ZoneInfo("Europe/Berlin")
FULL_HEADER = urlset_header(images=True, videos=True, news=True)


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
    """Return a ``<url>`` of what the package writes for each of its parts."""
    path = local_path(loc, ORIGIN)
    parts = [
        f"<url><loc>{SITE}{escape(path)}</loc>",
        "" if lastmod is None else lastmod_xml(w3c(lastmod, zone)),
        changefreq_xml(changefreq),
        priority_xml(priority),
        *(alternate_xml(code, absolute(href, ORIGIN)) for code, href in alternates),
        *(image_xml(image, SITE) for image in images),
        *(video_xml(video, SITE, path, zone) for video in videos),
        *(news_xml(article, zone) for article in news),
        "</url>\n",
    ]
    return "".join(parts)


def write_urlset(urls: Iterable[str], header: bytes = FULL_HEADER) -> bytes:
    """Return the bytes of a urlset."""
    written: list[bytes] = []
    writer = UrlsetWriter(written.append, header=header)
    for url in urls:
        writer.add_xml(url.encode())
    writer.finish()
    return b"".join(written)


def urlset() -> bytes:
    """Return a urlset of plain entries, with every way to say a date."""
    five_west = timezone(timedelta(hours=-5))
    return write_urlset(
        [
            url_xml("/"),
            url_xml("/naive/", datetime(2026, 7, 1, 12, 30, 15, 999)),  # noqa: DTZ001
            url_xml("/utc/", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
            url_xml("/west/", datetime(2026, 1, 2, 3, 4, 5, tzinfo=five_west)),
            url_xml("/day/", date(987, 6, 5), "never"),
            url_xml("/text/", "2026-01-02T03:04:05.678Z", priority="0.50"),
            url_xml(f"{SITE}/ελλάδα?a=1&b='2'", priority=Decimal("0.3")),
            url_xml("/all/", date(2026, 11, 21), "weekly", 1.0),
        ],
        urlset_header(),
    )


def alternates() -> bytes:
    """Return a urlset of one page in two languages, one of them on another host."""
    links = [
        ("en", "/en/tea/"),
        ("de-CH", "https://Tee.example/grüner tee/?a&b"),
        ("x-default", "/tea/"),
    ]
    return write_urlset([url_xml("/en/tea/", alternates=links)], urlset_header())


def images() -> bytes:
    """Return a urlset with images, one of them on another host."""
    pictures = [Image("/media/a&b.png"), Image("https://cdn.example/ü.jpg")]
    return write_urlset([url_xml("/tea/", images=pictures)], urlset_header(images=True))


def videos() -> bytes:
    """Return a urlset with a video that says everything, and one that says little."""
    full = Video(
        thumbnail_loc="/media/thumb.jpg",
        title="Tea <for> \"two\" & 'one'",
        description="Two lines,\nno more.",
        content_loc="https://cdn.example/tea.mp4",
        player_loc="/player/?v=1&w=2",
        duration=600,
        expiration_date=date(2027, 1, 1),
        rating=4.5,
        view_count=12_345,
        publication_date=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        family_friendly=True,
        restriction=Restriction("allow", ("GB", "IE")),
        platform=Platform("deny", ("tv",)),
        requires_subscription=False,
        uploader=Uploader("Tea & Co", "/users/tea/"),
        live=False,
        tags=("tea", "чай"),
    )
    little = Video("/t.jpg", "Tea", "Water, leaves.", player_loc="/p", uploader="Ann")
    header = urlset_header(videos=True)
    return write_urlset([url_xml("/tea/", videos=[full, little])], header)


def news() -> bytes:
    """Return a urlset of two articles."""
    first = News("The Tea Times", "en", date(2026, 11, 21), "Tea & cake")
    published = datetime(2026, 11, 20, 8, 0, tzinfo=BERLIN)
    second = News("茶报", "zh-cn", published, "茶")
    urls = [url_xml("/1/", news=[first]), url_xml("/2/", news=[second])]
    return write_urlset(urls, urlset_header(news=True))


def index() -> bytes:
    """Return an index of two sitemaps."""
    written: list[bytes] = []
    writer = IndexWriter(written.append)
    changed = datetime(2026, 11, 21, 8, 9, 10, tzinfo=UTC)
    writer.add(f"{SITE}/sitemap-tea-1.xml", changed, BERLIN)
    writer.add(f"{SITE}/sitemap.php?a=1&b=2", None, BERLIN)
    writer.finish()
    return b"".join(written)


def robots() -> bytes:
    """Return a robots.txt of three groups and a sitemap."""
    groups = [
        Group(("*",), allow=("/cart/help/",), disallow=("/cart/", "/*.pdf$", "/ü #")),
        Group(("AI2Bot", "GPTBot"), crawl_delay=2.5),
        Group(("BadBot",), disallow=("/",)),
    ]
    return robots_txt(groups, [f"{SITE}/sitemap.xml"]).encode()


URLSETS = {
    "urlset.xml": urlset,
    "urlset_alternates.xml": alternates,
    "urlset_images.xml": images,
    "urlset_videos.xml": videos,
    "urlset_news.xml": news,
}
FILES = URLSETS | {"index.xml": index, "robots.txt": robots}
