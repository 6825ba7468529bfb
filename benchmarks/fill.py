"""
The bounds of all pages of 10,000,000 rows, against the same hops in psql.

psql runs the very statements that filling ran, bounds and all, in one session;
with and without a filter. PostgreSQL only, with its client psql.
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
    parser = bench.parser(__doc__, rounds=7)
    parser.add_argument(
        "--rows", type=int, default=10_000_000, help="rows (default: %(default)s)"
    )
    options = bench.start(parser)
    from django.db import connection

    if connection.vendor != "postgresql":
        parser.error("psql speaks to PostgreSQL only: use --database postgres://…")
    data.load(track=options.rows)
    report = bench.Report(f"Bounds of {options.rows:,} rows")
    for section, kind in KINDS.items():
        race(report, section, kind, options.rounds)
    return report.finish()


def race(report: bench.Report, section: str, kind: str, rounds: int) -> None:
    """Time filling and psql in turns, and compare the bounds they find."""
    hops = statements(section)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "hops.sql"
        script.write_text("".join(f"{hop};\n" for hop in hops))
        run = psql(script)
        printed = run().split()
        # The last two hops ask whether rows are left, and whether they fit.
        report.check(
            f"{kind}: bounds that psql did not find",
            sorted(set(lowers(section)) - set(printed)),
        )
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
        f"{kind}: filling / psql ({len(hops)} hops)",
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


def lowers(section: str) -> list[str]:
    """Return the bounds in the ledger, as psql prints them."""
    from django_sitemaps_plus.pagination import ledger
    from django_sitemaps_plus.sitemaps import sections

    source = sections.source(section)
    key = ledger.key_range_of(source).key
    return [
        str(key.loads(page.lower)[0])
        for page in ledger.ordered(ledger.fill(source))
        if page.lower is not None
    ]


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
