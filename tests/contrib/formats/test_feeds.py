"""Feeds read back by parsers of others: feedparser and lxml."""

from __future__ import annotations

import calendar
import datetime as dt
from typing import Any

import feedparser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from django_sitemaps_plus.contrib.formats.feeds import Feed, FeedEntry, atom, rss
from django_sitemaps_plus.protocol.errors import EntryError

ATOM = "{http://www.w3.org/2005/Atom}"
TOMBSTONE = "{http://purl.org/atompub/tombstones/1.0}deleted-entry"
HUB = "https://hub.example.org/?a=1&b=2"
URL = "https://www.example.com/a?b=1&c='2'"
MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
HOME = "https://www.example.com/"
ABOUT: dict[str, Any] = {"title": "www.example.com", "updated": MOMENT, "hubs": [HUB]}
FEED = Feed(url=f"{HOME}sitemap.atom", home=HOME, **ABOUT)
WRITERS = pytest.mark.parametrize("write", [atom, rss])


def read(text: str) -> Any:
    """Return what feedparser makes of a feed without a fault."""
    found = feedparser.parse(text.encode())
    assert not found.bozo, found.get("bozo_exception")
    return found


@WRITERS
def test_a_feed_says_what_it_is_and_which_hub_it_has(write: Any) -> None:
    found = read(write(FEED, []))
    assert found.version == ("atom10" if write is atom else "rss20")
    feed = found.feed
    assert (feed.title, feed.link) == (FEED.title, FEED.home)
    hrefs = {(link.rel, link.href) for link in feed.links}
    assert {("self", FEED.url), ("hub", HUB)} <= hrefs
    assert calendar.timegm(feed.updated_parsed) == MOMENT.timestamp()


@WRITERS
@given(
    title=st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1
    ),
    updated=st.datetimes(
        min_value=dt.datetime(1000, 1, 1),  # noqa: DTZ001 (given a zone below)
        timezones=st.just(dt.UTC),
    ),
)
def test_an_entry_says_its_url_its_title_and_when_it_changed(
    write: Any, title: str, updated: dt.datetime
) -> None:
    try:
        text = write(FEED, [FeedEntry(URL, title, updated)])
    except EntryError:
        assert not title.strip() or {"\ufffe", "\uffff"} & set(title)
        return
    path = f".//{ATOM}entry/{ATOM}title" if write is atom else ".//item/title"
    root = etree.fromstring(text.encode())
    assert [element.text for element in root.iterfind(path)] == [title]
    [entry] = read(text).entries
    assert (entry.id, entry.link) == (URL, URL)
    moment = entry.updated_parsed if write is atom else entry.published_parsed
    assert calendar.timegm(moment) == calendar.timegm(updated.utctimetuple())


def test_a_removed_entry_is_a_tombstone_in_atom_and_absent_in_rss() -> None:
    removed = FeedEntry(URL, URL, MOMENT, removed=True)
    root = etree.fromstring(atom(FEED, [removed]).encode())
    [tombstone] = root.iterfind(TOMBSTONE)
    assert dict(tombstone.attrib) == {"ref": URL, "when": "2026-01-02T03:04:05Z"}
    assert root.find(f"{ATOM}entry") is None
    assert read(rss(FEED, [removed])).entries == []


@WRITERS
def test_what_no_feed_can_hold_is_refused(write: Any) -> None:
    for url, title in ((URL, "a\x00b"), (URL, " "), ("/a", "a")):
        with pytest.raises(EntryError):
            write(FEED, [FeedEntry(url, title, MOMENT)])
