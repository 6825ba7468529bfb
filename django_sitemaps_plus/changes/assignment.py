"""
What was recorded reaches its pages.

``sort`` finds the page that owns each recorded key; ``claim`` takes a page's changes
before its rows are read; ``Claim.finish`` deletes them when the page is written. A
change whose object may not be committed yet stays until ``WINDOW`` is over.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import connections, router
from django.db.models import (
    DateField,
    DecimalField,
    F,
    IntegerField,
    Max,
    Q,
    QuerySet,
)
from django.utils import timezone

from django_sitemaps_plus.db import DatabaseTime
from django_sitemaps_plus.pagination import ledger
from django_sitemaps_plus.pagination.models import Section
from django_sitemaps_plus.sitemaps.attributes import alias, moments
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, rendering_context

from .gathering import MOST_KEYS
from .marks import forget_marks
from .models import Change
from .recorder import Recorder
from .reporting import Lookup, lookup
from .statements import can_record

#: Seconds within which a save outside of a transaction is surely committed.
WINDOW = 2.0
#: Changes read, or claimed, at a time.
CHUNK = 1_000
#: Bounds that a database sorts at a time.
BOUNDS = 500
#: Changes of a page that are claimed at once: what they say is held in memory. The
#: page waits for the rest, and is made again for it.
MOST = 5_000
#: Seconds between two looks for items that appeared or expired.
TICK = 60
#: Seconds by which the clocks of two hosts may differ: so far back a look goes, for
#: another host may have made the page before its own clock said that it was time.
SKEW = 5.0


def recorded(name: str) -> QuerySet[Change]:
    """Return the changes of a section, of the database where they are written."""
    found: QuerySet[Change] = Change.objects.using(lookup(name).database)
    return found.filter(section=name)


def forget(name: str) -> None:
    """Delete what was recorded of a section that is no longer registered."""
    for using in connections:
        if router.allow_migrate_model(using, Change) and can_record(using):
            Change.objects.using(using).filter(section=name).delete()


def of_page(number: Any) -> Q:
    """Return the condition of changes that may concern page ``number``."""
    return Q(page=number) | Q(page=None)


def waits(name: str, number: int) -> bool:
    """Tell whether a recorded change may concern a page."""
    if not can_record(lookup(name).database):
        return False
    return recorded(name).filter(of_page(number)).exists()


def newest_by_page(name: str) -> dict[int, float]:
    """Return the pages that changes wait for, and when the newest was recorded."""
    if not can_record(lookup(name).database):
        return {}
    found = recorded(name).exclude(page=None).order_by().values_list("page")
    return {page: at for page, at in found.annotate(newest=Max("at")) if page}


@dataclass
class Claim:
    """The changes that were there before a page's rows were read."""

    name: str
    ids: list[int] = field(default_factory=list)
    #: By key: where it was listed before, None if that is not known.
    old: dict[str, list[str] | None] = field(default_factory=dict)
    #: The same of changes that may not be committed yet: they are told later.
    later: dict[str, list[str] | None] = field(default_factory=dict)
    #: The keys of changes that had to wait: what went with them was not told before.
    waited: set[str] = field(default_factory=set)

    def finish(self) -> None:
        """Delete them: the page says what they asked for."""
        for start in range(0, len(self.ids), CHUNK):
            _delete(self.name, self.ids[start : start + CHUNK])


def apart(names: Iterable[str], using: str) -> tuple[list[str], list[str]]:
    """Divide sections into those whose changes lie in a database, and the others."""
    near, far = list[str](), list[str]()
    for name in names:
        is_near = lookup(name).database == using and can_record(using)
        (near if is_near else far).append(name)
    return near, far


def _delete(name: str, ids: Sequence[int]) -> None:
    recorded(name).filter(pk__in=ids).delete()
    forget_marks(lookup(name).database)


def with_changes(names: Iterable[str]) -> set[str]:
    """Return those of the sections that have changes."""
    by_database: dict[str, list[str]] = {}
    for name in names:
        by_database.setdefault(lookup(name).database, []).append(name)
    found = set[str]()
    for using, some in by_database.items():
        if can_record(using):
            rows = Change.objects.using(using).filter(section__in=some)
            found.update(rows.values_list("section", flat=True).distinct())
    return found


