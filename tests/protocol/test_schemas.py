"""Every file is valid: by a description of the format here, and by the real schemas.

The published schemas are not part of this package. ``SITEMAP_SCHEMAS`` may name a
folder that holds copies (``sitemap.xsd``, ``siteindex.xsd``, ``sitemap-image.xsd``,
``sitemap-video.xsd``, ``sitemap-news.xsd``); each that is there is asked as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from django_sitemaps_plus.protocol.dates import parse_w3c, w3c
from django_sitemaps_plus.protocol.entries import Video
from django_sitemaps_plus.protocol.errors import EntryError
from django_sitemaps_plus.protocol.markup import date_text, location_text
from django_sitemaps_plus.protocol.writers import index_xml, sitemap_xml
from tests.protocol.reading import NAMESPACES, SITEMAP, parse, text, texts
from tests.protocol.samples import ORIGIN, SITE, url_xml, write_urlset
from tests.protocol.strategies import any_index_items, entries, index_items, zones

# What may stand in an element, in this order: a name, how often at most, and how its
# text must look. A name with "!" must be there.
_URI = r"https?://[!-~]+"
_DAY = r"\d{4}-\d\d-\d\d"
_DATE = rf"{_DAY}(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?"
_YES_NO = "yes|no"
_ANY = r"(?s).*\S.*"
_MANY = 10**9
FORMAT: dict[str, list[tuple[str, int, str]]] = {
    "s:urlset": [("s:url!", _MANY, "")],
    "s:url": [
        ("s:loc!", 1, _URI),
        ("s:lastmod", 1, _DATE),
        ("s:changefreq", 1, "always|hourly|daily|weekly|monthly|yearly|never"),
        ("s:priority", 1, r"0(\.\d+)?|1(\.0+)?"),
        ("xhtml:link", _MANY, ""),
        ("image:image", 1000, ""),
        ("video:video", _MANY, ""),
        ("news:news", 1, ""),
    ],
    "xhtml:link": [],
    "image:image": [("image:loc!", 1, _URI)],
    "video:video": [
        ("video:thumbnail_loc!", 1, _URI),
        ("video:title!", 1, r"(?s).{1,100}"),
        ("video:description!", 1, r"(?s).{1,2048}"),
        ("video:content_loc", 1, _URI),
        ("video:player_loc", 1, _URI),
        ("video:duration", 1, r"\d{1,5}"),
        ("video:expiration_date", 1, _DATE),
        ("video:rating", 1, r"[0-4](\.\d+)?|5(\.0+)?"),
        ("video:view_count", 1, r"\d+"),
        ("video:publication_date", 1, _DATE),
        ("video:tag", 32, _ANY),
        ("video:family_friendly", 1, _YES_NO),
        ("video:restriction", 1, r"[A-Z]{2}( [A-Z]{2})*"),
        ("video:requires_subscription", 1, _YES_NO),
        ("video:uploader", 1, r"(?s).{1,255}"),
        ("video:platform", 1, r"(web|mobile|tv)( (web|mobile|tv))*"),
        ("video:live", 1, _YES_NO),
    ],
    "news:news": [
        ("news:publication!", 1, ""),
        ("news:publication_date!", 1, _DATE),
        ("news:title!", 1, _ANY),
    ],
    "news:publication": [
        ("news:name!", 1, _ANY),
        ("news:language!", 1, "zh-cn|zh-tw|[a-z]{2,3}"),
    ],
    "s:sitemapindex": [("s:sitemap!", _MANY, "")],
    "s:sitemap": [("s:loc!", 1, _URI), ("s:lastmod", 1, _DATE)],
}
ATTRIBUTES = {
    "xhtml:link": {"rel": "alternate", "hreflang": r"[A-Za-z0-9-]+", "href": _URI},
    "video:restriction": {"relationship": "allow|deny"},
    "video:platform": {"relationship": "allow|deny"},
    "video:uploader": {"info": _URI},
}
_PREFIXES = {space: prefix for prefix, space in NAMESPACES.items()}


def name_of(element: Any) -> str:
    """Return an element's name with the prefix that is used here."""
    name = etree.QName(element)
    return f"{_PREFIXES[name.namespace]}:{name.localname}"


