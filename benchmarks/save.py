"""
What recording adds to saving objects, against the same saves without receivers.

One save in autocommit, as most views make; ten thousand in one transaction, as
imports do; on the row path and on the object path. And loading objects, which is to
cost nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any

from . import bench, data, recorded
from .timing import Contestant, medians, ratio

ROWS = 10_000
#: Saves between two looks at the clock: few, so that turns come often.
SAVES = 20


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=100)
    parser.add_argument(
        "--saves", type=int, default=ROWS, help="in one transaction (%(default)s)"
    )
    options = bench.start(parser)
    data.load(article=ROWS, story=ROWS)
    report = bench.Report("Saving objects")
    articles, stories = objects("article"), objects("story")
    for told, kind, target in (
        ("row path", articles, 1.9),
        ("object path", stories, 3.5),
    ):
        one = Saver(kind)
        recorded.compare(report, f"{told}: a save", one.expected(), one.again)
        taken = race(one.some, options.rounds, times=SAVES)
        report.at_most(f"{told}: a save", *taken, target=target)
    many = Saver(articles, options.saves)
    recorded.compare(
        report, "row path: one transaction", many.expected(), many.together
    )
    taken = race(many.together, max(3, options.rounds // 20), times=options.saves)
    report.at_most(
        f"row path: {options.saves:,} saves in one transaction", *taken, target=2.0
    )
    tell(report, Saver(articles), options.rounds)
    return report.finish()


def tell(report: bench.Report, saver: Saver, rounds: int) -> None:
    """Add what has no target, or costs nothing."""
    partly = partial(saver.some, update_fields=["price"])
    for told, run in (
        ("a save whose update_fields decide nothing", partly),
        ("an object created", saver.create),
    ):
        factor, how = race(run, rounds, times=SAVES)
        report.note(f"row path: {told}", f"{bench.shown(factor)} ({how})")
    data.load(article=ROWS)
    taken = race(partial(objects, "article"), max(3, rounds // 5), times=1)
    report.at_most(f"loading {ROWS:,} objects", *taken, target=1.05)


def objects(name: str) -> list[Any]:
    """Load all objects of a model."""
    from django.apps import apps

    return list(apps.get_model("shop", name)._default_manager.order_by("pk"))


def renamed(found: Any) -> Any:
    """Change an object: databases do not write a row that stays as it is."""
    found.name = f"{found.name[:-1]}{'ab'[found.name[-1] == 'a']}"
    found.price = 5 if found.price == 4 else 4
    return found


class Saver:
    """Saves objects, one after the other and round again."""

    def __init__(self, found: list[Any], most: int = SAVES) -> None:
        self._objects = found
        self._next: Iterator[Any] = cycle(found)
        self._most = most

    def some(self, **options: Any) -> None:
        """Save the next objects, each in a transaction of its own."""
        for _ in range(SAVES):
            renamed(next(self._next)).save(**options)

    def again(self) -> None:
        """Save the first objects, each in a transaction of its own."""
        for found in self._objects[: self._most]:
            renamed(found).save()

    def together(self) -> None:
        """Save the first objects in one transaction."""
        from django.db import transaction

        with transaction.atomic():
            self.again()

    def create(self) -> None:
        """Create objects."""
        model = type(self._objects[0])
        for found in self._objects[:SAVES]:
            values = {
                name: getattr(found, name)
                for name in ("slug", "name", "price", "listed", "updated")
            }
            model(**values).save()

    def expected(self) -> Iterator[tuple[str, str]]:
        """Yield what is to be recorded of the first objects."""
        for found in self._objects[: self._most]:
            yield f'["{found.pk}"]', f'["{found.get_absolute_url()}"]'


def race(run: Callable[[], object], rounds: int, *, times: int) -> tuple[float, str]:
    """Time what ``run`` takes with recording and without, each of ``times`` times."""
    run()
    taken = medians(
        [
            Contestant("bare", run, recorded.off),
            Contestant("recorded", run, recorded.on),
        ],
        rounds,
    )
    each = {
        name: type(of)(*(part / times for part in of)) for name, of in taken.items()
    }
    return ratio(each["recorded"], each["bare"])


if __name__ == "__main__":
    sys.exit(main())
