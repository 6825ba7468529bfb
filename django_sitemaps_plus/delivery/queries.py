"""Where submissions and the states of engines are read and written."""

from __future__ import annotations

from django.db import router
from django.db.models import QuerySet

from django_sitemaps_plus.sitemaps.site import current_site

from .models import (
    EngineState,
    EngineStateQuerySet,
    SitemapReport,
    Submission,
    SubmissionQuerySet,
)


def submissions() -> SubmissionQuerySet:
    """Return the site's submissions, in the database for writing."""
    return submissions_of_all_sites().filter(site=current_site())


def submissions_of_all_sites() -> SubmissionQuerySet:
    """Return the submissions of whichever site."""
    using = router.db_for_write(Submission)
    found: SubmissionQuerySet = Submission.objects.using(using).all()
    return found


def states() -> EngineStateQuerySet:
    """Return the states of the site's engines, in the database for writing."""
    using = router.db_for_write(EngineState)
    every: EngineStateQuerySet = EngineState.objects.using(using).all()
    return every.filter(site=current_site())


def reports() -> QuerySet[SitemapReport]:
    """Return what engines said of the site's sitemaps, in the database for writing."""
    using = router.db_for_write(SitemapReport)
    return SitemapReport.objects.using(using).filter(site=current_site())
