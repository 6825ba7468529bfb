"""
One cold page of 50,000 URLs through get_absolute_url(), against contrib's.

Both classes have the same body: nothing is declared for the location, and lastmod
is a method.
"""

from __future__ import annotations

import sys

from . import bench, data, site
from .cold_page import KINDS, ROWS, compare
from .timing import Contestant, medians, ratio


def main() -> int:
    """Run it, and return the exit code."""
    options = bench.start(bench.parser(__doc__, rounds=7))
    data.load(product=ROWS, dish=ROWS)
    report = bench.Report("Cold page, object path")
    for name, kind in KINDS.items():
        compare(report, f"{name}-objects", name, kind)
        race(report, name, kind, options.rounds)
    return report.finish()


def race(report: bench.Report, name: str, kind: str, rounds: int) -> None:
    """Time the page and contrib's page in turns."""
    section = f"{name}-objects"
    taken = medians(
        [
            Contestant("contrib", lambda: site.page(f"/contrib/{name}.xml")),
            Contestant(
                "page",
                lambda: site.page(f"/sitemap-{section}-1.xml"),
                lambda: site.chill(section),
            ),
        ],
        rounds,
    )
    report.at_least(
        f"{kind}: contrib / page", *ratio(taken["contrib"], taken["page"]), target=3
    )


if __name__ == "__main__":
    sys.exit(main())
