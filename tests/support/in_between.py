"""Have something done just before a statement, as another process would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connection


@contextmanager
def just_before(
    *parts: str, do: Callable[[], object], times: int = 1, skip: int = 0
) -> Iterator[None]:
    """
    Call ``do`` before the first statement that has all parts and is in no transaction.

    Or before as many of these as ``times`` says, after as many as ``skip`` says. Fails
    if there was none.
    """
    left, depth = times, 0

    def execute(run: Any, sql: str, *args: Any) -> Any:
        nonlocal left, depth, skip
        # MariaDB has other quotation marks.
        asked = sql.replace("`", '"')
        is_it = all(part in asked for part in parts) and not connection.in_atomic_block
        if is_it and not depth and skip:
            skip -= 1
        elif is_it and not depth and left:
            left, depth = left - 1, 1
            try:
                do()
            finally:
                depth = 0
        return run(sql, *args)

    with connection.execute_wrapper(execute):
        yield
    assert left < times, f"no statement has {parts}"


@contextmanager
def failing_once(part: str) -> Iterator[None]:
    """Let the database end the transaction at the first statement that has ``part``."""
    is_over = False

    def execute(run: Any, sql: str, *args: Any) -> Any:
        nonlocal is_over
        if not is_over and part in sql.replace("`", '"'):
            is_over = True
            raise OperationalError("deadlock detected")
        return run(sql, *args)

    with connection.execute_wrapper(execute):
        yield
    assert is_over, f"no statement has {part}"
