"""
Text pages of 50,000 URLs, against the XML pages of the same rows.

Cold: the XML page is built from its rows, the text page from the stored XML page. And
what a text page takes of which nothing is stored, which builds the XML page first.
"""

from __future__ import annotations

import sys
from functools import partial

from . import bench, data, reading, site
from .timing import Contestant, medians, ratio, shown

ROWS = 50_000
KINDS = {"product": "ASCII slugs", "dish": "non-ASCII paths"}


def main() -> int:
    """Run it, and return the exit code."""
    options = bench.start(bench.parser(__doc__, rounds=7), *KINDS)
    data.load(product=ROWS, dish=ROWS)
    report = bench.Report("Text pages")
    for name, kind in KINDS.items():
        site.build(name)
        compare(report, name, kind)
        race(report, name, kind, options.rounds)
    return report.finish()


def path(name: str, ending: str) -> str:
    """Return the address of the one page of a section."""
    return f"/sitemap-{name}-1.{ending}"


def compare(report: bench.Report, name: str, kind: str) -> None:
    """Compare the lines with the locations of the XML page, each time it is asked."""
    wanted = [entry.loc for entry in reading.entries(site.page(path(name, "xml")).body)]
    wrong = []
    lines = site.page(path(name, "txt")).body.decode().split("\n")
    if lines != [*wanted, ""]:
        wrong.append(f"{kind}: other lines than locations")
    ran = site.queries_of(path(name, "txt"))
    if len(ran) != 1:
        wrong.append(f"{kind}: {len(ran)} statements for a text page")
    if len(wanted) != ROWS:
        wrong.append(f"{kind}: {len(wanted)} entries")
    report.check(f"{kind}: text pages that differ", wrong)


def race(report: bench.Report, name: str, kind: str, rounds: int) -> None:
    """Time the pages in turns."""
    xml = partial(site.page, path(name, "xml"))
    text = partial(site.page, path(name, "txt"))
    cold = partial(site.chill, name)
    taken = medians(
        [
            Contestant("xml", xml, cold, 3),
            Contestant("text", text, partial(built, xml, forget_text), 3),
            Contestant("nothing", text, cold, 3),
        ],
        rounds,
    )
    compared = ratio(taken["xml"], taken["text"])
    report.at_least(f"{kind}: XML page / text page, cold", *compared, target=1.3)
    nothing = shown(taken["nothing"].median)
    report.note(f"{kind}: a text page whose XML page was never built", nothing)


def built(*pages: object) -> None:
    """Ask for pages, so that what they need is stored."""
    for page in pages:
        if callable(page):
            page()


def forget_text() -> None:
    """Forget the text of the page, not the page."""
    from django_sitemaps_plus.storing.segments import converted

    converted.cache_clear()


if __name__ == "__main__":
    sys.exit(main())
