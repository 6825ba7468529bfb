"""
URLs that a page lists no longer: the search of all stored pages for them.

In processor time of this process, for one such URL, for few and for many; and for how
long the decision has the site's lock, whatever is stored.
"""

from __future__ import annotations

import sys
import time
from functools import partial

from . import bench, data, site
from .timing import Contestant, medians, shown

COUNTS = 1, 20, 5_000
#: Milliseconds that a search may take for each stored megabyte.
MOST = 10


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=9, rows=500_000)
    options = bench.start(parser, "track")
    data.load(track=options.rows)
    site.build("track")
    megabytes = stored() / 1e6
    report = bench.Report(f"Removed URLs, {options.rows:,} rows, {megabytes:.0f} MB")
    runs = [Contestant(str(count), partial(search, count)) for count in COUNTS]
    taken = medians(runs, options.rounds, clock=time.process_time)
    for count in COUNTS:
        seconds = taken[str(count)].median
        report.at_most(
            f"{count:,} URLs: ms for each megabyte of pages",
            1000 * seconds / megabytes,
            f"{shown(seconds)} in all",
            target=MOST,
        )
    for count in COUNTS:
        report.note(f"{count:,} URLs: the decision, locked", shown(decide(count)))
    report.check("URLs that were said to be removed", wrong())
    data.forget()
    return report.finish()


def stored() -> int:
    """Return how many bytes all pages have, not compressed."""
    from django.db.models import Sum

    from django_sitemaps_plus.models import Page

    return int(Page.objects.aggregate(size=Sum("size"))["size"])


def search(count: int) -> None:
    """Search for URLs that no page lists."""
    from django_sitemaps_plus.delivery import listed
    from django_sitemaps_plus.sitemaps.site import Site

    address = Site.current().address()
    paths = {f"/gone/{number}/" for number in range(count)}
    if address is None or listed.still_listed(paths, address) != (set(), True):
        raise RuntimeError("a URL was found that no page lists")


def decide(count: int) -> float:
    """Have URLs be removed; return for how long the site was locked in all."""
    from django_sitemaps_plus.db import digest_of
    from django_sitemaps_plus.delivery import gate, outbox
    from django_sitemaps_plus.models import UrlChange

    UrlChange.objects.all().delete()
    UrlChange.objects.bulk_create(
        UrlChange(
            section="track",
            kind="removed",
            location=f"/gone/{number}/",
            digest=digest_of(f"/gone/{number}/"),
            at=time.time(),
        )
        for number in range(count)
    )
    locked, total = outbox.locked, 0.0

    class Timed:
        """The lock, and for how long it is had."""

        def __enter__(self) -> float:
            self._lock, self._begun = locked(), time.perf_counter()
            return self._lock.__enter__()

        def __exit__(self, *exception: object) -> None:
            nonlocal total
            self._lock.__exit__(*exception)  # type: ignore[arg-type]
            total += time.perf_counter() - self._begun

    outbox.locked = Timed  # type: ignore[assignment]
    try:
        gate.pass_on()
    finally:
        outbox.locked = locked
    return total


def wrong() -> list[str]:
    """Return what is wrong with what was decided last."""
    from django_sitemaps_plus.models import UrlChange

    kinds = list(UrlChange.objects.values_list("kind", "on_hold").distinct())
    return [] if kinds == [("removed", False)] else [str(kinds)]


if __name__ == "__main__":
    sys.exit(main())
