"""
A page's bytes in the ledger's database, in its transactions.

They are written with the row that names them, and deleted with it, so that every host
sees the same bytes, nothing can be half there, and what a page listed before is at
hand. Whoever reads them compares their CRC: bytes that a failing disk or somebody's SQL
has damaged are as good as none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from django.db import connections
from django.db.models import BigIntegerField, Exists, ExpressionWrapper, F, OuterRef

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import parts
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import ledger
from django_sitemaps_plus.prepared import Prepared, Slot, Step, listed, slots, update
from django_sitemaps_plus.protocol.writers import URLSET_FOOTER, urlset_header
from django_sitemaps_plus.rendering.listing import lastmods_of, listed_of, locations_of
from django_sitemaps_plus.sitemaps.site import SiteAddress

from .models import PageFile
from .segments import Segment, crc32, segment_of

#: Bytes of one piece on MySQL, which refuses packets above a size that is often 16 MB,
#: and sometimes 1 MB.
PIECE = 1_000_000
#: Pages whose bytes one statement reads for ``read_each``.
PAGES_AT_ONCE = 16
#: The columns of a piece, as ``bytes_of_pieces`` takes them.
COLUMNS = "origin", "media", "entries", "size", "text_crc", "crc", "data"


@dataclass(frozen=True)
class StoredBytes:
    """A page's entries, compressed, and the address of the site that they carry."""

    origin: str
    segment: Segment
    entries: int
    #: The kinds of media whose namespaces they need, with spaces between: "images".
    media: str = ""

    @property
    def facts(self) -> tuple[Any, ...]:
        """What is stored beside the bytes: what ``COLUMNS`` begin with."""
        segment = self.segment
        return self.origin, self.media, self.entries, segment.size, segment.crc

    @property
    def crc(self) -> int:
        """The CRC-32 of all that is stored."""
        return crc32(self.segment.data, crc32(repr(self.facts).encode()))

    @property
    def start(self) -> str:
        """The scheme and host that they carry: what its paths stand behind."""
        return "/".join(self.origin.split("/", 3)[:3])

    @property
    def repeated(self) -> int:
        """How many entries list a URL that an earlier one lists."""
        locations = locations_of(self.segment.text())
        return len(locations) - len(set(locations))

    def listed(self, locations: Collection[str]) -> dict[str, str]:
        """Return those of some locations that the page lists, with their lastmods."""
        return listed_of(self.segment.text(), locations, self.start)

    def for_site(self, site: SiteAddress) -> StoredBytes:
        """Return the entries with the address of ``site``."""
        return self if self.origin == site.base else _for_site(self, site)

    def text_for(self, site: SiteAddress) -> bytes:
        """
        Return the text of the entries with the address of ``site``.

        It is put only where a location begins with the other one, in an element or an
        attribute: a title may speak of that too.
        """
        text, own = self.segment.text(), str(site.origin).encode()
        if self.origin == site.base:
            return text
        at = rb"(<(?:\w+:)?(?:\w+_)?loc>|href=\"|info=\")"
        at += re.escape(self.start.encode())
        prefix = self.origin.removeprefix(self.start)
        if prefix == site.prefix:
            return re.sub(at + rb"(?=[/<\"])", rb"\g<1>" + own, text)
        # Paths made by reverse() begin with the script prefix.
        at += re.escape(prefix.encode())
        return re.sub(at, rb"\g<1>" + own + site.prefix.encode(), text)

    def lastmods(self, site: SiteAddress) -> dict[str, str]:
        """Return the lastmods of what the page lists, by URL; may be empty."""
        return lastmods_of(self.text_for(site))

    def body_for(self, site: SiteAddress) -> bytes:
        """Return the whole file, not compressed, with the address of ``site``."""
        header = entries_header(self.media.split())
        return b"".join([header, self.text_for(site), URLSET_FOOTER])


@lru_cache(maxsize=8)
def _for_site(stored: StoredBytes, site: SiteAddress) -> StoredBytes:
    """Do so, once for whoever asks again: a full page takes 10 ms."""
    segment = segment_of(stored.text_for(site))
    return replace(stored, origin=site.base, segment=segment)


def entries_header(media: Collection[str]) -> bytes:
    """Return the beginning of a file whose entries have some kinds of media."""
    return _header(frozenset(media), stylesheet=get_settings().stylesheet)


_header = lru_cache(maxsize=64)(urlset_header)


