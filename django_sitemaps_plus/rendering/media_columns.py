"""Images, videos and news of a batch: read as they were declared, and in bulk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from itertools import accumulate, chain, pairwise
from typing import Any

from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.extensions import MEDIA, MediaKind, Place
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK, plain, resolve
from django_sitemaps_plus.protocol.values import one

from .columns import Constant, Pieces, RowBatch, escape_joined, lines_of

_NOTHING: Pieces = (("",), ())


def as_list(value: Any) -> Sequence[Any]:
    """Return what was declared for a kind of media as a list."""
    if value is None or value == "":
        return []
    return value if isinstance(value, (list, tuple)) else [value]


def as_record(value: Any, name: str) -> Any:
    """Return what was declared for one of a kind of media; None for none."""
    kind = MEDIA[name]
    if kind.is_address:
        if isinstance(value, Mapping):  # Google reads no title and no caption any more
            value = value.get("loc")
        if not value or isinstance(value, kind.record):
            return value or None
        return kind.record(loc=str(getattr(value, "url", value)))
    if isinstance(value, Mapping):
        return kind.record(**value)
    return None if value is None else one(value, kind.record, name)


def bulk_media(batch: RowBatch) -> list[Pieces] | None:
    """Return the media of all items; None unless all are addresses, and certain."""
    media, *others = batch.media.values() or [{}]
    if any(other is not media for other in others):
        return None
    found = []
    for name, column in media.items():
        pieces = _addresses(column, MEDIA[name])
        if pieces is None:
            return None
        found.append(pieces)
    return found


def _addresses(column: Sequence[Any], kind: MediaKind) -> Pieces | None:
    """Return the fragment of each item, whose media are texts or lists of texts."""
    if not kind.is_address or isinstance(column, Constant):
        return None
    each: list[Sequence[Any]] = [
        value if type(value) is list else (value,) if value else () for value in column
    ]
    flat = list(chain.from_iterable(each))
    if not flat:
        return _NOTHING
    joined = lines_of(flat)
    if joined is None or max(map(len, each)) > (kind.most or len(flat)):
        return None
    start = _common_origin(flat[0])
    if start:
        lines = f"\n{joined}"
        if lines.count(f"\n{start}/") != len(flat):
            return None
        joined = lines.replace(f"\n{start}/", "\n/")[1:]
    if not plain(joined):
        return None
    texts = escape_joined(joined).split("\n")
    example = kind.record(loc=f"{start}/")
    place = Place(ORIGIN_MARK, "", UTC)
    first, last = kind.write(example, place).split("/<", 1)
    last = f"<{last}"
    between = f"{last}{first}"
    fragments = [
        f"{first}{between.join(texts[begin:end])}{last}" if end > begin else ""
        for begin, end in pairwise(accumulate(map(len, each), initial=0))
    ]
    return ("", ""), [fragments]


def _common_origin(text: str) -> str:
    """Return scheme and host of a URL if they may stay as they are; "" for a path."""
    scheme, mark, rest = text.partition("://")
    origin = f"{scheme}{mark}{rest.partition('/')[0]}" if mark else ""
    try:
        return origin if origin and resolve(f"{origin}/", None) == f"{origin}/" else ""
    except LocationError:
        return ""
