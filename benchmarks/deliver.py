"""
A million changed URLs of two hosts, submitted to an engine on loopback.

The engine counts the requests. The memory is that of this process, and each query on
the outbox has to use an index.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management import call_command

from . import bench, data, listener, memory, plans, site
from .timing import shown

OTHER = "https://shop.example.com"
#: How a plan says that a whole table is read.
WHOLE = {"sqlite": "SCAN ", "postgresql": "Seq Scan", "mysql": "type: ALL"}


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=1, rows=1_000_000)
    with listener.listening() as port:
        options = bench.start(parser, "book", engine=port)
        data.load(book=options.rows)
        site.build("book")
        report = bench.Report(f"{options.rows:,} changed URLs of two hosts")
        fill(options.rows)
        measure(options.rows, port, report)
    data.forget()
    return report.finish()


def measure(rows: int, port: int, report: bench.Report) -> None:
    """Submit everything that waits."""
    from django_sitemaps_plus.models import Submission, UrlChange

    idle, _ = memory.held()
    with watched() as statements:
        begun = time.perf_counter()
        call_command("ping_sitemaps", stdout=io.StringIO(), stderr=io.StringIO())
        seconds = time.perf_counter() - begun
    _, peak = memory.held()
    found = listener.received(port)
    wrong = [] if len(found.urls) == rows else [f"{len(found.urls):,} were submitted"]
    if sum(found.hosts.values()) != rows:
        wrong.append(f"URLs were submitted twice: {found.hosts}")
    report.check("URLs that were not submitted once", wrong)
    how = f"the largest of {found.largest:,} URLs"
    report.at_most("requests", found.posts, how, target=rows / 10_000 + 1)
    report.note("memory above idle, at most", f"{(peak - idle) / 1e6:.0f} MB")
    report.note("10,000 URLs", shown(seconds / rows * 10_000))
    data.analyze(Submission, UrlChange)
    wrong = [f"{sql}\n{plan}" for sql in statements if (plan := reads_all(sql))]
    report.check(f"{len(statements)} queries: plans that read a whole table", wrong)


def reads_all(query: str) -> str:
    """Return the plan of a query that reads a whole table; empty if it does not."""
    from django.db import connection

    if connection.vendor == "sqlite" and "LIMIT" in query:
        # It calls the first rows by the primary key a scan, too.
        return ""
    plan = plans.explain(query)
    ours = [line for line in plan.splitlines() if "sitemaps_plus" in line]
    return plan if any(WHOLE[connection.vendor] in line for line in ours) else ""


def fill(rows: int) -> None:
    """Have the database write that all books changed."""
    from django.db import connection

    from django_sitemaps_plus.models import UrlChange

    from .shop.models import Book

    is_mysql = connection.vendor == "mysql"
    path = (
        "CONCAT({}'/books/', slug, '/')" if is_mysql else "{}'/books/' || slug || '/'"
    )
    other = path.format(f"'{OTHER}', " if is_mysql else f"'{OTHER}' || ")
    text = "CHAR" if is_mysql else "VARCHAR(20)"
    books = connection.ops.quote_name(Book._meta.db_table)
    data.insert(
        UrlChange,
        f"{books} WHERE id <= {rows}",
        section="'book'",
        kind="'changed'",
        location=f"CASE WHEN id % 2 = 0 THEN {path.format('')} ELSE {other} END",
        # Unlike the real ones, but as different from each other.
        digest=f"CAST(id AS {text})",
        at=f"{time.time()}",
    )
    data.analyze(UrlChange)


@contextmanager
def watched() -> Iterator[list[str]]:
    """Collect one query of each form that reads the outbox, with its values."""
    from django.db import connection

    found: dict[str, str] = {}

    def execute(run: Callable[..., Any], sql: str, params: Any, *args: Any) -> Any:
        result = run(sql, params, *args)
        ours = "sitemaps_plus_submission" in sql or "sitemaps_plus_urlchange" in sql
        form = sql.split("IN (")[0]
        if ours and sql.startswith("SELECT") and form not in found:
            cursor = args[-1]["cursor"].cursor
            found[form] = connection.ops.last_executed_query(cursor, sql, params)
        return result

    with connection.execute_wrapper(execute):
        values: list[str] = []
        yield values
        values.extend(found.values())


if __name__ == "__main__":
    sys.exit(main())
