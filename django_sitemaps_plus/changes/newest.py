"""What changed last: the newest event of each URL, by one query of an index."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet

from .models import UrlChange
from .queries import url_changes


class Newest(NamedTuple):
    """The last that happened to a URL; ``UrlChange`` says what the columns are."""

    section: str
    kind: str
    location: str
    at: float
    lastmod: str
    title: str


def newest(
    names: Collection[str], *, since: float, most: int, removed: bool = False
) -> list[Newest]:
    """
    Return the URLs of some sections to which something happened last, newest first.

    After ``since`` and ``most`` at most; ``removed`` ones too if they are wanted. What
    is on hold is not known yet: such a URL is left out.
    """
    own = _of_sections(names)
    later = own.filter(digest=OuterRef("digest"), at__gt=OuterRef("at"))
    rows = own.filter(~Exists(later), at__gt=since, on_hold=False)
    if not removed:
        rows = rows.exclude(kind=UrlChange.Kind.REMOVED)
    columns = rows.order_by("-at").values_list(*Newest._fields)
    found: dict[str, Newest] = {}
    for values in columns[:most]:
        # Two rows that list a URL may be reported at the same time.
        found.setdefault(values[2], Newest(*values))
    return list(found.values())


def _of_sections(names: Collection[str]) -> QuerySet[UrlChange]:
    """Return the rows of sections, to be read in the order of an index, and no sort."""
    if len(names) == 1:
        return url_changes().filter(section__in=names)
    # An index that begins with the section has the rows of each one apart: of several,
    # SQLite would read all and sort them. It does not use one for what is negated.
    return url_changes().filter(~Q(~Q(section__in=names)))
