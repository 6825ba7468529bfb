"""
The tags by which caches drop an answer: one for each document.

A document's tag is the name of its file, without ".gz": ``sitemap-article-2.xml``. The
tags of one of ``SITES`` begin with its name and a slash: sites may share a cache.
"""

from __future__ import annotations

from urllib.parse import quote

from django_sitemaps_plus.sitemaps.site import Site


def document_at(path: str) -> str:
    """Return the name of the document at a path: of both, the file and its twin."""
    return path[path.rfind("/") + 1 :].removesuffix(".gz")


def tag_of(document: str, site: str = "") -> str:
    """Return a document's cache tag: of one of ``SITES``, or of the current site."""
    name = site or Site.current().name
    # Visible ASCII, as all caches take it.
    return quote(f"{name}/{document}" if name else document)
