"""Jobs at the same time, each on a thread: a slow one does not hold up the others."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from django.db import connections

from django_sitemaps_plus.sitemaps.tenants import in_this_tenant

#: The most jobs at the same time: each has a connection to the database.
AT_ONCE = 8


def side_by_side(jobs: Iterable[Callable[[], object]], using: str) -> None:
    """
    Run jobs, and return when all are done; raises what the first raised that failed.

    They run one after another where only this thread sees the rows of the database
    ``using``: within a transaction, as in a test, or in memory.
    """
    waiting = deque(jobs)
    if _is_own(using):
        while waiting:
            waiting.popleft()()
        return
    failures: list[Exception] = []

    def work() -> None:
        with suppress(IndexError):
            while True:
                job = waiting.popleft()
                try:
                    job()
                except Exception as error:
                    failures.append(error)

    work_in_thread = in_this_tenant(work)

    def work_elsewhere() -> None:
        try:
            work_in_thread()
        finally:
            connections.close_all()

    # This thread takes part.
    number = min(AT_ONCE, len(waiting)) - 1
    threads = [
        threading.Thread(target=copy_context().run, args=(work_elsewhere,), daemon=True)
        for _ in range(number)
    ]
    # Where a process is ending, or has too many threads, this one does it all.
    with suppress(RuntimeError):
        for thread in threads:
            thread.start()
    work()
    for thread in threads:
        if thread.ident is not None:
            thread.join()
    if failures:
        raise failures[0]


def _is_own(using: str) -> bool:
    """Return whether no other thread would see what this one sees."""
    connection: Any = connections[using]
    if connection.in_atomic_block:
        return True
    return connection.vendor == "sqlite" and bool(connection.is_in_memory_db())
