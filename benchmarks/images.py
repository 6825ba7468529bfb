"""
A page whose entries have ten images each, of related rows, against a plain page.

The time is compared by the (uncompressed) byte, because the images make an entry eight
times as long. The queries for rows are counted with no images, with one, and with ten.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from lxml import etree

from . import bench, data, memory, site
from .cold_page import ROWS, by_size, compare
from .timing import ratio

EXHIBITS, IMAGES = 20_000, 10

_IMAGE = "{http://www.google.com/schemas/sitemap-image/1.1}"
_URL = "{http://www.sitemaps.org/schemas/sitemap/0.9}url"


def main() -> int:
    """Run it, and return the exit code."""
    options = bench.start(bench.parser(__doc__, rounds=11), "product", "exhibit")
    data.load(product=ROWS, exhibit=EXHIBITS)
    load_pictures()
    report = bench.Report("Ten images per entry")
    compare(report, "product", "product", "plain")
    report.check("images", list(differences()))
    names = ("product", "exhibit")
    per_megabyte, sizes = by_size(names, options.rounds)
    report.at_most(
        f"time per MB, ten images / plain (pages of {sizes['exhibit'] / 1e6:.1f} / "
        f"{sizes['product'] / 1e6:.1f} MB)",
        *ratio(per_megabyte["exhibit"], per_megabyte["product"]),
        target=2,
    )
    counts = list(queries())
    report.at_most(
        f"queries for {EXHIBITS:,} rows, ten images / one image",
        counts[2] / counts[1],
        f"{counts[2]} / {counts[1]}, without images {counts[0]}",
        target=1,
    )
    grown = {
        name: memory.growth(
            options.database, f"/sitemap-{name}-1.xml", cold=name, gzip=True
        )
        for name in names
    }
    memory_of = {name: size / sizes[name] for name, size in grown.items()}
    report.at_most(
        "memory above idle per MB, ten images / plain",
        memory_of["exhibit"] / memory_of["product"],
        f"{grown['exhibit'] / 1e6:.1f} / {grown['product'] / 1e6:.1f} MB",
        target=1.2,
    )
    return report.finish()


def load_pictures() -> None:
    """Make sure that each exhibit has its pictures, out of their order."""
    from .shop.models import Exhibit, Picture

    if Picture.objects.count() == EXHIBITS * IMAGES:
        return
    Picture.objects.all().delete()
    Picture.objects.bulk_create(
        (
            Picture(
                exhibit_id=pk,
                file=f"exhibits/{slug}/{number}.jpg",
                position=number * 7 % IMAGES,
            )
            for pk, slug in Exhibit.objects.values_list("pk", "slug")
            for number in range(IMAGES)
        ),
        batch_size=5_000,
    )
    data.analyze(Picture)


def differences() -> Iterator[str]:
    """Yield how the images of the page differ from those of the rows."""
    from .shop.models import Picture

    rows = Picture.objects.order_by("exhibit", "position")
    each = groupby(rows.values_list("exhibit", "file"), key=lambda row: row[0])
    body = site.page("/sitemap-exhibit-1.xml").body
    entries = etree.iterparse(io.BytesIO(body), tag=_URL)
    for (_, element), (key, pictures) in zip(entries, each, strict=True):
        found = [loc.text for loc in element.iterfind(f"{_IMAGE}image/{_IMAGE}loc")]
        wanted = [f"{site.ORIGIN}/media/{name}" for _, name in pictures]
        if found != wanted:
            yield f"exhibit {key}: {found[:2]} …, not {wanted[:2]} …"
        element.clear()


def queries() -> Iterator[int]:
    """Yield how many queries read rows: without images, with one, with ten."""
    from django.db.models import F, Q

    from django_sitemaps_plus import Related

    from .shop.sitemaps import ExhibitSitemap

    declared: Any = ExhibitSitemap.images
    first = Related("pictures", F("file"), filter=Q(position=0))
    cls: Any = ExhibitSitemap
    for images in (None, first, declared):
        cls.images = images
        site.register_only("product", "exhibit")
        site.chill("exhibit")
        yield len(site.queries_of("/sitemap-exhibit-1.xml", on="shop_"))


if __name__ == "__main__":
    sys.exit(main())
