"""
What somebody asks to be told: some URLs, what happened since, or all that is listed.

Read bit by bit, so that memory does not grow with the site.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence

from . import definitions, indexes, stream
from .origin import Place
from .protocol.locations import local_path

#: Rows of the stream that are read at a time.
ROWS = 500


def given(urls: Iterable[str], place: Place) -> list[tuple[str, str]]:
    """
    Return URLs, or paths, of the site, each with its section, which is not known.

    Raises ``LocationError`` for what is on another host, or no URL.
    """
    return [(local_path(url, place.origin), "") for url in urls]


def since(moment: float, sections: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what happened to URLs since a time, as long as the stream is kept."""
    last = 0
    while True:
        rows = stream.url_changes().filter(pk__gt=last, at__gte=moment, held=False)
        if sections:
            rows = rows.filter(section__in=sections)
        some = list(rows.order_by("pk")[:ROWS])
        for row in some:
            yield row.location, row.section
            if row.former:
                yield row.former, row.section
        if not some:
            return
        last = some[-1].pk


def everything(sections: Iterable[str], place: Place) -> Iterator[tuple[str, str]]:
    """Yield all URLs that sections list."""
    for name in sections:
        source = definitions.source(name)
        for item in indexes.listed(name, [source], place).pages:
            document = indexes.page_document(source, item.number, place)
            for found in stream.listed(document.packed) if document else ():
                yield html.unescape(found.decode()), name
