"""Writers of urlset and index: what comes out, and what is refused."""

from __future__ import annotations

import decimal
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from django_sitemaps_plus.protocol.dates import parse_w3c, w3c
from django_sitemaps_plus.protocol.entries import (
    Alternate,
    Image,
    IndexItem,
    News,
    Url,
    Video,
)
from django_sitemaps_plus.protocol.errors import (
    DateError,
    EntryError,
    LocationError,
    PageFinished,
    PageFull,
)
from django_sitemaps_plus.protocol.limits import (
    CHANGEFREQS,
    MAX_BYTES,
    MAX_ENTRIES,
    MAX_INDEX_ENTRIES,
    MAX_NEWS,
)
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK, absolute, local_path
from django_sitemaps_plus.protocol.writers import (
    INDEX_FOOTER,
    INDEX_HEADER,
    URLSET_FOOTER,
    URLSET_HEADER,
    IndexWriter,
    UrlsetWriter,
    alternate_xml,
    changefreq_xml,
    escape,
    lastmod_xml,
    priority_xml,
    url_xml,
    urlset_header,
)
from tests.protocol.reading import NAMESPACES, parse, parse_url, text, texts
from tests.protocol.samples import BERLIN, ORIGIN, write_urlset
from tests.protocol.strategies import (
    any_index_items,
    any_text,
    anything,
    entries,
    index_items,
    relaxed,
    zones,
)

FULL_HEADER = urlset_header(images=True, videos=True, news=True)

# Escaping


def test_all_five_entities_are_escaped() -> None:
    assert escape('<a href="x">&\'') == "&lt;a href=&quot;x&quot;&gt;&amp;&apos;"
    assert escape("nothing to do, ни в чём") == "nothing to do, ни в чём"


@relaxed
@given(value=any_text)
def test_any_text_comes_back_or_is_refused(value: str) -> None:
    try:
        escaped = escape(value)
    except EntryError:
        with pytest.raises(ValueError, match=r"XML compatible|surrogates not allowed"):
            etree.Element("a").text = value
        return
    assert parse(f"<a>{escaped}</a>".encode()).text in (value, None)
    if not {"\t", "\n"} & {*value}:
        assert parse(f'<a b="{escaped}"/>'.encode()).get("b") == value


@pytest.mark.parametrize(
    "character", ["\x00", "\x08", "\x0b", "\x1f", ORIGIN_MARK, "\ud800", "\uffff"]
)
def test_a_character_that_xml_cannot_hold_is_named(character: str) -> None:
    with pytest.raises(EntryError, match=rf"U\+{ord(character):04X} is illegal"):
        escape(f"a{character}")


@pytest.mark.parametrize("value", [None, 7, b"a"])
def test_only_text_is_escaped(value: Any) -> None:
    with pytest.raises(EntryError, match="not a text"):
        escape(value)


# Fragments


def test_changefreq_is_one_of_seven_words() -> None:
    for word in CHANGEFREQS:
        assert changefreq_xml(word) == f"<changefreq>{word}</changefreq>"
    assert changefreq_xml(None) == changefreq_xml("") == ""
    for value in ["Daily", "often", 7, b"daily", ["daily"]]:
        with pytest.raises(EntryError, match=r"changefreq .* not one of always"):
            changefreq_xml(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (1, "1"),
        (0.5, "0.5"),
        (1.0, "1.0"),
        (0.1 + 0.2, "0.30000000000000004"),
        (-0.0, "0.0"),
        (1e-7, "0.0000001"),
        (Decimal("0.30"), "0.30"),
        (Decimal("1E-3"), "0.001"),
        (Decimal("0E+3"), "0"),
        (Decimal("0.12345678901234567890"), "0.12345678901234567890"),
        ("0.80", "0.80"),
        (".5", "0.5"),
        ("1e-9", "0.000000001"),
    ],
)
def test_priority_is_the_number_as_given_without_exponent(
    value: Any, written: str
) -> None:
    with decimal.localcontext(decimal.Context(prec=3)):
        assert priority_xml(value) == f"<priority>{written}</priority>"


def test_no_priority_is_not_written() -> None:
    assert priority_xml(None) == priority_xml("") == ""


@pytest.mark.parametrize(
    "value",
    [
        *[7, -1, 1.0000001, -0.1, Decimal("1.01"), "2", "-1"],
        *[float("nan"), float("inf"), Decimal("NaN"), Decimal("sNaN"), "NaN"],
        *["0,5", "high", "0.5.1", "0_1", "\u0660", True, b"1", [1], 1j],
        *[Decimal("1E-41"), "1E-999999", "0." + "1" * 41],
    ],
)
def test_a_priority_that_is_no_number_from_0_to_1_is_refused(value: Any) -> None:
    with pytest.raises(EntryError, match="priority"):
        priority_xml(value)


