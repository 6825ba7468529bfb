"""One run over the rows of a page, which writes its bytes."""

from __future__ import annotations

import hashlib
import logging
from bisect import bisect_right
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import accumulate, cycle

from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.protocol.errors import EntryError, PageFull
from django_sitemaps_plus.protocol.limits import MAX_BYTES
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.protocol.markup import escape
from django_sitemaps_plus.protocol.writers import UrlsetWriter
from django_sitemaps_plus.rendering.bulk import Texts
from django_sitemaps_plus.rendering.columns import (
    BadRow,
    FailedValue,
    RowBatch,
    Titles,
    allowed_bad,
)
from django_sitemaps_plus.rendering.listing import START, entries_of, listing_of
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.rendering.serializer import entries_in_text, printable_label
from django_sitemaps_plus.sitemaps.attributes import TITLE
from django_sitemaps_plus.sitemaps.keys import KeyValue
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress
from django_sitemaps_plus.storing.segments import SegmentWriter
from django_sitemaps_plus.storing.storage import StoredBytes, entries_header

logger = logging.getLogger("django_sitemaps_plus")

_MARK = ORIGIN_MARK.encode()
_LONGEST = UrlChange._meta.get_field("title").max_length


def raises() -> bool:
    """Return whether a bad row's error is let through (``ON_ERROR``)."""
    return get_settings().ON_ERROR == "raise"


def _one_line(title: object) -> str:
    """Return a title as one line that XML can hold; empty where there is none."""
    known = "" if title is None or isinstance(title, FailedValue) else str(title)
    text = " ".join(known.split())[:_LONGEST]
    try:
        escape(text)
    except EntryError as error:
        logger.warning("%s: %s", TITLE, error)
        return ""
    return text


@dataclass
class PageWriter:
    """One run over a page's rows: the bytes, and what was seen."""

    source: SectionSource
    site: SiteAddress
    #: Called after every batch of rows.
    progress: Callable[[], object] = lambda: None
    items: int = 0
    entries: int = 0
    size: int = 0
    checksum: str = ""
    #: Whether the text is wanted in the blocks in which it was written.
    keeps_blocks: bool = False
    blocks: list[bytes] = field(default_factory=list)
    #: Whether the titles of rows are wanted.
    keeps_titles: bool = False
    #: How many entries have no lastmod.
    undated: int = 0
    stored: StoredBytes = field(init=False)
    reader: Reader = field(init=False)

    def __post_init__(self) -> None:
        self.reader = Reader(
            self.source, self.site, raises=raises(), with_titles=self.keeps_titles
        )
        self._titled: list[tuple[Titles, Texts]] = []
        header = entries_header(self.source.media)
        # Processors have instructions for it: half the time that blake2b takes.
        self._hash = hashlib.sha256(header)
        self._segment = SegmentWriter()
        self._origin = str(self.site.origin).encode()
        self._writer = UrlsetWriter(
            # Nowhere: only the entries are stored.
            lambda block: None,
            max_entries=self.source.limit,
            max_bytes=MAX_BYTES,
            header=header,
        )

    @property
    def bad(self) -> list[BadRow]:
        """The rows left out."""
        return self.reader.tally.bad

    @property
    def is_too_bad(self) -> bool:
        """Whether something larger than a row is wrong."""
        return self.reader.tally.is_too_bad(self.items, self.entries)

    def run(self, lower: KeyValue | None, upper: KeyValue | None) -> int | None:
        """
        Write the rows from ``lower`` to before ``upper``.

        Returns how many rows fit if not all of them do.
        """
        most = self.source.limit + allowed_bad(self.source.limit) + 1
        batches = self.reader.by_key(lower, upper, most=most)
        with self.site.rendering():
            for batch, texts in self.reader.texts(batches):
                if batch.titles:
                    self._titled.append((batch.titles, texts))
                overflow = self._add(batch, texts)
                if overflow is not None:
                    return overflow
                self.progress()
        if Site.current().base_url:
            # Another BASE_URL is a change of every page. The address of a Site or of a
            # request is none: the site may have several of them at the same time.
            self._hash.update(self._origin)
        segment, media = self._segment.segment(), " ".join(self.source.media)
        self.stored = StoredBytes(self.site.base, segment, self.entries, media)
        self.size = self._writer.size
        self.checksum = self._hash.hexdigest()[:32]
        return None

    def _add(self, batch: RowBatch, texts: Texts) -> int | None:
        """Add a batch; returns how many of all rows fit if it does not."""
        try:
            self._add_block(texts.whole, texts.entries)
        except PageFull:
            return self._add_one_by_one(batch, texts)
        self.items += len(batch.labels)
        return None

    def _add_one_by_one(self, batch: RowBatch, texts: Texts) -> int | None:
        for index, text in enumerate(texts.each()):
            if text is not None:
                try:
                    self._add_block(text, entries_in_text(text))
                except PageFull:
                    if self.entries:
                        return self.items
                    # Alone on its page, and still too much for it.
                    reason = "the entry is larger than a whole page may be"
                    label = printable_label(batch.labels[index])
                    self.bad.append(BadRow(label, reason))
            self.items += 1
        return None

    def _add_block(self, text: str, entries: int) -> None:
        neutral, own = text.encode(), self._own(text)
        # It raises PageFull where the page would be too large.
        self._writer.add_xml(own, entries)
        self._segment.add(own)
        if self.keeps_blocks:
            self.blocks.append(own)
        self._hash.update(neutral)
        self.entries += entries
        self.undated += entries - own.count(b"<lastmod>")

    def titles(self, items: Collection[bytes]) -> dict[bytes, str]:
        """
        Return the titles of rows, where they were read, by locations as written.

        Those of other entries of these rows are among them.
        """
        found: dict[bytes, str] = {}
        for titles, texts in self._titled:
            whole = self._own(texts.whole)
            listed = entries_of(whole, items)
            # No XML has the character that parts them here.
            rows = "\0".join(text or "" for text in texts.each()) if listed else ""
            parts = self._own(rows).split(b"\0")
            ends = list(accumulate(map(len, parts)))
            for item in listed:
                index = bisect_right(ends, whole.rfind(START + item + b"</loc>"))
                # A title for each entry of the row, or one for all.
                some = cycle(_one_line(column[index]) for column in titles)
                found |= zip(listing_of(parts[index]), some, strict=False)
        return found

    def _own(self, text: str) -> bytes:
        return text.encode().replace(_MARK, self._origin)
