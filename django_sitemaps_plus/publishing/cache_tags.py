"""
The tags by which caches drop an answer: one for the document, and one for all.

A document's tag is the name of its file, without ".gz": ``sitemap-article-2.xml``. The
tags of one of ``SITES`` begin with its name and a slash: sites may share a cache.
"""

from __future__ import annotations

from urllib.parse import quote

from django.http import HttpResponseBase

from django_sitemaps_plus.conf import TAG_HEADERS, get_settings
from django_sitemaps_plus.sitemaps.site import Site

#: What all answers have: to be purged when settings have changed.
EVERY = "sitemaps"


def document_at(path: str) -> str:
    """Return the name of the document at a path: of both, the file and its twin."""
    return path[path.rfind("/") + 1 :].removesuffix(".gz")


def tag_of(document: str, site: str = "") -> str:
    """Return a document's cache tag: of one of ``SITES``, or of the current site."""
    name = site or Site.current().name
    # Visible ASCII, as all caches take it.
    return quote(f"{name}/{document}" if name else document)


def cache_tags(path: str, site: str = "") -> dict[str, str]:
    """Return the headers of ``CACHE_TAGS`` for the document at a path."""
    tags = tag_of(document_at(path), site), tag_of(EVERY, site)
    return {name: TAG_HEADERS[name].join(tags) for name in get_settings().CACHE_TAGS}


def patch_cache_tags(response: HttpResponseBase, path: str, site: str = "") -> None:
    """Name the tags of what was asked for in the headers of ``CACHE_TAGS``."""
    for header, tags in cache_tags(path, site).items():
        response.headers[header] = tags
