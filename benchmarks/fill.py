"""
Finding the bounds of all pages of 10,000,000 rows, against the same queries in psql.

psql runs the very statements that the command ran, in one session; with and without
a filter. PostgreSQL only, with its client psql.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import bench, data, site
from .timing import Contestant, medians, ratio

KINDS = {"track": "no filter", "listed": "a filter (listed, 9 of 10 rows)"}


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=7, rows=10_000_000)
    options = bench.start(parser, *KINDS)
    from django.db import connection

    if connection.vendor != "postgresql":
        parser.error("this needs PostgreSQL: use --database postgres://…")
    data.load(track=options.rows)
    report = bench.Report(f"Bounds of {options.rows:,} rows")
    for section, kind in KINDS.items():
        race(report, section, kind, options.rounds)
    return report.finish()


def race(report: bench.Report, section: str, kind: str, rounds: int) -> None:
    """Time both in turns, and compare the bounds they find."""
    queries = statements(section)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "queries.sql"
        script.write_text("".join(f"{query};\n" for query in queries))
        run = psql(script)
        printed = run().split()
        # The last two ask whether rows are left, and whether they fit.
        bounds = {str(key) for _, key in site.lowers(section) if key is not None}
        missing = sorted(bounds - set(printed))
        report.check(f"{kind}: bounds that psql did not find", missing)
        taken = medians(
            [
                Contestant(
                    "fill", lambda: site.fill(section), lambda: site.forget(section)
                ),
                Contestant("psql", run),
            ],
            rounds,
        )
    report.at_most(
        f"{kind}: filling / psql ({len(queries)} queries)",
        *ratio(taken["fill"], taken["psql"]),
        target=2,
    )


def statements(section: str) -> list[str]:
    """Fill a section, and return the statements that asked for its rows."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    site.forget(section)
    with CaptureQueriesContext(connection) as captured:
        site.fill(section)
    ran = [query["sql"] for query in captured.captured_queries]
    return [statement for statement in ran if "shop_" in statement]


def psql(script: Path) -> Callable[[], str]:
    """Return a function that runs ``script`` in psql and returns what it prints."""
    from django.db import connection

    chosen = connection.settings_dict
    options = {"-h": "HOST", "-p": "PORT", "-U": "USER", "-d": "NAME"}
    where = [
        part
        for option, name in options.items()
        if chosen[name]
        for part in (option, chosen[name])
    ]
    command = ["psql", *where, "-XqAt", "-v", "ON_ERROR_STOP=1", "-f", str(script)]

    def run() -> str:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout

    return run


if __name__ == "__main__":
    sys.exit(main())
