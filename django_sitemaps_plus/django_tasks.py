"""
The background work as a task of Django Tasks: Django's own, or before 6.0 the backport.

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


@_tasks.task()  # type: ignore[untyped-decorator]
def work(is_first: bool = True) -> None:
    """Rebuild the pages whose rows changed, and notify engines."""
    wait = background.work_as_task(is_first=is_first)
    if wait is not None and work.get_backend().supports_defer:
        later = timezone.now() + dt.timedelta(seconds=wait)
        work.using(run_after=later).enqueue(is_first=False)


def enqueue() -> None:
    """Hand the work over to a worker."""
    work.enqueue()
