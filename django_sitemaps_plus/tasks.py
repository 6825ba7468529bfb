"""
The work as a Celery task: ``django_sitemaps_plus.work``.

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

#: Seconds that a worker waits for what is not due yet; what is due later it is asked
#: for again, by the next change or by the look once a minute.
SOON = 60.0

if _celery is not None:

    @_celery.shared_task(name="django_sitemaps_plus.work", ignore_result=True)  # type: ignore[untyped-decorator]
    def work(*, is_first: bool = True) -> None:
        """
        Make the pages whose rows changed, and tell engines.

        The first one asks for one more where something is due soon, and that for none:
        under constant load there would be ever more of them.
        """
        wait = background.work()
        if is_first and wait is not None and wait <= SOON:
            work.apply_async(kwargs={"is_first": False}, countdown=max(1.0, wait))

    def enqueue() -> None:
        """Hand the work over to a worker."""
        work.delay()
