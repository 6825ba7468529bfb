"""Kinds of media: Google's images, videos, news, with the tags that it reads today."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import Any, Final

from .entries import Image, News, Platform, Restriction, Uploader, Video
from .errors import EntryError
from .limits import (
    MAX_IMAGES,
    MAX_VIDEO_DESCRIPTION,
    MAX_VIDEO_TAGS,
    MAX_VIDEO_TITLE,
    MAX_VIDEO_UPLOADER,
    VIDEO_DURATION,
    VIDEO_RATING,
)
from .locations import ORIGIN_MARK
from .markup import date_text, escaped_address, location_text, text_xml
from .values import decimal_text, matches, one, several

# http://www.google.com/schemas/sitemap-news/0.9/sitemap-news.xsd
_NEWS_LANGUAGE = re.compile(r"zh-cn|zh-tw|[a-z]{2,3}")
# http://www.google.com/schemas/sitemap-video/1.1/sitemap-video.xsd
_COUNTRY = re.compile(r"[A-Z]{2}")
_PLATFORM = re.compile(r"web|mobile|tv")
_COUNT: Final = 0, 2**63 - 1


def _raise(error: EntryError) -> None:
    raise error


@dataclass(frozen=True, slots=True)
class Place:
    """The entry that a record is written for, by its location.

    ``origin`` goes before a path: ``str(Origin)`` or ``ORIGIN_MARK``. ``zone`` is that
    of naive dates. ``omit`` is called with the error of a tag that the record can do
    without, which is then left out; by default it raises the error.
    """

    origin: str
    loc: str
    zone: tzinfo
    omit: Callable[[EntryError], object] = _raise


def image_xml(image: Image, place: Place) -> str:
    """Return ``<image:image>``; EntryError if its location is illegal."""
    loc = location_text(image.loc, place.origin, "images")
    return f"<image:image><image:loc>{escaped_address(loc)}</image:loc></image:image>"


def video_xml(video: Video, place: Place) -> str:
    """Return ``<video:video>``, its tags in the order of the schema.

    Its locations must differ from the entry's. Behind ``ORIGIN_MARK`` only paths can
    be compared, and an uploader's page given as an absolute URL is taken to be on the
    site.

    Raises:
        EntryError: A field is missing or illegal without which the video would be
            incomplete, or played where and by whom it must not be.
    """
    origin, loc, omit = place.origin, place.loc, place.omit
    page = f"{origin}{loc}" if loc.startswith("/") else loc

    def location(value: object, field: str) -> str:
        uri = location_text(value, origin, field)
        if uri == page and field != "videos.thumbnail_loc":
            raise EntryError.of(field, value, "is the loc of the entry")
        return escaped_address(uri)

    def day(value: Any, field: str) -> str:
        return date_text(value, place.zone, field)

    def optional(write: Callable[..., str], *given: object) -> str:
        try:
            return write(*given)
        except EntryError as error:
            omit(error)
            return ""

    def keywords(values: object) -> str:
        found = several(values, object, "videos.tags")
        if len(found) > MAX_VIDEO_TAGS:
            omit(EntryError(f"videos.tags: {len(found)}, over {MAX_VIDEO_TAGS}"))
        return "".join(optional(_keyword, text) for text in found[:MAX_VIDEO_TAGS])

    # One of the two is enough.
    has_both = video.content_loc is not None and video.player_loc is not None
    tag = partial(optional, _tag) if has_both else _tag
    places = tag("content_loc", video.content_loc, location)
    places += tag("player_loc", video.player_loc, location)
    if not places:
        raise EntryError("videos: neither content_loc nor player_loc")
    if video.thumbnail_loc is None:
        raise EntryError("videos.thumbnail_loc: missing")
    title = text_xml(video.title, "videos.title", MAX_VIDEO_TITLE)
    description = text_xml(
        video.description, "videos.description", MAX_VIDEO_DESCRIPTION
    )
    parts = [
        _tag("thumbnail_loc", video.thumbnail_loc, location),
        f"<video:title>{title}</video:title>",
        f"<video:description>{description}</video:description>",
        places,
        optional(_tag, "duration", video.duration, _duration),
        _tag("expiration_date", video.expiration_date, day),
        optional(_tag, "rating", video.rating, _rating),
        optional(_tag, "view_count", video.view_count, _whole),
        optional(_tag, "publication_date", video.publication_date, day),
        optional(keywords, video.tags),
        _tag("family_friendly", video.family_friendly, _yes_no),
        _relation("restriction", video.restriction, Restriction, _COUNTRY),
        _tag("requires_subscription", video.requires_subscription, _yes_no),
        optional(_uploader, video.uploader, origin),
        _relation("platform", video.platform, Platform, _PLATFORM),
        optional(_tag, "live", video.live, _yes_no),
    ]
    return f"<video:video>{''.join(parts)}</video:video>"


def is_news_language(code: object) -> bool:
    """Return whether news may have a code: of ISO 639, ``zh-cn`` or ``zh-tw``."""
    return matches(code, _NEWS_LANGUAGE)


def news_xml(news: News, place: Place) -> str:
    """Return ``<news:news>``; EntryError if a field is missing or illegal."""
    if not is_news_language(news.language):
        problem = "not a code of ISO 639, zh-cn or zh-tw"
        raise EntryError.of("news.language", news.language, problem)
    name = text_xml(news.name, "news.name")
    title = text_xml(news.title, "news.title")
    published: Any = news.publication_date
    day = date_text(published, place.zone, "news.publication_date")
    return (
        f"<news:news><news:publication><news:name>{name}</news:name>"
        f"<news:language>{news.language}</news:language></news:publication>"
        f"<news:publication_date>{day}</news:publication_date>"
        f"<news:title>{title}</news:title></news:news>"
    )


def _tag(tag: str, value: object, text: Callable[[Any, str], str]) -> str:
    """Return a video's tag with the text of a value; "" for None."""
    if value is None:
        return ""
    return f"<video:{tag}>{text(value, f'videos.{tag}')}</video:{tag}>"


