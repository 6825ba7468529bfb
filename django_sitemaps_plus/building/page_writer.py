"""One run over the rows of a page, which writes its bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import TooManyBadRows
from django_sitemaps_plus.protocol.errors import PageFull
from django_sitemaps_plus.protocol.limits import MAX_BYTES
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.protocol.writers import UrlsetWriter
from django_sitemaps_plus.rendering.bulk import Texts
from django_sitemaps_plus.rendering.columns import BadRow, RowBatch
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.rendering.serializer import entries_in_text, printable_label
from django_sitemaps_plus.sitemaps.keys import KeyValue
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress, rendering_context
from django_sitemaps_plus.storing.bad_rows import allowed_bad, are_too_bad, too_many
from django_sitemaps_plus.storing.segments import SegmentWriter
from django_sitemaps_plus.storing.storage import StoredBytes, address_of, entries_header

_MARK = ORIGIN_MARK.encode()


def _nowhere(block: bytes) -> None:
    """Take what the writer writes: only the entries are stored."""


def raises() -> bool:
    """Return whether a bad row's error is let through (``ON_ERROR``)."""
    return get_settings().ON_ERROR == "raise"


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
    #: Rows whose texts are wanted by themselves, by their labels; and these, None for
    #: a bad row.
    wanted: frozenset[Any] = frozenset()
    texts: dict[Any, str | None] = field(default_factory=dict)
    stored: StoredBytes = field(init=False)
    reader: Reader = field(init=False)

    def __post_init__(self) -> None:
        self.reader = Reader(self.source, self.site, raises=raises())
        header = entries_header(self.source.media)
        # Processors have instructions for it: half the time that blake2b takes.
        self._hash = hashlib.sha256(header)
        self._segment = SegmentWriter()
        self._origin = str(self.site.origin).encode()
        self._writer = UrlsetWriter(
            _nowhere,
            max_entries=self.source.limit,
            max_bytes=MAX_BYTES,
            header=header,
        )

    @property
    def bad(self) -> list[BadRow]:
        """The rows left out."""
        return self.reader.tally.bad

    @property
    def omitted(self) -> list[BadRow]:
        """The first rows that lack a tag, one for each reason."""
        return list(self.reader.tally.omitted.values())

    @property
    def is_too_bad(self) -> bool:
        """Whether something larger than a row is wrong."""
        return are_too_bad(len(self.bad), self.items, self.entries)

    def refuse_bad(self, page: str) -> None:
        """Raise ``TooManyBadRows`` where that is so."""
        if self.is_too_bad:
            problem = too_many(self.bad, self.items, page)
            raise TooManyBadRows(f"{problem} The page keeps its former bytes.")

    def run(self, lower: KeyValue | None, upper: KeyValue | None) -> int | None:
        """
        Write the rows from ``lower`` to before ``upper``.

        Returns how many rows fit if not all of them do.
        """
        most = self.source.limit + allowed_bad(self.source.limit) + 1
        return self._write(self.reader.by_key(lower, upper, most=most))

    def run_by_position(self, number: int) -> int | None:
        """Write page ``number`` by position; returns as ``run``."""
        return self._write(self.reader.by_position(number))

    def _write(self, batches: Iterable[RowBatch]) -> int | None:
        with rendering_context(self.site):
            for batch, texts in self.reader.texts(batches):
                self._note_wanted(batch, texts)
                overflow = self._add(batch, texts)
                if overflow is not None:
                    return overflow
                self.progress()
        self._finish()
        return None

    def _note_wanted(self, batch: RowBatch, texts: Texts) -> None:
        if self.wanted and not self.wanted.isdisjoint(batch.labels):
            for label, text in zip(batch.labels, texts.each(), strict=True):
                if label in self.wanted:
                    self.texts[label] = text

    def _add(self, batch: RowBatch, texts: Texts) -> int | None:
        """Add a batch; returns how many of all rows fit if it does not."""
        try:
            self._add_block(texts.whole, texts.entries)
        except PageFull:
            return self._add_one_by_one(batch, texts.each())
        self.items += len(batch.labels)
        return None

    def _add_one_by_one(
        self, batch: RowBatch, texts: Sequence[str | None]
    ) -> int | None:
        for index, text in enumerate(texts):
            if text is not None:
                try:
                    self._add_block(text, entries_in_text(text))
                except PageFull:
                    if self.entries:
                        return self.items
                    # Alone on its page, and still too much for it.
                    reason = "the entry is larger than a whole page may be"
                    self.bad.append(
                        BadRow(printable_label(batch.labels[index]), reason)
                    )
            self.items += 1
        return None

    def _add_block(self, text: str, entries: int) -> None:
        neutral = text.encode()
        own = neutral.replace(_MARK, self._origin)
        # It raises PageFull where the page would be too large.
        self._writer.add_xml(own, entries)
        self._segment.add(own)
        if self.keeps_blocks:
            self.blocks.append(own)
        self._hash.update(neutral)
        self.entries += entries

    def _finish(self) -> None:
        if Site.current().base_url:
            # Another BASE_URL is a change of every page. The address of a Site or of a
            # request is none: the site may have several of them at the same time.
            self._hash.update(self._origin)
        media = " ".join(self.source.media)
        self.stored = StoredBytes(
            address_of(self.site), self._segment.segment(), self.entries, media
        )
        self.size = self._writer.size
        self.checksum = self._hash.hexdigest()[:32]