def read_bytes(page: Page, checksum: str) -> StoredBytes | None:
    """Return the bytes of a page's version; None if they are missing or damaged."""
    known, stored = page.stored
    if known == checksum:
        # Also none, of a page that was never built.
        return cast(StoredBytes | None, stored)
    return _read({page.pk: checksum}).get(page.pk)


def read_all(pages: Iterable[Page]) -> dict[int, StoredBytes]:
    """Return the bytes of some pages' versions, as far as they are stored."""
    return _read({page.pk: page.checksum for page in pages})


def _read(versions: Mapping[int, str]) -> dict[int, StoredBytes]:
    """Return the bytes of versions, of which each is given by its page."""
    if not versions:
        return {}
    count, values = listed("page", versions)
    pieces = defaultdict[int, list[Any]](list)
    for page, checksum, *piece in _READ.rows(ledger(), count, **values):
        if versions[page] == checksum:
            pieces[page].append(piece)
    found = {page: bytes_of_pieces(some) for page, some in pieces.items()}
    return {page: stored for page, stored in found.items() if stored is not None}


def _read_query(pages: int) -> Any:
    # A foreign key takes no expressions in a list.
    own = ExpressionWrapper(F("page_id"), BigIntegerField())
    rows = PageFile.objects.alias(own=own).filter(own__in=slots("page", pages))
    rows = rows.order_by("page_id", "part")
    return rows.values_list("page_id", "checksum", *COLUMNS)


_READ = Prepared(_read_query)


def read_each(pages: Sequence[Page]) -> Iterator[tuple[Page, StoredBytes | None]]:
    """Yield pages, each with its bytes: some are read at a time, and only if wanted."""
    for some in parts(pages, PAGES_AT_ONCE):
        stored = read_all(some)
        for page in some:
            yield page, stored.get(page.pk)


def bytes_of_pieces(rows: Iterable[Sequence[Any]]) -> StoredBytes | None:
    """Put pieces together, given in their order by ``COLUMNS``; None if damaged."""
    pieces = list(rows)
    if not pieces:
        return None
    origin, media, entries, size, text_crc, stored_crc, _ = pieces[0]
    data = b"".join([bytes(piece) for *_, piece in pieces])
    stored = StoredBytes(origin, Segment(data, size, text_crc), entries, media)
    return stored if stored.crc == stored_crc else None


def overwriting(page: Page, checksum: str, stored: StoredBytes) -> list[Step]:
    """Return the step that stores a version over the only piece, if there is one."""
    if connections[ledger()].vendor == "mysql":
        return []
    [row] = _pieces(page, checksum, stored, is_small=False)
    values = {name: getattr(row, name) for name in _WRITTEN}
    return [Step(_OVERWRITE, (), {"page": page.pk, **values})]


_WRITTEN = "checksum", "part", *COLUMNS


def _overwrite_query() -> Any:
    fields = {name: PageFile._meta.get_field(name) for name in _WRITTEN}
    rows = PageFile.objects.filter(page_id=Slot("page"))
    # A stray one beside it has to go: who overwrites both, writes one piece twice.
    others = PageFile.objects.filter(page_id=OuterRef("page_id"))
    rows = rows.exclude(Exists(others.exclude(pk=OuterRef("pk"))))
    return update(rows, **{name: Slot(name, field) for name, field in fields.items()})


_OVERWRITE = Prepared(_overwrite_query)


def write_all(versions: Sequence[tuple[Page, str, StoredBytes]]) -> None:
    """
    Store the bytes of some pages' versions, and delete those of others.

    To be called in the transaction that writes their rows. Of a new page a stray piece
    may be stored.
    """
    files = PageFile.objects.using(ledger())
    files.filter(page__in=[page.pk for page, *_ in versions]).delete()
    is_small = connections[ledger()].vendor == "mysql"
    rows = [row for given in versions for row in _pieces(*given, is_small=is_small)]
    files.bulk_create(rows, batch_size=1 if is_small else None)


def _pieces(
    page: Page, checksum: str, stored: StoredBytes, *, is_small: bool
) -> Iterator[PageFile]:
    """Yield the rows of some bytes: one, where no packet limits it."""
    data, facts = stored.segment.data, (*stored.facts, stored.crc)
    size = PIECE if is_small else max(1, len(data))
    for part, start in enumerate(range(0, max(1, len(data)), size)):
        columns = zip(COLUMNS, (*facts, data[start : start + size]), strict=True)
        yield PageFile(page=page, checksum=checksum, part=part, **dict(columns))
