"""
What recording adds to deleting 20,000 objects, and to cascading into them.

Against Django's own delete with an empty receiver in the place of ours: it collects
every object then, too. And against its fast delete, which ``record_deletes = False``
keeps.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from . import bench, data, recorded
from .timing import Contestant, medians, ratio

ROWS = 20_000


def main() -> int:
    """Run it, and return the exit code."""
    options = bench.start(bench.parser(__doc__, rounds=5))
    data.load(product=50_000)
    from .shop.models import Article, Shelf, Volume

    report = bench.Report(f"Deleting {ROWS:,} objects")
    race(report, "objects", Article, Article, options.rounds)
    race(report, "a cascade into objects", Volume, Shelf, options.rounds)
    return report.finish()


def race(
    report: bench.Report, told: str, model: Any, deleted: Any, rounds: int
) -> None:
    """Time deleting all of ``deleted``, with which the objects of ``model`` go."""
    from django.db.models.signals import pre_delete

    def run() -> None:
        deleted.objects.all().delete()

    def prepare(listen: Callable[[], None], *, empty: bool) -> Callable[[], None]:
        def prepared() -> None:
            recorded.off()
            pre_delete.disconnect(nothing, sender=model)
            fill(model)
            if empty:
                pre_delete.connect(nothing, sender=model)
            listen()

        return prepared

    with_ours = prepare(recorded.on, empty=False)
    with_ours()
    wanted = list(expected(model))
    recorded.compare(report, f"{told}: deleted", wanted, run)
    taken = medians(
        [
            Contestant("recorded", run, with_ours),
            Contestant("collected", run, prepare(recorded.off, empty=True)),
            Contestant("fast", run, prepare(recorded.off, empty=False)),
        ],
        rounds,
    )
    compared = ratio(taken["recorded"], taken["collected"])
    report.at_most(f"{told}: recorded / collected", *compared, target=1.5)
    factor, how = ratio(taken["recorded"], taken["fast"])
    report.note(
        f"{told}: recorded / record_deletes = False", f"{bench.shown(factor)} ({how})"
    )


def nothing(**kwargs: Any) -> None:
    """Receive a signal."""


def fill(model: Any) -> None:
    """Copy rows of the products; volumes stand on one shelf."""
    from django.db import connection

    from .shop.models import Product, Shelf, Volume

    quote = connection.ops.quote_name
    names = "id, slug, name, price, listed, updated"
    shelf = ("", "")
    model.objects.all()._raw_delete("default")
    if model is Volume:
        Shelf.objects.all()._raw_delete("default")
        shelf = (", shelf_id", f", {Shelf.objects.create().pk}")
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {quote(model._meta.db_table)} ({names}{shelf[0]}) "
            f"SELECT {names}{shelf[1]} FROM {quote(Product._meta.db_table)} "
            f"WHERE id <= {ROWS}"
        )


def expected(model: Any) -> Iterator[tuple[str, str]]:
    """Yield what is to be recorded of all objects."""
    for found in model.objects.iterator():
        yield f'["{found.pk}"]', f'["{found.get_absolute_url()}"]'


if __name__ == "__main__":
    sys.exit(main())
