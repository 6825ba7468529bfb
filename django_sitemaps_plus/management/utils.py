"""What the commands say alike: exit codes, trouble, how far they are."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import DatabaseError

from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.pagination.queries import pages
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import SiteAddress, configured

#: Exit codes, beside 0.
FAILED, MISUSED = 1, 2
#: Seconds between two lines of progress.
EVERY = 2.0


class Pace:
    """Tells when another line of progress is wanted: every other second."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def allows(self) -> bool:
        """Tell whether it is time; then it is not again for two seconds."""
        now = time.monotonic()
        if now - self._last < EVERY:
            return False
        self._last = now
        return True


@contextmanager
def sentences() -> Iterator[None]:
    """Turn what a project or its database does wrong into a ``CommandError``."""
    try:
        yield
    except SitemapsPlusError as error:
        raise CommandError(str(error), returncode=FAILED) from error
    except DatabaseError as error:
        text = f"The database failed: {error}"
        if not tables_exist(pages().db):
            text = (
                "The tables of django_sitemaps_plus are missing: run "
                "'manage.py migrate sitemaps_plus'."
            )
        raise CommandError(text, returncode=FAILED) from error


def site_place() -> SiteAddress:
    """Return where the site is; raises ``CommandError`` if nobody says it."""
    place = configured()
    if place is None:
        raise CommandError(
            "The site's address is not known outside of a request: set "
            "SITEMAPS_PLUS['BASE_URL'], for example 'https://www.example.com'.",
            returncode=MISUSED,
        )
    return place


def sections(names: Iterable[str]) -> list[str]:
    """Return the sections that are named; raises ``CommandError`` if one is not."""
    known, named = registry.sources(), list(names)
    for name in named:
        if name not in known:
            raise CommandError(
                f"There is no section {name!r}. Registered: "
                f"{', '.join(known) or 'none'}.",
                returncode=MISUSED,
            )
    return named


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number and what it counts: "1 page", "2 pages"."""
    return f"1 {one}" if number == 1 else f"{number:,} {many or one + 's'}"
