"""
What is served beside XML sitemaps, where ``FORMATS`` asks for it, and its addresses.

Text pages are derived from stored pages. Feeds and ``/sitemap-recent.xml`` are built
for each request, from what happened to URLs, by one query: nothing of them is stored.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import UrlChange
from django_sitemaps_plus.protocol.dates import moment, parse_w3c
from django_sitemaps_plus.protocol.markup import escape
from django_sitemaps_plus.protocol.writers import UrlsetWriter, urlset_header
from django_sitemaps_plus.serving.documents import Document, rebuild_waiting
from django_sitemaps_plus.serving.index import (
    address,
    index_places,
    usable,
    with_ending,
)
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import SiteAddress

from .conf import formats
from .feeds import ATOM_TYPE, RSS_TYPE, Feed, FeedEntry, atom, rss
from .llms import llms_txt, section_title
from .newest import Newest, newest

#: The endings of feeds, and what serves each.
ENDINGS = {"atom": (atom, ATOM_TYPE), "rss": (rss, RSS_TYPE)}


def listed_in_robots(site: SiteAddress) -> list[str]:
    """Return the addresses that robots.txt lists beside the XML sitemap's."""
    listed: list[str] = []
    for name, options in formats().items():
        if not options.robots:
            continue
        if name == "text":
            listed += [with_ending(one, "txt") for one in index_places(site)]
        elif name == "feeds":
            listed.append(address(site, "feed", "atom"))
        else:
            listed.append(address(site, "recent", "recent"))
    return listed


def all_documents(site: SiteAddress) -> Iterator[tuple[str, Callable[[], Document]]]:
    """Yield feeds and the sitemap of recent changes: the name, and what builds it."""
    if "feeds" in formats():
        for name in ("", *registry.sources()):
            start = f"sitemap-{name}" if name else "sitemap"
            for ending in ENDINGS:
                yield f"{start}.{ending}", partial(feed_document, ending, name, site)
    if "recent" in formats():
        yield "sitemap-recent.xml", partial(recent_document, site)


def llms_text(head: Mapping[str, str], site: SiteAddress) -> str:
    """Return ``/llms.txt``: the sections of a site that have a title."""
    with site.rendering():
        links = []
        for section in usable():
            if title := section_title(section.sitemap):
                description = str(getattr(section.sitemap, "section_description", ""))
                url = address(site, "section", section.name)
                links.append((title, url, description))
        return llms_txt(str(head["title"]), str(head.get("description", "")), links)


# What changed last


def feed_document(ending: str, name: str, site: SiteAddress) -> Document:
    """Return the feed of a section, or of the site (``name`` ""): "atom" or "rss"."""
    options = formats()["feeds"]
    rebuild_waiting(usable([name] if name else None), site)
    write, content_type = ENDINGS[ending]
    # RSS cannot say that an entry was removed.
    names, removed = [name] if name else registry.sources(), ending == "atom"
    found = newest(names, days=options.days, most=options.entries, removed=removed)
    arguments = (name, ending) if name else (ending,)
    title = f"{site.origin.host}: {name}" if name else site.origin.host
    feed = Feed(
        url=address(site, "section-feed" if name else "feed", *arguments),
        home=f"{site.origin}{site.prefix}",
        title=title,
        updated=moment(max((item.at for item in found), default=0.0)),
        hubs=options.hubs,
    )
    urls = _urls(found, site)
    entries = [_feed_entry(*pair) for pair in zip(found, urls, strict=True)]
    return Document.of(write(feed, entries).encode(), content_type)


def recent_document(site: SiteAddress) -> Document:
    """Return a sitemap of what changed last, the newest first."""
    options = formats()["recent"]
    rebuild_waiting(usable(), site)
    found = newest(registry.sources(), days=options.days, most=options.entries)
    chunks: list[bytes] = []
    writer = UrlsetWriter(
        chunks.append, header=urlset_header(stylesheet=get_settings().stylesheet)
    )
    # All at once, because most have nothing to escape.
    urls = escape("\n".join(_urls(found, site))).split("\n")
    entries = [
        f"<url><loc>{url}</loc>{_lastmod(item)}</url>\n"
        for item, url in zip(found, urls, strict=False)
    ]
    writer.add_xml("".join(entries).encode(), len(entries))
    writer.finish()
    return Document.of(b"".join(chunks))


def _lastmod(item: Newest) -> str:
    # As it was read in an entry.
    return f"<lastmod>{item.lastmod}</lastmod>" if item.lastmod else ""


def _urls(found: Iterable[Newest], site: SiteAddress) -> list[str]:
    """Return the URL of each: a section may have a scheme of its own."""
    origins = {
        name: str(site.with_scheme(getattr(sitemap, "protocol", None)).origin)
        for name, sitemap in registry.sources().items()
    }
    return [
        f"{origins[item.section]}{item.location}"
        if item.location.startswith("/")
        else item.location
        for item in found
    ]


def _feed_entry(item: Newest, url: str) -> FeedEntry:
    removed = item.kind == UrlChange.Kind.REMOVED
    return FeedEntry(url, item.title or url, _updated(item), removed)


def _updated(item: Newest) -> dt.datetime:
    """Return the lastmod of an entry; without one, when its change was seen."""
    try:
        return parse_w3c(item.lastmod)
    except ValueError:
        return moment(item.at)
