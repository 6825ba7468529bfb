"""
Changes that cost what differs: one file of five sections, and a page that is stale.

50,000 entries of five sections of 10,000 in one file, joined from their pages: with
nothing changed, and after one change, against a stored page of 50,000. Then a page of
which one row changed, with the default ``limit`` and with 50,000, against a cold page
of 45,000, in processor time of this process.
"""

from __future__ import annotations

import datetime as dt
import sys
import time
from functools import partial

from . import bench, data, reading, site
from .timing import Contestant, medians, ratio

SECTIONS = ("article", "poster", "postcard", "sticker", "stamp")
ROWS = 10_000
FILE, PAGE = "/sitemap.xml", "/sitemap-product-1.xml"
#: Of the stale page: the sections, with the default limit and with 50,000.
SMALL, FULL = "book", "full-book"


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=15, rows=1_000_000)
    options = bench.start(parser, *SECTIONS, "product")
    data.load(
        product=ROWS * len(SECTIONS),
        book=options.rows,
        **dict.fromkeys(SECTIONS, ROWS),
    )
    report = bench.Report("One file, and stale pages")
    for section in (*SECTIONS, "product"):
        site.build(section)
    join(report, options.rounds)
    data.forget()
    refresh(report, options.rounds)
    return report.finish()


def join(report: bench.Report, rounds: int) -> None:
    """Compare the file of five sections with one page."""
    show_file()
    report.check("one file: other entries than the pages have", differences())
    taken = medians(
        [
            Contestant("page", partial(site.page, PAGE, **site.GZIP), show_page, 3),
            Contestant("file", partial(site.page, FILE, **site.GZIP), show_file, 3),
            Contestant("changed", partial(site.page, FILE, **site.GZIP), change_file),
        ],
        rounds,
        collect=False,
    )
    show_file()
    report.check("after the changes: other entries", differences())
    for name, what, target in (
        ("file", "nothing changed", 2),
        ("changed", "after one change", 8),
    ):
        report.at_most(
            f"50,000 entries of five sections in one file, {what} / a stored page",
            *ratio(taken[name], taken["page"]),
            target=target,
        )


def differences() -> list[str]:
    """Return how the file differs from its sections' pages, one after the other."""
    wanted = [
        entry
        for section in SECTIONS
        for number, _ in site.lowers(section)
        for entry in reading.entries(site.page(f"/sitemap-{section}-{number}.xml").body)
    ]
    found = reading.entries(site.page(FILE).body)
    if len(found) != ROWS * len(SECTIONS):
        return [f"{len(found)} entries"]
    return [] if sorted(map(str, found)) == sorted(map(str, wanted)) else ["others"]


def show_page() -> None:
    """Register what the page needs; what is remembered for a request is then."""
    site.register_only("product")
    site.page(PAGE, **site.GZIP)


def show_file() -> None:
    """The same for the file."""
    site.register_only(*SECTIONS)
    site.page(FILE, **site.GZIP)


def change_file() -> None:
    """Change an object that the file lists, and report that."""
    show_file()
    save("article", 5_000)
    site.notify()


def save(model: str, pk: int) -> None:
    """Save an object, so that its lastmod changes, which has whole seconds."""
    from django.apps import apps

    found = apps.get_model("shop", model)._default_manager.get(pk=pk)
    found.updated += dt.timedelta(seconds=1)
    found.save()


def refresh(report: bench.Report, rounds: int) -> None:
    """Compare stale pages with a cold one."""
    site.register_only(SMALL, FULL)
    for section in (SMALL, FULL):
        site.build(section)

    def stale(section: str) -> Contestant:
        return Contestant(section, partial(ask, section), make_stale, 3)

    before = {section: site.versions(section)[1][1] for section in (SMALL, FULL)}
    cold = Contestant("cold", partial(ask, FULL), partial(site.chill, FULL, 1), 3)
    taken = medians([cold, stale(SMALL), stale(FULL)], rounds, clock=time.process_time)
    after = {section: site.versions(section)[1][1] for section in (SMALL, FULL)}
    same = [section for section in before if before[section] == after[section]]
    report.check("stale pages that stayed the same", same)
    for section, kind, target in (
        (SMALL, "default limit", 0.6),
        (FULL, "limit = 50,000", 1.6),
    ):
        report.at_most(
            f"a stale page, {kind} ({count(section):,} entries) / a cold page of "
            f"{count(FULL):,}, processor time",
            *ratio(taken[section], taken["cold"]),
            target=target,
        )


def make_stale() -> None:
    """Change a row on the first page of both sections, and report that."""
    save("book", 4_000)
    site.notify()


def ask(section: str) -> None:
    """Ask for the first page of a section."""
    site.page(f"/sitemap-{section}-1.xml", **site.GZIP)


def count(section: str) -> int:
    """Return how many entries that has."""
    return len(reading.entries(site.page(f"/sitemap-{section}-1.xml").body))


if __name__ == "__main__":
    sys.exit(main())