def test_a_priority_of_a_million_digits_is_refused_at_once() -> None:
    with pytest.raises(EntryError, match=r"priority (<int>|1000)"):
        priority_xml(10**5000)


def test_lastmod_is_completed_to_what_the_schemas_accept() -> None:
    assert lastmod_xml("2026-01-02") == "<lastmod>2026-01-02</lastmod>"
    assert lastmod_xml("2026-01-02T03:04Z") == "<lastmod>2026-01-02T03:04:00Z</lastmod>"
    assert (
        lastmod_xml("2026-01-02T03:04-05:00")
        == "<lastmod>2026-01-02T03:04:00-05:00</lastmod>"
    )
    for value in ["2026", "2026-01"]:
        with pytest.raises(DateError, match=r"lastmod .* YYYY-MM-DD at least"):
            lastmod_xml(value)


@pytest.mark.parametrize("language", ["en", "pt-br", "zh-Hans-CN", "x-default", "haw"])
def test_an_alternate_is_a_link(language: str) -> None:
    assert alternate_xml(language, "https://a.example/?b&c") == (
        f'<xhtml:link rel="alternate" hreflang="{language}" '
        'href="https://a.example/?b&amp;c"/>'
    )


def test_an_alternates_path_goes_behind_the_origin() -> None:
    assert f'href="{ORIGIN_MARK}/a"' in alternate_xml("en", "/a", ORIGIN_MARK)
    assert f'href="{ORIGIN_MARK}/a"' in alternate_xml("en", f"{ORIGIN_MARK}/a")


@pytest.mark.parametrize(
    "language", ["", "e", "en_US", "en-", "-en", "x_default", 'en"', "en\n", None]
)
def test_an_alternate_of_no_language_is_refused(language: Any) -> None:
    with pytest.raises(EntryError, match="hreflang"):
        alternate_xml(language, "https://a.example/")


@pytest.mark.parametrize(
    "href", ["javascript:alert(1)", "a", "", f"{ORIGIN_MARK}a", f"/{ORIGIN_MARK}"]
)
def test_an_alternate_without_an_address_is_refused(href: str) -> None:
    with pytest.raises(EntryError):
        alternate_xml("en", href)


# Entries


def test_elements_stand_in_the_order_of_the_schema() -> None:
    url = Url(
        "/a",
        lastmod="2026-01-02",
        changefreq="daily",
        priority=0.5,
        alternates=(Alternate("en", "/a"),),
        images=(Image("/i"),),
        videos=(Video("/t", "T", "D", content_loc="/v"),),
        news=News("N", "en", "2026-01-02", "T"),
    )

    xml = url_xml(url, ORIGIN, BERLIN)

    names = [etree.QName(child).localname for child in parse_url(xml)]
    assert names == [
        *["loc", "lastmod", "changefreq", "priority"],
        *["link", "image", "video", "news"],
    ]
    assert xml.startswith("<url><loc>https://www.example.com/a</loc><lastmod>")
    assert xml.endswith("</url>\n")
    assert xml.count("\n") == 1


@pytest.mark.parametrize(
    ("url", "field"),
    [
        (Url("/a", lastmod="2026"), "lastmod"),
        (Url("/a", lastmod="soon"), "lastmod: date 'soon'"),
        (Url("/a", lastmod=7), "lastmod: date 7"),  # type: ignore[arg-type]
        (Url("/a", lastmod=""), "lastmod: date ''"),
        (Url("/a", changefreq="often"), "changefreq 'often'"),
        (Url("/a", priority=7), "priority 7"),
        (Url("/a", alternates=(Alternate("en", "//b"),)), "alternates: location '//b'"),
        (Url("/a", alternates=(Alternate("?", "/b"),)), "hreflang '\\?'"),
        (Url("/a", alternates="/b"), "alternates '/b': not a tuple"),  # type: ignore[arg-type]
        (Url("/a", images=("/b",)), "images '/b': not of Image"),  # type: ignore[arg-type]
        (Url("/a", images=(Image("b"),)), "images: location 'b'"),
        (Url("/a", videos=7), "videos 7: not a tuple"),  # type: ignore[arg-type]
        (Url("/a", news="b"), "news 'b': not of News"),  # type: ignore[arg-type]
        (Url("/a", images=(Image("/b"),) * 1001), "images: 1001, over 1000"),
        (Url("//a"), "location '//a'"),
        (Url(None), "location None"),  # type: ignore[arg-type]
    ],
)
def test_an_error_names_the_field_and_its_value(url: Url, field: str) -> None:
    with pytest.raises(EntryError, match=field):
        url_xml(url, ORIGIN, BERLIN)


