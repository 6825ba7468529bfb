"""Images, videos and news of a batch: read as they were declared, and in bulk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

from django_sitemaps_plus.protocol.entries import Image
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.extensions import image_xml
from django_sitemaps_plus.protocol.limits import MAX_IMAGES
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK, plain, resolve
from django_sitemaps_plus.protocol.values import one
from django_sitemaps_plus.sitemaps.attributes import MEDIA

from .columns import Constant, Pieces, RowBatch, escape_joined

_NOTHING: Pieces = (("",), ())


def as_list(value: Any) -> Sequence[Any]:
    """Return what was declared for images, videos or news as a list of these."""
    if value is None or value == "":
        return []
    return value if isinstance(value, (list, tuple)) else [value]


def as_record(value: Any, name: str) -> Any:
    """Return what was declared for one image, video or article; None for none."""
    kind = MEDIA[name]
    if kind is Image:
        if not value or isinstance(value, Image):
            return value or None
        return Image(loc=str(getattr(value, "url", value)))
    if isinstance(value, Mapping):
        return kind(**value)
    return None if value is None else one(value, kind, name)


def bulk_images(batch: RowBatch) -> Pieces | None:
    """
    Return the images of all items; None if they are not certain, or there is more.

    Videos and news are written one by one.
    """
    if not batch.media:
        return _NOTHING
    media, *others = batch.media.values()
    if any(other is not media for other in others):
        return None
    for name in ("videos", "news"):
        column = media[name]
        if not isinstance(column, Constant) or column.value is not None:
            return None
    column = media["images"]
    if isinstance(column, Constant):
        return _NOTHING if column.value is None else None
    return _images(column)


def _images(column: Sequence[Any]) -> Pieces | None:
    """Return the fragment of each item, whose images are texts or lists of texts."""
    each: list[Sequence[Any]] = [
        value if type(value) is list else (value,) if value else () for value in column
    ]
    flat = list(chain.from_iterable(each))
    if not flat:
        return _NOTHING
    ends = list(accumulate(map(len, each)))
    try:
        joined = "\n".join(flat)
    except TypeError:
        return None
    if joined.count("\n") != len(flat) - 1 or max(map(len, each)) > MAX_IMAGES:
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
    first, last = image_xml(Image(f"{start}/"), ORIGIN_MARK).split("/<", 1)
    last = f"<{last}"
    between = f"{last}{first}"
    begins = [0, *ends]
    fragments = [
        f"{first}{between.join(texts[begin:end])}{last}" if end > begin else ""
        for begin, end in zip(begins, ends, strict=False)
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
