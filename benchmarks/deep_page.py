"""
A page deep in a large table, against the first one: page 200 of 10,000,000 rows.

Both pages hold as many entries. The plan of the deep page's query is printed, and
has to be a range scan. Without --rows, SQLite and MariaDB have 500,000 rows.
"""

from __future__ import annotations

import sys
from functools import partial

from . import bench, data, plans, reading, site
from .timing import Contestant, medians, ratio

DEEP = 200
#: With as many entries on a page as contrib has.
SECTION = "full-track"


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=15)
    parser.add_argument("--rows", type=int, help="rows (default: as said above)")
    options = bench.start(parser, SECTION)
    from django.db import connection

    large = connection.vendor == "postgresql"
    data.load(track=options.rows or (10_000_000 if large else 500_000))
    pages = site.fill(SECTION)
    # The last page is fuller, or shorter, than the others.
    deep = min(DEEP, pages - 1)
    report = bench.Report(f"Page {deep} of {pages}")
    compare(report, deep)
    paths = {number: f"/sitemap-{SECTION}-{number}.xml" for number in (1, deep)}
    taken = medians(
        [
            Contestant(path, partial(site.page, path), partial(chill, number))
            for number, path in paths.items()
        ],
        options.rounds,
    )
    compared = ratio(taken[paths[deep]], taken[paths[1]])
    report.at_most(f"page {deep} / page 1", *compared, target=1.2)
    plan, problems = plans.of_page(SECTION, deep)
    report.check("plan: something other than a range scan", problems)
    code = report.finish()
    print(f"\nThe plan of page {deep}:\n\n{plan}")
    return code


def chill(number: int) -> None:
    """Forget what was built of a page."""
    site.chill(SECTION, number)


def compare(report: bench.Report, deep: int) -> None:
    """Compare the deep page with what contrib writes for the same rows."""
    from .shop.contrib import Rows
    from .shop.models import Track

    lower, upper = site.bounds(SECTION, deep)
    rows = Track.objects.filter(pk__gte=lower, pk__lt=upper)
    site.chill(SECTION, 1, deep)
    first = reading.entries(site.page(f"/sitemap-{SECTION}-1.xml").body)
    later = site.page(f"/sitemap-{SECTION}-{deep}.xml").body
    found = reading.differences(
        later,
        site.contrib_page(Rows(rows)),
        rows.order_by("pk").values_list("updated", flat=True),
    )
    if len(first) != len(reading.entries(later)):
        found.append(f"page 1 has {len(first)} entries, page {deep} another number")
    report.check(f"page {deep}: entries that differ from contrib's", found)


if __name__ == "__main__":
    sys.exit(main())
