"""Reads files back as an independent parser (lxml) sees them."""

from __future__ import annotations

from typing import Any

from lxml import etree

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
NAMESPACES = {
    "s": SITEMAP,
    "xhtml": "http://www.w3.org/1999/xhtml",
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
}


def parse(data: bytes) -> Any:
    """Return the root element; raises if the file is not well-formed UTF-8."""
    data.decode()
    return etree.fromstring(data, etree.XMLParser(huge_tree=True))


def texts(element: Any, path: str) -> list[str]:
    """Return the texts of what a path of prefixed names finds."""
    return [found.text or "" for found in element.iterfind(path, NAMESPACES)]


def text(element: Any, path: str) -> str | None:
    """Return the text of the one element that a path finds, None if there is none."""
    found = texts(element, path)
    assert len(found) <= 1
    return found[0] if found else None
