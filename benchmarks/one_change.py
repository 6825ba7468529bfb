"""
One change among 10,000,000 rows: which pages are made again, and how long it takes.

All pages are there and fresh. One object is saved; from the commit on, the time until
a refresher has made its page, and until a client that asks for the page has the new
one. Without --rows, SQLite and MariaDB have 500,000 rows.
"""

from __future__ import annotations

import random
import sys
import time
from statistics import median
from typing import Any

from . import bench, data, reading, recorded, site
from .index import only
from .timing import shown


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=9)
    parser.add_argument("--rows", type=int, help="rows (default: as said above)")
    options = bench.start(parser)
    from django.db import connection

    large = connection.vendor == "postgresql"
    rows = options.rows or (10_000_000 if large else 500_000)
    data.load(track=rows)
    only("track")
    recorded.on()
    pages = site.fill("track")
    print(f"Making {pages} pages …", file=sys.stderr)
    for number in range(1, pages + 1):
        site.page(f"/sitemap-track-{number}.xml")
    report = bench.Report(f"One change among {rows:,} rows, {pages} pages")
    for told, freshen in (("a refresher", refresh), ("a request", request)):
        taken = []
        for turn in range(options.rounds):
            seconds, found = change(random.randint(1, rows), freshen)
            report.check(f"{told}, {turn + 1}: pages made but one", found)
            taken.append(seconds)
        worst = max(taken)
        report.at_most(
            f"{told}: seconds from commit to fresh page",
            median(taken),
            f"{shown(median(taken))}; longest {shown(worst)}",
            target=1,
        )
    return report.finish()


def change(pk: int, freshen: Any) -> tuple[float, list[str]]:
    """Save an object; return how long ``freshen`` took, and what is wrong."""
    from django.db import transaction

    from .shop.models import Track

    before = checksums()
    track = Track.objects.get(pk=pk)
    track.slug = f"{track.slug.split('-changed-')[0]}-changed-{time.time_ns()}"
    with transaction.atomic():
        track.save()
    begun = time.perf_counter()
    freshen(pk)
    seconds = time.perf_counter() - begun
    after = checksums()
    made = sorted(number for number in after if after[number] != before[number])
    own = page_of(pk)
    found = [] if made == [own] else [f"row {pk} of page {own}: {made} were made"]
    path = f"{site.ORIGIN}{track.get_absolute_url()}"
    entries = reading.entries(site.page(f"/sitemap-track-{own}.xml").body)
    if path not in {entry.loc for entry in entries}:
        found.append(f"page {own} does not list {path}")
    if checksums() != after:
        found.append(f"row {pk}: a page was made again by the request after it")
    return seconds, found


def refresh(pk: int) -> None:
    """Do what the background thread does."""
    from django_sitemaps_plus.delivery import background

    background.refresh_all()


def request(pk: int) -> None:
    """Ask for the page that lists a row."""
    site.page(f"/sitemap-track-{page_of(pk)}.xml", **site.GZIP)


def page_of(pk: int) -> int:
    """Return the number of the page that lists a row."""
    from django_sitemaps_plus.pagination import ledger
    from django_sitemaps_plus.sitemaps import sections

    source = sections.source("track")
    key = ledger.key_range_of(source).key
    own = 0
    for page in ledger.ordered(ledger.fill(source)):
        if page.lower is not None and key.loads(page.lower)[0] > pk:
            break
        own = page.number
    return own


def checksums() -> dict[int, tuple[str, int]]:
    """Return the checksum and the version of each page, by its number."""
    from django_sitemaps_plus.models import Page

    rows = Page.objects.filter(section__name="track")
    return {
        number: (checksum, version)
        for number, checksum, version in rows.values_list(
            "number", "checksum", "version"
        )
    }


if __name__ == "__main__":
    sys.exit(main())
