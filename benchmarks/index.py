"""
The index of 1,000,000 rows with lastmod, against contrib's.

Then an index of 11,111 pages, as many as 100,000,000 rows have: with 20,000 changes
that wait, some just saved and some assigned to pages, against the same index with none.
"""

from __future__ import annotations

import datetime as dt
import sys
from functools import partial

from . import bench, data, reading, recorded, site
from .timing import Contestant, medians, ratio, shown

#: One for each page, or two.
CHANGES = 20_000
INDEX = "/sitemap.xml"
#: With as many entries on a page as contrib has.
SECTION = "full-book"


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=3, rows=1_000_000)
    options = bench.start(parser, SECTION)
    data.load(book=options.rows)
    report = bench.Report(f"Index of {options.rows:,} rows")
    site.build(SECTION)
    compare(report, options.rows)
    queries = site.queries_of(INDEX)
    read = [statement for statement in queries if "shop_" in statement]
    report.check(f"index: queries on the rows, of {len(queries)}", read)
    taken = medians(
        [
            Contestant("contrib", lambda: site.page("/contrib/index.xml")),
            Contestant("index", lambda: site.page(INDEX), times=20),
            Contestant("imported", lambda: site.page("/imported/index.xml")),
        ],
        options.rounds,
    )
    compared = ratio(taken["contrib"], taken["index"])
    report.at_least("contrib / index", *compared, target=500)
    imported = ratio(taken["contrib"], taken["imported"])
    report.at_least("the import alone: contrib / index", *imported, target=50)
    site.register_only("many")
    waiting(report, options.rows, options.rounds)
    return report.finish()


def compare(report: bench.Report, rows: int) -> None:
    """Read index and pages as a crawler does: every row once, lastmods as they are."""
    from .shop.models import Book

    found = []
    pages = {
        f"{site.ORIGIN}/sitemap-{SECTION}-{number}.xml": reading.entries(
            site.page(f"/sitemap-{SECTION}-{number}.xml").body
        )
        for number, _ in site.lowers(SECTION)
    }
    index = reading.entries(site.page(INDEX).body)
    for entry in index:
        newest = max(str(url.lastmod) for url in pages[entry.loc])
        if entry.lastmod != newest:
            found.append(f"{entry.loc}: lastmod {entry.lastmod}, its newest {newest}")
    expected = (
        f"{site.ORIGIN}/books/{slug}/"
        for slug in Book.objects.order_by("pk").values_list("slug", flat=True)
    )
    listed = (url.loc for entry in index for url in pages[entry.loc])
    wrong = sum(a != b for a, b in zip(listed, expected, strict=True))
    if wrong:
        found.append(f"{wrong} of {rows} locations are wrong")
    contrib = reading.entries(site.page("/contrib/index.xml").body)
    # Contrib gives every page the newest lastmod of all, to the microsecond.
    newest = max(str(entry.lastmod) for entry in index)
    for entry in contrib:
        if f"{str(entry.lastmod)[:19]}+00:00" != newest:
            found.append(f"{entry.loc}: lastmod {entry.lastmod}, ours {newest}")
    report.check("index and its pages: entries that differ from the rows", found)


def waiting(report: bench.Report, rows: int, rounds: int) -> None:
    """Compare the index with changes that wait, and the one with none."""
    pages = site.build("many")
    begun = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    changes = {"none": Changes()}
    save(rows)
    changes["saved"] = Changes()
    site.notify()
    changes["assigned"] = Changes()
    counts = [len(found) for found in changes.values()]
    wrong = [] if counts == [0, CHANGES, CHANGES] else [f"{counts} changes"]
    index = reading.entries(site.page(INDEX).body)
    wrong += [entry.loc for entry in index if str(entry.lastmod) > begun]
    if len(index) != pages:
        wrong.append(f"{len(index)} pages of {pages}")
    report.check("an index whose pages have changes waiting: wrong lastmods", wrong)
    built = site.versions("many")
    taken = medians(
        [
            Contestant(name, partial(site.page, INDEX), found.wait, times=5)
            for name, found in changes.items()
        ],
        5 * rounds,
    )
    report.at_most(
        f"{pages:,} pages: the index, in ms",
        taken["none"].median * 1000,
        f"quickest {shown(taken['none'].quickest)}",
        target=60,
    )
    for name in ("saved", "assigned"):
        report.at_most(
            f"{pages:,} pages: index with {CHANGES:,} changes {name} / with none",
            *ratio(taken[name], taken["none"]),
            target=1.5,
        )
    changed = site.versions("many").items() ^ built.items()
    report.check("pages that a request for the index built", sorted(map(str, changed)))


def save(rows: int) -> None:
    """Change objects all over the table."""
    from django.db import transaction

    from .shop.models import Book

    keys = list(range(1, rows + 1, rows // CHANGES)[:CHANGES])
    # More of one transaction would become one change of the whole section.
    for some in keys[::2], keys[1::2]:
        with transaction.atomic():
            for book in Book.objects.in_bulk(some).values():
                book.updated += dt.timedelta(seconds=1)
                book.save()


class Changes:
    """The changes that wait now, to have them wait again."""

    _waiting: Changes | None = None

    def __init__(self) -> None:
        from django_sitemaps_plus.models import Change

        self._rows = list(Change.objects.order_by("pk"))

    def __len__(self) -> int:
        return len(self._rows)

    def wait(self) -> None:
        """Let these changes wait, and no others."""
        from django_sitemaps_plus.models import Change

        # Counted, or nobody would notice that a request took them away.
        if Changes._waiting is self and Change.objects.count() == len(self):
            return
        recorded.empty()
        for row in self._rows:
            row.pk = None
        Change.objects.bulk_create(self._rows, batch_size=1_000)
        data.analyze(Change)
        Changes._waiting = self


if __name__ == "__main__":
    sys.exit(main())
