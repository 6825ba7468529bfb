"""
Which code is the newest, while old and new code run side by side.

In a deploy both know the same section by different definitions. The newest one's
counts: older code serves what is stored, and neither stores nor reports anything, or
both would rebuild each other's pages all the time.

Old code records nothing for what it does not know: a section that is new or has another
name, a model that entries did not read before. So what was compared while it may have
run is compared once more.
"""

from __future__ import annotations

import time
from typing import Protocol

from django.db.models import F, Q

from .queries import sections

#: When this process was started.
STARTED = time.time()
#: Seconds after which a definition is not in use any more if no process said that it
#: is: else an old process that was started last would have the last word for ever. And
#: those after which older code has ended, because newer code was started.
IN_USE = 900.0
#: Seconds between two times that a process says so.
SAY_AGAIN = 60.0


class Newest(Protocol):
    """What a section's row says of the newest definition."""

    @property
    def digest(self) -> str:
        """The definition."""

    @property
    def digest_since(self) -> float:
        """Since when it is the newest."""

    @property
    def digest_seen(self) -> float:
        """When code that has it said so."""


def is_outdated(section: Newest, digest: str) -> bool:
    """Return whether newer code than this runs, by its definition of a section."""
    if section.digest in ("", digest) or section.digest_since <= STARTED:
        return False
    return time.time() - section.digest_seen < IN_USE


def was_shared(section: Newest, digest: str, at: float, now: float) -> bool:
    """
    Return whether older code may have run beside a definition, and has ended since.

    ``at`` is when a page of that definition was compared with its rows.
    """
    ended = section.digest_since + IN_USE
    return section.digest == digest and at < ended <= now


def shared(now: float) -> Q:
    """Return the condition of pages that were compared while that was so."""
    return Q(
        digest=F("section__digest"),
        verified_at__lt=F("section__digest_since") + IN_USE,
        section__digest_since__lte=now - IN_USE,
    )


def note_definition(pk: int, section: Newest, digest: str) -> None:
    """Note in the row ``pk`` that code with a definition, which is the newest, runs."""
    now = time.time()
    if section.digest == digest and now - section.digest_seen < SAY_AGAIN:
        return
    row = sections().filter(pk=pk)
    if section.digest == digest:
        row.update(digest_seen=now)
        return
    unchanged = Q(digest=section.digest, digest_since=section.digest_since)
    row.filter(unchanged).update(digest=digest, digest_since=STARTED, digest_seen=now)
