"""
The ledger against a plain model of it: random operations from an empty table.

Each run is another one, and a failure says which: ``SITEMAPS_PLUS_SEED`` repeats it.
``SITEMAPS_PLUS_THOROUGH=1`` makes it longer.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable

import pytest

from tests.conftest import COSTLY, Register
from tests.support.helpers import later
from tests.support.ledger_kinds import KINDS, Kind
from tests.support.ledger_plain import PlainPage
from tests.support.ledger_world import HOURS, World
from tests.support.processes import THOROUGH

#: Rows above which more are deleted than inserted.
MANY = 160

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "other"]),
    pytest.mark.usefixtures("ledger_tables"),
]


class Operations:
    """Random things that happen to a section."""

    def __init__(self, world: World) -> None:
        self.world, self.rng, self.plain = world, world.rng, world.plain
        rows, some, on_a_page = world.plain.rows, self._some, self._on_a_page

        def hidden() -> list[int]:
            return [rank for rank, row in rows.items() if not row.live]

        #: What may happen, by its name, and how often.
        self.weights: dict[str, tuple[int, Callable[[], object]]] = {
            "insert at the edge": (8, lambda: self._insert(self._at_the_edge)),
            "insert anywhere": (8, lambda: self._insert(lambda free: some(free, 6))),
            "insert into one page": (6, lambda: self._insert(self._into_one_page)),
            "insert many in a row": (2, lambda: self._insert(self._in_a_row)),
            "delete some": (
                8,
                lambda: world.delete(some(rows, 4 if len(rows) < MANY else 40)),
            ),
            "delete a page": (
                2,
                lambda: on_a_page(lambda page: world.delete(self._on(page, rows))),
            ),
            "empty": (1, lambda: world.delete(list(rows))),
            "update some": (6, lambda: [world.update(one) for one in some(rows, 4)]),
            "unpublish some": (4, lambda: self._publish(some(rows, 10), live=False)),
            "publish again": (4, lambda: self._publish(some(hidden(), 20), live=True)),
            # As is recorded.
            "save some": (6, lambda: [world.save(one) for one in some(rows, 4)]),
            "save and roll back": (
                3,
                lambda: [world.save(one, roll_back=True) for one in some(rows, 4)],
            ),
            "touch some": (3, lambda: world.touch(some(rows, 12))),
            "touch everything": (1, world.touch_everything),
            "assign": (4, world.assign),
            "refresh": (4, world.refresh),
            "request a page": (20, lambda: on_a_page(world.get_page)),
            "get the address": (8, world.get_address),
            "get what is unknown": (1, world.get_unknown),
            "verify a page": (8, lambda: on_a_page(world.verify)),
            "let an hour pass": (5, self._let_an_hour_pass),
            "change the code": (
                2,
                lambda: world.deploy(self.rng.choice(["daily", "weekly", "monthly"])),
            ),
            "fill hurriedly": (1, world.fill_hurriedly),
            "lose bytes": (2, lambda: on_a_page(world.lose)),
            "die in a request": (
                5,
                lambda: on_a_page(
                    lambda page: world.die_in_request(page, self.rng.randrange(2, 16))
                ),
            ),
        }

    def one(self) -> None:
        """Do one operation."""
        weights = [weight for weight, _ in self.weights.values()]
        (name,) = self.rng.choices([*self.weights], weights=weights)
        self.world.log.append(name)
        self.weights[name][1]()

    def _some(self, ranks: Iterable[int], most: int) -> list[int]:
        """Return up to so many of some ranks; none if there are none."""
        found = list(ranks)
        count = min(len(found), self.rng.randrange(1, most + 1))
        return sorted(self.rng.sample(found, count))

    def _page(self) -> PlainPage | None:
        if not self.plain.filled:
            return None
        pages = self.plain.pages
        # The last page, the first ones and the empty ones are where mistakes live.
        return self.rng.choice([pages[-1], pages[0], *pages])

    def _on_a_page(self, act: Callable[[PlainPage], object]) -> None:
        if page := self._page():
            act(page)

    def _on(self, page: PlainPage | None, ranks: Iterable[int]) -> list[int]:
        owner = self.plain.owner
        return [rank for rank in ranks if page and owner(rank) == page.number]

    # Rows

    def _insert(self, choose: Callable[[list[int]], list[int]]) -> None:
        if len(self.plain.rows) < MANY:
            self.world.insert(choose(self.world.free()))

    def _at_the_edge(self, free: list[int]) -> list[int]:
        last = max(self.plain.rows, default=len(self.world.keys) // 3)
        return [rank for rank in free if rank > last][: self.rng.randrange(1, 9)]

    def _into_one_page(self, free: list[int]) -> list[int]:
        return self._some(self._on(self._page(), free), 14)

    def _in_a_row(self, free: list[int]) -> list[int]:
        start = self.rng.randrange(len(free) or 1)
        return free[start : start + self.rng.randrange(20, 60)]

    def _publish(self, ranks: list[int], *, live: bool) -> None:
        if self.world.kind.dated:
            self.world.publish(ranks, live=live)

    # Time

    def _let_an_hour_pass(self) -> None:
        later(HOURS, "verified_at")
        for page in self.plain.pages:
            page.stale = True


def run(kind: Kind, register: Register, count: int, turn: int = 0) -> None:
    """Do so many operations, others every time unless a seed is asked for."""
    asked = os.environ.get("SITEMAPS_PLUS_SEED")
    seed = int(asked) if asked else random.SystemRandom().randrange(10**9)
    world = World(kind, register, seed + turn)
    operations = Operations(world)
    try:
        for number in range(count):
            operations.one()
            world.check()
            if number % 400 == 399:
                world.log.append("crawl")
                world.crawl()
        world.crawl()
    except BaseException as error:
        error.add_note(
            f"SITEMAPS_PLUS_SEED={seed + turn}; operation {len(world.log)}, "
            f"the last ones: {', '.join(world.log[-12:])}"
        )
        raise


@pytest.mark.parametrize("turn", range(6 if THOROUGH else 1))
def test_many_operations(turn: int, register: Register) -> None:
    count = 1000 if THOROUGH else 300 if COSTLY else 100
    run(KINDS["integers"], register, count, turn)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
@pytest.mark.costly
def test_every_kind_of_key(kind: Kind, register: Register) -> None:
    run(kind, register, 600 if THOROUGH else 60)
