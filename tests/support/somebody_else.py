"""Another user of the database, on a connection that no test listens to."""

from __future__ import annotations

import threading
from typing import Any

from django.db import connection

#: Seconds after which another's transaction is committed: who waits for it has begun.
PAUSE = 0.12


class SomebodyElse:
    """A connection of its own to the default database, driven by SQL."""

    def __init__(self) -> None:
        self.connection = connection.copy()
        self.connection.inc_thread_sharing()
        self.connection.is_somebody_else = True
        self._threads: list[threading.Thread] = []

    @staticmethod
    def has(wrapper: Any) -> bool:
        """Return whether a connection is somebody else's."""
        return getattr(wrapper, "is_somebody_else", False)

    def runs(self, *statements: str) -> None:
        """Run statements."""
        with self.connection.cursor() as cursor:
            for sql in statements:
                cursor.execute(sql)

    def begins(self, *statements: str) -> None:
        """Open a transaction that can write, and run statements in it."""
        is_sqlite = self.connection.vendor == "sqlite"
        self.runs("BEGIN IMMEDIATE" if is_sqlite else "BEGIN", *statements)

    def commits_soon(self) -> None:
        """Commit it after a moment: SQLite does not say who waits."""
        thread = threading.Timer(PAUSE, self.runs, ["COMMIT"])
        self._threads.append(thread)
        thread.start()

    def leaves(self) -> None:
        """Come to an end; whatever is open is rolled back with it."""
        for thread in self._threads:
            thread.join()
        self.connection.close()
