"""
Work for Celery: ``django_sitemaps_plus.work``, what else the background does, and
``django_sitemaps_plus.build``, a job of ``build_sitemaps --enqueue``.

Celery looks for modules of this name in all apps; so do others, who find nothing here
where Celery is not installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .delivery import background, build_jobs

_celery: Any
try:
    _celery = import_module("celery")
except ImportError:
    _celery = None

if _celery is not None:

    @_celery.shared_task(name="django_sitemaps_plus.work", ignore_result=True)  # type: ignore[untyped-decorator]
    def work(tenant: str | None = "", *, is_first: bool = True) -> None:
        """Rebuild the pages whose rows changed, and notify engines."""
        wait = background.work_as_task(tenant, is_first=is_first)
        if wait is not None:
            again = {"tenant": tenant, "is_first": False}
            work.apply_async(kwargs=again, countdown=wait)

    def enqueue(tenant: str | None) -> None:
        """Hand the work of a tenant, or of all of them (None), over to a worker."""
        work.delay(tenant)

    # What a killed worker had begun is done by the other jobs, or by another worker
    # once the broker gives the task out again.
    @_celery.shared_task(  # type: ignore[untyped-decorator]
        name="django_sitemaps_plus.build", ignore_result=True, acks_late=True
    )
    def build(sections: list[str], site: str, tenant: str = "") -> None:
        """Build pages of some sections for a while."""
        if build_jobs.run(sections, site, tenant):
            enqueue_build(sections, site, tenant)

    def enqueue_build(sections: list[str], site: str, tenant: str) -> None:
        """Have a worker build pages of some sections."""
        build.delay(sections, site, tenant)
