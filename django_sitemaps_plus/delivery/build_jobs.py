"""
Builds pages on the workers that a project has.

``build_sitemaps --enqueue`` enqueues some jobs. Each builds pages until none is left,
or its time is over: then one more job takes its place. Which pages are whose, the
claims in the ledger say, so a job may be lost, doubled or late.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.exceptions import NotReady
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress, working_for

from . import workers

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds for which one job builds: less than any usual limit of a worker's tasks.
_SECONDS = 240.0
#: Seconds after which a job tries again what another one is dividing into pages.
_AGAIN = 1.0


def enqueue_builds(where: str, sections: Sequence[str], jobs: int) -> None:
    """
    Enqueue jobs that build sections of the current site: "celery" or "tasks".

    Raises whatever the broker or the backend of the tasks raises.
    """
    enqueue_build = workers.function(where, "enqueue_build")
    for _ in range(jobs):
        enqueue_build(list(sections), Site.current().key, tenants.current_tenant_key())


def run(sections: Sequence[str], site: str, tenant: str) -> bool:
    """Build pages of some sections for a while; return whether there may be more."""
    end = time.monotonic() + _SECONDS
    with tenants.active(tenant), working_for(Site.from_key(site)):
        address = Site.current().address()
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
            time.sleep(_AGAIN)
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
