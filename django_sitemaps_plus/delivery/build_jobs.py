"""
Pages are built by the workers that a project has.

``build_sitemaps --enqueue`` enqueues some jobs. Each builds pages until none is left,
or its time is over: then one more job takes its place. Which pages are whose, the
claims in the ledger say, so a job may be lost, doubled or late.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Protocol, cast

from django.utils.module_loading import import_string

from django_sitemaps_plus.exceptions import NotReady
from django_sitemaps_plus.publishing.build import build
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import (
    SiteAddress,
    configured,
    current_site,
    working_for,
)

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds for which one job builds: less than any usual limit of a worker's tasks.
SECONDS = 240.0
#: Seconds after which a job tries again what another one is dividing into pages.
AGAIN = 1.0
#: What enqueues a job, by where to. Imported when needed: Celery may be missing.
ENQUEUE = {
    "celery": "django_sitemaps_plus.tasks.enqueue_build",
    "tasks": "django_sitemaps_plus.django_tasks.enqueue_build",
}


class _Enqueue(Protocol):
    def __call__(self, sections: list[str], site: str) -> None: ...


def enqueue(where: str, sections: Sequence[str], jobs: int) -> None:
    """
    Enqueue jobs that build sections of the current site: "celery" or "tasks".

    Raises whatever the broker or the backend of the tasks raises.
    """
    given = cast(_Enqueue, import_string(ENQUEUE[where]))
    for _ in range(jobs):
        given(list(sections), current_site())


def run(sections: Sequence[str], site: str) -> bool:
    """Build pages of some sections for a while; return whether there may be more."""
    end = time.monotonic() + SECONDS
    with working_for(site):
        address = configured()
        if address is None:
            logger.error("No page is built: the site's address is not known.")
            return False
        for name in sections:
            # A deploy may have brought another code since the job was enqueued.
            if name in registry.sources() and _build(name, address, end):
                return True
    return False


def _build(name: str, address: SiteAddress, end: float) -> bool:
    """Build a section's pages; return whether the time was over before its end."""
    while time.monotonic() < end:
        try:
            done = build(source(name), address, is_over=lambda: time.monotonic() >= end)
        except NotReady:
            time.sleep(AGAIN)
            continue
        except Exception:
            # items() may raise whatever it likes: the others are built.
            logger.exception("Section %r cannot be built.", name)
            return False
        logger.info("Section %r: %d pages built.", name, done.changed)
        for error in done.errors:
            logger.error("Section %r: %s", name, error)
        return done.is_cut_short
    return True
