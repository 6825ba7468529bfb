"""
Does the suggested class list what the present one lists? Compared on every row.

Both are read by the code that reads pages, and the suggested class has the very lines
that are printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.core.exceptions import FieldError
from django.db import connections
from django.db.models import CharField, F, Value, functions

from django_sitemaps_plus.exceptions import RouteError
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.rendering.columns import Tally
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps.classes import Sitemap
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.registry import AnySitemap
from django_sitemaps_plus.sitemaps.routes import Route
from django_sitemaps_plus.sitemaps.sections import SectionSource, database_of, repeats
from django_sitemaps_plus.sitemaps.site import (
    PLACEHOLDER_SITE,
    SiteAddress,
    configured,
    rendering_context,
)

#: How many rows are compared at a time.
STEP = 500

_NAMES = vars(functions) | {"F": F, "Value": Value, "CharField": CharField}


def evaluated(code: str) -> Any:
    """Return what suggested code is."""
    names = {**_NAMES, "Route": Route, "Sitemap": Sitemap}
    return eval(code, names)  # noqa: S307 (this package wrote it)


def site_of(source: SectionSource) -> SiteAddress:
    """Return the address under which a section is compared."""
    site = configured() or PLACEHOLDER_SITE
    return site.with_scheme(source.sitemap.protocol)


def compared(
    source: SectionSource, lines: Mapping[str, str]
) -> Iterator[tuple[int, str]]:
    """
    Compare a section with what it would be with these lines, some rows at a time.

    Yields how many rows these are, and how the first differs; "" if none does.
    """
    if source.key is None:
        yield 0, f"all is paged by position: {source.by_position}"
        return
    old = Reader(source, site_of(source))
    new = replace(old, source=suggested(source, lines), tally=Tally())
    for keys in _keys(source, source.key):
        # Not across the yield: whoever asks for no more would be left in it.
        with rendering_context(old.site):
            key = _first_odd(old, new, keys)
            wrong = key and (
                f"row {', '.join(map(str, key))} is {_shown(old, key)} now, and with "
                f"{', '.join(lines.values())} it is {_shown(new, key)}"
            )
        yield len(keys), wrong or ""


def _first_odd(old: Reader, new: Reader, keys: list[KeyValue]) -> KeyValue | None:
    """Return the key of a row that differs; what changes meanwhile is read again."""
    for _ in range(3):
        before, after = _texts(old, keys), _texts(new, keys)
        keys = [key for key in keys if before.get(key) != after.get(key)]
    return keys[0] if keys else None


def suggested(source: SectionSource, lines: Mapping[str, str]) -> SectionSource:
    """Return a section as it would be with these lines in its class."""
    cls = type(source.sitemap)
    bases = (cls,) if issubclass(cls, Sitemap) else (cls, Sitemap)
    attributes = {name: evaluated(code) for name, code in lines.items()}
    sitemap: AnySitemap = object.__new__(type(cls.__name__, bases, attributes))
    sitemap.__dict__.update(vars(source.sitemap))
    languages = tuple(sitemap._languages()) if sitemap.i18n else (None,)
    return replace(source, sitemap=sitemap, languages=languages)


def _keys(source: SectionSource, key: Key) -> Iterator[list[KeyValue]]:
    """Yield the keys of all items, some at a time."""
    items = source.sitemap.items()
    rows = rest = key.order(items.using(database_of(items)))
    vendor = connections[rows.db].vendor
    while keys := list(rest.values_list(*key.names)[:STEP]):
        if len(set(keys)) < len(keys):
            raise repeats(source)
        yield keys
        rest = rows.filter(key.after(keys[-1], vendor))


def _texts(reader: Reader, keys: Sequence[KeyValue]) -> dict[KeyValue, str | None]:
    """Return the text of each row; None if it is bad."""
    reader.tally.bad.clear()
    try:
        return dict(reader.of_keys(keys)) if keys else {}
    except (RouteError, FieldError) as error:
        return dict.fromkeys(keys, str(error))


def _shown(reader: Reader, key: KeyValue) -> str:
    """Return what stands in the sitemap for one row, without tags."""
    text = _texts(reader, [key]).get(key)
    if text is None:
        return f"left out ({', '.join(row.reason for row in reader.tally.bad)})"
    words = re.sub("<[^>]*>", " ", text).replace(ORIGIN_MARK, "").split()
    return repr(" ".join(words))
