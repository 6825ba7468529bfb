"""
The same code run without the app's sections and with them, and compared.

All that a project could notice is written down, line by line: every statement that
reaches a database driver, with its parameters and what came of it, every commit,
rollback and change of autocommit, what the code itself notes, the state that its
connections are left in, and its rows. The two lists of lines have to be equal.

One difference is allowed: INSERTs into the table of changes outside of a transaction.
They are counted apart.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import Model

from .somebody_else import SomebodyElse

#: The only table of ours that a save may write to.
TABLE = "sitemaps_plus_change"
#: Longer lines are cut for people, and told apart by a digest.
LINE = 1500

#: Before statements within a transaction.
INDENT = "    "

_OURS = re.compile(rf"""[^;]*\bINSERT\s+INTO\s+[`"]?{TABLE}\b[^;]*;?\s*""", re.I)
#: What differs from run to run whatever is done: addresses, and the number of a thread
#: in the name of a savepoint, whose own number stays.
_RANDOM = [
    (re.compile(r"\bs\d+_x(\d+)\b"), r"s_x\1"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "0xN"),
]


def is_ours(sql: object) -> bool:
    """Return whether a statement is one INSERT into the table of changes, no more."""
    return _OURS.fullmatch(str(sql)) is not None


def plain(text: object) -> str:
    """Return a text without what differs from run to run."""
    found = str(text)
    for pattern, instead in _RANDOM:
        found = pattern.sub(instead, found)
    if len(found) > LINE:
        digest = hashlib.sha256(found.encode()).hexdigest()[:16]
        found = f"{found[:LINE]}… ({len(found)} characters, {digest})"
    return " ".join(found.split())


def code(error: BaseException | None) -> str:
    """Return the SQLSTATE or SQLite's name of an error; MySQL's is an argument."""
    while error is not None:
        for name in ("sqlstate", "pgcode", "sqlite_errorname"):
            if found := getattr(error, name, None):
                return str(found)
        error = error.__cause__
    return ""


def described(error: BaseException | None) -> str:
    """Return all that a project may look at in an error, and in what caused it."""
    parts = []
    while error is not None:
        kind = type(error)
        text = f"{kind.__module__}.{kind.__qualname__}{error.args!r}"
        parts.append(f"{text} [{code(error)}]")
        error = error.__cause__
    return plain(" from ".join(parts))


@dataclass
class Log:
    """What one thread did, in its order."""

    lines: list[str] = field(default_factory=list)
    #: How many INSERTs of ours there were, by the number of lines before them.
    inserts: dict[int, int] = field(default_factory=dict)

    def write(self, line: object, *, indent: str = "") -> None:
        """Add a line."""
        self.lines.append(indent + plain(line))

    def insert(self) -> None:
        """Count an INSERT of ours."""
        place = len(self.lines)
        self.inserts[place] = self.inserts.get(place, 0) + 1


class Logs:
    """The logs of all threads, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Log] = {}

    def here(self) -> Log:
        """Return the log of the thread that asks."""
        name = re.sub(r"\d+", "N", threading.current_thread().name)
        return self._by_name.setdefault(name, Log())

    def all(self) -> list[tuple[str, Log]]:
        """Return all of them."""
        return sorted(self._by_name.items())


class _Cursor:
    """A cursor of the driver, or Django's thin one around it, that is listened to."""

    def __init__(self, cursor: Any, wrapper: Any, name: str | None, logs: Logs) -> None:
        self._cursor, self._wrapper, self._logs = cursor, wrapper, logs
        self._on = f"{wrapper.alias}, server-side" if name else wrapper.alias

    def execute(self, sql: Any, *params: Any) -> Any:
        return self._run(self._cursor.execute, sql, params)

    def executemany(self, sql: Any, *params: Any) -> Any:
        return self._run(self._cursor.executemany, sql, params)

    def _run(self, execute: Callable[..., Any], sql: Any, params: Any) -> Any:
        log, is_inside = self._logs.here(), in_transaction(self._wrapper)
        if is_ours(sql) and not is_inside:
            log.insert()
            return execute(sql, *params)
        if " IN (" in str(sql) and params and isinstance(params[0], list | tuple):
            # Of rows that a query gave in no order.
            line = f"[{self._on}] {sql} {sorted(params[0], key=repr)}"
        else:
            line = f"[{self._on}] {sql} {', '.join(map(repr, params))}"
        came = ""
        try:
            result = execute(sql, *params)
            came = f"{self._cursor.rowcount} rows"
        except Exception as error:
            came = f"{type(error).__name__} {code(error)}"
            raise
        finally:
            log.write(f"{plain(line)} -> {came}", indent=INDENT if is_inside else "")
        return result

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cursor)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


def in_transaction(wrapper: Any) -> bool:
    """Return whether what is run now can still be rolled back."""
    return bool(wrapper.in_atomic_block or not wrapper.autocommit)


@contextmanager
def listening() -> Iterator[Logs]:
    """Write down what passes between Django's connections and their drivers."""
    logs, kind = Logs(), type(connections[DEFAULT_DB_ALIAS])
    create = kind.create_cursor

    def create_cursor(wrapper: Any, name: str | None = None) -> Any:
        cursor = create(wrapper, name)
        if SomebodyElse.has(wrapper):
            return cursor
        return _Cursor(cursor, wrapper, name, logs)

    def noting(method: str) -> Callable[..., Any]:
        do = getattr(kind, method)

        def noted(wrapper: Any, *args: Any) -> Any:
            if not SomebodyElse.has(wrapper):
                given = (
                    ", ".join(map(repr, args)) if method == "_set_autocommit" else ""
                )
                logs.here().write(f"[{wrapper.alias}] {method[1:].upper()} {given}")
            return do(wrapper, *args)

        return noted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "create_cursor", create_cursor)
        for method in ("_commit", "_rollback", "_close", "_set_autocommit"):
            patch.setattr(kind, method, noting(method))
        yield logs


class World:
    """What a situation may use, and where it notes what it sees."""

    def __init__(self, logs: Logs, *, with_app: bool) -> None:
        self._logs, self._with_app = logs, with_app
        self._somebody: SomebodyElse | None = None

    def note(self, *what: object) -> None:
        """Write down what the user's code sees."""
        self._logs.here().write(f"-- {' '.join(map(str, what))}")

    def statement(self, sql: object, *more: object, using: str = "default") -> None:
        """Write down a statement that the user's code came to see."""
        if in_transaction(connections[using]) or not is_ours(sql):
            self.note("saw", sql, *more)

    def callbacks(self, captured: Sequence[object]) -> None:
        """Write down how many callbacks a commit has: one more with the app."""
        self.note("callbacks:", len(captured) - (1 if self._with_app else 0))

    def callback(self, name: str, error: Exception | None = None) -> Callable[[], None]:
        """Return a callback for ``transaction.on_commit``."""

        def called() -> None:
            self.note("callback", name)
            if error is not None:
                raise error

        return called

    def tries(self, action: Callable[[], object]) -> None:
        """Note what an action returns or raises."""
        try:
            self.note("returned", repr(action()))
        except AssertionError:
            raise
        except Exception as error:
            self.note("raised", described(error))

    def state(self, instance: Model) -> None:
        """Note all that is known of an object."""
        parts = dict(vars(instance))
        hidden = dict(vars(parts.pop("_state")))
        hidden["fields_cache"] = sorted(hidden.get("fields_cache", {}))
        self.note(type(instance).__name__, sorted(parts.items()), hidden.items())

    def threads(self, **actions: Callable[[], object]) -> None:
        """Run actions at the same time, each with a connection and a log of its own."""

        def run(action: Callable[[], object]) -> None:
            connection.ensure_connection()
            try:
                self.tries(action)
            finally:
                connections.close_all()

        threads = [
            threading.Thread(target=run, args=[action], name=name)
            for name, action in actions.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()

    @property
    def somebody(self) -> SomebodyElse:
        """Somebody else on another connection, the same one each time."""
        self._somebody = self._somebody or SomebodyElse()
        return self._somebody

    def leave(self) -> None:
        """Let go of everybody."""
        if self._somebody is not None:
            self._somebody.leaves()


@dataclass(frozen=True)
class Situation:
    """Something that a project does."""

    act: Callable[[World], object]
    #: How many INSERTs of ours may follow its commits: the least and the most.
    inserts: tuple[int, int] = (1, 1)
    #: How many may follow one commit.
    at_once: int = 1
    #: With autocommit switched off by hand ours are written at once.
    by_hand: bool = False
    #: What is set up around each run.
    around: Callable[[], AbstractContextManager[object]] = nullcontext
    #: Whether receivers of the project's own listen: see ``listeners``.
    listens: bool = True
    #: The sets of sections that are registered, one after the other.
    sections: tuple[str, ...] = ("many", "one")
    #: Keys of articles of which a section is to be told, and no others; None: any.
    recorded: Iterable[int] | None = None


@dataclass
class Outcome:
    """What came of a situation."""

    lines: list[str]
    inserts: list[int]
    #: All numbers in the keys that were recorded.
    recorded: set[int]


def observe(
    situation: Situation, tables: Sequence[type[Model]], *, with_app: bool
) -> Outcome:
    """Have a situation happen, and put the connections right again."""
    with situation.around():
        for alias in connections:
            connections[alias].savepoint_state = 0
            # What another test left.
            connections[alias].rollback_exc = None
            connections[alias].ensure_connection()
        with listening() as logs:
            world = World(logs, with_app=with_app)
            try:
                if with_app:
                    world.tries(lambda: situation.act(world))
                else:
                    # Nothing goes wrong by itself but what the situation is about.
                    world.note("returned", repr(situation.act(world)))
            finally:
                world.leave()
            for alias in connections:
                for line in _left(connections[alias], by_hand=situation.by_hand):
                    world.note(alias, line)
        _clean_up()
    inserts = [number for _, log in logs.all() for number in log.inserts.values()]
    lines = [line for name, log in logs.all() for line in (f"## {name}", *log.lines)]
    if situation.by_hand:
        lines = _without_ours(lines)
    return Outcome([*lines, "## rows", *_rows(tables)], inserts, _recorded())


def _left(wrapper: Any, *, by_hand: bool) -> Iterator[str]:
    """Yield the state that a connection is left in."""
    names = ["in_atomic_block", "autocommit", "needs_rollback", "savepoint_ids"]
    names += ["closed_in_transaction", "execute_wrappers", "run_on_commit"]
    if not by_hand:
        names.append("savepoint_state")
    for name in names:
        yield f"{name}: {getattr(wrapper, name)}"
    yield f"open: {wrapper.connection is not None}"


def _clean_up() -> None:
    """Leave nothing to the next situation, whatever this one has broken."""
    for alias in connections:
        wrapper = connections[alias]
        wrapper.execute_wrappers.clear()
        if alias == DEFAULT_DB_ALIAS or wrapper.in_atomic_block:
            wrapper.close()
            # What ``connect()`` resets, too.
            wrapper.closed_in_transaction = wrapper.in_atomic_block = False
            wrapper.connection = wrapper.rollback_exc = None


def _without_ours(lines: list[str]) -> list[str]:
    """Leave out INSERTs of ours within a transaction, and a savepoint for each."""
    found: list[str] = []
    for line in lines:
        statement = line.strip().split("] ", 1)[-1]
        if is_ours(statement):
            found.append("")
        elif statement.startswith("RELEASE SAVEPOINT") and found[-1] == "":
            del found[-2:]
        else:
            found.append(line)
    return [line for line in found if line]


def _rows(tables: Sequence[type[Model]]) -> Iterator[str]:
    for model in tables:
        using = "other" if model.__name__ == "Elsewhere" else DEFAULT_DB_ALIAS
        for row in model._base_manager.using(using).order_by("pk").values_list():
            yield f"{model.__name__} {row}"


def _recorded() -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {connection.ops.quote_name('key')} FROM {TABLE}")  # noqa: S608 (names of our own)
        keys = " ".join(key for (key,) in cursor.fetchall())
    return {int(number) for number in re.findall(r"\d+", keys)}


def complaints(
    situation: Situation, without: Outcome, having: Outcome, *, is_exact: bool = False
) -> list[str]:
    """
    Return what is wrong with the app, readably: nothing, if all is well.

    ``is_exact`` says that the only section lists articles: no other key may be
    recorded, and nothing need be written of other models.
    """
    assert without.inserts == [], "something is registered that should not be"
    found = list(
        difflib.unified_diff(
            without.lines, having.lines, "without the app", "with it", lineterm=""
        )
    )
    total, (least, most) = sum(having.inserts), situation.inserts
    if not (0 if is_exact else least) <= total <= most:
        found.append(f"{total} INSERTs into {TABLE}, not {least} to {most}")
    if max(having.inserts, default=0) > situation.at_once:
        found.append(
            f"{max(having.inserts)} INSERTs into {TABLE} after one commit, "
            f"not {situation.at_once} at most"
        )
    if situation.recorded is not None:
        wanted = {*situation.recorded}
        if wrong := wanted ^ having.recorded if is_exact else wanted - having.recorded:
            found.append(f"not recorded as it should be: {sorted(wrong)}")
    return found
