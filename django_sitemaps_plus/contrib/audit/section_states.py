"""The state of sections, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django_sitemaps_plus.models import Page
from django_sitemaps_plus.pagination.queries import Sums
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.serving.index import why_unusable
from django_sitemaps_plus.sitemaps.sections import SectionSource, source

#: How many bad rows, and pages with an error, are shown.
_SHOWN = 5


@dataclass
class SectionState:
    """What is known of one section, and what to do next."""

    name: str
    #: The columns that divide it into pages; empty if it is paged by position.
    key: list[str] = field(default_factory=list)
    #: Why it is paged by position; empty if it is not.
    by_position: str = ""
    #: Why it is read object by object; empty on the row path.
    object_path: str = ""
    #: How it is read, in a sentence: which methods as columns, or why none is.
    read_as: str = ""
    #: Whether the ledger has the bounds of all pages; None without its tables.
    filled: bool | None = None
    pages: int = 0
    #: Pages that were never built.
    unbuilt: int = 0
    entries: int = 0
    #: Rows left out, and the first of them: ``(key, reason)``.
    bad: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    #: Pages whose stored bytes were missing or damaged within the last week.
    lost: int = 0
    #: Why the section, or pages of it, cannot be built.
    errors: list[str] = field(default_factory=list)
    #: The next thing to do; empty if there is none.
    next: str = ""


def section_states(
    names: Iterable[str], *, has_ledger: bool = True
) -> list[SectionState]:
    """
    Return how some registered sections stand.

    Without ``has_ledger`` no table is read. Raises what the database raises.
    """
    stored = Sums.stored() if has_ledger else None
    return [_state(name, stored) for name in names]


def _state(name: str, stored: Mapping[str, Sums] | None) -> SectionState:
    found = SectionState(name)
    if problem := why_unusable(name):
        found.errors.append(problem)
        found.next = "correct the sitemap class"
        return found
    section = source(name)
    found.by_position = section.by_position
    found.object_path = section.object_path
    if section.key is None:
        found.object_path = found.object_path or "it is paged by position"
    else:
        found.key = list(section.key.names)
        read_as = Reader(section).read_as
        found.object_path, found.read_as = read_as.why, str(read_as)
    if stored is not None:
        found.filled = False
        row = stored.get(name)
        if row is not None and row.key == section.signature:
            _add_stored(found, row)
    found.next = _next(section, found)
    return found


def _add_stored(found: SectionState, row: Sums) -> None:
    """Add what the ledger knows of a section."""
    found.filled, found.pages, found.unbuilt = row.filled, row.pages, row.unbuilt
    found.entries, found.bad, found.lost = row.entries, row.bad, row.lost
    rows = Page.objects.filter(section=row.pk).order_by("position")
    if row.bad:
        for page in rows.exclude(problems=[]).only("problems")[:_SHOWN]:
            found.problems += page.left_out
        del found.problems[_SHOWN:]
    if row.wrong:
        errors = rows.exclude(error="").values_list("error", flat=True)
        found.errors += errors[:_SHOWN]


def _next(source: SectionSource, found: SectionState) -> str:
    """Return the first thing that can be made better; empty if nothing can."""
    name = source.name
    faulty = "the rows" if found.bad else "the error"
    if source.key is None:
        # Where it should be paged by key, W009 says so.
        return ""
    if found.filled is None:
        return "run manage.py migrate"
    if found.errors:
        return f"correct {faulty}, then run manage.py build_sitemaps {name}"
    if not found.filled or found.unbuilt:
        return f"run manage.py build_sitemaps {name}"
    if found.bad:
        return f"correct the rows, then run manage.py build_sitemaps {name} --reconcile"
    return ""