def _whole(value: object, field: str, bounds: tuple[int, int] = _COUNT) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        raise EntryError.of(field, value, "not a whole number")
    low, high = bounds
    if not low <= value <= high:
        raise EntryError.of(field, value, f"not within {low} and {high}")
    return f"{int(value)}"


_duration = partial(_whole, bounds=VIDEO_DURATION)
_rating = partial(decimal_text, bounds=VIDEO_RATING)


def _yes_no(value: object, field: str) -> str:
    if not isinstance(value, bool):
        raise EntryError.of(field, value, "neither True nor False")
    return "yes" if value else "no"


def _relation(
    tag: str, value: object, kind: type[Restriction | Platform], legal: re.Pattern[str]
) -> str:
    """Return where a video may be played, or may not."""
    if value is None:
        return ""
    field = f"videos.{tag}"
    found = one(value, kind, field)
    if found.relationship not in ("allow", "deny"):
        raise EntryError.of(field, found.relationship, "neither allow nor deny")
    names = several(found.values, str, field)
    for name in names:
        if not matches(name, legal):
            raise EntryError.of(field, name, f"not {legal.pattern}")
    if not names:
        raise EntryError(f"{field}: no values")
    start = f'<video:{tag} relationship="{found.relationship}">'
    return f"{start}{' '.join(names)}</video:{tag}>"


def _keyword(value: object) -> str:
    tag = text_xml(one(value, str, "videos.tags"), "videos.tags")
    return f"<video:tag>{tag}</video:tag>"


def _uploader(value: object, origin: str) -> str:
    if value is None:
        return ""
    field = "videos.uploader"
    uploader = (
        Uploader(value) if isinstance(value, str) else one(value, Uploader, field)
    )
    name = text_xml(uploader.name, field, MAX_VIDEO_UPLOADER)
    if uploader.info is None:
        return f"<video:uploader>{name}</video:uploader>"
    info = location_text(uploader.info, origin, field)
    if origin != ORIGIN_MARK and _domain(info) != _domain(f"{origin}/"):
        raise EntryError.of(field, uploader.info, "not on the domain of the entry")
    return f'<video:uploader info="{escaped_address(info)}">{name}</video:uploader>'


def _domain(uri: str) -> str:
    return uri.split("/")[2].partition("?")[0]


@dataclass(frozen=True, slots=True)
class MediaKind:
    """What there is to know of a kind of media."""

    record: type[Any]
    #: Writes one of its records, or raises ``EntryError``.
    write: Callable[[Any, Place], str]
    #: The prefix of the tags, and their namespace.
    prefix: str
    namespace: str
    #: How many an entry may have.
    most: int | None = None
    #: Whether a record is a ``loc`` and no more. Then a text, or a file, stands for it,
    #: and they are read and written in bulk.
    is_address: bool = False

    def address(self, value: Any) -> Any:
        """Return the address that a record stands for; anything else as it is."""
        is_record = self.is_address and isinstance(value, self.record)
        return value.loc if is_record else value


_GOOGLE = "http://www.google.com/schemas/sitemap-"
#: The kinds of media, by the attribute of an entry that has them.
MEDIA = {
    "images": MediaKind(
        Image, image_xml, "image", f"{_GOOGLE}image/1.1", MAX_IMAGES, is_address=True
    ),
    "videos": MediaKind(Video, video_xml, "video", f"{_GOOGLE}video/1.1"),
    "news": MediaKind(News, news_xml, "news", f"{_GOOGLE}news/0.9", most=1),
}
