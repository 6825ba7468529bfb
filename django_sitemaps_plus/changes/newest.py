"""What changed last: the newest event of each URL, by one query of an index."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import NamedTuple

from .models import UrlChange
from .queries import url_changes

#: How many events are read, beside thrice as many as URLs are wanted: the newest. A URL
#: that changes every second must not have each request read all that it did.
ROWS = 1_000


class Newest(NamedTuple):
    """The last that happened to a URL; ``UrlChange`` says what the columns are."""

    section: str
    kind: str
    location: str
    at: float
    lastmod: str
    title: str
    on_hold: bool


def newest(
    names: Collection[str], *, days: float, most: int, removed: bool = False
) -> list[Newest]:
    """
    Return the URLs of some sections to which something happened last, newest first.

    Within some days, and ``most`` at most; ``removed`` ones too if they are wanted.
    What is on hold is not known yet: such a URL is left out.
    """
    rows = url_changes().filter(at__gt=time.time() - days * 86_400)
    if len(names) == 1:
        rows = rows.filter(section__in=names)
    # Of several sections all are read, and those of others left out here: asked for
    # several, databases would read all rows of each and sort them.
    columns = rows.order_by("-at").values_list(*Newest._fields)[: ROWS + 3 * most]
    last: dict[str, Newest] = {}
    for item in map(Newest._make, columns):
        if item.section in names:
            last.setdefault(item.location, item)
    unwanted = () if removed else (UrlChange.Kind.REMOVED,)
    return [
        item for item in last.values() if not item.on_hold and item.kind not in unwanted
    ][:most]