def claim(name: str, number: int, but: Collection[int] = ()) -> Claim:
    """
    Return the changes of a page, some thousand at most, whose objects are there.

    Without those whose numbers are ``but``.
    """
    taken = Claim(name)
    if not can_record(lookup(name).database):
        return taken
    rows = _with_age(recorded(name).filter(page=number)).order_by("pk")
    found = [change for change in rows[: MOST + len(but)] if change.pk not in but]
    for change, old in zip(found, former_paths(name, found), strict=True):
        is_there = change.settled or _is_over(change.age)
        if is_there:
            taken.ids.append(change.pk)
        if not change.settled:
            taken.waited.add(change.key)
        known = taken.old if is_there else taken.later
        # Of several changes of a key the first one knows where it was.
        if known.get(change.key) is None:
            known[change.key] = old
    return taken


def former_paths(name: str, found: Sequence[Change]) -> list[list[str] | None]:
    """
    Return where the objects of changes were listed before; None where not known.

    What another definition wrote down cannot be read any more.
    """
    paths: dict[int, list[str] | None] = {
        index: None if change.old is None else json.loads(change.old)
        for index, change in enumerate(found)
        if change.definition is None
    }
    copied = [index for index in range(len(found)) if index not in paths]
    if copied:
        known = lookup(name)
        texts = {
            index: found[index].old or "[]"
            for index in copied
            if found[index].definition == known.digest
        }
        if texts and known.formers is not None:
            made = known.formers.paths(list(texts.values()))
            paths.update(zip(texts, made, strict=True))
    return [paths.get(index) for index in range(len(found))]


def has_settled(name: str, number: int) -> bool:
    """Tell whether changes of a page can be claimed."""
    if not can_record(lookup(name).database):
        return False
    return recorded(name).filter(page=number, settled=True).exists()


def _with_age(found: QuerySet[Change]) -> QuerySet[Any]:
    return found.annotate(age=DatabaseTime() - F("at"))


def _is_over(age: float) -> bool:
    """Tell whether the window is over, also where the clock was set back."""
    return abs(age) > WINDOW


def unsort(name: str, numbers: Iterable[int]) -> None:
    """Have the pages of some pages' changes looked for again."""
    if can_record(lookup(name).database):
        recorded(name).filter(page__in=numbers).update(page=None)


# To pages


class _Row(NamedTuple):
    """A change whose page is to be found."""

    pk: int
    key: str
    upto: str | None
    settled: bool
    age: float


@rendering_context(PLACEHOLDER_SITE)
def sort(found: SectionSource, section: Section, seconds: float = 1.0) -> bool:
    """
    Find the pages that own the recorded keys, for ``seconds`` at most.

    Ranges mark the pages that they cross for comparison, and are deleted. Nothing is
    done while the section's bounds are not known: they will be found with the rows
    as they are then. Tells whether there was anything: then pages that were read
    before may be marked by now.
    """
    ticked = tick(found, section)
    if not can_record(lookup(found.name).database):
        return ticked
    deadline = time.monotonic() + seconds
    bounds: _Bounds | None = None
    last = 0
    while time.monotonic() < deadline:
        rows = _unsorted(found.name, last)
        if not rows:
            return ticked or bool(last)
        bounds = bounds or _Bounds.of(found, section)
        if bounds is None:
            return ticked
        keys = {row.pk: row.key for row in rows if bounds.is_single(row)}
        _sort_keys(found.name, keys, bounds)
        _sort_ranges(found.name, [row for row in rows if row.pk not in keys], bounds)
        if bounds.are_current():
            last = rows[-1].pk
        else:
            # A page was divided: nobody may claim for it what another owns by now.
            recorded(found.name).filter(pk__in=list(keys)).update(page=None)
            bounds = None
    return True


