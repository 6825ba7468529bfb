"""
The work as a task of Django Tasks: Django's own from 6.0 on, the backport before.

Imported only where it is used: ``@task`` asks for the project's backend and its queue.
"""

from __future__ import annotations

import datetime as dt
from importlib import import_module
from typing import Any

from django.utils import timezone

from .delivery import background

_tasks: Any
try:
    _tasks = import_module("django.tasks")
except ImportError:
    _tasks = import_module("django_tasks")

#: Seconds after which a worker looks again for what is not due yet.
SOON = 60.0


@_tasks.task()  # type: ignore[untyped-decorator]
def work(is_first: bool = True) -> None:
    """
    Make the pages whose rows changed, and tell engines.

    The first one asks for one more where something is due soon, and that for none:
    under constant load there would be ever more of them.
    """
    wait = background.work()
    is_due = is_first and wait is not None and wait <= SOON
    if is_due and work.get_backend().supports_defer:
        later = timezone.now() + dt.timedelta(seconds=max(1.0, wait or 0.0))
        work.using(run_after=later).enqueue(is_first=False)


def enqueue() -> None:
    """Hand the work over to a worker."""
    work.enqueue()