def check_format(element: Any) -> None:
    """Compare an element and all in it with ``FORMAT``."""
    name = name_of(element)
    rules = FORMAT[name]
    assert not (element.text or "").strip()
    children = [name_of(child) for child in element]
    order = [rule[0].rstrip("!") for rule in rules]
    assert children == sorted(children, key=order.index)
    for rule, most, _ in rules:
        count = children.count(rule.rstrip("!"))
        assert rule.endswith("!") <= count <= most, rule
    patterns = {rule.rstrip("!"): pattern for rule, _, pattern in rules}
    for child in element:
        assert not (child.tail or "").strip()
        check_attributes(child)
        if name_of(child) in FORMAT:
            check_format(child)
        else:
            assert re.fullmatch(patterns[name_of(child)], child.text or ""), child.text
            assert len(child.text or "") <= 2048


def check_attributes(element: Any) -> None:
    """Compare an element's attributes with ``ATTRIBUTES``."""
    rules = ATTRIBUTES.get(name_of(element), {})
    for attribute, value in element.attrib.items():
        assert re.fullmatch(rules[attribute], value), value


XSD = "http://www.w3.org/2001/XMLSchema"
XHTML = f"""
<xsd:schema xmlns:xsd="{XSD}" targetNamespace="{NAMESPACES["xhtml"]}">
  <xsd:element name="link"><xsd:complexType>
    <xsd:attribute name="rel" type="xsd:string" use="required"/>
    <xsd:attribute name="hreflang" type="xsd:language" use="required"/>
    <xsd:attribute name="href" type="xsd:anyURI" use="required"/>
  </xsd:complexType></xsd:element>
</xsd:schema>"""


@lru_cache
def schema(root: str, folder: Path, scratch: Path) -> Any:
    """Return the published schema of a root element, None without a copy of it.

    Extensions without a copy are accepted as they are.
    """
    if not (folder / root).exists():
        return None
    (scratch / "xhtml.xsd").write_text(XHTML)
    files = {SITEMAP: folder / root, NAMESPACES["xhtml"]: scratch / "xhtml.xsd"}
    for prefix in NAMESPACES.keys() - {"s", "xhtml"}:
        file = folder / f"sitemap-{prefix}.xsd"
        if not file.exists():
            file = scratch / file.name
            file.write_text(
                f'<xsd:schema xmlns:xsd="{XSD}" '
                f'targetNamespace="{NAMESPACES[prefix]}">'
                f'<xsd:element name="{prefix}"/></xsd:schema>'
            )
        files[NAMESPACES[prefix]] = file
    imports = "".join(
        f'<xsd:import namespace="{space}" schemaLocation="{file.as_uri()}"/>'
        for space, file in files.items()
    )
    both = f'<xsd:schema xmlns:xsd="{XSD}">{imports}</xsd:schema>'
    return etree.XMLSchema(etree.fromstring(both))


@pytest.fixture(scope="session")
def validate(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], None]:
    """Return a function that fails for a file that is not valid."""
    scratch = tmp_path_factory.mktemp("schemas")
    named = os.environ.get("SITEMAP_SCHEMAS")

    def check(data: bytes) -> None:
        root = parse(data)
        check_format(root)
        published = {"s:urlset": "sitemap.xsd", "s:sitemapindex": "siteindex.xsd"}
        found = named and schema(published[name_of(root)], Path(named), scratch)
        if found:
            found.assertValid(root)

    return check


# What is written is valid and says what was given


def moment(text: str | None) -> datetime | None:
    """Return the instant of a lastmod."""
    return None if text is None else parse_w3c(text)


