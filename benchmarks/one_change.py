"""
One change among 10,000,000 rows: which pages are built again, and how long it takes.

All pages are built and fresh. One object is saved; from the commit on, the time until
ping_sitemaps has built its page, and until a client that asks for the page has the new
one. Without --rows, SQLite and MariaDB have 500,000 rows.
"""

from __future__ import annotations

import io
import random
import sys
import time
from collections.abc import Callable
from statistics import median

from django.core.management import call_command

from . import bench, data, reading, site
from .timing import shown


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=9)
    parser.add_argument("--rows", type=int, help="rows (default: as said above)")
    options = bench.start(parser, "track")
    from django.db import connection

    large = connection.vendor == "postgresql"
    rows = options.rows or (10_000_000 if large else 500_000)
    data.load(track=rows)
    print("Building the pages …", file=sys.stderr)
    pages = site.build("track")
    report = bench.Report(f"One change among {rows:,} rows, {pages} pages")
    for what, freshen in (("ping_sitemaps", command), ("a request", request)):
        taken = []
        for turn in range(options.rounds):
            seconds, found = change(random.randint(1, rows), freshen)
            report.check(f"{what}, {turn + 1}: pages built but one", found)
            taken.append(seconds)
        report.at_most(
            f"{what}: seconds from commit to fresh page",
            median(taken),
            f"{shown(median(taken))}; longest {shown(max(taken))}",
            target=1,
        )
    return report.finish()


def change(pk: int, freshen: Callable[[int], object]) -> tuple[float, list[str]]:
    """Save an object; return how long ``freshen`` took, and what is wrong."""
    from .shop.models import Track

    before = site.versions("track")
    (own,) = site.page_of("track", [pk])
    track = Track.objects.get(pk=pk)
    track.slug = f"{track.slug.split('-changed-')[0]}-changed-{time.time_ns()}"
    track.save()
    begun = time.perf_counter()
    freshen(own)
    seconds = time.perf_counter() - begun
    after = site.versions("track")
    built = sorted(number for number in after if after[number] != before[number])
    found = [] if built == [own] else [f"row {pk} of page {own}: {built} were built"]
    path = f"{site.ORIGIN}{track.get_absolute_url()}"
    entries = reading.entries(site.page(f"/sitemap-track-{own}.xml").body)
    if path not in {entry.loc for entry in entries}:
        found.append(f"page {own} does not list {path}")
    if site.versions("track") != after:
        found.append(f"row {pk}: a page was built again by the request after it")
    return seconds, found


def command(number: int) -> None:
    """Do what the background does."""
    call_command("ping_sitemaps", stdout=io.StringIO())


def request(number: int) -> None:
    """Ask for a page."""
    site.page(f"/sitemap-track-{number}.xml", **site.GZIP)


if __name__ == "__main__":
    sys.exit(main())
