"""The entries of sitemaps: of our own pages, and of what others wrote."""

from __future__ import annotations

import gzip
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.contrib.audit.entries import (
    SITEMAP,
    Entry,
    Unreadable,
    entries_of_page,
    parse,
)
from django_sitemaps_plus.protocol.entries import Image, News, Video
from tests.protocol.samples import SITE, url_xml, write_urlset
from tests.protocol.strategies import entries

START = (
    f'<urlset xmlns="{SITEMAP}" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:own="https://www.example.com/own">'
)
LOC = f"<loc>{SITE}/a/</loc>"


def read(body: bytes | str) -> list[Entry]:
    """Return the entries of a document that somebody else wrote."""
    data = body if isinstance(body, bytes) else body.encode()
    return list(parse("it", io.BytesIO(data), namespace=SITEMAP))


@given(st.lists(entries(dirty=False), max_size=3))
def test_our_own_pages_are_read_as_others_read_them(some: list[dict[str, Any]]) -> None:
    body = write_urlset([url_xml(**fields) for fields in some])
    own = list(entries_of_page(body))
    assert own == read(body)
    assert len(own) == len(some)


def test_an_entry_has_all_that_is_compared_and_checked() -> None:
    pairs = [("en", "/a/?x=1&y='"), ("x-default", "https://b.example/?a&b")]
    values = "2026-01-31T12:00:00+01:00", "daily", "0.5"
    video = Video("/t.png", "T", "D", "/v?a&b", expiration_date="2026-02-01")
    news = News("N", "en", "2026-01-30", "T")
    media = {"images": [Image("/i.png")], "videos": [video], "news": [news]}
    entry = url_xml("/a/?x=1&y='", *values, alternates=pairs, **media)
    address = f"{SITE}/a/?x=1&y='"
    links = (("en", address), ("x-default", "https://b.example/?a&b"))
    read_media = (f"{SITE}/i.png",), (f"{SITE}/v?a&b",), ("2026-02-01",)
    assert list(entries_of_page(write_urlset([entry, url_xml("/b/")]))) == [
        Entry(address, *values, links, "2026-01-30", *read_media),
        Entry(f"{SITE}/b/"),
    ]


def test_what_others_write_may_look_otherwise() -> None:
    for inside, entry in [
        (f"{LOC}<own:thing><own:other/></own:thing>", Entry(f"{SITE}/a/")),
        (f"\n{LOC}\n<priority> 0.8 </priority>", Entry(f"{SITE}/a/", priority="0.8")),
        (f"<own:loc>x</own:loc>{LOC}<loc>y</loc>", Entry(f"{SITE}/a/")),
        (f"<image:image>{LOC}</image:image>", Entry("")),
        (f'{LOC}<xhtml:link rel="stylesheet" href="x"/>', Entry(f"{SITE}/a/")),
        ("", Entry("")),
    ]:
        assert read(f"{START}<url>{inside}</url></urlset>") == [entry]


def test_an_index_is_known_as_one_and_may_be_packed() -> None:
    body = (
        f'<sitemapindex xmlns="{SITEMAP}"><sitemap>{LOC}'
        "<lastmod>2026-01-31</lastmod></sitemap></sitemapindex>"
    )
    index = [Entry(f"{SITE}/a/", "2026-01-31", is_sitemap=True)]
    assert read(body) == read(gzip.compress(body.encode())) == index


def test_what_is_not_a_sitemap_says_why() -> None:
    for body, reason in [
        ("<html><body>Not here</body></html>", "it is <html>, not a sitemap."),
        ("<!DOCTYPE html><html></html>", "it has a document type, as web pages"),
        ("", "it is not well-formed XML: no element found"),
        (f"{START}<url>{LOC}</url>", "it is not well-formed XML: no element found"),
        (f"{START}<url>{LOC}</urk></urlset>", "it is not well-formed XML: mismatched"),
        (f"{START}<url><loc>a&b</loc></url></urlset>", "it is not well-formed XML"),
        (f"{START}<url><bad:tag/></url></urlset>", "not well-formed XML: unbound"),
        (f"<urlset><url>{LOC}</url></urlset>", "it has the namespace '', not 'http"),
        (START.replace("0.9", "0.84") + "</urlset>", "sitemap/0.84', not 'http"),
    ]:
        with pytest.raises(Unreadable) as refused:
            read(body)
        assert reason in str(refused.value)
