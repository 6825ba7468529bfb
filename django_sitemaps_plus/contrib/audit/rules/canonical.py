"""Pages that are to be found at another URL: canonicals and refreshes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urldefrag

from django_sitemaps_plus.contrib.audit.kinds import _, error
from django_sitemaps_plus.contrib.audit.web_pages import refreshed, url_of_reference
from django_sitemaps_plus.protocol.locations import resolve

from . import Answered, Problem, rule
from .answers import REDIRECTS

CANONICAL = error(
    "A105",
    _("URLs whose canonical is another URL, or several"),
    _("list the canonical URL only, or correct the page's link"),
)

#: https://www.rfc-editor.org/rfc/rfc8288, as Google reads it for documents.
_LINK: Final = re.compile(r'<([^<>]++)>((?:[^,<"]++|"[^"]*+")*+)')
_PARAMETER: Final = re.compile(
    r"""(?<![\w*-])([\w*-]++)\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s;"']*+)"""
)


@rule(Answered)
def elsewhere(seen: Answered) -> Iterator[Problem]:
    """Find what says that the page is to be found at another URL."""
    if not seen.is_whole:
        return
    url, answer, page = seen.url, seen.answer, seen.reading.page
    refresh = refreshed(answer.headers.get("refresh", "")) or page.refresh
    if refresh and (
        target := _written(url_of_reference(page.base, refresh))
    ) != _written(url):
        yield Problem(REDIRECTS, f"refreshes to {target}")
    links = [url_of_reference(page.base, href) for href in page.canonicals]
    linked = _linked(answer.headers.get("link", ""))
    links += [url_of_reference(url, one) for one in linked]
    canonicals = list(dict.fromkeys(map(_written, links)))
    if len(canonicals) > 1:
        text = f"its canonicals differ: {' and '.join(canonicals[:3])}"
        yield Problem(CANONICAL, text)
    elif canonicals and canonicals[0] != _written(url):
        yield Problem(CANONICAL, f"its canonical is {canonicals[0]}")


def _linked(header: str) -> Iterator[str]:
    """Yield the canonicals of a ``Link`` header."""
    for target, parameters in _LINK.findall(header):
        for name, value in _PARAMETER.findall(parameters):
            words = value.strip("\"'").lower().split()
            if name.lower() == "rel" and "canonical" in words:
                yield target
                break


def _written(url: str) -> str:
    """Return a URL as this package writes it; one that is illegal as it is."""
    try:
        return resolve(urldefrag(url).url, None)
    except ValueError:  # of urldefrag(), or a LocationError
        return url
