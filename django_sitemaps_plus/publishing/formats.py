"""
What is served beside XML sitemaps, where ``FORMATS`` asks for it, and its addresses.

Text pages are derived from stored pages. Feeds and ``/sitemap-recent.xml`` are built
for each request, from what happened to URLs, by one query: nothing of them is stored.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable

from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.changes.newest import Newest, newest
from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.changes.recorder import remembers, write_remembered
from django_sitemaps_plus.changes.reporting import CHUNK
from django_sitemaps_plus.conf import Format, get_settings
from django_sitemaps_plus.protocol.dates import parse_w3c
from django_sitemaps_plus.protocol.errors import DateError
from django_sitemaps_plus.protocol.feeds import (
    ATOM_TYPE,
    RSS_TYPE,
    Feed,
    FeedEntry,
    atom,
    rss,
)
from django_sitemaps_plus.protocol.markup import escape
from django_sitemaps_plus.protocol.robots import robots_txt
from django_sitemaps_plus.protocol.writers import UrlsetWriter, urlset_header
from django_sitemaps_plus.rendering.columns import moment
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.signals import changes_written
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from .documents import Document, document
from .extra import extra_sitemaps
from .index import address, addresses, usable
from .refresh import report_all
from .stylesheet import stylesheet

#: The endings of feeds, and what serves each.
ENDINGS = {"atom": (atom, ATOM_TYPE), "rss": (rss, RSS_TYPE)}


def served(name: str) -> Format | None:
    """Return the options of a format; None if nobody asked for it."""
    return get_settings().formats.get(name)


def listed_in_robots(site: SiteAddress) -> list[str]:
    """Return the addresses that robots.txt lists beside the XML sitemap's."""
    found: list[str] = []
    for name, options in get_settings().formats.items():
        if not options.robots:
            continue
        if name == "text":
            found += addresses(site, text=True)
        elif name == "feeds":
            found.append(address(site, "feed", "atom"))
        else:
            found.append(address(site, "recent", "recent"))
    return found


def robots_of(site: SiteAddress | None) -> str:
    """Return robots.txt; it names the sitemaps of a site, if one is given."""
    own: list[str] = []
    if site is not None:
        own = [*addresses(site), *listed_in_robots(site)]
        own += extra_sitemaps(site, in_index=False)
    settings = get_settings()
    return robots_txt(settings.robots_groups(), own, settings.robots_licenses())


# What changed last


def feed_document(ending: str, name: str, site: SiteAddress) -> Document:
    """Return the feed of a section, or of the site (``name`` ""): "atom" or "rss"."""
    options = get_settings().formats["feeds"]
    _report_what_waits([name] if name else registry.sources(), site)
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
    return document(write(feed, entries).encode(), content_type)


def recent_document(site: SiteAddress) -> Document:
    """Return a sitemap of what changed last, the newest first."""
    options = get_settings().formats["recent"]
    _report_what_waits(registry.sources(), site)
    found = newest(registry.sources(), days=options.days, most=options.entries)
    chunks: list[bytes] = []
    writer = UrlsetWriter(chunks.append, header=urlset_header(stylesheet=stylesheet()))
    # All at once, because most have nothing to escape.
    urls = escape("\n".join(_urls(found, site))).split("\n")
    entries = [
        f"<url><loc>{url}</loc>{_lastmod(item)}</url>\n"
        for item, url in zip(found, urls, strict=False)
    ]
    writer.add_xml("".join(entries).encode(), len(entries))
    writer.finish()
    return document(b"".join(chunks))


def _report_what_waits(names: Collection[str], site: SiteAddress) -> None:
    """
    Report what was saved of some sections and not reported yet.

    More than one query of keys can look up is left to the background.
    """
    for item in usable(names):
        database = definition(item).database
        if remembers(database, item.name):
            write_remembered(database)
    rows = changes().filter(section__in=list(names), reported_at=None)
    waiting = list(rows.values_list("section", flat=True)[: CHUNK + 1])
    if 0 < len(waiting) <= CHUNK:
        report_all(usable(set(waiting)), Site.current().stored_address(site))
        changes_written.send(None)


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
    except DateError:
        return moment(item.at)
