"""Another user of the database, on a connection that no test listens to."""

from __future__ import annotations

import threading
import time
from typing import Any

from django.db import connection

#: Seconds after which somebody who waits for another stops waiting.
PATIENCE = 10
#: Seconds between two looks. InnoDB shows the same for a tenth of a second.
PAUSE = 0.12


class SomebodyElse:
    """
    A connection of its own to the default database, driven by SQL.

    It may be used by any thread.
    """

    def __init__(self) -> None:
        self.connection = connection.copy()
        self.connection.inc_thread_sharing()
        self.connection.is_somebody_else = True
        self._threads: list[threading.Thread] = []

    @staticmethod
    def has(wrapper: Any) -> bool:
        """Return whether a connection is somebody else's."""
        return getattr(wrapper, "is_somebody_else", False)

    def runs(self, *statements: str) -> list[Any]:
        """Run statements; return the rows of the last one."""
        with self.connection.cursor() as cursor:
            for sql in statements:
                cursor.execute(sql)
            return list(cursor.fetchall()) if cursor.description else []

    def begins(self, *statements: str) -> None:
        """Open a transaction that can write, and run statements in it."""
        is_sqlite = self.connection.vendor == "sqlite"
        self.runs("BEGIN IMMEDIATE" if is_sqlite else "BEGIN", *statements)

    def commits(self) -> None:
        """Commit that transaction."""
        self.runs("COMMIT")

    def commits_when_waited_for(self) -> None:
        """
        Commit as soon as the thread's own connection waits for a lock.

        SQLite does not say who waits, so there it is after a moment.
        """
        self._start(self._commit_when, process(connection))

    def runs_meanwhile(self, sql: str) -> None:
        """Run a statement that has to wait; return once it does."""
        pid = process(self.connection)
        self._start(self._run_and_ignore, sql)
        wait_until_it_waits(pid)

    def ends(self, pid: int) -> None:
        """End another's connection; return once it is gone."""
        kill, look = _ENDING[self.connection.vendor]
        self.runs(kill.format(pid))
        deadline = time.monotonic() + PATIENCE
        while self.runs(look.format(pid)) and time.monotonic() < deadline:
            time.sleep(PAUSE / 10)

    def rolls_back(self) -> None:
        """Roll back, once what was waited for is over."""
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        # Whatever was open is rolled back with it.
        self.connection.close()

    leave = rolls_back

    def _commit_when(self, pid: int) -> None:
        wait_until_it_waits(pid)
        self.commits()

    def _run_and_ignore(self, sql: str) -> None:
        try:
            self.runs(sql)
        except Exception:
            # It was a victim, or was let down; what matters is the other's fate.
            return

    def _start(self, target: Any, *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, name="somebody else")
        self._threads.append(thread)
        thread.start()


def process(wrapper: Any) -> int:
    """Return the server's number of a connection."""
    wrapper.ensure_connection()
    if wrapper.vendor == "postgresql":
        return int(wrapper.connection.info.backend_pid)
    if wrapper.vendor == "mysql":
        return int(wrapper.connection.thread_id())
    return 0


_ENDING = {
    "postgresql": (
        "SELECT pg_terminate_backend({})",
        "SELECT 1 FROM pg_stat_activity WHERE pid = {}",
    ),
    "mysql": (
        "KILL {}",
        "SELECT 1 FROM information_schema.processlist WHERE id = {}",
    ),
}
_WAITING = {
    "postgresql": (
        "SELECT 1 FROM pg_stat_activity WHERE pid = {} AND wait_event_type = 'Lock'"
    ),
    "mysql": (
        "SELECT 1 FROM information_schema.innodb_trx "
        "WHERE trx_mysql_thread_id = {} AND trx_state = 'LOCK WAIT'"
    ),
}


def wait_until_it_waits(pid: int) -> None:
    """Wait until a connection waits for a lock."""
    if connection.vendor == "sqlite":
        time.sleep(PAUSE)
        return
    looking = SomebodyElse()
    deadline = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < deadline:
            if looking.runs(_WAITING[connection.vendor].format(pid)):
                return
            time.sleep(PAUSE if connection.vendor == "mysql" else PAUSE / 10)
    finally:
        looking.connection.close()
