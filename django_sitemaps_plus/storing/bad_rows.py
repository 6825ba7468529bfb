"""Rows that are left out for a fault: refused, noted, logged, and known again."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

from django.db import DatabaseError

from django_sitemaps_plus.exceptions import describe
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import pages
from django_sitemaps_plus.protocol.errors import printable
from django_sitemaps_plus.rendering.columns import BadRow, Tally

logger = logging.getLogger("django_sitemaps_plus")

#: How many bad rows are stored for the report.
_SHOWN = 20


def note_error(page: Page, error: str, bad: Sequence[BadRow] = ()) -> None:
    """Log why a page could not be built, and write it down with the bad rows seen."""
    error = printable(error)
    logger.error(error)
    pages().write(
        page,
        error=error,
        failures=page.failures + 1,
        verified_at=time.time(),
        bad=len(bad),
        problems=shown(bad),
    )


def note_raised(page: Page, error: Exception) -> None:
    """Write down what a page's build raised; it is tried again at each request."""
    # Where the database fails, that is seen as well.
    with suppress(DatabaseError):
        pages().write(page, error=describe(error), verified_at=0)


def are_known(bad: Iterable[BadRow], pages: Iterable[Page]) -> bool:
    """Return whether what is stored of pages is without these rows, too."""
    # The rows that a failed attempt left out are not those of what is stored.
    stored = [page for page in pages if not page.error]
    known = {label for page in stored for label, _ in page.left_out[: page.bad]}
    return all(row.label in known for row in bad)


def shown(bad: Sequence[BadRow]) -> list[list[str]]:
    """Return the first bad rows as ``Page.problems`` has them."""
    return [[row.label, row.reason] for row in bad[:_SHOWN]]


def log_bad(name: str, tally: Tally) -> None:
    """Log the rows of a section that were left out, and those that lack a tag."""
    bad = tally.bad
    for row in bad[:_SHOWN]:
        logger.warning("Section %r, row %s left out: %s", name, row.label, row.reason)
    if len(bad) > _SHOWN:
        logger.warning("Section %r: %d more rows left out.", name, len(bad) - _SHOWN)
    for row in tally.omitted.values():
        logger.warning("Section %r, row %s: %s", name, row.label, row.reason)
