"""Where submissions and the states of engines are read and written."""

from __future__ import annotations

from django.db import router

from .models import (
    EngineState,
    EngineStateQuerySet,
    Submission,
    SubmissionQuerySet,
)


def submissions() -> SubmissionQuerySet:
    """Return the submissions, in the database for writing."""
    using = router.db_for_write(Submission)
    found: SubmissionQuerySet = Submission.objects.using(using).all()
    return found


def states() -> EngineStateQuerySet:
    """Return the engines' states, in the database for writing."""
    using = router.db_for_write(EngineState)
    found: EngineStateQuerySet = EngineState.objects.using(using).all()
    return found
