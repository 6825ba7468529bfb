"""
The index of 1,000,000 rows with lastmod, against contrib's.

The ledger is filled and its pages were made. Then what a crawler asks for most
often, a page that is kept and a 304, against the smallest view of Django's that
makes one query.
"""

from __future__ import annotations

import sys

from . import bench, data, reading, site
from .timing import Contestant, medians, ratio


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=3)
    parser.add_argument(
        "--rows", type=int, default=1_000_000, help="rows (default: %(default)s)"
    )
    options = bench.start(parser)
    data.load(book=options.rows, product=50_000)
    only("book")
    site.forget("book")
    report = bench.Report(f"Index of {options.rows:,} rows")
    compare(report, options.rows)
    queries = site.queries_of("/sitemap.xml")
    report.check(
        f"index: queries on the model's table, of {len(queries)}",
        [statement for statement in queries if "shop_" in statement],
    )
    taken = medians(
        [
            Contestant("contrib", lambda: site.page("/contrib/index.xml")),
            Contestant("index", lambda: site.page("/sitemap.xml"), times=20),
        ],
        options.rounds,
    )
    compared = ratio(taken["contrib"], taken["index"])
    report.at_least("contrib / index", *compared, target=500)
    kept(report)
    return report.finish()


def only(section: str) -> None:
    """Leave one section registered, so that the site's index is its index."""
    from django_sitemaps_plus.sitemaps.registry import registry

    for name in set(registry.sources()) - {section}:
        registry.remove(name)


def compare(report: bench.Report, rows: int) -> None:
    """Read index and pages as a crawler does: every row once, lastmods as they are."""
    from .shop.models import Book

    found = []
    numbers = range(1, site.fill("book") + 1)
    pages = {
        f"{site.ORIGIN}/sitemap-book-{number}.xml": reading.entries(
            site.page(f"/sitemap-book-{number}.xml").body
        )
        for number in numbers
    }
    index = reading.entries(site.page("/sitemap.xml").body)
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


def kept(report: bench.Report) -> None:
    """Time a kept page, a 304 and the smallest view in turns."""
    path = "/sitemap-book-1.xml"
    tag = site.page(path, **site.GZIP).headers["ETag"]
    seen = {**site.GZIP, "HTTP_IF_NONE_MATCH": tag}
    statuses = [site.ask(path, **site.GZIP).status, site.ask(path, **seen).status]
    queries = [len(site.queries_of(path, **asked)) for asked in (site.GZIP, seen)]
    report.check(
        "kept page and 304: other answers",
        [] if statuses == [200, 304] else [f"answered {statuses}"],
    )
    taken = medians(
        [
            Contestant("smallest", lambda: site.page("/smallest/"), times=5),
            Contestant("page", lambda: site.page(path, **site.GZIP), times=5),
            Contestant("304", lambda: site.ask(path, **seen), times=5),
        ],
        rounds=200,
        collect=False,
    )
    for name, told, count in (
        ("page", "kept page (gzip)", queries[0]),
        ("304", "304", queries[1]),
    ):
        report.at_most(
            f"{told}, {count} query / smallest view with one query",
            *ratio(taken[name], taken["smallest"]),
            target=1.5,
        )


if __name__ == "__main__":
    sys.exit(main())
