"""
A million pending changes: finding their pages, and claiming them page by page.

The plans of both queries are printed, and have to use the index.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

from . import bench, data, recorded, site
from .index import only
from .timing import shown


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=1)
    parser.add_argument(
        "--rows", type=int, default=1_000_000, help="changes (default: %(default)s)"
    )
    options = bench.start(parser)
    data.load(book=options.rows)
    only("book")
    recorded.empty()
    pages = site.fill("book")
    fill(options.rows)
    report = bench.Report(f"{options.rows:,} pending changes, {pages} pages")
    thousands = options.rows / 1_000
    begun = time.perf_counter()
    queries = sort()
    taken = (time.perf_counter() - begun) / thousands
    report.check("sorting: changes that have no page", unsorted())
    report.note("sorting: a thousand changes", shown(taken))
    # Now that few are left to be sorted, and many are to be claimed.
    analyze()
    queries += captured(lambda: claim(1))
    plans = [plan(query) for query in queries]
    report.check(
        "plans that do not use the index",
        [text for text in plans if "sitemaps_plus_change_page" not in text],
    )
    claims, deletes, claimed = [], [], 0
    for number in range(1, pages + 1):
        # Some thousand at a time, until there are none.
        while True:
            found, seconds = timed(partial(claim, number))
            count = len(found.ids)
            if not count:
                break
            claimed += count
            claims.append(seconds / count * 1_000)
            deletes.append(timed(found.finish)[1] / count * 1_000)
    wrong = [] if claimed == options.rows else [f"{claimed} changes were claimed"]
    report.check("claiming: changes that no page claimed", wrong)
    report.note("claiming: a thousand changes", shown(median(claims)))
    report.note("deleting a thousand changes", shown(median(deletes)))
    recorded.empty()
    code = report.finish()
    for query, text in zip(queries, plans, strict=True):
        print(f"\n{query}\n\n{text}")
    return code


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return what ``run`` returns, and how long it took."""
    begun = time.perf_counter()
    found = run()
    return found, time.perf_counter() - begun


def fill(rows: int) -> None:
    """Have the database write changes of all books, as saves do."""
    from django.db import connection

    from django_sitemaps_plus.db import clock_sql
    from django_sitemaps_plus.models import Change

    from .shop.models import Book

    quote = connection.ops.quote_name
    names = ", ".join(map(quote, ("section", "key", "old", "at", "settled")))
    joined = "CONCAT({})" if connection.vendor == "mysql" else "{}"
    comma = ", " if connection.vendor == "mysql" else " || "
    number = "id" if connection.vendor == "mysql" else "CAST(id AS VARCHAR(20))"
    key = joined.format(comma.join(("'[\"'", number, "'\"]'")))
    old = joined.format(comma.join(("'[\"/books/'", "slug", "'/\"]'")))
    recorded.empty()
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {quote(Change._meta.db_table)} ({names}) "
            f"SELECT 'book', {key}, {old}, {clock_sql(connection.vendor)}, "
            f"{'1' if connection.vendor != 'postgresql' else 'true'} "
            f"FROM {quote(Book._meta.db_table)} WHERE id <= {rows}"
        )
    analyze()


def analyze() -> None:
    """Have the database count the changes, which it does itself within minutes."""
    from django.db import connection

    from django_sitemaps_plus.models import Change

    after = {"postgresql": "VACUUM ANALYZE", "mysql": "ANALYZE TABLE"}
    table = connection.ops.quote_name(Change._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"{after.get(connection.vendor, 'ANALYZE')} {table}")


def sort() -> list[str]:
    """Find the pages of all changes; returns the query that reads some of them."""
    from django_sitemaps_plus.changes import assignment
    from django_sitemaps_plus.pagination import ledger
    from django_sitemaps_plus.sitemaps import sections

    source = sections.source("book")
    section = ledger.fill(source)
    queries = captured(lambda: assignment.sort(source, section, seconds=0.001))
    assignment.sort(source, section, seconds=3_600)
    return queries


def claim(number: int) -> Any:
    """Claim the changes of a page."""
    from django_sitemaps_plus.changes import assignment

    return assignment.claim("book", number)


def captured(run: Callable[[], Any]) -> list[str]:
    """Return the first query on the changes that ``run`` makes."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as found:
        run()
    ran = [query["sql"] for query in found.captured_queries]
    return [sql for sql in ran if sql.startswith("SELECT") and "_change" in sql][:1]


def unsorted() -> list[str]:
    """Tell whether changes are left without a page."""
    from django_sitemaps_plus.models import Change

    left = Change.objects.filter(page=None).count()
    return [f"{left} changes have no page"] if left else []


def plan(query: str) -> str:
    """Return how the database means to run a query."""
    from django.db import connection

    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {query}")
        return "\n".join(
            "  ".join(str(part) for part in row) for row in cursor.fetchall()
        )


if __name__ == "__main__":
    sys.exit(main())
