"""How each section stands: how it is paged and read, and what the ledger knows."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db.models import Count, Q, Sum

from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.pagination.queries import ordered, sections
from django_sitemaps_plus.sitemaps.sections import (
    SectionSource,
    object_path_reason,
    source,
)

from .by_position import position_pages

#: How many bad rows, and pages with an error, are told.
SHOWN = 5


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
    #: Whether the ledger has the bounds of all pages; None without its tables.
    filled: bool | None = None
    pages: int = 0
    #: Pages that were never made.
    unmade: int = 0
    entries: int = 0
    #: Rows left out, and the first of them: ``(key, reason)``.
    bad: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    #: Why the section, or pages of it, cannot be made.
    errors: list[str] = field(default_factory=list)
    #: The next thing to do; empty if there is none.
    next: str = ""


def state(name: str) -> SectionState:
    """
    Return how the section ``name`` stands.

    Raises what the database raises.
    """
    found = SectionState(name)
    try:
        section = source(name)
    except (ConfigurationError, TypeError) as error:
        found.errors.append(str(error))
        found.next = "correct the sitemap class"
        return found
    found.by_position = section.by_position
    found.object_path = object_path_reason(section.sitemap)
    if section.key is None:
        found.object_path = found.object_path or "it is paged by position"
    else:
        found.key = list(section.key.names)
        _read_ledger(section.name, section.key.signature, found)
    found.next = _next(section, found)
    return found


def _read_ledger(name: str, signature: str, found: SectionState) -> None:
    if not tables_exist(sections().db):
        return
    section = sections().filter(name=name, key=signature).first()
    found.filled = section is not None and section.filled
    if section is None:
        return
    rows = ordered(section)
    numbers = rows.order_by().aggregate(
        pages=Count("pk"),
        unmade=Count("pk", filter=Q(entries=None)),
        entries=Sum("entries"),
        bad=Sum("bad"),
    )
    found.pages, found.unmade = numbers["pages"], numbers["unmade"]
    found.entries, found.bad = numbers["entries"] or 0, numbers["bad"] or 0
    for problems in rows.filter(bad__gt=0).values_list("problems", flat=True)[:SHOWN]:
        found.problems += [(key, reason) for key, reason in problems]
    del found.problems[SHOWN:]
    found.errors += rows.exclude(error="").values_list("error", flat=True)[:SHOWN]


def _next(source: SectionSource, found: SectionState) -> str:
    """Return the first thing that can be made better; empty if nothing can."""
    name = source.name
    if source.key is None:
        if source.contrib_pages or position_pages(source) < 2:
            return ""
        return "let items() return a plain queryset, so that it is paged by key"
    if found.filled is None:
        return "run manage.py migrate sitemaps_plus"
    if found.errors:
        return f"correct the rows, then run manage.py build_sitemaps {name}"
    if not found.filled or found.unmade:
        return f"run manage.py build_sitemaps {name}"
    if found.bad:
        return f"correct the rows, then run manage.py build_sitemaps {name} --reconcile"
    if found.object_path:
        return f"run manage.py check_sitemaps --suggest {name}"
    return ""
