"""
The background work as a Celery task: ``django_sitemaps_plus.work``.

Celery looks for modules of this name in all apps; so do others, who find nothing here
where Celery is not installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .delivery import background

_celery: Any
try:
    _celery = import_module("celery")
except ImportError:
    _celery = None

if _celery is not None:

    @_celery.shared_task(name="django_sitemaps_plus.work", ignore_result=True)  # type: ignore[untyped-decorator]
    def work(*, is_first: bool = True) -> None:
        """Rebuild the pages whose rows changed, and notify engines."""
        wait = background.work_as_task(is_first=is_first)
        if wait is not None:
            work.apply_async(kwargs={"is_first": False}, countdown=wait)

    def enqueue() -> None:
        """Hand the work over to a worker."""
        work.delay()
