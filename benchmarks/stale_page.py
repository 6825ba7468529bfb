"""
What does not depend on the entries: a stale page of 500, and the report of one change.

In processor time of this process, against the bare driver that fetches the page's rows.
Once the change was reported before, once the build reports it, too.
"""

from __future__ import annotations

import itertools
import sys
import time
from functools import partial

from . import bench, data, driver, reading, site
from .one_file import save
from .timing import Contestant, medians, ratio

SECTION, ROWS = "small", 50_000
PAGE = f"/sitemap-{SECTION}-1.xml"


def main() -> int:
    """Run it, and return the exit code."""
    options = bench.start(bench.parser(__doc__, rounds=60), SECTION)
    data.load(book=ROWS)
    report = bench.Report("A stale page of 500")
    site.build(SECTION)
    rows = len(reading.entries(site.page(PAGE).body))
    keys = itertools.cycle(range(1, rows))
    fetch = driver.fetching(
        f"SELECT id, slug, updated FROM shop_book ORDER BY id LIMIT {rows}"
    )

    def change() -> None:
        site.page(PAGE, **site.GZIP)
        save("book", next(keys))

    def changed_and_reported() -> None:
        change()
        tell()

    ask = partial(site.page, PAGE, **site.GZIP)
    taken = medians(
        [
            Contestant("driver", fetch),
            Contestant("report", tell, change),
            Contestant("reported", ask, changed_and_reported),
            Contestant("saved", ask, change),
        ],
        options.rounds,
        clock=time.process_time,
    )
    for name, what in (
        ("report", "the report of one change"),
        ("reported", f"a stale page of {rows} entries, the change reported before"),
        ("saved", "the same, the change not reported yet"),
    ):
        factor, how = ratio(taken[name], taken["driver"])
        report.note(f"{what} / the driver, processor time", f"{factor:.3g} ({how})")
    # PostgreSQL runs several as one.
    most = 10 if bench.connection.vendor == "postgresql" else 13
    for prepare, what in (
        (changed_and_reported, "reported before"),
        (change, "not reported yet"),
    ):
        prepare()
        statements = site.queries_of(PAGE, **site.GZIP)
        own = [one for one in statements if not one.startswith(("BEGIN", "COMMIT"))]
        report.at_most(f"statements, {what}", len(own), "with the rows", target=most)
    return report.finish()


def tell() -> None:
    """Report what was saved."""
    from django_sitemaps_plus.building.refresh import report_all
    from django_sitemaps_plus.serving.index import all_sources
    from django_sitemaps_plus.sitemaps.site import Site

    address = Site.current().address()
    if address is not None:
        report_all(all_sources(), address)


if __name__ == "__main__":
    sys.exit(main())