def _unsorted(name: str, after: int) -> list[_Row]:
    rows = _with_age(recorded(name).filter(page=None, pk__gt=after)).order_by("pk")
    values = rows.values_list("pk", "key", "upto", "settled", "age")
    return [_Row(*row) for row in values[:CHUNK]]


def _sort_keys(name: str, keys: Mapping[int, str], bounds: _Bounds) -> None:
    pages = bounds.pages(set(keys.values()))
    by_page: dict[int, list[int]] = {}
    for pk, key in keys.items():
        by_page.setdefault(pages[key], []).append(pk)
    for page, ids in by_page.items():
        recorded(name).filter(pk__in=ids).update(page=page)


def _sort_ranges(name: str, rows: Sequence[_Row], bounds: _Bounds) -> None:
    done, numbers = [], set[int]()
    for row in rows:
        if row.settled or _is_over(row.age):
            done.append(row.pk)
            numbers.update(bounds.crossed(row))
    if not done:
        return
    marked = ledger.pages().filter(section=bounds.section)
    if len(numbers) < len(bounds.numbers):
        marked = marked.filter(number__in=numbers)
    # The version too: who is making one of them has read its rows already.
    marked.update(verified_at=0, version=F("version") + 1)
    _delete(name, done)


@dataclass
class _Bounds:
    """The pages of a section in the order of their keys, and their lower bounds."""

    source: Lookup
    section: int
    #: Counts up when a page is divided.
    next_number: int
    numbers: list[int]
    #: Of all pages but the first.
    lowers: list[str]

    @classmethod
    def of(cls, found: SectionSource, section: Section) -> _Bounds | None:
        """Return the bounds of a section; None if they are not known just now."""
        source = lookup(found.name)
        filled = ledger.sections().filter(
            pk=section.pk, filled=True, key=source.key.signature
        )
        next_number = filled.values_list("next_number", flat=True).first()
        rows = list(ledger.ordered(section).values_list("number", "lower"))
        if next_number is None or not rows:
            return None
        lowers = [lower for _, lower in rows if lower is not None]
        numbers = [number for number, _ in rows]
        return cls(source, section.pk, next_number, numbers, lowers)

    def are_current(self) -> bool:
        """Tell whether no page has been divided since these were read."""
        rows = ledger.sections().filter(pk=self.section, filled=True)
        return rows.filter(next_number=self.next_number).exists()

    def is_single(self, row: _Row) -> bool:
        """Tell whether a change is of one key."""
        return row.upto is None and self._reads(row.key)

    def _reads(self, key: str) -> bool:
        """Tell whether a key can be read: older code may have written another kind."""
        try:
            self.source.key.loads(key)
        except (ValueError, TypeError, ArithmeticError, ValidationError):
            return False
        return True

    def pages(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the number of the page that owns each key."""
        return {key: self.numbers[index] for key, index in self.places(keys).items()}

    def crossed(self, row: _Row) -> list[int]:
        """Return the numbers of the pages that a range crosses: all if not known."""
        if row.upto is None or not (self._reads(row.key) and self._reads(row.upto)):
            return self.numbers
        places = self.places({row.key, row.upto})
        return self.numbers[places[row.key] : places[row.upto] + 1]

    def places(self, keys: Iterable[str]) -> dict[str, int]:
        """Return how many lower bounds are at or before each key."""
        key, wanted = self.source.key, list(keys)
        if _is_python_ordered(key):
            lowers = [key.loads(lower) for lower in self.lowers]
            return {text: bisect_right(lowers, key.loads(text)) for text in wanted}
        return _sorted_places(self.source, wanted, self.lowers)


def _is_python_ordered(key: Key) -> bool:
    ordered = (IntegerField, DateField, DecimalField)
    return all(isinstance(column, ordered) for column in key.fields)


def _sorted_places(
    found: Lookup, keys: list[str], lowers: Sequence[str]
) -> dict[str, int]:
    """Do the same in the rows' own database, some hundred bounds at a time."""
    places: dict[str, int] = {}
    step = max(1, -(-len(lowers) // BOUNDS))
    for start in range(0, len(keys), CHUNK):
        some = keys[start : start + CHUNK]
        coarse = _merged(found, some, lowers[::step])
        if step == 1:
            places.update(coarse)
            continue
        groups: dict[int, list[str]] = {}
        for text, place in coarse.items():
            groups.setdefault(place, []).append(text)
        for place, texts in groups.items():
            first = max(0, (place - 1) * step)
            fine = _sorted_places(found, texts, lowers[first : place * step])
            places.update({text: first + inner for text, inner in fine.items()})
    return places


def _merged(found: Lookup, keys: list[str], lowers: Sequence[str]) -> dict[str, int]:
    """
    Let the database sort keys and bounds together; returns each key's place.

    The first part of the UNION is the column itself, without a row: it gives the
    others its type and its collation.
    """
    if not lowers:
        return dict.fromkeys(keys, 0)
    key, connection = found.key, connections[found.database]
    quote = connection.ops.quote_name
    table = quote(key.fields[0].model._meta.db_table)
    columns = [quote(str(known.column)) for known in key.fields]
    rows = [(text, 0, number) for number, text in enumerate(lowers, 1)]
    rows.extend((text, 1, index) for index, text in enumerate(keys))
    params: list[Any] = []
    for text, kind, number in rows:
        params += [*_params(found, key.loads(text)), kind, number]
    row = ", ".join(["%s"] * (len(columns) + 2))
    if connection.vendor == "mysql":
        values = " UNION ALL ".join([f"SELECT {row}"] * len(rows))
    else:
        values = f"VALUES {', '.join([f'({row})'] * len(rows))}"
    names = ", ".join(f"k{index}" for index in range(len(columns)))
    selected = ", ".join(
        f"{column} AS k{index}" for index, column in enumerate(columns)
    )
    statement = (
        f"SELECT kind, number FROM (SELECT {selected}, 0 AS kind, 0 AS number "  # noqa: S608
        f"FROM {table} WHERE 1 = 0 UNION ALL {values}) merged ORDER BY {names}, kind"
    )
    places, place = {}, 0
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        for kind, number in cursor.fetchall():
            if kind:
                places[keys[number]] = place
            else:
                place = number
    return places


def _params(found: Lookup, value: KeyValue) -> list[Any]:
    connection = connections[found.database]
    return [
        column.get_db_prep_value(part, connection, prepared=False)
        for column, part in zip(found.key.fields, value, strict=True)
    ]


# The clock


def tick(found: SectionSource, section: Section) -> bool:
    """
    Write down what appeared or expired since the last look, once a minute.

    The first look finds no time from which to go on: all pages are compared then.
    Tells whether it was time.
    """
    declared = moments(found.sitemap)
    if not declared:
        return False
    now, since = time.time(), section.ticked_at
    if 0 <= now - since < TICK:
        return False
    known = lookup(found.name)
    if can_record(known.database):
        crossed = _crossed(known, declared, since - SKEW, now) if since else None
        Recorder(found.name).crossed(crossed)
    else:
        # As if nothing were declared: every page is compared.
        marked = ledger.pages().filter(section=section)
        marked.update(verified_at=0, version=F("version") + 1)
    row = ledger.sections().filter(pk=section.pk, ticked_at=since)
    if row.update(ticked_at=now):
        section.ticked_at = now
    return True


def _crossed(
    found: Lookup, declared: Mapping[str, Any], since: float, now: float
) -> list[KeyValue] | None:
    """Return the keys that crossed a moment; None if they are too many."""
    # What expired is not among the items any more.
    rows = found.key.model._base_manager.using(found.database)
    between = Q()
    for name, moment in declared.items():
        rows = rows.annotate(**{alias(name): moment})
        between |= Q(
            **{
                f"{alias(name)}__gt": _datetime(since),
                f"{alias(name)}__lte": _datetime(now),
            }
        )
    some = rows.filter(between).order_by().values_list(*found.key.names)
    keys = list(some[: MOST_KEYS + 1])
    return None if len(keys) > MOST_KEYS else keys


def _datetime(seconds: float) -> dt.datetime:
    """Return a moment as the project's fields have it."""
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment if settings.USE_TZ else timezone.make_naive(moment)
