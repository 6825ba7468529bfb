"""
Text pages of 50,000 URLs, against the XML pages of the same rows.

Cold: the XML page is built from its rows, the text page from the stored XML page, of
which no text was stored yet. Stored: both are. And what a text page takes of which
nothing is stored, which builds the XML page first.
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
    for turn in ("derived", "stored"):
        lines = site.page(path(name, "txt")).body.decode().split("\n")
        if lines != [*wanted, ""]:
            wrong.append(f"{kind}, {turn}: other lines than locations")
    stored = site.queries_of(path(name, "txt"))
    if len(stored) != 1:
        wrong.append(f"{kind}: {len(stored)} statements for a stored text")
    if len(wanted) != ROWS:
        wrong.append(f"{kind}: {len(wanted)} entries")
    report.check(f"{kind}: text pages that differ", wrong)


def race(report: bench.Report, name: str, kind: str, rounds: int) -> None:
    """Time the pages in turns."""
    xml = partial(site.page, path(name, "xml"))
    text = partial(site.page, path(name, "txt"))
    cold, derived = partial(site.chill, name), partial(forget_text, name)
    taken = medians(
        [
            Contestant("xml", xml, cold, 3),
            Contestant("text", text, partial(built, xml, derived), 3),
            Contestant("nothing", text, cold, 3),
            Contestant("stored xml", xml, xml, 3),
            Contestant("stored text", text, partial(built, xml, text), 3),
        ],
        rounds,
    )
    compared = ratio(taken["xml"], taken["text"])
    report.at_least(f"{kind}: XML page / text page, cold", *compared, target=1.3)
    stored = ratio(taken["stored xml"], taken["stored text"])
    report.at_least(f"{kind}: XML page / text page, stored", *stored, target=1.3)
    nothing = shown(taken["nothing"].median)
    report.note(f"{kind}: a text page whose XML page was never built", nothing)


def built(*pages: object) -> None:
    """Ask for pages, so that what they need is stored."""
    for page in pages:
        if callable(page):
            page()


def forget_text(name: str) -> None:
    """Forget the text of the page, not the page."""
    from django_sitemaps_plus.models import PageFile
    from django_sitemaps_plus.publishing.text import text_segment

    text_segment.cache_clear()
    texts = PageFile.objects.filter(checksum__endswith=".txt")
    texts.filter(page__section__name=name).delete()


if __name__ == "__main__":
    sys.exit(main())