def test_a_thousand_images_are_legal() -> None:
    xml = url_xml(Url("/a", images=(Image("/b"),) * 1000), ORIGIN, BERLIN)

    assert xml.count("<image:image>") == 1000


def test_bytes_behind_the_mark_become_those_of_the_origin() -> None:
    """Its own absolute URLs are stamped too, those of other hosts are not."""
    links = ("/en", "https://www.example.com/de", "https://a.example/")
    url = Url(
        "/a?b&c",
        alternates=tuple(Alternate("en", href) for href in links),
        images=(Image("/i"), Image("https://a.example/i")),
        videos=(Video("/t", "T", "D", content_loc="/v"),),
    )

    marked = url_xml(url, ORIGIN, BERLIN, prefix=ORIGIN_MARK)

    assert marked.count(ORIGIN_MARK) == 6
    stamped = marked.replace(ORIGIN_MARK, "https://www.example.com")
    assert stamped == url_xml(url, ORIGIN, BERLIN)


def assert_says(element: Any, url: Url, zone: Any) -> None:
    """Compare what a parser reads with what the entry says."""
    assert text(element, "s:loc") == str(ORIGIN) + local_path(url.loc, ORIGIN)
    lastmod = text(element, "s:lastmod")
    assert (lastmod is None) == (url.lastmod is None)
    if lastmod is not None and url.lastmod is not None:
        assert parse_w3c(lastmod) == parse_w3c(w3c(url.lastmod, zone))
    assert (text(element, "s:changefreq") or None) == (url.changefreq or None)
    priority = text(element, "s:priority")
    if priority is not None:
        assert Decimal(priority) == Decimal(str(url.priority))
    links = element.findall("xhtml:link", NAMESPACES)
    assert [(link.get("hreflang"), link.get("href")) for link in links] == [
        (link.hreflang, absolute(link.href, ORIGIN)) for link in url.alternates
    ]
    assert texts(element, "image:image/image:loc") == [
        absolute(image.loc, ORIGIN) for image in url.images
    ]
    found = element.findall("video:video", NAMESPACES)
    for video, said in zip(found, url.videos, strict=True):
        assert_video_says(video, said)
    if url.news is not None:
        prefix = "news:news/news:"
        assert text(element, f"{prefix}publication/news:name") == url.news.name
        assert text(element, f"{prefix}title") == url.news.title


def assert_video_says(element: Any, video: Video) -> None:
    """Compare a video that a parser reads with the one given."""
    assert text(element, "video:title") == video.title
    assert text(element, "video:description") == video.description
    assert texts(element, "video:tag") == list(video.tags)
    thumbnail = absolute(video.thumbnail_loc, ORIGIN)
    assert text(element, "video:thumbnail_loc") == thumbnail
    counts = (text(element, "video:duration"), text(element, "video:view_count"))
    assert counts == tuple(
        None if value is None else str(value)
        for value in (video.duration, video.view_count)
    )
    if video.uploader is not None:
        name = getattr(video.uploader, "name", video.uploader)
        assert text(element, "video:uploader") == name
    said = {None: None, "yes": True, "no": False}
    assert said[text(element, "video:live")] is video.live
    for field in ("restriction", "platform"):
        values = text(element, f"video:{field}")
        given = getattr(video, field)
        assert (values and values.split()) == (given and [*given.values])


@relaxed
@given(url=entries(dirty=False), zone=zones)
def test_a_legal_entry_is_written_and_says_the_same(url: Url, zone: Any) -> None:
    assert_says(parse_url(url_xml(url, ORIGIN, zone)), url, zone)


@relaxed
@given(url=entries(dirty=True), zone=zones)
def test_any_entry_says_the_same_or_is_refused(url: Url, zone: Any) -> None:
    try:
        xml = url_xml(url, ORIGIN, zone)
    except EntryError:
        return
    assert ORIGIN_MARK not in xml
    assert_says(parse_url(xml), url, zone)


