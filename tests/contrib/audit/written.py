"""Sitemaps that another system may have written."""

from __future__ import annotations

from collections.abc import Iterable

SITE = "https://www.example.com"


def sitemap_of(*urls: str, more: str | Iterable[str] = "", tag: str = "url") -> str:
    """Return a sitemap that lists some URLs or paths, or an index of some sitemaps."""
    further = [more] * len(urls) if isinstance(more, str) else more
    entries = "".join(
        f"<{tag}><loc>{SITE * url.startswith('/')}{url}</loc>{of_it}</{tag}>"
        for url, of_it in zip(urls, further, strict=True)
    )
    root = "urlset" if tag == "url" else "sitemapindex"
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    xhtml = "http://www.w3.org/1999/xhtml"
    return f'<{root} xmlns="{space}" xmlns:xhtml="{xhtml}">{entries}</{root}>'
