"""Rows that are left out for a fault: refused, noted, logged, and known again."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence

from django.db.models import F

from django_sitemaps_plus.exceptions import TooManyBadRows
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import pages
from django_sitemaps_plus.protocol.errors import printable
from django_sitemaps_plus.rendering.columns import BadRow

from .page_writer import PageWriter, allowed_bad, too_many

logger = logging.getLogger("django_sitemaps_plus")

#: How many bad rows are stored for the report.
SHOWN = 20


def refuse_bad(writer: PageWriter, page: Page) -> None:
    """Raise ``TooManyBadRows`` where something larger than a row is wrong."""
    bad = len(writer.bad)
    # To say that a page has no entries, where it has rows, would be a lie.
    if bad > allowed_bad(writer.items) or (bad and not writer.entries):
        problem = too_many(writer.bad, writer.items, str(page))
        raise TooManyBadRows(f"{problem} The page keeps its former bytes.")


def note_error(page: Page, error: str, bad: Sequence[BadRow] = ()) -> None:
    """Log why a page could not be built, and write it down with the bad rows seen."""
    error = printable(error)
    logger.error(error)
    pages().write(
        page,
        error=error,
        failures=F("failures") + 1,
        verified_at=time.time(),
        bad=len(bad),
        problems=shown(bad),
    )


def labels_of(bad: Iterable[BadRow]) -> frozenset[str]:
    """Return which rows were left out, as ``Page.problems`` names them."""
    return frozenset(row.label for row in bad)


def formerly_bad(pages: Iterable[Page]) -> frozenset[str]:
    """Return the rows that were left out of what is stored, as far as that is known."""
    # The rows that a failed attempt left out are not those of what is stored.
    known = [page for page in pages if not page.error]
    return frozenset(label for page in known for label, _ in page.problems[: page.bad])


def shown(bad: Sequence[BadRow]) -> list[list[str]]:
    """Return the first bad rows as ``Page.problems`` has them."""
    return [[row.label, row.reason] for row in bad[:SHOWN]]


def log_bad(name: str, bad: Sequence[BadRow], omitted: Sequence[BadRow] = ()) -> None:
    """Log the rows of a section that were left out, and those that lack a tag."""
    for row in bad[:SHOWN]:
        logger.warning("Section %r, row %s left out: %s", name, row.label, row.reason)
    if len(bad) > SHOWN:
        logger.warning("Section %r: %d more rows left out.", name, len(bad) - SHOWN)
    for row in omitted:
        logger.warning("Section %r, row %s: %s", name, row.label, row.reason)
