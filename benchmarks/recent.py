"""
Feeds and ``/sitemap-recent.xml`` among 1,000,000 changes of 250,000 URLs, 5 sections.

One change in ten is a removal. Every file is read by one query, which has to use an
index, and compared with what the rows themselves say.
"""

from __future__ import annotations

import sys
import time
from functools import partial

from . import bench, data, plans, reading, site
from .timing import Contestant, medians, shown

SECTIONS = ("book", "dish", "guide", "product")
#: One change in ten thousand is of this section.
RARE = "article"
#: URLs of which each changes again and again; of ten URLs one is removed.
URLS = 250_000
DAYS = 7
#: The addresses, and how many URLs each has.
FILES = {
    "/sitemap.atom": 100,
    "/sitemap-book.rss": 100,
    f"/sitemap-{RARE}.atom": 100,
    "/sitemap-recent.xml": 1_000,
}
#: How a plan says that all rows are read, or sorted.
_BAD = {
    "sqlite": ("SCAN ", "TEMP B-TREE"),
    "postgresql": ("Seq Scan", "Sort"),
    "mysql": ("type: ALL", "filesort", "temporary"),
}


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=20, rows=1_000_000)
    options = bench.start(parser, *SECTIONS, RARE)
    data.load(book=options.rows)
    fill(options.rows)
    report = bench.Report(f"What changed last, among {options.rows:,} changes")
    found = [compare(report, path) for path in FILES]
    runs = [Contestant(path, partial(site.page, path), times=3) for path in FILES]
    for path, taken in medians(runs, options.rounds).items():
        how = f"quickest {shown(taken.quickest)}; {FILES[path]:,} URLs"
        report.at_most(f"{path}, in ms", taken.median * 1000, how, target=20)
    data.forget()
    code = report.finish()
    print("\n\n".join(found))
    return code


def fill(rows: int) -> None:
    """Have things happen to URLs for a week, the last of them now."""
    from django.db import connection

    from django_sitemaps_plus.models import UrlChange

    from .shop.models import Book

    is_mysql = connection.vendor == "mysql"
    number = f"(id % {URLS})"
    text = f"CAST({number} AS {'CHAR' if is_mysql else 'VARCHAR(20)'})"
    path = (
        f"CONCAT('/books/', {text}, '/')" if is_mysql else f"'/books/' || {text} || '/'"
    )
    values = {
        "section": f"CASE WHEN id % 10000 = 0 THEN '{RARE}' {_sections(number)} END",
        "kind": f"CASE WHEN {number} % 10 = 0 THEN 'removed' ELSE 'changed' END",
        "location": path,
        # Unlike the real ones, but as different from each other.
        "digest": text,
        "lastmod": "'2026-01-02T03:04:05+00:00'",
        "title": "name",
        "at": f"{time.time() - DAYS * 86_400} + id * {DAYS * 86_400 / rows}",
        "queued_at": "0",
    }
    books = connection.ops.quote_name(Book._meta.db_table)
    data.insert(UrlChange, f"{books} WHERE id <= {rows} ORDER BY id", **values)
    data.analyze(UrlChange)


def _sections(number: str) -> str:
    """Return SQL that gives each URL one of the sections."""
    cases = (
        f"WHEN {number} % {len(SECTIONS)} = {index} THEN '{name}'"
        for index, name in enumerate(SECTIONS)
    )
    return " ".join(cases)


def compare(report: bench.Report, path: str) -> str:
    """Compare a file with the rows; return its query and how that is run."""
    from django.db import connection

    from django_sitemaps_plus.models import UrlChange

    # Beside whether changes wait.
    statements = site.queries_of(path, on=UrlChange._meta.db_table)
    wrong = [] if len(statements) == 1 else [f"{len(statements)} queries"]
    plan = plans.explain(statements[0])
    # The rows of the rare section are few: they may well be sorted.
    signs = _BAD[connection.vendor][: 1 if RARE in path else None]
    bad = [sign for sign in signs if sign in plan]
    report.check(f"{path}: its plan reads or sorts all rows", bad)
    last: dict[str, bool] = {}
    rows = UrlChange.objects.order_by("-at").values_list("location", "kind")
    if "-" in path and "recent" not in path:
        rows = rows.filter(section=path.partition("-")[2].partition(".")[0])
    for location, kind in rows[: 4 * FILES[path]]:
        last.setdefault(f"{site.ORIGIN}{location}", kind == "removed")
    is_atom = path.endswith(".atom")
    wanted = [url for url, removed in last.items() if is_atom or not removed]
    found = reading.links(site.page(path).body)
    if found != wanted[: FILES[path]]:
        wrong.append(f"{path}: other URLs than the rows have")
    report.check(f"{path}: other URLs, or more than one query", wrong)
    return f"{statements[0]}\n\n{plan}"


if __name__ == "__main__":
    sys.exit(main())
