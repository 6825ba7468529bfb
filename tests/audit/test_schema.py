"""The schemas: what is valid passes, and each way to be invalid is named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from django_sitemaps_plus.audit.rules import schema
from django_sitemaps_plus.audit.rules.elements import ALTERNATE, SITEMAP, Block
from django_sitemaps_plus.audit.rules.schema import blocks
from django_sitemaps_plus.protocol.entries import Image
from tests.protocol.samples import SITE, url_xml, write_urlset
from tests.protocol.strategies import entries

START = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    f'<urlset xmlns="{SITEMAP}" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    ' xmlns:own="https://www.example.com/own">'
)
LOC = f"<loc>{SITE}/a/</loc>"
VIDEO = (
    "<video:thumbnail_loc>https://cdn.example/t.png</video:thumbnail_loc>"
    "<video:title>T</video:title><video:description>D</video:description>"
)
WHERE = "<video:content_loc>https://cdn.example/v.mp4</video:content_loc>"
NO_TIME = "<video:duration>0</video:duration>"
PAPER = (
    "<news:publication><news:name>N</news:name><news:language>en</news:language>"
    "</news:publication>"
)
TITLED = (
    "<news:publication_date>2026-01-31</news:publication_date>"
    "<news:title>T</news:title>"
)


def faults(body: bytes | str) -> list[str]:
    """Return what is said of a document."""
    found: list[str] = []
    data = body if isinstance(body, bytes) else body.encode()
    list(blocks(data, lambda url, text: found.append(text)))
    return found


def of_url(inside: str) -> list[str]:
    """Return what is said of a document with one entry."""
    return faults(f"{START}<url>{inside}</url></urlset>")


def read(body: bytes) -> Block:
    """Return all entries of a document without faults."""
    whole = Block()
    for block in blocks(body, lambda url, text: pytest.fail(text)):
        whole.locations += block.locations
        whole.lastmods += block.lastmods
        whole.links += block.links
        whole.news += block.news
    return whole


@settings(max_examples=60, deadline=None)
@given(st.lists(entries(dirty=False), max_size=8))
def test_what_this_package_writes_has_no_fault(some: list[dict[str, Any]]) -> None:
    """Whatever it lists, and the same in one piece and in many."""
    urls = [url_xml(**fields) for fields in some]
    found = read(write_urlset(urls))
    assert len(found.locations) == len(some)
    assert faults(write_urlset(urls)) == []


@pytest.mark.parametrize("at_once", [200, 500_000])
def test_a_proof_reads_what_reading_element_by_element_reads(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(schema, "_BYTES", at_once)
    urls = [
        url_xml(
            f"/a-{n}/?x=1&y={n}'",
            "2026-01-31T12:00:00+01:00" if n % 2 else None,
            "daily",
            "0.5",
            alternates=[("en", f"/a-{n}/"), ("x-default", "https://b.example/?a&b")],
            images=[Image("/i.png")] * (n % 3),
        )
        for n in range(30)
    ]
    body = write_urlset(urls)
    proved = read(body)
    # A comment is legal, and no proof knows it.
    exact = read(body.replace(b"<urlset", b"<!-- --><urlset"))
    slow = read(body.replace(b"<url>", b"<url><!-- -->", 1))
    assert proved.locations == exact.locations == slow.locations
    assert proved.lastmods == exact.lastmods == slow.lastmods
    assert proved.locations[3] == f"{SITE}/a-3/?x=1&y=3'"
    for links in zip(proved.links, slow.links, strict=True):
        first, second = map(ALTERNATE.findall, links)
        assert first == second != []


def test_one_wrong_entry_among_many_is_found_once_and_the_others_are_read() -> None:
    urls = [url_xml(f"/{n}/", priority="0.5") for n in range(20_000)]
    urls[15_000] = urls[15_000].replace("0.5", "1.5")
    found: list[tuple[str, str]] = []
    read = blocks(write_urlset(urls), lambda url, text: found.append((url, text)))
    assert sum(len(block.locations) for block in read) == 20_000
    assert found == [(f"{SITE}/15000/", "<priority> is 1.5, not within 0 and 1")]


def test_a_document_is_as_valid_as_its_beginning_and_end() -> None:
    """However valid its entries are."""
    body = write_urlset([url_xml("/a/", alternates=[("en", "/a/")])])
    (end,) = faults(body.replace(b"</urlset>", b"</urlsez>"))
    assert "not well-formed XML: mismatched tag" in end
    (cut,) = faults(body.removesuffix(b"</urlset>\n"))
    assert "not well-formed XML: no element found" in cut
    (space,) = faults(body.replace(b'/0.9"', b'/0.8"', 1))
    assert space == "it is <urlset>, and no sitemap"
    (unbound,) = faults(body.replace(b"xmlns:xhtml", b"xmlns:html"))
    assert "not well-formed XML: unbound prefix" in unbound


def test_an_entry_has_a_thousand_images_and_no_more() -> None:
    picture = "<image:image><image:loc>https://b.example/i</image:loc></image:image>"
    assert of_url(f"{LOC}{picture * 1_000}") == []
    body = write_urlset([f"<url>{LOC}{picture * 1_001}</url>\n"])
    assert faults(body) == ["<image:image> in <url> more than 1,000 times"]


@pytest.mark.parametrize(
    "inside",
    [
        LOC,
        f"{LOC}<lastmod>2026-01-31</lastmod><changefreq>daily</changefreq>",
        f"{LOC}<own:thing><own:other/></own:thing>",
        f"\n {LOC}\n <priority> 0.8 </priority>\n",
        f"{LOC}<video:video>{VIDEO}{WHERE}</video:video>"
        "<image:image><image:loc>https://cdn.example/i.png</image:loc></image:image>",
        f"{LOC}<news:news>{PAPER}{TITLED}</news:news>",
    ],
)
def test_what_others_write_may_look_otherwise(inside: str) -> None:
    assert of_url(inside) == []


WRONG = {
    "": "<url> without <loc>",
    "<loc></loc>": "<loc> is empty",
    f"{LOC}{LOC}": "<loc> in <url> more than once",
    f"<lastmod>2026-01-31</lastmod>{LOC}": "<loc> in <url> stands too late",
    f"{LOC}<changefreq>often</changefreq>": "<changefreq> is 'often', not one of: ",
    f"{LOC}<priority>1.1</priority>": "<priority> is 1.1, not within 0 and 1",
    f"{LOC}<priority>high</priority>": "<priority> is 'high', and no number",
    f"{LOC}<priority>NaN</priority>": "<priority> is 'NaN', and no number",
    f"{LOC}<title>A</title>": "<title> in <url>: it has no such element",
    f"{LOC}<image:loc>x</image:loc>": "<image:loc> in <url>: it has no such element",
    f"{LOC}<image:image></image:image>": "<image:image> without <image:loc>",
    f"{LOC}<video:video>{VIDEO}</video:video>": "neither content_loc nor player_loc",
    f"{LOC}<video:video>{WHERE}</video:video>": "<video:video> without <video:title>",
    f"{LOC}<video:video>{VIDEO}{WHERE}<video:live>1</video:live></video:video>": (
        "<video:live> is '1', not one of: yes no"
    ),
    f"{LOC}<video:video>{VIDEO}{WHERE}{NO_TIME}</video:video>": (
        "<video:duration> is 0, not within 1 and 28800"
    ),
    f"{LOC}<news:news>{TITLED}</news:news>": "<news:news> without <news:publication>",
    f"{LOC}<news:news>{PAPER}</news:news>": "<news:news> without <news:title>",
    f"{LOC}<news:news>{PAPER.replace('>en<', '>English<')}{TITLED}</news:news>": (
        "<news:language> is 'English'"
    ),
    f"{LOC}{f'<news:news>{PAPER}{TITLED}</news:news>' * 2}": (
        "<news:news> in <url> more than once"
    ),
    f'{LOC}<xhtml:link rel="alternate" hreflang="d" href="https://b.example/"/>': (
        "an alternate with hreflang 'd'"
    ),
}


@pytest.mark.parametrize("inside", WRONG)
def test_each_way_to_be_invalid_is_named(inside: str) -> None:
    assert WRONG[inside] in " | ".join(of_url(inside))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("<html><body>Not here</body></html>", "it is <html>, and no sitemap"),
        ("<!DOCTYPE html><html></html>", "it has a document type"),
        ("", "not well-formed XML"),
        (f"{START}<url>{LOC}</url>", "not well-formed XML: no element found"),
        (f"{START}<url><loc>a&b</loc></url></urlset>", "not well-formed XML"),
        (f"<urlset><url>{LOC}</url></urlset>", "it is <urlset>, and no sitemap"),
        (f"{START}<sitemap>{LOC}</sitemap></urlset>", "<sitemap> in <urlset>: it has"),
    ],
)
def test_what_is_no_sitemap_at_all_is_said(body: str, reason: str) -> None:
    (said, *_) = faults(body)
    assert reason in said


def test_an_index_is_valid_and_known_as_one() -> None:
    body = (
        f'<sitemapindex xmlns="{SITEMAP}"><sitemap>{LOC}'
        "<lastmod>2026-01-31</lastmod></sitemap></sitemapindex>"
    )
    (block,) = blocks(body.encode(), lambda url, text: pytest.fail(text))
    assert (block.is_index, block.locations) == (True, [f"{SITE}/a/"])
