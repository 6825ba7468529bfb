"""
Write what a project's sitemaps list, as a crawler finds it: ``crawl.py FILE ADDRESS…``.

By address, the entries of all pages below it: location, the day of the lastmod in
``TIME_ZONE`` (all that contrib says), changefreq, priority and alternates.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import django

django.setup()

from django.test import Client  # noqa: E402 (after the setup)
from django.utils import timezone  # noqa: E402 (after the setup)

TAG = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
LINK = "{http://www.w3.org/1999/xhtml}link"
Entry = tuple[str, str | None, str | None, float | None, list[tuple[str, str]]]


def day(text: str | None) -> str | None:
    """Return the day in ``TIME_ZONE``."""
    if text is None:
        return None
    moment = dt.datetime.fromisoformat(text)
    return str(timezone.localdate(moment) if moment.tzinfo else moment.date())


def crawl(address: str) -> Iterator[Entry]:
    """Yield the entries of an address: of a page, or of all pages of an index."""
    parts = urlsplit(address)
    host = parts.netloc or "www.example.com"
    # Where from it comes makes no difference to which entries there are.
    path = f"{parts.path}?{parts.query}".rstrip("?")
    response = Client().get(path, headers={"host": host}, secure=True)
    assert response.status_code == 200, (address, response.content)
    for element in ElementTree.fromstring(response.content):  # noqa: S314 (our own bytes)
        location = element.findtext(f"{TAG}loc", "")
        if element.tag == f"{TAG}sitemap":
            yield from crawl(location)
            continue
        priority = element.findtext(f"{TAG}priority")
        yield (
            location,
            day(element.findtext(f"{TAG}lastmod")),
            element.findtext(f"{TAG}changefreq"),
            None if priority is None else float(priority),
            sorted(
                (link.attrib["hreflang"], link.attrib["href"])
                for link in element.iter(LINK)
            ),
        )


found = {address: sorted(crawl(address), key=repr) for address in sys.argv[2:]}
Path(sys.argv[1]).write_text(json.dumps(found))
