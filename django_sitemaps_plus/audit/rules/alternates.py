"""
The alternates of URLs: are their languages known, and do they link back?

The languages of an item mostly stand one after another, with the same alternates: what
these say of each other is seen at once. All other links are written to a temporary
database of SQLite, so that memory does not grow with the site.
"""

from __future__ import annotations

import html
import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.protocol.languages import unknown_in

from .elements import ALTERNATE
from .urls import Problem


class Alternates:
    """The links between the URLs of all sections."""

    def __init__(self) -> None:
        # Without a name: a file that nobody else sees, and that ends with us.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("CREATE TABLE link (source INTEGER, target INTEGER)")
        self._database.execute("BEGIN")
        self._has_links = False

    def close(self) -> None:
        """Forget all links."""
        self._database.close()

    def problems(
        self, locations: Sequence[str], links: Sequence[str]
    ) -> Iterator[tuple[str, Problem]]:
        """Yield the URLs whose own alternates are wrong, and remember the links."""
        if not any(links):
            return
        pairs = zip(locations, links, strict=True)
        for written, group in groupby(pairs, key=itemgetter(1)):
            if not written:
                continue
            urls = [url for url, _ in group]
            found = [
                (language, html.unescape(href))
                for language, href in ALTERNATE.findall(written)
            ]
            own = dict.fromkeys(urls)
            targets = {href for _, href in found}
            problems = list(_of_set(found))
            for url in urls:
                yield from ((url, problem) for problem in problems)
                if url not in targets:
                    yield url, (kinds.NOT_ITSELF, "its alternates do not name it")
            self._remember(
                (url, target)
                for url in urls
                for target in targets
                if url != target and not (url in targets and target in own)
            )

    def _remember(self, links: Iterator[tuple[str, str]]) -> None:
        rows = [(hash(source), hash(target)) for source, target in links]
        if rows:
            self._has_links = True
            self._database.executemany("INSERT INTO link VALUES (?, ?)", rows)

    def one_sided(self, parts: int) -> Iterator[dict[int, set[int]]]:
        """
        Yield the links to URLs that do not link back, if they are listed.

        As hashes, by the target, in ``parts`` parts: each has the targets that leave
        the same rest.
        """
        if not self._has_links:
            yield from ({} for _ in range(parts))
            return
        self._database.execute("CREATE INDEX both ON link (source, target)")
        statement = (
            "SELECT DISTINCT source, target FROM link WHERE ((target % ?) + ?) % ? = ? "
            "AND NOT EXISTS (SELECT 1 FROM link AS back"
            " WHERE back.source = link.target AND back.target = link.source)"
        )
        for part in range(parts):
            found: dict[int, set[int]] = {}
            for source, target in self._database.execute(
                statement, (parts, parts, parts, part)
            ):
                found.setdefault(target, set()).add(source)
            yield found


def _of_set(found: Sequence[tuple[str, str]]) -> Iterator[Problem]:
    """Yield what is wrong with a set of alternates, whoever has it."""
    urls: dict[str, str] = {}
    for language, href in found:
        if problem := _unknown_in(language):
            yield kinds.UNKNOWN_LANGUAGE, problem
        if urls.setdefault(language.lower(), href) != href:
            yield kinds.TWO_OF_A_LANGUAGE, f"has several URLs for {language!r}"


#: There are few languages, and they repeat with each URL.
_unknown_in = lru_cache(maxsize=1_000)(unknown_in)
