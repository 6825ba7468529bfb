"""Writers of Atom 1.0 (RFC 4287), with tombstones (RFC 6721), and of RSS 2.0.

https://www.rfc-editor.org/rfc/rfc4287, https://www.rfc-editor.org/rfc/rfc6721,
https://www.rssboard.org/rss-specification. Hubs are those of WebSub:
https://www.w3.org/TR/websub/#discovery
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Final

from django_sitemaps_plus.protocol.markup import escaped_address, text_xml

ATOM_TYPE: Final = "application/atom+xml"
RSS_TYPE: Final = "application/rss+xml"

_ATOM: Final = "http://www.w3.org/2005/Atom"
_TOMBSTONES: Final = "http://purl.org/atompub/tombstones/1.0"
_DECLARATION: Final = '<?xml version="1.0" encoding="utf-8"?>\n'


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """A page of the site. Its URL is its id, the same in every feed."""

    url: str
    title: str
    #: When it changed, with a zone.
    updated: datetime
    #: Whether the page was removed from the site.
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Feed:
    """The metadata of a feed."""

    #: Its own absolute URL, and that of the site.
    url: str
    home: str
    title: str
    #: When it last changed, with a zone.
    updated: datetime
    #: The addresses of WebSub hubs.
    hubs: Sequence[str] = ()


def atom(feed: Feed, entries: Iterable[FeedEntry]) -> str:
    """Write an Atom feed; removed entries are tombstones.

    Raises:
        EntryError: A title that XML cannot hold, or an address that is none.
    """
    hubs = "".join(
        f'<link rel="hub" href="{escaped_address(hub)}"/>\n' for hub in feed.hubs
    )
    title = text_xml(feed.title, "title")
    head = (
        f'{_DECLARATION}<feed xmlns="{_ATOM}" xmlns:at="{_TOMBSTONES}">\n'
        f"<id>{escaped_address(feed.url)}</id>\n"
        f"<title>{title}</title>\n"
        f"<updated>{_rfc3339(feed.updated)}</updated>\n"
        # One author for all entries: https://www.rfc-editor.org/rfc/rfc4287#section-4.1.1
        f"<author><name>{title}</name></author>\n"
        f'<link rel="self" type="{ATOM_TYPE}" href="{escaped_address(feed.url)}"/>\n'
        f'<link rel="alternate" href="{escaped_address(feed.home)}"/>\n{hubs}'
    )
    return f"{head}{''.join(map(_atom_entry, entries))}</feed>\n"


def _atom_entry(entry: FeedEntry) -> str:
    url, moment = escaped_address(entry.url), _rfc3339(entry.updated)
    if entry.removed:
        return f'<at:deleted-entry ref="{url}" when="{moment}"/>\n'
    return (
        f"<entry><id>{url}</id><title>{text_xml(entry.title, 'title')}</title>"
        f'<updated>{moment}</updated><link rel="alternate" href="{url}"/></entry>\n'
    )


def rss(feed: Feed, entries: Iterable[FeedEntry]) -> str:
    """Write an RSS feed; removed entries are left out: RSS has no word for them.

    Raises:
        EntryError: A title that XML cannot hold, or an address that is none.
    """
    hubs = "".join(
        f'<atom:link rel="hub" href="{escaped_address(hub)}"/>\n' for hub in feed.hubs
    )
    title, url = text_xml(feed.title, "title"), escaped_address(feed.url)
    head = (
        f'{_DECLARATION}<rss version="2.0" xmlns:atom="{_ATOM}"><channel>\n'
        f"<title>{title}</title>\n<link>{escaped_address(feed.home)}</link>\n"
        f"<description>What changed last: {title}</description>\n"
        f"<lastBuildDate>{_rfc822(feed.updated)}</lastBuildDate>\n"
        f'<atom:link rel="self" type="{RSS_TYPE}" href="{url}"/>\n{hubs}'
    )
    items = "".join(_rss_item(entry) for entry in entries if not entry.removed)
    return f"{head}{items}</channel></rss>\n"


def _rss_item(entry: FeedEntry) -> str:
    url = escaped_address(entry.url)
    return (
        f"<item><title>{text_xml(entry.title, 'title')}</title><link>{url}</link>"
        f'<guid isPermaLink="true">{url}</guid>'
        f"<pubDate>{_rfc822(entry.updated)}</pubDate></item>\n"
    )


def _rfc3339(moment: datetime) -> str:
    """Return a time in UTC, to the second: https://www.rfc-editor.org/rfc/rfc3339."""
    plain = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{plain.isoformat(timespec='seconds')}Z"


def _rfc822(moment: datetime) -> str:
    """Return a time as RSS writes it, with a year of four digits."""
    return format_datetime(moment.astimezone(UTC), usegmt=True)
