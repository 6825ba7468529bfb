"""
What is wrong with several entries together: listed twice, or linked one way only.

Of each URL only a hash and its section are remembered, in a temporary database of
SQLite, so that memory does not grow with the site.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from typing import Any, Final

#: What a folder's URL and that of the file in it have between them.
_INDEX = re.compile(r"/(?:index|default)\.(?:html?|php|aspx?|jsp)\Z")
_SLASHES = re.compile("(?<!:)//+")
_ESCAPE = re.compile("%[0-9a-f]{2}", re.IGNORECASE)
#: One of these has each URL that is written in another way than in lower case and
#: without the slash at its end; and two slashes stand behind each scheme.
_UNUSUAL: Final = ("?", "/index.", "/default.")
REPEATED, SHARED, SIMILAR = "repeated", "shared", "similar"
#: Values of one statement in the oldest SQLite.
_MOST_VALUES = 999


def form_of(url: str) -> str:
    """Return what the URLs of one page have in common, however they are written."""
    path, mark, query = url.partition("?")
    path = path.lower()
    if "//" in path[8:]:
        path = _SLASHES.sub("/", path)
    path = _INDEX.sub("/", path).rstrip("/")
    if "&" in query:
        query = "&".join(sorted(query.split("&")))
    if "%" in query:
        query = _ESCAPE.sub(lambda found: found[0].upper(), query)
    return path + mark + query if query else path


def _forms_of(urls: Sequence[str], joined: str) -> Iterable[str]:
    """Return the form of each URL; ``joined`` are they with line breaks."""
    joined = joined.lower()
    is_usual = joined.count("//") == len(urls) == joined.count("://")
    is_usual &= joined.count("\n") == len(urls) - 1
    if is_usual and not any(one in joined for one in _UNUSUAL):
        return f"{joined}\n".replace("/\n", "\n")[:-1].split("\n")
    return map(form_of, urls)


def temporary_database() -> sqlite3.Connection:
    """Return a database in a private file, which is deleted when it is closed."""
    database = sqlite3.connect("", isolation_level=None)
    database.execute("PRAGMA journal_mode = OFF")
    return database


def insert(
    database: sqlite3.Connection, table: str, width: int, rows: Iterable[Sequence[Any]]
) -> None:
    """Insert rows of ``width`` values, many at once: half the time of executemany()."""
    values, row = chain.from_iterable(rows), f"({', '.join('?' * width)})"
    while some := list(islice(values, _MOST_VALUES // width * width)):
        places = ", ".join([row] * (len(some) // width))
        database.execute(f"INSERT INTO {table} VALUES {places}", some)  # noqa: S608 (names)


@dataclass
class Wrong:
    """Hashes of URLs that are wrong together; not of all, but all are counted."""

    repeated: set[int] = field(default_factory=set)
    #: How many there are: ``REPEATED``, ``SHARED``, ``SIMILAR``.
    counts: Counter[str] = field(default_factory=Counter)
    #: The targets of links that do not link back, and who links to them.
    one_sided: dict[int, set[int]] = field(default_factory=dict)
    #: The targets of links that nothing lists, and who links to them.
    unlisted: dict[int, set[int]] = field(default_factory=dict)
    #: Different URLs by what they have in common.
    similar: dict[int, set[int]] = field(default_factory=dict)
    #: URLs that different entries name for different languages.
    ambiguous: set[int] = field(default_factory=set)

    @property
    def hashes(self) -> set[int]:
        """All hashes of URLs that are to be named."""
        return self.repeated.union(
            self.one_sided,
            *self.one_sided.values(),
            *self.unlisted.values(),
            *self.similar.values(),
        )


class Together:
    """The URLs of all sections, and the links between them."""

    def __init__(self) -> None:
        self._database = temporary_database()
        self._database.execute("CREATE TABLE url (form, hash, section)")
        self._database.execute("CREATE TABLE link (source, target, is_own)")
        self._database.execute("CREATE TABLE named (target, language)")
        self._database.execute("BEGIN")

    def close(self) -> None:
        """Forget all of it."""
        self._database.close()

    def add(self, section: int, urls: Sequence[str], joined: str) -> None:
        """
        Remember some URLs of a section, by its number: negative if it is news.

        ``joined`` are they with line breaks.
        """
        forms = map(hash, _forms_of(urls, joined))
        rows = zip(forms, map(hash, urls), repeat(section))
        insert(self._database, "url", 3, rows)

    def link(self, links: Iterable[tuple[str, str, bool]]) -> None:
        """
        Remember some links: who has them, and to what they lead.

        And whether that is a URL of the site, for one language.
        """
        rows = ((hash(source), hash(target), own) for source, target, own in links)
        insert(self._database, "link", 3, rows)

    def name(self, named: Iterable[tuple[str, str]]) -> None:
        """Remember for which languages an entry names which URLs."""
        rows = ((hash(url), language) for url, language in named if language)
        insert(self._database, "named", 2, rows)

    def wrong(self, most: int, *, is_whole: bool) -> Wrong:
        """
        Return what is wrong, with at most ``most`` hashes of each kind.

        ``is_whole`` says that all URLs of the site were remembered: only then it is
        known what is not listed.
        """
        wrong = Wrong()
        # One sort of all: whatever is listed twice has one form.
        self._database.execute(_SUSPECTS)
        for url, sections, times in self._database.execute(_HOW_OFTEN):
            for kind, is_wrong in ((REPEATED, times > 1), (SHARED, sections > 1)):
                wrong.counts[kind] += is_wrong
                if is_wrong and wrong.counts[kind] <= most:
                    wrong.repeated.add(url)
        self._database.execute("CREATE INDEX both ON link (source, target)")
        self._database.execute(_ONE_SIDED)
        self._gather(wrong.one_sided, _LISTED, most)
        if is_whole:
            self._gather(wrong.unlisted, _UNLISTED, most)
        wrong.ambiguous.update(
            url for (url,) in self._database.execute(_AMBIGUOUS, [most])
        )
        self._database.execute(_FORMS)
        self._gather(wrong.similar, _SIMILAR, most)
        (wrong.counts[SIMILAR],) = self._database.execute(_HOW_SIMILAR).fetchone()
        return wrong

    def _gather(self, hashes: dict[int, set[int]], query: str, most: int) -> None:
        """Put pairs into sets by their second value, at most ``most`` sets."""
        for value, key in self._database.execute(query):
            if key in hashes or len(hashes) < most:
                hashes.setdefault(key, set()).add(value)


_SUSPECTS = (
    "CREATE TABLE suspect AS SELECT form, hash, section FROM url WHERE form IN"
    " (SELECT form FROM url GROUP BY form HAVING COUNT(*) > 1)"
)
#: In how many sections that are not news, and at most how often in one.
_HOW_OFTEN = (
    "SELECT hash, SUM(section >= 0), MAX(times)"
    " FROM (SELECT hash, section, COUNT(*) AS times FROM suspect"
    " GROUP BY hash, section) GROUP BY hash HAVING COUNT(*) > 1 OR MAX(times) > 1"
)
_ONE_SIDED = (
    "CREATE TABLE one_sided AS SELECT DISTINCT source, target FROM link"
    " WHERE NOT EXISTS (SELECT 1 FROM link AS back"
    " WHERE back.source = link.target AND back.target = link.source)"
)
#: Of what no section lists nothing is known: it may link back.
_LISTED = (
    "SELECT source, target FROM one_sided WHERE target IN"
    " (SELECT hash FROM url WHERE hash IN (SELECT target FROM one_sided))"
    " ORDER BY target"
)
_UNLISTED = (
    "SELECT DISTINCT source, target FROM link WHERE is_own"
    " AND target NOT IN (SELECT hash FROM url) ORDER BY target"
)
_AMBIGUOUS = (
    "SELECT target FROM named GROUP BY target HAVING MIN(language) < MAX(language)"
    " LIMIT ?"
)
_FORMS = (
    "CREATE TABLE similar AS SELECT form FROM suspect GROUP BY form"
    " HAVING MIN(hash) < MAX(hash)"
)
_SIMILAR = "SELECT DISTINCT hash, form FROM suspect WHERE form IN similar ORDER BY form"
_HOW_SIMILAR = "SELECT COUNT(*) FROM similar"
