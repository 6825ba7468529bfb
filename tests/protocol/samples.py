"""One small file of each kind, by its name in tests/golden/."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

from django_sitemaps_plus.protocol.entries import (
    Alternate,
    Image,
    IndexItem,
    News,
    Platform,
    Restriction,
    Uploader,
    Url,
    Video,
)
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.protocol.robots import Group, robots_txt
from django_sitemaps_plus.protocol.writers import (
    IndexWriter,
    UrlsetWriter,
    urlset_header,
)

GOLDEN = Path(__file__).parent.parent / "golden"
ORIGIN = Origin("https", "www.example.com")
BERLIN = ZoneInfo("Europe/Berlin")


def write_urlset(urls: Iterable[Url], header: bytes | None = None) -> bytes:
    """Return the bytes of a urlset with all extensions declared, or that header."""
    written: list[bytes] = []
    if header is None:
        header = urlset_header(images=True, videos=True, news=True)
    writer = UrlsetWriter(written.append, origin=ORIGIN, zone=BERLIN, header=header)
    for url in urls:
        writer.add(url)
    writer.finish()
    return b"".join(written)


def urlset() -> bytes:
    """Return a urlset of plain entries, with every way to say a date."""
    five_west = timezone(timedelta(hours=-5))
    return write_urlset(
        [
            Url("/"),
            Url("/naive/", lastmod=datetime(2026, 7, 1, 12, 30, 15, 999)),  # noqa: DTZ001
            Url("/utc/", lastmod=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
            Url("/west/", lastmod=datetime(2026, 1, 2, 3, 4, 5, tzinfo=five_west)),
            Url("/day/", lastmod=date(987, 6, 5), changefreq="never"),
            Url("/text/", lastmod="2026-01-02T03:04:05.678Z", priority="0.50"),
            Url("https://www.example.com/ελλάδα?a=1&b='2'", priority=Decimal("0.3")),
            Url("/all/", date(2026, 11, 21), "weekly", 1.0),
        ],
        urlset_header(),
    )


def alternates() -> bytes:
    """Return a urlset of one page in two languages, one of them on another host."""
    links = (
        Alternate("en", "/en/tea/"),
        Alternate("de-CH", "https://Tee.example/grüner tee/?a&b"),
        Alternate("x-default", "/tea/"),
    )
    return write_urlset([Url("/en/tea/", alternates=links)], urlset_header())


def images() -> bytes:
    """Return a urlset with images, one of them on another host."""
    pictures = (Image("/media/a&b.png"), Image("https://cdn.example/ü.jpg"))
    return write_urlset([Url("/tea/", images=pictures)], urlset_header(images=True))


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
    return write_urlset(
        [Url("/tea/", videos=(full, little))], urlset_header(videos=True)
    )


def news() -> bytes:
    """Return a urlset of two articles."""
    first = News("The Tea Times", "en", date(2026, 11, 21), "Tea & cake")
    published = datetime(2026, 11, 20, 8, 0, tzinfo=BERLIN)
    second = News("茶报", "zh-cn", published, "茶")
    return write_urlset(
        [Url("/1/", news=first), Url("/2/", news=second)], urlset_header(news=True)
    )


def index() -> bytes:
    """Return an index of two sitemaps."""
    written: list[bytes] = []
    writer = IndexWriter(written.append)
    changed = datetime(2026, 11, 21, 8, 9, 10, tzinfo=UTC)
    page = "https://www.example.com/sitemap-tea-1.xml"
    writer.add(IndexItem(page, changed), BERLIN)
    writer.add(IndexItem("https://www.example.com/sitemap.php?a=1&b=2"), BERLIN)
    writer.finish()
    return b"".join(written)


def robots() -> bytes:
    """Return a robots.txt of three groups and a sitemap."""
    groups = [
        Group(("*",), allow=("/cart/help/",), disallow=("/cart/", "/*.pdf$", "/ü #")),
        Group(("AI2Bot", "GPTBot"), crawl_delay=2.5),
        Group(("BadBot",), disallow=("/",)),
    ]
    return robots_txt(groups, ["https://www.example.com/sitemap.xml"]).encode()


URLSETS = {
    "urlset.xml": urlset,
    "urlset_alternates.xml": alternates,
    "urlset_images.xml": images,
    "urlset_videos.xml": videos,
    "urlset_news.xml": news,
}
FILES = URLSETS | {"index.xml": index, "robots.txt": robots}
