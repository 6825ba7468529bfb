"""
One cold page of 50,000 URLs, against django.contrib.sitemaps; and one of 9,000.

The same rows, each through its view and the same middleware, nothing stored. On the
row path, also against what the bare driver takes to fetch the columns; by methods that
are read as columns, registered and by the drop-in views; on the object path, where both
classes have get_absolute_url() and a method for lastmod; and the memory of each.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial

from . import bench, data, driver, memory, reading, site
from .timing import Contestant, Times, medians, ratio

ROWS = 50_000
#: A section with the default limit.
SMALL, FEW = "article", 10_000
KINDS = {"product": "ASCII slugs", "dish": "non-ASCII paths"}


def main() -> int:
    """Run it, and return the exit code."""
    sections = [*KINDS, *map(objects, KINDS), *map(methods, KINDS), SMALL]
    options = bench.start(bench.parser(__doc__, rounds=7), *sections)
    data.load(product=ROWS, dish=ROWS, article=FEW)
    report = bench.Report("Cold page")
    for name, kind in KINDS.items():
        compare(report, name, name, kind)
        compare(report, objects(name), name, f"{kind}, object path")
        compare(report, methods(name), name, f"{kind}, methods read as columns")
        race(report, name, kind, options.rounds)
    small(report, 10 * options.rounds)
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


def objects(name: str) -> str:
    """Return the section that lists the same on the object path."""
    return f"{name}-objects"


def methods(name: str) -> str:
    """Return the section that lists the same by methods that are read as columns."""
    return f"{name}-methods"


def compare(
    report: bench.Report, section: str, model: str, kind: str, languages: int = 1
) -> None:
    """Compare our page of a section with contrib's, entry by entry."""
    from django.apps import apps

    rows = apps.get_model("shop", model)._default_manager.order_by("pk")
    lastmods = rows.values_list("updated", flat=True)
    path = f"/sitemap-{section}-1.xml"
    site.chill(section)
    built = site.queries_of(path, on="shop_")
    report.check(f"{kind}: not built", [] if built else ["rows were not read"])
    report.check(
        f"{kind}: entries that differ from contrib's",
        reading.differences(
            site.page(path).body,
            site.page(f"/contrib/{model}.xml").body,
            [lastmod for lastmod in lastmods for _ in range(languages)],
        ),
    )


def by_size(
    sections: Iterable[str], rounds: int
) -> tuple[dict[str, Times], dict[str, int]]:
    """Return what a cold, gzipped page takes per (uncompressed) MB, and its bytes."""
    pages = {name: f"/sitemap-{name}-1.xml" for name in sections}
    taken = medians(
        [
            Contestant(
                name, partial(site.page, path, **site.GZIP), partial(site.chill, name)
            )
            for name, path in pages.items()
        ],
        rounds,
    )
    sizes = {name: len(site.page(path).body) for name, path in pages.items()}
    per_megabyte = {
        name: Times(*(seconds / sizes[name] * 1e6 for seconds in times))
        for name, times in taken.items()
    }
    return per_megabyte, sizes


def race(report: bench.Report, name: str, kind: str, rounds: int) -> None:
    """Time our pages, contrib's page and the bare driver in turns."""

    def cold(what: str, section: str, times: int, **headers: str) -> Contestant:
        run = partial(site.page, f"/sitemap-{section}-1.xml", **headers)
        return Contestant(what, run, partial(site.chill, section), times)

    row = cold("row", name, 3)
    fetch = driver.fetching(f"SELECT id, slug, updated FROM shop_{name} ORDER BY id")
    taken = medians(
        [
            Contestant("contrib", partial(site.page, f"/contrib/{name}.xml")),
            row,
            cold("gzipped", name, 3, **site.GZIP),
            Contestant("bounds", row.run, partial(site.forget, name), 3),
            cold("object", objects(name), 1),
            cold("read", methods(name), 3),
            Contestant(
                "imported", partial(site.page, f"/imported/{name}.xml"), times=3
            ),
            Contestant("driver", fetch, times=3),
        ],
        rounds,
    )
    contrib, page = taken["contrib"], taken["row"]
    report.at_least(f"{kind}: contrib / page", *ratio(contrib, page), target=35)
    bare = ratio(page, taken["driver"])
    report.at_most(f"{kind}: page / bare driver", *bare, target=3)
    by_object = ratio(contrib, taken["object"])
    report.at_least(f"{kind}, object path: contrib / page", *by_object, target=3)
    as_declared = ratio(taken["read"], page)
    report.at_most(f"{kind}: read as columns / declared", *as_declared, target=1.1)
    imported = ratio(contrib, taken["imported"])
    report.at_least(f"{kind}, the import alone: contrib / page", *imported, target=17)
    for variant, what in (
        ("gzipped", "to a client that accepts gzip"),
        ("bounds", "with its bounds to be found first"),
    ):
        factor, how = ratio(contrib, taken[variant])
        report.note(f"{kind}: contrib / page {what}", f"{factor:.3g} ({how})")


def small(report: bench.Report, rounds: int) -> None:
    """Time a page of the default size and the bare driver in turns."""
    page = partial(site.page, f"/sitemap-{SMALL}-1.xml")
    count = len(reading.entries(page().body))
    fetch = driver.fetching(
        f"SELECT id, slug, updated FROM shop_{SMALL} ORDER BY id LIMIT {count}"
    )
    taken = medians(
        [
            Contestant("page", page, partial(site.chill, SMALL)),
            Contestant("driver", fetch),
        ],
        rounds,
        collect=False,
    )
    report.at_most(
        f"a cold page of {count:,} URLs / bare driver",
        *ratio(taken["page"], taken["driver"]),
        target=3,
    )


if __name__ == "__main__":
    sys.exit(main())