@relaxed
@given(field=st.sampled_from(Url.__slots__), value=anything)
def test_anything_in_any_field_is_written_or_refused(field: str, value: Any) -> None:
    try:
        xml = url_xml(Url(**{"loc": "/a", field: value}), ORIGIN, BERLIN)
    except EntryError:
        return
    parse_url(xml)


# Pages


def urlset_writer(written: list[bytes], **options: Any) -> UrlsetWriter:
    """Return a writer to a list of chunks."""
    options = {"header": FULL_HEADER, **options}
    return UrlsetWriter(written.append, origin=ORIGIN, zone=UTC, **options)


@relaxed
@given(urls=st.lists(entries(dirty=False), max_size=4))
def test_entries_and_bytes_are_counted_exactly(urls: list[Url]) -> None:
    written: list[bytes] = []
    writer = urlset_writer(written)
    for number, url in enumerate(urls):
        assert writer.entries == number
        writer.add(url)
    writer.finish()

    data = b"".join(written)
    assert writer.size == len(data)
    assert writer.entries == len(urls) == len(parse(data))
    if urls:
        assert_filled_by_bytes(urls, len(data))


def assert_filled_by_bytes(urls: list[Url], size: int) -> None:
    """The same entries fit a page of their size, and not one smaller by a byte."""
    *before, last = urls
    for max_bytes in (size, size - 1):
        written: list[bytes] = []
        writer = urlset_writer(written, max_bytes=max_bytes)
        for url in before:
            writer.add(url)
        counted = (writer.entries, writer.size, len(written))
        xml = url_xml(last, ORIGIN, UTC).encode()
        assert writer.fits(xml) is (max_bytes == size)
        if max_bytes == size:
            writer.add(last)
            continue
        with pytest.raises(PageFull, match=f"of {max_bytes} bytes"):
            writer.add(last)
        assert (writer.entries, writer.size, len(written)) == counted


def test_a_page_takes_50000_entries_and_not_one_more() -> None:
    written: list[bytes] = []
    writer = urlset_writer(written)
    xml = b"<url><loc>https://www.example.com/</loc></url>\n"
    for _ in range(MAX_ENTRIES):
        writer.add_xml(xml)

    assert not writer.fits(b"")
    for add in (lambda: writer.add(Url("/")), lambda: writer.add_xml(xml)):
        with pytest.raises(PageFull, match="50000 of 50000 entries"):
            add()
    writer.finish()
    assert len(parse(b"".join(written))) == writer.entries == MAX_ENTRIES


def test_a_page_takes_52428800_bytes_and_not_one_more() -> None:
    written: list[bytes] = []
    writer = urlset_writer(written, header=URLSET_HEADER)
    rest = MAX_BYTES - len(URLSET_HEADER) - len(URLSET_FOOTER)

    assert writer.fits(bytes(rest))
    assert not writer.fits(bytes(rest + 1))
    with pytest.raises(PageFull, match="of 52428800 bytes"):
        writer.add_xml(bytes(rest + 1))
    writer.add_xml(bytes(rest))
    writer.finish()
    assert sum(map(len, written)) == writer.size == MAX_BYTES


def test_entries_made_together_stay_together() -> None:
    writer = urlset_writer([], max_entries=5)
    writer.add_xml(b"abc", entries=3)

    assert writer.fits(b"ab", entries=2)
    assert not writer.fits(b"abc", entries=3)
    with pytest.raises(PageFull):
        writer.add_xml(b"abc", entries=3)
    writer.add_xml(b"ab", entries=2)
    assert writer.entries == 5


def test_the_growth_by_stamping_counts() -> None:
    frame = len(FULL_HEADER) + len(URLSET_FOOTER)
    writer = urlset_writer([], max_bytes=frame + 100)

    assert writer.fits(b"a" * 60, extra=40)
    assert not writer.fits(b"a" * 60, extra=41)
    with pytest.raises(PageFull):
        writer.add_xml(b"a" * 60, extra=41)
    writer.add_xml(b"a" * 60, extra=40)
    assert writer.size == frame + 100


def test_a_finished_page_takes_nothing_more() -> None:
    written: list[bytes] = []
    writer = urlset_writer(written)
    writer.add(Url("/"))
    writer.finish()
    before = b"".join(written)

    assert not writer.fits(b"")
    for act in (
        lambda: writer.add(Url("/")),
        lambda: writer.add(Url("illegal, too")),
        lambda: writer.add_xml(b""),
        writer.finish,
    ):
        with pytest.raises(PageFinished):
            act()
    assert b"".join(written) == before


