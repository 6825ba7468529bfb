"""Former sitemaps in files: written before the first change, read after each."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import count as counter
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import unquote

from django_sitemaps_plus.protocol.limits import MAX_ENTRIES
from django_sitemaps_plus.protocol.markup import escape
from django_sitemaps_plus.protocol.writers import URLSET_FOOTER, urlset_header

from .entries import Entry, ListedEntry, Unreadable, parse

#: In a folder that was saved here: what was saved, line by line.
_ORIGIN = "former.txt"


def save(listed: Iterable[ListedEntry], formers: Sequence[str], folder: Path) -> int:
    """
    Write entries into a new folder, and what they are of; return how many there are.

    The folder is there when all is written. Raises ``Unreadable`` if there is one.
    """
    if folder.exists():
        raise Unreadable(f"{folder} exists: name a new folder.")
    count, header = 0, urlset_header(("images", "videos", "news"))
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
            (work / f"sitemap-{number}.xml").write_bytes(header + body + URLSET_FOOTER)
        (work / _ORIGIN).write_text("\n".join(formers), encoding="utf-8")
        work.rename(folder)
    except BaseException:
        shutil.rmtree(work)
        raise
    return count


def formers_of(path: Path) -> list[str]:
    """Return what a folder was saved of; nothing if somebody else filled it."""
    origin = path / _ORIGIN
    text = origin.read_text(encoding="utf-8") if origin.exists() else ""
    return text.splitlines()


def _written(entry: Entry) -> str:
    """Return an entry as XML, with values that may be illegal."""
    values = {name: getattr(entry, name) for name in _TAGS}
    tags = (f"<{tag}>{escape(value)}</{tag}>" for tag, value in values.items() if value)
    links = (
        f'<xhtml:link rel="alternate" hreflang="{escape(code)}" href="{escape(href)}"/>'
        for code, href in entry.alternates
    )
    media = [_IMAGE.format(escape(url)) for url in entry.images]
    media += [_VIDEO.format(escape(url)) for url in entry.players]
    if entry.published:
        media.append(_NEWS.format(escape(entry.published)))
    loc = f"<loc>{escape(entry.location)}</loc>"
    return f"<url>{loc}{''.join((*tags, *links, *media))}</url>\n"


_TAGS = "lastmod", "changefreq", "priority"
_IMAGE = "<image:image><image:loc>{}</image:loc></image:image>"
_VIDEO = "<video:video><video:player_loc>{}</video:player_loc></video:video>"
_NEWS = "<news:news><news:publication_date>{}</news:publication_date></news:news>"


def saved(path: Path) -> Iterator[ListedEntry]:
    """
    Yield the entries of a file, or of all files of a folder, hidden ones aside.

    Raises ``Unreadable`` for any but a sitemap, and if an index lists more of a name
    than there are.
    """
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("[!.]*") if file.is_file())
        files = [file for file in files if file != path / _ORIGIN]
        if not files:
            raise Unreadable(f"The folder {path} has no files.")
    wanted, there = set[str](), set[tuple[Path, str]]()
    for file in files:
        is_index = False
        for entry in _of_file(file):
            if entry.is_sitemap:
                is_index = True
                wanted.add(entry.location)
            else:
                yield str(file), entry
        if not is_index:
            there.add((file.parent, _name_of(file.name)))
    left = Counter(name for _, name in there)
    for location in sorted(wanted):
        address, _, query = location.partition("?")
        name = _name_of(f"{address.rpartition('/')[2]}?{query}")
        if not left[name]:
            raise Unreadable(
                f"{path} has an index of {len(wanted):,} sitemaps, and {location} is "
                "not there. Save each by its own name in one folder and name the "
                "folder, or name the URL of the index."
            )
        left[name] -= 1


def _name_of(text: str) -> str:
    """Return a name as any program saves it: "a.xml?p=2" may be "a.xml@p=2.xml.gz"."""
    words = re.split(r"[\W_]+", unquote(text).lower())
    words = [word for word in words if word]
    while len(words) > 1 and words[-1] in ("xml", "gz"):
        words.pop()
    return "-".join(words)


def _of_file(path: Path) -> Iterator[Entry]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.") from error
    with file:
        yield from parse(str(path), file)
