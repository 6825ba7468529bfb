"""
Work for Django Tasks, Django's own or before 6.0 the backport: what else the background
does, and the jobs of ``build_sitemaps --enqueue``.

Imported only where it is used: ``@task`` asks for the project's backend and its queue.
"""

from __future__ import annotations

import datetime as dt
from importlib import import_module
from typing import Any

from django.utils import timezone

from .delivery import background, build_jobs

_tasks: Any
try:
    _tasks = import_module("django.tasks")
except ImportError:
    _tasks = import_module("django_tasks")


@_tasks.task()  # type: ignore[untyped-decorator]
def work(tenant: str | None = "", is_first: bool = True) -> None:
    """Rebuild the pages whose rows changed, and notify engines."""
    wait = background.work_as_task(tenant, is_first=is_first)
    if wait is not None and work.get_backend().supports_defer:
        later = timezone.now() + dt.timedelta(seconds=wait)
        work.using(run_after=later).enqueue(tenant=tenant, is_first=False)


def enqueue(tenant: str | None) -> None:
    """Hand the work of a tenant, or of all of them (None), over to a worker."""
    work.enqueue(tenant=tenant)


@_tasks.task()  # type: ignore[untyped-decorator]
def build(sections: list[str], site: str, tenant: str = "") -> None:
    """Build pages of some sections for a while."""
    if build_jobs.run(sections, site, tenant):
        enqueue_build(sections, site, tenant)


def enqueue_build(sections: list[str], site: str, tenant: str) -> None:
    """Have a worker build pages of some sections."""
    build.enqueue(sections=sections, site=site, tenant=tenant)


def backend_without_workers() -> str:
    """Return the name of a backend of ``TASKS`` without workers; empty if it has."""
    names = {kind.__name__ for kind in type(build.get_backend()).__mro__}
    return next(iter(names & {"ImmediateBackend", "DummyBackend"}), "")
