"""
Which code is the newest, while old and new code run side by side.

In a deploy both know the same section by different definitions. The newest one's
counts: older code serves what is stored, and neither stores nor reports anything, or
both would rebuild each other's pages all the time. The newest is that of the process
that was started last. But a command may be started at any time, on a host that was not
updated yet: it never takes over from what servers use.

Old code records nothing for what it does not know: a section that is new or has another
name, a model that entries did not read before. So what was compared while it may have
run is compared once more.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias

from django.db.models import F, Q

from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.sections import SectionSource

from .models import Section
from .queries import sections

#: When this process was started.
STARTED = time.time()
#: Seconds after which a definition is not in use any more if no process said that it
#: is: else an old process that was started last would have the last word for ever. And
#: those after which older code has ended, because newer code was started.
IN_USE = 900.0
#: Seconds between two times that a process says so.
SAY_AGAIN = 60.0


class SectionColumns(NamedTuple):
    """What a section's row says of its pages: whether they are fresh, or divided."""

    digest: str
    digest_since: float
    digest_seen: float
    digest_served: float
    ticked_at: float
    next_number: int


#: What a section's row says of the newest definition: see ``Section``.
NewestCode: TypeAlias = Section | SectionColumns

_is_command = ContextVar("is_command", default=False)


@contextmanager
def as_command() -> Iterator[None]:
    """Work as a command does, which is not there to stay."""
    token = _is_command.set(True)
    try:
        yield
    finally:
        _is_command.reset(token)


def is_outdated(section: NewestCode, digest: str) -> bool:
    """Return whether newer code than this runs, by its definition of a section."""
    if section.digest in ("", digest) or section.digest_since == STARTED:
        return False
    if _is_command.get() and _is_recent(section.digest_served, IN_USE):
        return True
    return section.digest_since > STARTED and _is_recent(section.digest_seen, IN_USE)


def _is_recent(at: float, seconds: float) -> bool:
    # Also where the clock of whoever wrote it was ahead.
    return abs(time.time() - at) < seconds


def was_shared(section: NewestCode, digest: str, at: float, now: float) -> bool:
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


def note_definition(pk: int, section: NewestCode, digest: str) -> None:
    """Note in the row ``pk`` that code with a definition, which is the newest, runs."""
    now, is_command = time.time(), _is_command.get()
    row = sections().filter(pk=pk)
    if section.digest != digest:
        unchanged = Q(digest=section.digest, digest_since=section.digest_since)
        row.filter(unchanged).update(
            digest=digest,
            digest_since=STARTED,
            digest_seen=now,
            digest_served=0 if is_command else now,
        )
    elif is_command and not _is_recent(section.digest_seen, SAY_AGAIN):
        row.update(digest_seen=now)
    elif not is_command and not _is_recent(section.digest_served, SAY_AGAIN):
        row.update(digest_seen=now, digest_served=now)


def note_in_use(sources: Iterable[SectionSource]) -> None:
    """Note, as a server or worker, the definition that it has of each section."""
    digests, due = {one.name: definition(one).digest for one in sources}, []
    for row in sections().filter(name__in=list(digests)):
        digest = digests[row.name]
        if row.digest == digest:
            due += [] if _is_recent(row.digest_served, SAY_AGAIN) else [row.pk]
        elif row.digest and not is_outdated(row, digest):
            note_definition(row.pk, row, digest)
    if due:
        now, same = time.time(), Q(pk__in=due, digest__in=[*digests.values()])
        sections().filter(same).update(digest_seen=now, digest_served=now)
