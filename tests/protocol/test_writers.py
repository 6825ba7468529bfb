"""Writers of urlset and index: what comes out, and what is refused."""

from __future__ import annotations

import decimal
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from lxml import etree

from django_sitemaps_plus.protocol import limits, writers
from django_sitemaps_plus.protocol.errors import DateError, EntryError, PageFull
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.protocol.markup import escape
from tests.protocol.reading import parse
from tests.protocol.samples import SITE, url_xml
from tests.protocol.strategies import any_text

# Escaping


def test_all_five_entities_are_escaped() -> None:
    assert escape('<a href="x">&\'') == "&lt;a href=&quot;x&quot;&gt;&amp;&apos;"
    assert escape("nothing to do, ни в чём") == "nothing to do, ни в чём"


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
    ("value", "reason"),
    [
        (f"a{ORIGIN_MARK}", r"U\+001A is illegal"),
        ("\ud800", r"U\+D800 is illegal"),
        (None, "not a text"),
        (b"a", "not a text"),
    ],
)
def test_what_xml_cannot_hold_is_named(value: Any, reason: str) -> None:
    with pytest.raises(EntryError, match=reason):
        escape(value)


# Fragments


def test_changefreq_is_one_of_seven_words() -> None:
    for word in limits.CHANGEFREQS:
        assert writers.changefreq_xml(word) == f"<changefreq>{word}</changefreq>"
    assert writers.changefreq_xml(None) == writers.changefreq_xml("") == ""
    for value in ["Daily", "often", 7, b"daily", ["daily"]]:
        with pytest.raises(EntryError, match=r"changefreq .* not one of always"):
            writers.changefreq_xml(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (1, "1"),
        (1.0, "1.0"),
        (0.1 + 0.2, "0.30000000000000004"),
        (-0.0, "0.0"),
        (1e-7, "0.0000001"),
        *((Decimal(text), text) for text in ("0.30", "0.12345678901234567890")),
        (Decimal("1E-3"), "0.001"),
        (Decimal("0E+3"), "0"),
        ("0.80", "0.80"),
        (".5", "0.5"),
        ("1e-9", "0.000000001"),
    ],
)
def test_priority_is_the_number_as_given_without_exponent(
    value: Any, written: str
) -> None:
    with decimal.localcontext(decimal.Context(prec=3)):
        assert writers.priority_xml(value) == f"<priority>{written}</priority>"
    assert writers.priority_xml(None) == writers.priority_xml("") == ""


@pytest.mark.parametrize(
    "value",
    [
        *[7, 1.0000001, -0.1, Decimal("1.01"), "-1"],
        *[float("nan"), float("inf"), Decimal("sNaN"), "NaN"],
        *["0,5", "high", "0_1", "\u0660", True, b"1", [1], 1j],
        *[Decimal("1E-41"), "1E-999999", "0E-999999", "0." + "1" * 41],
        pytest.param(10**5000, id="huge"),
    ],
)
def test_a_priority_that_is_no_number_from_0_to_1_is_refused(value: Any) -> None:
    with pytest.raises(EntryError, match="priority"):
        writers.priority_xml(value)


def test_lastmod_is_completed_to_what_the_schemas_accept() -> None:
    assert writers.lastmod_xml("2026-01-02") == "<lastmod>2026-01-02</lastmod>"
    assert (
        writers.lastmod_xml("2026-01-02T03:04Z")
        == "<lastmod>2026-01-02T03:04:00Z</lastmod>"
    )
    for value in ["2026", "2026-01"]:
        with pytest.raises(DateError, match=r"lastmod .* YYYY-MM-DD at least"):
            writers.lastmod_xml(value)


@pytest.mark.parametrize("language", ["en", "pt-br", "zh-Hans-CN", "x-default", "haw"])
def test_an_alternate_is_a_link(language: str) -> None:
    start = f'<xhtml:link rel="alternate" hreflang="{language}" href='
    link = writers.alternate_xml(language, "https://a.example/?b&c")
    assert link == f'{start}"https://a.example/?b&amp;c"/>'
    assert (
        writers.alternate_xml(language, f"{ORIGIN_MARK}/a")
        == f'{start}"{ORIGIN_MARK}/a"/>'
    )


@pytest.mark.parametrize(
    ("language", "href"),
    [
        *((code, "https://a.example/") for code in ("", "e", "en_US", "en-", "en\n")),
        *(("en", href) for href in ("javascript:alert(1)", "a", "", "/a")),
        *(("en", href) for href in (f"{ORIGIN_MARK}a", f"/{ORIGIN_MARK}")),
        (None, "https://a.example/"),
    ],
)
def test_an_alternate_without_language_or_address_is_refused(
    language: Any, href: str
) -> None:
    with pytest.raises(EntryError):
        writers.alternate_xml(language, href)


# Pages

ENTRY = url_xml("/").encode()


def test_a_page_counts_its_entries_and_bytes() -> None:
    written: list[bytes] = []
    header = writers.urlset_header(["images"])
    writer = writers.UrlsetWriter(written.append, header=header, max_entries=5)
    writer.add_xml(ENTRY * 3, entries=3)
    with pytest.raises(PageFull, match="page full: 3 of 5 entries"):
        writer.add_xml(ENTRY * 3, entries=3)
    writer.add_xml(ENTRY * 2, entries=2)
    writer.finish()
    data = b"".join(written)
    assert data == header + ENTRY * 5 + writers.URLSET_FOOTER
    assert (writer.entries, writer.size) == (5, len(data))


def test_a_page_takes_50000_entries_and_52428800_bytes_and_not_one_more() -> None:
    written: list[bytes] = []
    header = writers.urlset_header()
    writer = writers.UrlsetWriter(written.append, header=header)
    for _ in range(50_000):
        writer.add_xml(ENTRY)
    with pytest.raises(PageFull, match="50000 of 50000 entries"):
        writer.add_xml(ENTRY)
    written.clear()
    writer = writers.UrlsetWriter(written.append, header=header)
    rest = 52_428_800 - len(header) - len(writers.URLSET_FOOTER)
    with pytest.raises(PageFull, match="of 52428800 bytes"):
        writer.add_xml(bytes(rest + 1))
    writer.add_xml(bytes(rest))
    writer.finish()
    assert sum(map(len, written)) == writer.size == 52_428_800


# Indexes


def test_an_index_takes_50000_sitemaps_and_52428800_bytes_and_not_one_more() -> None:
    sitemaps = [writers.sitemap_xml(f"{SITE}/s.xml", "2026-01-02")] * 50_000
    assert writers.index_xml(sitemaps).count(b"<sitemap>") == 50_000
    with pytest.raises(PageFull, match="50001 of 50000 entries"):
        writers.index_xml([*sitemaps, writers.sitemap_xml(f"{SITE}/s.xml")])
    rest = 52_428_800 - len(writers.index_xml([]))
    assert len(writers.index_xml(["a" * rest])) == 52_428_800
    with pytest.raises(PageFull, match="52428801 of 52428800 bytes"):
        writers.index_xml(["a" * (rest + 1)])
