"""
Hints, "look at this key again", and the INSERT that writes them to the ledger.

By hand, because the ORM's own costs as much as the user's ``save()``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from django_sitemaps_plus.db import clock_sql
from django_sitemaps_plus.pagination.queries import other_sites_have_sections
from django_sitemaps_plus.sitemaps.site import declared_sites, may_share_database

#: Rows of one INSERT.
ROWS = 500
#: Seconds for which nobody looks whether another Site has rows by now.
ONLY = 180.0


class Hint(NamedTuple):
    """One row of ``Change`` to be written."""

    section: str
    #: Empty: the whole section.
    key: str = ""
    upto: str | None = None
    #: The label of another model, whose primary key ``key`` is.
    related: str = ""
    created: bool = False
    #: The site whose row it is. None: one for this process's own Site, and one for each
    #: other Site that has a section of that name.
    site: str | None = None


def insert(connection: Any, hints: Sequence[Hint]) -> None:
    """Write a row of ``Change`` for each hint; nothing is asked before."""
    # What commits on its own need not wait for the disk.
    alone = not connection.in_atomic_block and connection.get_autocommit()
    own, *named = declared_sites()
    is_shared = may_share_database() and not (own and _is_only_site())
    # What the others have is not for them to record.
    known = [own, *named] if own else named
    by_site: dict[str | None, list[Hint]] = {}
    for hint in hints:
        by_site.setdefault(hint.site, []).append(hint)
    with connection.cursor() as cursor:
        for site, group in by_site.items():
            for start in range(0, len(group), ROWS):
                some = group[start : start + ROWS]
                given = [part for hint in some for part in hint[:5]]
                if site is None and is_shared:
                    mine = [own] if own else []
                    sql = _insertion_for_each_site(
                        connection.vendor, len(some), len(mine), len(known), alone=alone
                    )
                    params = [*given, *mine, *known]
                else:
                    of = own if site is None else site
                    sql = _insertion(connection.vendor, len(some), alone=alone)
                    params = [part for hint in some for part in (*hint[:5], of)]
                cursor.execute(sql, params)


def _columns(vendor: str) -> str:
    quote = "`" if vendor == "mysql" else '"'
    names = ("section", "key", "upto", "related", "created")
    return ", ".join(f"{quote}{name}{quote}" for name in names)


def _definition(vendor: str, *, alone: bool) -> str:
    """
    Return the empty text, and on PostgreSQL have the commit not wait for the disk.

    That takes longer than all the rest. What a crash of the server loses, half a second
    at most, the next comparison finds. SET LOCAL would do nothing in autocommit.
    """
    quick = "left(set_config('synchronous_commit', 'off', true), 0)"
    return quick if vendor == "postgresql" and alone else "''"


@lru_cache(maxsize=64)
def _insertion(vendor: str, count: int, *, alone: bool) -> str:
    """Return the statement that writes so many rows, each with its site."""
    into = (
        f"INSERT INTO sitemaps_plus_change ({_columns(vendor)}, site, at, definition)"
    )
    given = f"%s, %s, %s, %s, %s, %s, {clock_sql(vendor)}"
    first = _definition(vendor, alone=alone)
    rows = ", ".join([f"({given}, {first})", *[f"({given}, '')"] * (count - 1)])
    return f"{into} VALUES {rows}"


@lru_cache(maxsize=64)
def _insertion_for_each_site(
    vendor: str, count: int, mine: int, known: int, *, alone: bool
) -> str:
    """
    Return the statement that writes rows for one's own Site and for all others.

    Others have a section of the name, and are none of the ``known`` sites, which these
    settings describe. Nothing is asked before.
    """
    columns = _columns(vendor)
    into = f"INSERT INTO sitemaps_plus_change ({columns}, site, at, definition)"
    rest = f"{clock_sql(vendor)}, {_definition(vendor, alone=alone)}"
    unknown = f"AND site NOT IN ({', '.join(['%s'] * known)})" if known else ""
    # No value is in the texts.
    if vendor == "postgresql":
        # Planned in half the time of a UNION.
        row = "(%s::text, %s::text, %s::text, %s::text, %s::boolean)"
        values = f"(VALUES {', '.join([row] * count)}) AS given ({columns})"
        others = (
            "SELECT site::text FROM sitemaps_plus_section "  # noqa: S608 (names)
            f"WHERE name = given.section {unknown}"
        )
        sites = f"unnest({'ARRAY[%s::text] || ' * mine}ARRAY({others})) AS own (site)"
        return f"{into} SELECT given.*, site, {rest} FROM {values}, {sites}"  # noqa: S608 (names)
    row, name = "(%s, %s, %s, %s, %s)", "given.section"
    values = f"VALUES {', '.join([row] * count)}"
    if vendor == "mysql":
        values = " UNION ALL ".join([f"SELECT {row[1:-1]}"] * count)
        # Texts in a statement have the connection's collation.
        name = f"CONVERT({name} USING utf8mb4) COLLATE utf8mb4_bin"
    parts = [f"SELECT given.*, %s, {rest} FROM given"] * mine  # noqa: S608 (names)
    parts.append(
        f"SELECT given.*, site, {rest} "  # noqa: S608 (names)
        f"FROM given, sitemaps_plus_section WHERE name = {name} {unknown}"
    )
    return f"{into} WITH given ({columns}) AS ({values}) {' UNION ALL '.join(parts)}"


#: Until when no other Site has rows, as far as this process knows, by the monotonic
#: clock.
_only_until = -math.inf


def look_for_other_sites() -> None:
    """
    Find out whether other Sites have rows; if not, no save looks for them for a while.

    For the background: which site is the first to come is noticed a little later, and
    what was saved until then by its next comparison.
    """
    global _only_until
    now = time.monotonic()
    _only_until = -math.inf if other_sites_have_sections() else now + ONLY


def _is_only_site() -> bool:
    return time.monotonic() < _only_until