def test_a_refused_entry_leaves_the_page_as_it_was() -> None:
    written: list[bytes] = []
    writer = urlset_writer(written)
    with pytest.raises(LocationError):
        writer.add(Url("javascript:alert(1)"))
    writer.finish()

    assert b"".join(written) == FULL_HEADER + URLSET_FOOTER
    assert writer.entries == 0


def test_a_page_takes_1000_news_and_pages_without_news_after_them() -> None:
    writer = urlset_writer([])
    news = News("N", "en", "2026-01-02", "T")
    for _ in range(MAX_NEWS):
        writer.add(Url("/a", news=news))

    with pytest.raises(PageFull, match="1000 of 1000 news"):
        writer.add(Url("/a", news=news))
    writer.add(Url("/a"))
    assert writer.entries == 1001


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("images", (Image("/i"),)),
        ("videos", (Video("/t", "T", "D", content_loc="/v"),)),
        ("news", News("N", "en", "2026-01-02", "T")),
    ],
)
def test_an_extension_must_be_declared_by_the_header(field: str, value: Any) -> None:
    """Else its prefix is bound to nothing, and no parser reads the page."""
    url = Url("/a", **{field: value})

    with pytest.raises(EntryError, match="not declared"):
        write_urlset([url], urlset_header())
    assert parse(write_urlset([url], urlset_header(**{field: True}))) is not None


# Indexes


def index_writer(written: list[bytes], **options: Any) -> IndexWriter:
    """Return a writer to a list of chunks."""
    return IndexWriter(written.append, **options)


@relaxed
@given(items=st.lists(index_items, max_size=4), zone=zones)
def test_an_index_says_the_same_and_counts(items: list[IndexItem], zone: Any) -> None:
    written: list[bytes] = []
    writer = index_writer(written)
    for item in items:
        writer.add(item, zone)
    writer.finish()

    data = b"".join(written)
    root = parse(data)
    assert writer.size == len(data)
    assert writer.entries == len(items) == len(root)
    for element, item in zip(root, items, strict=True):
        assert text(element, "s:loc") == absolute(item.loc, ORIGIN)
        lastmod = text(element, "s:lastmod")
        assert (lastmod is None) == (item.lastmod is None)
        if lastmod is not None and item.lastmod is not None:
            assert parse_w3c(lastmod) == parse_w3c(w3c(item.lastmod, zone))


@relaxed
@given(item=any_index_items)
def test_any_sitemap_is_written_or_refused(item: IndexItem) -> None:
    written: list[bytes] = []
    writer = index_writer(written)
    try:
        writer.add(item, BERLIN)
    except EntryError:
        assert written == [INDEX_HEADER]
        return
    writer.finish()
    assert len(parse(b"".join(written))) == 1


@pytest.mark.parametrize("loc", ["/sitemap.xml", "sitemap.xml", f"{ORIGIN_MARK}/a", ""])
def test_an_index_lists_absolute_urls_only(loc: str) -> None:
    with pytest.raises(LocationError, match="loc: "):
        index_writer([]).add(IndexItem(loc), UTC)


def test_an_index_takes_50000_sitemaps_and_not_one_more() -> None:
    writer = index_writer([])
    item = IndexItem("https://www.example.com/s.xml")
    for _ in range(MAX_INDEX_ENTRIES):
        writer.add(item, UTC)

    with pytest.raises(PageFull, match="50000 of 50000"):
        writer.add(item, UTC)
    writer.finish()
    for act in (lambda: writer.add(item, UTC), writer.finish):
        with pytest.raises(PageFinished):
            act()


def test_an_index_is_limited_in_bytes_too() -> None:
    item = IndexItem("https://www.example.com/s.xml", datetime(2026, 1, 2, tzinfo=UTC))
    writer = index_writer([])
    writer.add(item, UTC)
    one = writer.size

    assert index_writer([], max_bytes=one).add(item, UTC) is None  # type: ignore[func-returns-value]
    with pytest.raises(PageFull, match=f"{len(INDEX_HEADER + INDEX_FOOTER)} of"):
        index_writer([], max_bytes=one - 1).add(item, UTC)


def test_naive_dates_of_an_index_are_of_the_zone_given() -> None:
    written: list[bytes] = []
    naive = datetime(2026, 7, 1, 12)  # noqa: DTZ001
    item = IndexItem("https://www.example.com/s.xml", naive)
    index_writer(written).add(item, ZoneInfo("Asia/Tokyo"))

    assert b"<lastmod>2026-07-01T12:00:00+09:00</lastmod>" in written[-1]
