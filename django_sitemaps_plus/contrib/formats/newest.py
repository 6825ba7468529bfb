"""What changed last: the newest event of each URL, by one query of an index."""

from __future__ import annotations

import time
from collections.abc import Collection
from itertools import islice
from typing import Any, NamedTuple

from django_sitemaps_plus.models import UrlChange
from django_sitemaps_plus.protocol.locations import is_location

#: How many events are read, beside twice as many as URLs are wanted: the newest. A URL
#: that changes every second must not have each request read all that it did.
_ROWS = 1_000


class Newest(NamedTuple):
    """The last that happened to a URL; ``UrlChange`` says what the columns are."""

    section: str
    kind: str
    location: str
    at: float
    lastmod: str
    title: str
    queued_at: float | None


def newest(
    names: Collection[str], *, days: float, most: int, removed: bool = False
) -> list[Newest]:
    """
    Return the URLs of some sections to which something happened last, newest first.

    Within some days, and ``most`` at most; ``removed`` ones too if they are wanted.
    Of a URL that a page lists no longer it may not be known yet whether another does:
    it is left out until then.
    """
    rows = UrlChange.objects.on_site().filter(at__gt=time.time() - days * 86_400)
    if len(names) == 1:
        rows = rows.filter(section__in=names)
    # Of several sections all are read, and those of others left out here: asked for
    # several, databases would read all rows of each and sort them.
    columns = rows.order_by("-at").values_list(*Newest._fields)[: _ROWS + 2 * most]
    last: dict[str, tuple[Any, ...]] = {}
    for values in columns:
        if values[0] in names:
            last.setdefault(values[2], values)
    found = (Newest(*values) for values in last.values())
    gone = UrlChange.Kind.REMOVED
    wanted = (x for x in found if x.kind != gone or (removed and x.queued_at))
    return list(islice((x for x in wanted if is_location(x.location)), most))
