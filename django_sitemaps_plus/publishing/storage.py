"""
A page's bytes in the ledger's database, in its transactions.

They are written with the row that names them, and deleted with it, so that every host
sees the same bytes, nothing can be half there, and what a page listed before is at
hand. Whoever reads them compares their CRC: bytes that a failing disk or somebody's SQL
has damaged are as good as none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import router
from django.db.models import QuerySet

from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.sitemaps.site import SiteAddress

from .compression import crc, pack, unpack
from .models import PageFile

#: Bytes of one piece: MariaDB refuses packets above 16 MB, often above 1 MB.
PIECE = 1_000_000
#: The columns of a piece, as ``joined`` takes them.
COLUMNS = "origin", "crc", "data"


@dataclass(frozen=True)
class StoredBytes:
    """A page's gzipped bytes, and the address of the site that they carry."""

    origin: str
    data: bytes

    @property
    def crc(self) -> int:
        """The CRC-32 that is stored with them."""
        return crc(self.origin.encode(), self.data)

    @property
    def start(self) -> str:
        """The scheme and host that they carry: what its paths stand behind."""
        return "/".join(self.origin.split("/", 3)[:3])

    def for_site(self, site: SiteAddress) -> bytes:
        """Return the gzipped bytes with the address of ``site``."""
        if self.origin == address_of(site):
            return self.data
        return pack(self.body_for(site))

    def body_for(self, site: SiteAddress) -> bytes:
        """Return the bytes, not gzipped, with the address of ``site``."""
        body = unpack(self.data)
        if self.origin == address_of(site):
            return body
        return _readdressed(body, self.origin, site)


def address_of(site: SiteAddress) -> str:
    """Return what stored bytes carry of an address: scheme, host and script prefix."""
    return f"{site.origin}{site.prefix}"


def _readdressed(body: bytes, origin: str, site: SiteAddress) -> bytes:
    """
    Return the bytes with another address of the site.

    Only where a location begins with it, in an element or an attribute: a title may
    speak of the address too.
    """
    scheme, _, rest = origin.partition("://")
    host, slash, prefix = rest.partition("/")
    former = re.escape(f"{scheme}://{host}".encode())
    own = str(site.origin).encode()
    at = rb"(<(?:\w+:)?(?:\w+_)?loc>|href=\"|info=\")"
    if f"{slash}{prefix}" != site.prefix:
        # Paths made by reverse() begin with the script prefix.
        moved = re.compile(at + former + re.escape(f"{slash}{prefix}".encode()))
        return moved.sub(rb"\g<1>" + own + site.prefix.encode(), body)
    return re.sub(at + former + rb"(?=[/<\"])", rb"\g<1>" + own, body)


def files() -> QuerySet[PageFile]:
    """Return the stored pieces, in the database for writing."""
    rows: QuerySet[PageFile] = PageFile.objects.using(router.db_for_write(PageFile))
    return rows


def read(page: Page, checksum: str) -> StoredBytes | None:
    """Return the bytes of a page's version; None if they are missing or damaged."""
    rows = files().filter(page=page, checksum=checksum).order_by("part")
    return joined(rows.values_list(*COLUMNS))


def read_all(pages: Sequence[Page]) -> dict[int, StoredBytes]:
    """Return the bytes of some pages' versions, as far as they are stored."""
    rows = files().filter(page__in=pages).order_by("page_id", "part")
    found: dict[tuple[int, str], list[Any]] = {}
    columns: Any = rows.values_list("page_id", "checksum", *COLUMNS)
    for page, checksum, *piece in columns:
        found.setdefault((page, checksum), []).append(piece)
    stored = {
        page.pk: joined(found.get((page.pk, page.checksum), ())) for page in pages
    }
    return {page: one for page, one in stored.items() if one is not None}


def joined(rows: Iterable[Sequence[Any]]) -> StoredBytes | None:
    """Put pieces together, given in their order by ``COLUMNS``; None if damaged."""
    found = list(rows)
    if not found:
        return None
    origin, stored_crc, _ = found[0]
    stored = StoredBytes(origin, b"".join(bytes(data) for *_, data in found))
    return stored if stored.crc == stored_crc else None


def write(
    page: Page, checksum: str, site: SiteAddress, data: bytes, *, keep: str = ""
) -> None:
    """
    Store the bytes of a page's version, and delete those of others.

    But not of the version ``keep``, which is served until the grace of a split is
    over. To be called in the transaction that writes the page's row.
    """
    files().filter(page=page).exclude(checksum=keep).delete()
    if checksum == keep:
        return
    pieces = pieces_of(page, checksum, StoredBytes(address_of(site), data))
    files().bulk_create(pieces, batch_size=1)


def pieces_of(page: Page, checksum: str, stored: StoredBytes) -> list[PageFile]:
    """Return the rows of some bytes, to be created one by one."""
    value = stored.crc
    return [
        PageFile(
            page=page,
            checksum=checksum,
            origin=stored.origin,
            crc=value,
            part=part,
            data=stored.data[start : start + PIECE],
        )
        for part, start in enumerate(range(0, len(stored.data), PIECE))
    ]
