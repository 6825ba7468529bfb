"""
What does not depend on the entries: a stale page of 500, of which one row was saved.

In processor time of this process, against the bare driver that fetches the page's rows.
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

    ask = partial(site.page, PAGE, **site.GZIP)
    taken = medians(
        [Contestant("driver", fetch), Contestant("saved", ask, change)],
        options.rounds,
        clock=time.process_time,
    )
    factor, how = ratio(taken["saved"], taken["driver"])
    what = f"a stale page of {rows} entries / the driver, processor time"
    report.note(what, f"{factor:.3g} ({how})")
    # PostgreSQL runs several as one.
    most = 10 if bench.connection.vendor == "postgresql" else 13
    change()
    statements = site.queries_of(PAGE, **site.GZIP)
    own = [one for one in statements if not one.startswith(("BEGIN", "COMMIT"))]
    report.at_most("statements", len(own), "with the rows", target=most)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
