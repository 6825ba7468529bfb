"""
What recording adds to ``save()``: in autocommit, and 10,000 in one transaction, which
has a savepoint for each or none.

Against the same saves of a model of the same columns that no section lists, which is
what a project without the app has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

from . import bench, data, recorded
from .timing import Contestant, Times, medians, ratio

ROWS = 10_000
#: Saves between two looks at the clock: few, so that turns come often.
SAVES = 20
#: How much longer one save may take, by the database.
ONE = {"postgresql": 1.5}
FIELDS = ("slug", "name", "price", "listed", "updated")


def main() -> int:
    """Run it, and return the exit code."""
    options = bench.start(bench.parser(__doc__, rounds=100), "article")
    data.load(article=ROWS, draft=ROWS)
    from django.db import connection

    from .shop.models import Article, Draft

    report = bench.Report("Saving objects")
    ours, bare = Saver(Article), Saver(Draft)
    few = max(3, options.rounds // 20)
    target = ONE.get(connection.vendor, 2.2)
    recorded.empty()
    ours.save(SAVES)
    differences = recorded.differences("article", ours.keys(SAVES))
    report.check("a save: wrong changes", differences)
    taken = race(ours.some, bare.some, options.rounds, times=SAVES)
    report.at_most("a save in autocommit", *taken, target=target)
    factor, how = race(ours.create, bare.create, options.rounds, times=SAVES)
    report.note("an object created in autocommit", f"{bench.shown(factor)} ({how})")
    recorded.empty()
    ours.together()
    differences = recorded.differences("article", ours.keys(ROWS))
    report.check("one transaction: wrong changes", differences)
    taken = race(ours.together, bare.together, few, times=ROWS)
    report.at_most(f"{ROWS:,} saves in one transaction", *taken, target=1.2)
    taken = race(ours.within_savepoints, bare.within_savepoints, few, times=ROWS)
    report.at_most("the same with a savepoint for each", *taken, target=1.2)
    return report.finish()


class Saver:
    """Saves the objects of a model, one after the other and round again."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._objects = list(model.objects.order_by("pk")[:ROWS])
        self._next: Iterator[Any] = cycle(self._objects)

    def keys(self, count: int) -> list[int]:
        """Return the keys of the first objects."""
        return [found.pk for found in self._objects[:count]]

    def save(self, count: int) -> None:
        """Save the first objects."""
        for found in self._objects[:count]:
            change(found).save()

    def some(self) -> None:
        """Save the next objects, each in a transaction of its own."""
        for _ in range(SAVES):
            change(next(self._next)).save()

    def together(self) -> None:
        """Save all objects in one transaction."""
        from django.db import transaction

        with transaction.atomic():
            self.save(ROWS)

    def within_savepoints(self) -> None:
        """Save all objects in one transaction, each in a savepoint of its own."""
        from django.db import transaction

        with transaction.atomic():
            for found in self._objects:
                with transaction.atomic():
                    change(found).save()

    def create(self) -> None:
        """Create objects, each in a transaction of its own."""
        for found in self._objects[:SAVES]:
            self._model(**{name: getattr(found, name) for name in FIELDS}).save()


def change(found: Any) -> Any:
    """Change an object: databases do not write a row that stays as it is."""
    found.price = 5 if found.price == 4 else 4
    return found


def race(
    ours: Callable[[], object], bare: Callable[[], object], rounds: int, *, times: int
) -> tuple[float, str]:
    """Compare two sorts of saves, each of which saves ``times`` objects."""
    ours()
    bare()
    taken = medians(
        [
            Contestant("bare", bare, recorded.empty),
            Contestant("ours", ours, recorded.empty),
        ],
        rounds,
    )
    each = {
        name: Times(*(seconds / times for seconds in of)) for name, of in taken.items()
    }
    return ratio(each["ours"], each["bare"])


if __name__ == "__main__":
    sys.exit(main())
