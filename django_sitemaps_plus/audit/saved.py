"""Former sitemaps in files: written before the first change, read after each."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import count as counter
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp

from django_sitemaps_plus.protocol.limits import MAX_ENTRIES
from django_sitemaps_plus.protocol.markup import escape
from django_sitemaps_plus.protocol.writers import URLSET_FOOTER, urlset_header

from .entries import Entry, Listed, Unreadable, parse

#: What a folder is searched for.
_ENDINGS = (".xml", ".xml.gz")
#: In a folder that was saved here: what was saved, line by line.
_ORIGIN = "former.txt"


def save(listed: Iterable[Listed], formers: Sequence[str], folder: Path) -> int:
    """
    Write entries into a new folder, and what they are of; return how many there are.

    The folder is there when all is written. Raises ``Unreadable`` if there is one.
    """
    if folder.exists():
        raise Unreadable(f"{folder} exists: name a new folder.")
    count = 0
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        entries = (entry for _, entry in listed)
        for number in counter(1):
            some = list(islice(entries, MAX_ENTRIES))
            if not some:
                break
            count += len(some)
            body = "".join(map(_written, some)).encode()
            (work / f"sitemap-{number}.xml").write_bytes(
                urlset_header() + body + URLSET_FOOTER
            )
        (work / _ORIGIN).write_text("\n".join(formers))
        work.rename(folder)
    except BaseException:
        shutil.rmtree(work)
        raise
    return count


def formers_of(path: Path) -> list[str]:
    """Return what a folder was saved of; nothing if somebody else filled it."""
    origin = path / _ORIGIN
    return origin.read_text().splitlines() if origin.exists() else []


def _written(entry: Entry) -> str:
    """Return an entry as XML, with values that may be illegal."""
    values = {name: getattr(entry, name) for name in _TAGS}
    tags = (f"<{tag}>{escape(value)}</{tag}>" for tag, value in values.items() if value)
    links = (
        f'<xhtml:link rel="alternate" hreflang="{escape(code)}" href="{escape(href)}"/>'
        for code, href in entry.alternates
    )
    loc = f"<loc>{escape(entry.location)}</loc>"
    return f"<url>{loc}{''.join((*tags, *links))}</url>\n"


_TAGS = "lastmod", "changefreq", "priority"


def saved(path: Path) -> Iterator[Listed]:
    """
    Yield the entries of a file, or of all files of a folder.

    Raises ``Unreadable`` if an index lists more sitemaps than there are.
    """
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.name.endswith(_ENDINGS))
        if not files:
            raise Unreadable(f"The folder {path} has no *.xml and no *.xml.gz.")
    wanted, indexes = 0, 0
    for file in files:
        before = wanted
        for entry in _of_file(file):
            wanted += entry.is_sitemap
            if not entry.is_sitemap:
                yield str(file), entry
        indexes += wanted > before
    if wanted > len(files) - indexes:
        raise Unreadable(
            f"{path} has an index of {wanted:,} sitemaps, and {len(files) - indexes:,} "
            "are there. Save all of them in one folder and name the folder, or name "
            "the URL of the index."
        )


def _of_file(path: Path) -> Iterator[Entry]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.") from error
    with file:
        yield from parse(str(path), file)
