"""
One cold page of 50,000 URLs on the row path, against django.contrib.sitemaps.

The same rows, each through its view and the same middleware, nothing kept; against
what the bare driver takes to fetch the columns; and the memory that each takes.
"""

from __future__ import annotations

import sys

from . import bench, data, driver, memory, reading, site
from .timing import Contestant, medians, ratio

ROWS = 50_000
KINDS = {"product": "ASCII slugs", "dish": "non-ASCII paths"}


def main() -> int:
    """Run it, and return the exit code."""
    options = bench.start(bench.parser(__doc__, rounds=7))
    data.load(product=ROWS, dish=ROWS)
    report = bench.Report("Cold page, row path")
    for name, kind in KINDS.items():
        compare(report, name, name, kind)
        race(report, name, kind, options.rounds)
    for name, kind in KINDS.items():
        ours = memory.growth(options.database, f"/sitemap-{name}-1.xml", cold=name)
        theirs = memory.growth(options.database, f"/contrib/{name}.xml")
        report.at_most(
            f"{kind}: memory above idle, page / contrib",
            ours / theirs,
            f"{ours / 1e6:.0f} / {theirs / 1e6:.0f} MB",
            target=0.25,
        )
    return report.finish()


def compare(
    report: bench.Report, section: str, model: str, kind: str, languages: int = 1
) -> None:
    """Compare our page of a section with contrib's, entry by entry."""
    from django.apps import apps

    rows = apps.get_model("shop", model)._default_manager.order_by("pk")
    lastmods = rows.values_list("updated", flat=True)
    site.chill(section)
    report.check(
        f"{kind}: entries that differ from contrib's",
        reading.differences(
            site.page(f"/sitemap-{section}-1.xml").body,
            site.page(f"/contrib/{model}.xml").body,
            [lastmod for lastmod in lastmods for _ in range(languages)],
        ),
    )


def race(report: bench.Report, name: str, kind: str, rounds: int) -> None:
    """Time the page, contrib's page and the bare driver in turns."""
    path = f"/sitemap-{name}-1.xml"
    rows = driver.fetching(f"SELECT id, slug, updated FROM shop_{name} ORDER BY id")
    taken = medians(
        [
            Contestant("contrib", lambda: site.page(f"/contrib/{name}.xml")),
            Contestant("page", lambda: site.page(path), lambda: site.chill(name), 3),
            Contestant(
                "gzipped",
                lambda: site.page(path, **site.GZIP),
                lambda: site.chill(name),
                3,
            ),
            Contestant(
                "bounds too", lambda: site.page(path), lambda: site.forget(name), 3
            ),
            Contestant("driver", rows, times=3),
        ],
        rounds,
    )
    contrib, page = taken["contrib"], taken["page"]
    report.at_least(f"{kind}: contrib / page", *ratio(contrib, page), target=35)
    report.at_most(
        f"{kind}: page / bare driver", *ratio(page, taken["driver"]), target=3
    )
    for variant, told in (
        ("gzipped", "to a client that takes gzip"),
        ("bounds too", "with its bounds to be found first"),
    ):
        factor, how = ratio(contrib, taken[variant])
        report.note(f"{kind}: contrib / page {told}", f"{factor:.3g} ({how})")


if __name__ == "__main__":
    sys.exit(main())
