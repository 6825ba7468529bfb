"""
Worlds in which users, reporters and builders do things at random, in any order.

The same seed is the same world, as long as nothing in here changes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from .events_model import SECTION, Page, Row, Rules, State, Steps, World


@dataclass(frozen=True)
class Kind:
    """What may happen in a world at random."""

    #: Entries come back as they were: without a date they are always the same.
    has_same_entries: bool = True
    #: The section has rows before it is first built.
    has_rows_before: bool = True
    #: The engine looks some time after it was told, and not at once.
    has_late_looks: bool = True
    #: A second section may list rows of the first.
    has_sections: bool = True
    #: Another content has another entry, for its date; some saves change nothing.
    has_dates: bool = True
    #: Rows may get a fault, for which they are left out until it is mended.
    has_faults: bool = True
    #: How much longer everybody is at work.
    times: int = 1


class RandomWorld(World):
    """A world in which users, two reporters and two builders do things at random."""

    def __init__(self, seed: int, rules: Rules, kind: Kind) -> None:
        self.random = rnd = random.Random(seed)  # noqa: S311 (nothing secret)
        super().__init__(
            rules,
            limit=rnd.choice([2, 4, 8]),
            batch=rnd.choice([2, 5, 100]),
            is_dated=kind.has_dates and rnd.random() < 0.3,
        )
        self.kind = kind
        self.keys = range(rnd.choice([6, 12, 24, 40]))
        self.is_all_recorded = rnd.random() < 0.4
        has_same = kind.has_same_entries and not self.is_dated
        self.hashes = rnd.choice([1, 2, 10**9]) if has_same else 10**9
        self.drafts: dict[int, State] = {}
        #: Of which the engine was told, and has not looked at yet.
        self.unlooked: list[str] = []
        if kind.has_rows_before and rnd.random() < 0.4:
            self.begin_with_rows()
        self.has_faults = kind.has_faults and rnd.random() < 0.3
        self.has_sections = kind.has_sections and rnd.random() < 0.4
        if self.has_sections:
            self.pages.append(Page(SECTION, rnd.choice([None, {}])))

    def begin_with_rows(self) -> None:
        """Begin with rows, on one or two pages that were never built."""
        some = self.random.sample(self.keys, len(self.keys) // 2)
        self.commit({key: (f"u{key}", self.any_hash()) for key in some})
        middle = len(self.keys) // 2
        self.pages = [Page(), Page(lower=middle)][: self.random.choice([1, 2])]

    def run(self) -> None:
        """Let all of them work, in any order, until everything is at rest."""
        rnd = self.random
        times = self.kind.times
        users = [
            self.writer(times * rnd.choice([4, 12])) for _ in range(rnd.choice([2, 4]))
        ]
        jobs = [self.reporter(), self.reporter(), self.builder(), self.builder()]
        jobs += users
        while jobs:
            job = rnd.choice(jobs)
            # Some go on for a while, others stand still, and some are killed.
            for _ in range(rnd.choice([1, 1, 1, 3])):
                if rnd.random() < 0.003 and job not in users:
                    job.close()
                if next(job, None) is None:
                    jobs.remove(job)
                    break
            if self.unlooked and rnd.random() < 0.3:
                self.look(self.unlooked.pop(rnd.randrange(len(self.unlooked))))
        mended = self.mend(list(self.keys))
        self.commit(self.follow(mended))
        self.hint(self.follow(mended))
        self.rest()
        while self.unlooked:
            self.look(self.unlooked.pop())

    def notify(self, location: str) -> None:
        """Let the engine look at a URL, at once or later."""
        if self.kind.has_late_looks and self.random.random() < 0.5:
            self.unlooked.append(location)
        else:
            self.look(location)

    def reporter(self) -> Steps:
        """Report now and then."""
        for _ in range(6 * self.kind.times):
            ranges = [(0, SECTION), (SECTION, 2 * SECTION)]
            yield from self.report(self.random.choice(ranges[: 1 + self.has_sections]))
            yield "done"

    def builder(self) -> Steps:
        """Build one page after the other."""
        for _ in range(8 * self.kind.times):
            yield from self.build(self.random.choice(self.pages))
            yield "done"

    # Users

    def writer(self, times: int) -> Steps:
        """Save, delete, update() and so on; some hints are lost."""
        for _ in range(times):
            is_lost = not self.is_all_recorded and self.random.random() < 0.3
            # Written in the user's transaction: numbered before it is committed.
            is_inside = self.random.random() < 0.1
            numbers = iter([next(self.numbers) for _ in range(9 * is_inside)])
            if is_inside:
                yield "numbered"
            former = {*self.rows, *self.drafts}
            new = self.follow(self.operation())
            self.commit(new, is_recorded=not is_lost)
            if not is_inside:
                yield "committed"
            if not is_lost:
                self.hint(new, new.keys() - former, numbers if is_inside else None)

    def operation(self) -> dict[int, Row]:
        """Return rows that a user writes."""
        some = self.random.sample(self.keys, self.random.choice([1, 1, 2, 3]))
        operations = [self.save, self.save, self.delete, self.unpublish, self.publish]
        operations += [self.change_slug, self.swap, self.hand_over]
        if self.is_dated:
            operations += [self.save_as_it_is] * 4
        if self.has_sections:
            operations += [self.feature, self.drop, self.feature, self.drop]
        if self.has_faults:
            operations += [self.spoil, self.mend]
            # Of a faulty row that is deleted nobody knows the URL.
            some = [key for key in some if not self.is_faulty(key)] or some
            if any(map(self.is_faulty, some)):
                return self.mend(some)
        return self.random.choice(operations)(some)

    def save(self, keys: list[int]) -> dict[int, Row]:
        """Save objects, or create them."""
        owners = {location: state.key for location, state in self.there().items()}
        locations = {key: self.rows[key].location for key in keys if key in self.rows}
        return {
            key: (location, self.any_hash())
            for key in keys
            if owners.get(location := locations.get(key, f"u{key}"), key) == key
        }

    def save_as_it_is(self, keys: list[int]) -> dict[int, Row]:
        """Save objects, but for what their entries say: a counter."""
        here = [self.rows[key] for key in keys if key in self.rows]
        return {x.key: (x.location, x.hash or 0, x.is_faulty) for x in here}

    def delete(self, keys: list[int]) -> dict[int, Row]:
        """Delete objects."""
        return {key: None for key in keys if key in self.rows}

    def unpublish(self, keys: list[int]) -> dict[int, Row]:
        """Save objects so that they are not listed."""
        here = self.delete(keys)
        self.drafts.update((key, self.rows[key]) for key in here)
        return here

    def publish(self, keys: list[int]) -> dict[int, Row]:
        """Let drafts be listed where they were."""
        new: dict[int, Row] = {}
        taken = self.there()
        for key in keys:
            draft = self.drafts.get(key)
            if draft and key not in self.rows and draft.location not in taken:
                taken[draft.location] = draft
                new[key] = (draft.location, self.this_or_other(draft))
        return new

    def change_slug(self, keys: list[int]) -> dict[int, Row]:
        """Give an object another location."""
        return {key: self.elsewhere() for key in keys[:1] if key in self.rows}

    def swap(self, keys: list[int]) -> dict[int, Row]:
        """Let two objects change places."""
        here = [self.rows[key] for key in keys if key in self.rows][:2]
        if len(here) < 2:
            return {}
        one, two = here
        return {
            one.key: (two.location, self.any_hash()),
            two.key: (one.location, self.any_hash()),
        }

    def hand_over(self, keys: list[int]) -> dict[int, Row]:
        """Give the location of one object to another."""
        one, two = self.rows.get(keys[0]), self.random.choice(self.keys)
        if one is None or one.key == two or self.is_faulty(two):
            return {}
        rest = self.random.choice([None, self.elsewhere()])
        return {one.key: rest, two: (one.location, self.this_or_other(one))}

    # Two sections

    def follow(self, new: dict[int, Row]) -> dict[int, Row]:
        """Let the second section's rows follow the objects that it lists too."""
        same = {
            key + SECTION: row for key, row in new.items() if key + SECTION in self.rows
        }
        return {**same, **new}

    def feature(self, keys: list[int]) -> dict[int, Row]:
        """Let the second section list objects of the first one too, or the reverse."""
        pairs = [(key, key + SECTION) for key in keys]
        found: dict[int, Row] = {}
        for one, two in [*pairs, *((two, one) for one, two in pairs)]:
            state = self.rows.get(one)
            if state and two not in self.rows:
                found[two] = (state.location, state.hash or 0)
        return found

    def drop(self, keys: list[int]) -> dict[int, Row]:
        """Let one of the sections list objects no longer."""
        found: dict[int, Row] = {}
        for key in keys:
            if key in self.rows and key + SECTION in self.rows:
                one, two = key, key + SECTION
                if self.random.random() < 0.5:
                    one, two = two, one
                other = self.rows[two]
                found = {**found, one: None, two: (other.location, other.hash or 0)}
        return found

    # Faults

    def is_faulty(self, key: int) -> bool:
        """Return whether a row has a fault."""
        state = self.rows.get(key)
        return state is not None and state.is_faulty

    def spoil(self, keys: list[int]) -> dict[int, Row]:
        """Give objects a fault."""
        here = [self.rows[key] for key in keys if key in self.rows]
        return {x.key: (x.location, x.hash or 0, True) for x in here}

    def mend(self, keys: list[int]) -> dict[int, Row]:
        """Take the faults from objects."""
        here = [self.rows[key] for key in keys if self.is_faulty(key)]
        return {state.key: (state.location, self.any_hash()) for state in here}

    # What there is

    def there(self) -> dict[str, State]:
        """Return the rows by their locations; those of the first section count."""
        rows = [self.rows[key] for key in sorted(self.rows, reverse=True)]
        return {state.location: state for state in rows}

    def elsewhere(self) -> Row:
        """Return a row at a location that no other has."""
        taken = self.there()
        free = [f"u{n}" for n in range(len(self.keys) + 4) if f"u{n}" not in taken]
        return self.random.choice(free), self.any_hash()

    def any_hash(self) -> int:
        """Return the hash of an entry."""
        return self.random.randrange(self.hashes)

    def this_or_other(self, state: State) -> int:
        """Return the hash of an entry that may be as it was."""
        is_same = self.kind.has_same_entries and self.random.random() < 0.5
        return state.hash or 0 if is_same else self.any_hash()
