"""
A million pending changes on two hosts, told to an engine on loopback.

The requests are counted by the engine, the memory is that of this process, and the
plans of all queries on the outbox are looked at: each has to use an index.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import bench, data, listener, memory
from .claims import plan

OTHER = "https://shop.example.com"
#: How a plan says that a whole table is read.
WHOLE = {"sqlite": "SCAN ", "postgresql": "Seq Scan", "mysql": " ALL "}
MB = 1_000_000


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=1)
    parser.add_argument(
        "--rows", type=int, default=1_000_000, help="changes (default: %(default)s)"
    )
    options = bench.start(parser)
    data.load(book=options.rows)
    report = bench.Report(f"{options.rows:,} pending changes on two hosts")
    with listener.listening() as port:
        use(port)
        fill(options.rows)
        measure(options.rows, port, report)
    empty()
    return report.finish()


def measure(rows: int, port: int, report: bench.Report) -> None:
    """Enqueue and deliver."""
    from django.db import connection

    from django_sitemaps_plus.delivery import dispatcher, outbox

    idle, _ = memory._held()
    with watched() as statements:
        begun = time.perf_counter()
        queued = outbox.enqueue()
        between = time.perf_counter()
        analyze()
        again = time.perf_counter()
        delivered = dispatcher.deliver()
        ended = time.perf_counter()
    _, peak = memory._held()
    told = listener.told(port)
    wrong = [] if queued == rows else [f"{queued:,} changes were queued"]
    if (told["different"], delivered.total("accepted")) != (rows, rows):
        wrong.append(f"{told['different']:,} different URLs were told")
    if sum(told["hosts"].values()) != rows:
        wrong.append(f"URLs were told twice: {told['hosts']}")
    report.check("changes that were not told once", wrong)
    posts = f"{told['posts']} requests, the largest of {told['largest']:,} URLs"
    report.at_most("requests", told["posts"], posts, target=rows / 10_000 + 1)
    report.note("memory above idle, at most", f"{(peak - idle) / MB:.0f} MB")
    report.note("into the outbox", f"{between - begun:.0f} s")
    report.note("out of it, with the answers", f"{ended - again:.0f} s")
    plans = {sql: plan(sql) for sql in statements}
    bad = [f"{sql}\n{text}" for sql, text in plans.items() if _is_whole(text)]
    report.check(f"{len(plans)} queries, plans that read a whole table", bad)
    print(f"{connection.vendor}: {len(plans)} different queries on the outbox")


def _is_whole(text: str) -> bool:
    from django.db import connection

    return WHOLE[connection.vendor] in text


def use(port: int) -> None:
    """Name the engine in the settings."""
    from django.conf import settings

    from django_sitemaps_plus.conf import get_settings

    engine = {"BACKEND": "benchmarks.listener.Post", "OPTIONS": {"port": port}}
    given = {"ENGINES": {"listener": engine}, "NOTIFY_AFTER": 0}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **given}
    get_settings.cache_clear()


def empty() -> None:
    """Empty the stream and the outbox."""
    from django_sitemaps_plus.models import EngineState, Submission, UrlChange

    for model in (EngineState, Submission, UrlChange):
        model._default_manager.all()._raw_delete("default")


def fill(rows: int) -> None:
    """Have the database write what happened to the addresses of all books."""
    from django.db import connection

    from django_sitemaps_plus.db import clock_sql
    from django_sitemaps_plus.models import UrlChange

    from .shop.models import Book

    empty()
    quote = connection.ops.quote_name
    names = "section, kind, location, former, at, held"
    joined = "CONCAT({})" if connection.vendor == "mysql" else "{}"
    comma = ", " if connection.vendor == "mysql" else " || "
    other = joined.format(comma.join((f"'{OTHER}/books/'", "slug", "'/'")))
    own = joined.format(comma.join(("'/books/'", "slug", "'/'")))
    is_held = "false" if connection.vendor == "postgresql" else "0"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {quote(UrlChange._meta.db_table)} ({names}) "
            "SELECT 'book', 'changed', "
            f"CASE WHEN id % 2 = 0 THEN {own} ELSE {other} END, '', "
            f"{clock_sql(connection.vendor)}, {is_held} "
            f"FROM {quote(Book._meta.db_table)} WHERE id <= {rows}",
        )
    analyze()


def analyze() -> None:
    """Have the database count the rows, which it does itself within minutes."""
    from django.db import connection

    from django_sitemaps_plus.models import Submission, UrlChange

    after = {"postgresql": "VACUUM ANALYZE", "mysql": "ANALYZE TABLE"}
    with connection.cursor() as cursor:
        for model in (Submission, UrlChange):
            table = connection.ops.quote_name(model._meta.db_table)
            cursor.execute(f"{after.get(connection.vendor, 'ANALYZE')} {table}")
            if cursor.description:
                cursor.fetchall()


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
