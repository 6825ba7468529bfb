"""
The ledger against a plain model of it: random operations from an empty table.

Each run is another one, and a failure says which: ``SITEMAPS_PLUS_SEED`` repeats it.
``SITEMAPS_PLUS_THOROUGH=1`` makes it longer.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.conftest import COSTLY
from tests.support.helpers import later
from tests.support.ledger_kinds import KINDS, Kind
from tests.support.ledger_plain import PlainLedger, PlainPage
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

    def __init__(self, world: World, settings: Any) -> None:
        self.world = world
        self.rng = world.rng
        self.settings = settings
        self.weights: dict[Callable[[], object], int] = {
            self.insert_at_the_edge: 8,
            self.insert_anywhere: 8,
            self.insert_into_one_page: 6,
            self.insert_many_in_a_row: 2,
            self.delete_some: 8,
            self.delete_a_page: 2,
            self.empty: 1,
            self.update_some: 6,
            self.unpublish_some: 4,
            self.publish_again: 4,
            self.save_some: 6,
            self.save_and_roll_back: 3,
            self.touch_some: 3,
            world.touch_everything: 1,
            world.assign: 4,
            world.refresh: 4,
            self.request_a_page: 20,
            world.get_address: 8,
            world.get_unknown: 1,
            self.verify_a_page: 8,
            self.let_an_hour_pass: 5,
            self.change_the_code: 2,
            world.fill_hurriedly: 1,
            self.lose_bytes: 2,
            self.die_in_a_request: 5,
        }

    @property
    def plain(self) -> PlainLedger:
        return self.world.plain

    def one(self) -> None:
        """Do one operation."""
        (act,) = self.rng.choices([*self.weights], weights=[*self.weights.values()])
        self.world.log.append(act.__name__)
        act()

    def _some(self, ranks: Iterable[int], most: int) -> list[int]:
        """Return up to so many of some ranks; none if there are none."""
        found = list(ranks)
        count = min(len(found), self.rng.randrange(1, most + 1))
        return sorted(self.rng.sample(found, count))

    def _room(self) -> bool:
        return len(self.plain.rows) < MANY

    def _page(self) -> PlainPage | None:
        if not self.plain.filled:
            return None
        pages = self.plain.pages
        # The last page, the first ones and the empty ones are where mistakes live.
        return self.rng.choice([pages[-1], pages[0], *pages])

    # Rows

    def insert_at_the_edge(self) -> None:
        last = max(self.plain.rows, default=len(self.world.keys) // 3)
        free = [rank for rank in self.world.free() if rank > last]
        if self._room():
            self.world.insert(free[: self.rng.randrange(1, 9)])

    def insert_anywhere(self) -> None:
        if self._room():
            self.world.insert(self._some(self.world.free(), 6))

    def _on(self, page: PlainPage | None, ranks: Iterable[int]) -> list[int]:
        owner = self.plain.owner
        return [rank for rank in ranks if page and owner(rank) == page.number]

    def insert_into_one_page(self) -> None:
        if self._room():
            self.world.insert(self._some(self._on(self._page(), self.world.free()), 14))

    def insert_many_in_a_row(self) -> None:
        free = self.world.free()
        if self._room() and free:
            start = self.rng.randrange(len(free))
            self.world.insert(free[start : start + self.rng.randrange(20, 60)])

    def delete_some(self) -> None:
        self.world.delete(self._some(self.plain.rows, 4 if self._room() else 40))

    def delete_a_page(self) -> None:
        self.world.delete(self._on(self._page(), self.plain.rows))

    def empty(self) -> None:
        self.world.delete(list(self.plain.rows))

    def update_some(self) -> None:
        for rank in self._some(self.plain.rows, 4):
            self.world.update(rank)

    def unpublish_some(self) -> None:
        if self.world.kind.dated:
            self.world.publish(self._some(self.plain.rows, 10), live=False)

    def publish_again(self) -> None:
        hidden = [rank for rank, row in self.plain.rows.items() if not row.live]
        self.world.publish(self._some(hidden, 20), live=True)

    # Rows, as is recorded

    def save_some(self, *, roll_back: bool = False) -> None:
        for rank in self._some(self.plain.rows, 4):
            self.world.save(rank, roll_back=roll_back)

    def save_and_roll_back(self) -> None:
        self.save_some(roll_back=True)

    def touch_some(self) -> None:
        self.world.touch(self._some(self.plain.rows, 12))

    # Requests

    def request_a_page(self) -> None:
        if page := self._page():
            self.world.get_page(page)

    def verify_a_page(self) -> None:
        if page := self._page():
            self.world.verify(page)

    # Time and code

    def let_an_hour_pass(self) -> None:
        later(HOURS, "verified_at")
        for page in self.plain.pages:
            page.stale = True

    def change_the_code(self) -> None:
        self.world.deploy(self.rng.choice(["daily", "weekly", "monthly"]))

    # Accidents

    def lose_bytes(self) -> None:
        if page := self._page():
            self.world.lose(page)

    def die_in_a_request(self) -> None:
        if page := self._page():
            self.world.die_in_request(page, self.rng.randrange(2, 16))


def run(world: World, operations: Operations, count: int, seed: int) -> None:
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
            f"SITEMAPS_PLUS_SEED={seed}; operation {len(world.log)}, "
            f"the last ones: {', '.join(world.log[-12:])}"
        )
        raise


def a_seed() -> int:
    """Return a run's seed: another every time unless one is asked for."""
    asked = os.environ.get("SITEMAPS_PLUS_SEED")
    return int(asked) if asked else random.SystemRandom().randrange(10**9)


@pytest.mark.parametrize("turn", range(6 if THOROUGH else 1))
def test_many_operations(
    turn: int, register: Callable[..., Any], settings: Any
) -> None:
    seed = a_seed() + turn
    world = World(KINDS["integers"], register, seed)
    count = 1000 if THOROUGH else 300 if COSTLY else 100
    run(world, Operations(world, settings), count, seed)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
@pytest.mark.costly
def test_every_kind_of_key(
    kind: Kind, register: Callable[..., Any], settings: Any
) -> None:
    seed = a_seed()
    world = World(kind, register, seed)
    run(world, Operations(world, settings), 600 if THOROUGH else 60, seed)
