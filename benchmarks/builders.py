"""
Two ``build_sitemaps`` side by side, against one: all pages of 10,000,000 rows.

Each is a process of its own, and its start counts. The page bounds are known. Needs two
cores that have nothing else to do, and PostgreSQL or MariaDB: on SQLite one process
writes at a time.
"""

from __future__ import annotations

import subprocess
import sys

from . import bench, data, site
from .timing import Contestant, medians, ratio

SECTION = "track"


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=1, rows=10_000_000)
    options = bench.start(parser, SECTION)
    from django.db import connection

    if connection.vendor == "sqlite":
        parser.error("this needs a database server: use --database postgres://…")
    data.load(track=options.rows)
    site.fill(SECTION)

    def forget() -> None:
        site.chill(SECTION)

    taken = medians(
        [
            Contestant("one", lambda: build(1), forget),
            Contestant("two", lambda: build(2), forget),
        ],
        options.rounds,
    )
    pages = len(site.lowers(SECTION))
    report = bench.Report(f"{pages:,} pages of {options.rows:,} rows, built")
    report.at_least(
        "one builder / two side by side",
        *ratio(taken["one"], taken["two"]),
        target=1.6,
    )
    report.check("pages that two did not build once", wrong())
    return report.finish()


def build(count: int) -> None:
    """Have so many processes build all pages."""
    command = [sys.executable, "-m", "django", "build_sitemaps", SECTION, "-v0"]
    command += ["--skip-checks"]
    running = [subprocess.Popen(command) for _ in range(count)]
    codes = [process.wait() for process in running]
    if any(codes):
        raise RuntimeError("A builder failed: see above.")


def wrong() -> list[str]:
    """Have two build all pages once more; return those that are missing, or twice."""
    site.chill(SECTION)
    before = site.versions(SECTION)
    build(2)
    return [
        f"page {number}: version {version}, after {before[number][0]}"
        for number, (version, checksum) in site.versions(SECTION).items()
        if version != before[number][0] + 1 or not checksum
    ]


if __name__ == "__main__":
    sys.exit(main())
