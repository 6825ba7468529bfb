"""
``check_sitemaps`` without fetching, against building the pages that it reads.

In a process of its own, whose memory counts from its start. The rows are all in order,
so that whatever is found is wrong.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from statistics import median
from typing import Any

from . import bench, data, memory, site

SECTION = "book"


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=3, rows=1_000_000)
    parser.add_argument(
        "--once", action="store_true", help="audit once, and print what it took"
    )
    options = bench.start(parser, SECTION)
    if options.once:
        return once()
    data.load(**{SECTION: options.rows})
    report = bench.Report(f"An audit of {options.rows:,} entries")
    site.fill(SECTION)
    built, audited, peaks = [], [], []
    for _ in range(options.rounds):
        site.chill(SECTION)
        started = time.perf_counter()
        site.build(SECTION)
        built.append(time.perf_counter() - started)
        taken = audit(options.database)
        report.check("findings, and entries that were not read", wrong(taken, options))
        audited.append(taken["seconds"])
        peaks.append(taken["peak"])
    report.at_most(
        "check_sitemaps / building the pages",
        median(audited) / median(built),
        f"{median(audited):.1f} s / {median(built):.1f} s",
        target=2,
    )
    report.at_most(
        "memory of the whole process, MB", median(peaks) / 1e6, "peak", target=150
    )
    return report.finish()


def audit(database: str) -> dict[str, float]:
    """Return what an audit in a fresh process took, and what it found."""
    command = [sys.executable, "-m", "benchmarks.audit", "--once"]
    done = subprocess.run(
        [*command, "--database", database], check=True, capture_output=True, text=True
    )
    taken: dict[str, float] = json.loads(done.stdout)
    return taken


def wrong(taken: dict[str, float], options: Any) -> list[str]:
    """Return what the audit should not have found, or did not read."""
    wanted = {"urls": options.rows, "errors": 0, "warnings": 0}
    return [
        f"{name}: {taken[name]:,} instead of {number:,}"
        for name, number in wanted.items()
        if taken[name] != number
    ]


def once() -> int:
    """Audit the section, and print what that took."""
    from django.core.management import call_command

    out = io.StringIO()
    started = time.perf_counter()
    call_command("check_sitemaps", SECTION, format="json", stdout=out)
    seconds = time.perf_counter() - started
    found = json.loads(out.getvalue())["audit"]
    names = "urls", "errors", "warnings"
    _, peak = memory.held()
    taken = {name: found[name] for name in names}
    print(json.dumps({"seconds": seconds, "peak": peak, **taken}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
