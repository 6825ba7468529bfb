"""
What recording adds to deleting 20,000 objects, and to cascading into them.

Against models of the same columns that no section lists, with an empty receiver of
``pre_delete``: Django collects every object then, too. And without a receiver:
Django's fast delete, which ``record_deletes = False`` keeps.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from . import bench, data, recorded
from .timing import Contestant, medians, ratio

ROWS = 20_000


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=5)
    options = bench.start(parser, "article", "volume")
    data.load(product=50_000)
    from .shop.models import Article, Draft, Notebook, Shelf, Volume

    report = bench.Report(f"Deleting {ROWS:,} objects")
    delete, rounds = Article.objects.all().delete, options.rounds
    race(
        report,
        "objects",
        (Article, delete),
        (Draft, Draft.objects.all().delete),
        rounds,
    )
    delete = Shelf.objects.all().delete
    cascades = (Volume, delete), (Notebook, delete)
    race(report, "a cascade into objects", *cascades, rounds)
    return report.finish()


def race(report: bench.Report, what: str, ours: Any, bare: Any, rounds: int) -> None:
    """Compare deleting the objects of two models."""
    (listed, delete), (unlisted, delete_unlisted) = ours, bare
    fill(listed)
    wanted = list(listed.objects.values_list("pk", flat=True))
    recorded.empty()
    delete()
    differences = recorded.differences(listed._meta.model_name, wanted)
    report.check(f"{what}: wrong changes", differences)
    taken = medians(
        [
            Contestant("recorded", delete, partial(fill, listed)),
            Contestant("collected", delete_unlisted, collecting(unlisted, wanted=True)),
            Contestant("fast", delete_unlisted, collecting(unlisted, wanted=False)),
        ],
        rounds,
    )
    report.at_most(
        f"{what}: recorded / collected",
        *ratio(taken["recorded"], taken["collected"]),
        target=1.2,
    )
    factor, how = ratio(taken["recorded"], taken["fast"])
    report.note(
        f"{what}: recorded / record_deletes = False", f"{bench.shown(factor)} ({how})"
    )


def collecting(model: Any, *, wanted: bool) -> Callable[[], None]:
    """Return what fills a table and has Django collect its objects, or not."""
    from django.db.models.signals import pre_delete

    def prepare() -> None:
        pre_delete.disconnect(nothing, sender=model)
        if wanted:
            pre_delete.connect(nothing, sender=model)
        fill(model)

    return prepare


def nothing(**kwargs: Any) -> None:
    """Receive a signal."""


def fill(model: Any) -> None:
    """Copy rows of the products; what stands on a shelf, onto one."""
    from django.db import connection

    from .shop.models import Notebook, Product, Shelf, Volume

    recorded.empty()
    quote = connection.ops.quote_name
    names = values = "id, slug, name, price, listed, updated"
    if hasattr(model, "shelf"):
        for other in (Volume, Notebook, Shelf):
            other.objects.all()._raw_delete("default")
        names, values = f"{names}, shelf_id", f"{names}, {Shelf.objects.create().pk}"
    else:
        model.objects.all()._raw_delete("default")
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {quote(model._meta.db_table)} ({names}) "
            f"SELECT {values} FROM {quote(Product._meta.db_table)} WHERE id <= {ROWS}"
        )


if __name__ == "__main__":
    sys.exit(main())
