"""
A page of three languages with alternates, against a page of one language.

As many entries on both; the time is compared by the (uncompressed) byte, because
the alternates make the page several times as long.
"""

from __future__ import annotations

import sys

from . import bench, data, memory
from .cold_page import ROWS, by_size, compare
from .timing import ratio

LANGUAGES = 3
PAGES = {"product": "plain", "guide": "languages"}


def main() -> int:
    """Run it, and return the exit code."""
    options = bench.start(bench.parser(__doc__, rounds=15), *PAGES)
    data.load(product=ROWS, guide=ROWS // LANGUAGES)
    report = bench.Report("Three languages with alternates")
    for name, kind in PAGES.items():
        languages = LANGUAGES if name == "guide" else 1
        compare(report, name, name, kind, languages)
    per_megabyte, sizes = by_size(PAGES, options.rounds)
    report.at_most(
        f"time per MB, languages / plain "
        f"(pages of {sizes['guide'] / 1e6:.1f} / {sizes['product'] / 1e6:.1f} MB)",
        *ratio(per_megabyte["guide"], per_megabyte["product"]),
        target=1.5,
    )
    grown = {
        name: memory.growth(
            options.database, f"/sitemap-{name}-1.xml", cold=name, gzip=True
        )
        for name in PAGES
    }
    report.at_most(
        "memory above idle, languages / plain",
        grown["guide"] / grown["product"],
        f"{grown['guide'] / 1e6:.1f} / {grown['product'] / 1e6:.1f} MB",
        target=1.2,
    )
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
