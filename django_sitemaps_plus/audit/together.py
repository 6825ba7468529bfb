"""
What only several entries have wrong together: listed twice, or linked from one side.

Of each URL only a hash and its section are remembered, in a temporary database of
SQLite, so that memory does not grow with the site.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from . import kinds
from .rules.urls import form_of


def temporary_database() -> sqlite3.Connection:
    """Return a database in a file that nobody else sees, and that ends with it."""
    database = sqlite3.connect("", isolation_level=None)
    database.execute("PRAGMA journal_mode = OFF")
    return database


@dataclass
class Wrong:
    """Hashes of URLs that are wrong together; not of all, but all are counted."""

    repeated: set[int] = field(default_factory=set)
    #: How many there are of each kind.
    counts: Counter[str] = field(default_factory=Counter)
    #: The targets of links that do not link back, and who links to them.
    one_sided: dict[int, set[int]] = field(default_factory=dict)
    #: The targets of links that nothing lists, and who links to them.
    unlisted: dict[int, set[int]] = field(default_factory=dict)
    #: Different URLs by what they have in common.
    similar: dict[int, set[int]] = field(default_factory=dict)

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
        self._database.execute("CREATE TABLE url (hash, section, form)")
        self._database.execute("CREATE TABLE link (source, target, is_own)")
        self._database.execute("BEGIN")

    def close(self) -> None:
        """Forget all of it."""
        self._database.close()

    def add(self, section: int, urls: Sequence[str]) -> None:
        """Remember some URLs of a section, by its number."""
        rows = ((hash(url), section, hash(form_of(url))) for url in urls)
        self._database.executemany("INSERT INTO url VALUES (?, ?, ?)", rows)

    def link(self, links: Iterable[tuple[str, str, bool]]) -> None:
        """
        Remember some links: who has them, and to what they lead.

        And whether that is a URL of the site, for one language.
        """
        rows = ((hash(source), hash(target), own) for source, target, own in links)
        self._database.executemany("INSERT INTO link VALUES (?, ?, ?)", rows)

    def wrong(self, most: int, *, is_whole: bool) -> Wrong:
        """
        Return what is wrong, with at most ``most`` hashes of each kind.

        ``is_whole`` says that all URLs of the site were remembered: only then it is
        known what is not listed.
        """
        wrong = Wrong()
        self._database.execute(_REPEATED)
        for url, sections, times in self._database.execute(_HOW_OFTEN):
            for kind, is_wrong in (
                (kinds.REPEATED, times > 1),
                (kinds.SHARED, sections > 1),
            ):
                wrong.counts[kind] += is_wrong
                if is_wrong and wrong.counts[kind] <= most:
                    wrong.repeated.add(url)
        self._database.execute("CREATE INDEX both ON link (source, target)")
        self._database.execute(_ONE_SIDED)
        self._gather(wrong.one_sided, _LISTED, most)
        if is_whole:
            self._gather(wrong.unlisted, _UNLISTED, most)
        self._database.execute(_FORMS)
        self._gather(wrong.similar, _SIMILAR, most)
        (wrong.counts[kinds.SIMILAR],) = self._database.execute(_HOW_SIMILAR).fetchone()
        return wrong

    def _gather(self, hashes: dict[int, set[int]], query: str, most: int) -> None:
        """Put pairs into sets by their second value, at most ``most`` sets."""
        for value, key in self._database.execute(query):
            if key in hashes or len(hashes) < most:
                hashes.setdefault(key, set()).add(value)


_REPEATED = (
    "CREATE TABLE repeated AS SELECT hash FROM url GROUP BY hash HAVING COUNT(*) > 1"
)
#: In how many sections, and at most how often in one.
_HOW_OFTEN = (
    "SELECT hash, COUNT(*), MAX(times) FROM (SELECT hash, section, COUNT(*) AS times"
    " FROM url WHERE hash IN repeated GROUP BY hash, section) GROUP BY hash"
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
_FORMS = (
    "CREATE TABLE similar AS SELECT form FROM url GROUP BY form"
    " HAVING MIN(hash) < MAX(hash)"
)
_SIMILAR = "SELECT DISTINCT hash, form FROM url WHERE form IN similar ORDER BY form"
_HOW_SIMILAR = "SELECT COUNT(*) FROM similar"