def assert_says(element: Any, given: dict[str, Any], zone: Any) -> None:
    """Compare what a parser reads with what the entry was made of."""
    assert text(element, "s:loc") == SITE + ORIGIN.local_path(given["loc"])
    lastmod = given["lastmod"]
    written = None if lastmod is None else w3c(lastmod, zone)
    assert moment(text(element, "s:lastmod")) == moment(written)
    assert (text(element, "s:changefreq") or None) == (given["changefreq"] or None)
    priority = text(element, "s:priority")
    if priority is not None:
        assert Decimal(priority) == Decimal(str(given["priority"]))
    links = element.findall("xhtml:link", NAMESPACES)
    assert [(link.get("hreflang"), link.get("href")) for link in links] == [
        (code, ORIGIN.absolute(href)) for code, href in given["alternates"]
    ]
    assert texts(element, "image:image/image:loc") == [
        ORIGIN.absolute(image.loc) for image in given["images"]
    ]
    found = element.findall("video:video", NAMESPACES)
    for video, said in zip(found, given["videos"], strict=True):
        assert_video_says(video, said)
    for article in given["news"]:
        prefix = "news:news/news:"
        assert text(element, f"{prefix}publication/news:name") == article.name
        assert text(element, f"{prefix}title") == article.title


def assert_video_says(element: Any, video: Video) -> None:
    """Compare a video that a parser reads with the one given."""
    assert texts(element, "video:tag") == list(video.tags)
    expected = {
        "title": video.title,
        "description": video.description,
        "thumbnail_loc": ORIGIN.absolute(video.thumbnail_loc),
        "duration": None if video.duration is None else str(video.duration),
        "view_count": None if video.view_count is None else str(video.view_count),
        "uploader": getattr(video.uploader, "name", video.uploader),
        "live": {None: None, True: "yes", False: "no"}[video.live],
    }
    assert {name: text(element, f"video:{name}") for name in expected} == expected
    for name in ("restriction", "platform"):
        values, given = text(element, f"video:{name}"), getattr(video, name)
        assert (values and values.split()) == (given and [*given.values])


@pytest.mark.parametrize("dirty", [False, True])
@given(data=st.data(), zone=zones)
def test_an_entry_is_valid_and_says_the_same_or_is_refused(
    data: st.DataObject, zone: Any, validate: Callable[[bytes], None], *, dirty: bool
) -> None:
    """A legal one is never refused."""
    entry = data.draw(entries(dirty=dirty))
    try:
        file = write_urlset([url_xml(**entry, zone=zone)])
    except EntryError:
        assert dirty
        return
    validate(file)
    assert_says(parse(file)[0], entry, zone)


@given(
    items=st.lists(index_items | any_index_items, min_size=1, max_size=3), zone=zones
)
def test_any_index_is_valid_and_says_the_same_or_is_refused(
    items: list[tuple[Any, Any]], zone: Any, validate: Callable[[bytes], None]
) -> None:
    try:
        written = [
            sitemap_xml(
                location_text(loc, None, "loc"),
                None if lastmod is None else date_text(lastmod, zone, "lastmod"),
            )
            for loc, lastmod in items
        ]
    except EntryError:
        return
    data = index_xml(written)
    validate(data)
    for element, (loc, lastmod) in zip(parse(data), items, strict=True):
        assert text(element, "s:loc") == ORIGIN.absolute(loc)
        expected = None if lastmod is None else w3c(lastmod, zone)
        assert moment(text(element, "s:lastmod")) == moment(expected)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (b"<priority>0.50<", b"<priority>1.50<"),
        (b"<lastmod>0987-06-05<", b"<lastmod>987-06-05<"),
        (b"<changefreq>never</changefreq>", b"<changefreq></changefreq>"),
        (b"<loc>https://www.example.com/</loc>", b""),
        (b"<loc>https://www.example.com/", b"<loc>/"),
        (b"</urlset>", b"<loc>https://www.example.com/</loc></urlset>"),
    ],
)
def test_a_fault_is_seen(
    good: bytes, bad: bytes, validate: Callable[[bytes], None]
) -> None:
    """Or the checks above would prove nothing."""
    data = write_urlset([url_xml("/", date(987, 6, 5), "never", "0.50")])
    validate(data)
    assert good in data
    with pytest.raises((AssertionError, ValueError)):
        validate(data.replace(good, bad))
