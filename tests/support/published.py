"""A reader of published files, who follows the index; and storages that fail."""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.files.storage import FileSystemStorage, InMemoryStorage

#: Reads a file by its name; raises ``LookupError`` if there is none.
Read = Callable[[str], bytes]


class Troubled(FileSystemStorage):
    """A folder whose writes fail, are slow or kill: see ``plan``."""

    #: Called before each write with how many there were; raises what the disk would.
    plan: Callable[[int], None] = staticmethod(lambda write: None)
    writes = 0
    #: The name of what is written.
    name = ""

    def _save(self, name: str, content: Any) -> str:
        type(self).writes += 1
        type(self).name = name
        type(self).plan(self.writes)
        saved: str = super()._save(name, content)  # type: ignore[misc]  # no stub
        return saved


class Keeping(InMemoryStorage):
    """A storage that replaces no files, as S3's with this option."""

    file_overwrite = False


def in_folder(folder: Path) -> Read:
    """Return what reads a folder."""

    def read(name: str) -> bytes:
        try:
            return (folder / name).read_bytes()
        except FileNotFoundError:
            raise LookupError(name) from None

    return read


def unpacked(body: bytes) -> bytes:
    """Return the text of a file that may be gzipped."""
    return gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body


def locations(body: bytes) -> list[str]:
    """Return the locations of a whole sitemap; fails for half of one."""
    text = unpacked(body)
    assert text.rstrip().endswith((b"</urlset>", b"</sitemapindex>")), text[-80:]
    return [loc.decode() for loc in re.findall(rb"<loc>(.*?)</loc>", text)]


def followed(read: Read, first: str = "sitemap.xml") -> dict[str, list[str]]:
    """Return what each file lists that the index names; fails if one is missing."""
    body = read(first)
    found = locations(body)
    if b"<sitemapindex" not in unpacked(body):
        return {first: found}
    names = [urlsplit(loc).path.lstrip("/") for loc in found]
    return {name: locations(read(name)) for name in names}


def urls(read: Read, first: str = "sitemap.xml") -> set[str]:
    """Return all URLs that a crawler finds."""
    return {url for page in followed(read, first).values() for url in page}


def wait_for(true: Callable[[], bool], seconds: float = 90) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
