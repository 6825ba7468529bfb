"""Google's extensions: images, videos, news, with the tags that it reads today."""

from __future__ import annotations

import re
from datetime import date, datetime, tzinfo
from typing import Final

from .entries import Image, News, Platform, Restriction, Uploader, Video
from .errors import EntryError, excerpt
from .limits import (
    MAX_VIDEO_DESCRIPTION,
    MAX_VIDEO_DURATION,
    MAX_VIDEO_RATING,
    MAX_VIDEO_TAGS,
    MAX_VIDEO_TITLE,
    MAX_VIDEO_UPLOADER,
    MIN_VIDEO_DURATION,
    MIN_VIDEO_RATING,
)
from .locations import ORIGIN_MARK
from .markup import address, date_text, location_text, text_xml
from .values import matches, number, one, several

# http://www.google.com/schemas/sitemap-news/0.9/sitemap-news.xsd
_NEWS_LANGUAGE = re.compile(r"zh-cn|zh-tw|[a-z]{2,3}")
# http://www.google.com/schemas/sitemap-video/1.1/sitemap-video.xsd
_COUNTRY = re.compile(r"[A-Z]{2}")
_PLATFORM = re.compile(r"web|mobile|tv")
_MAX_COUNT: Final = 2**63 - 1


def image_xml(image: Image, origin: str) -> str:
    """Return ``<image:image>``; ``origin`` goes before a path.

    Here and below ``origin`` is ``str(Origin)`` or ``ORIGIN_MARK``.

    Raises:
        EntryError: The location is illegal.
    """
    loc = location_text(image.loc, origin, "images")
    return f"<image:image><image:loc>{address(loc)}</image:loc></image:image>"


def video_xml(video: Video, origin: str, loc: str, zone: tzinfo) -> str:
    """Return ``<video:video>``, its tags in the order of the schema.

    ``loc`` is the location of the entry: the video's own must differ from it. Behind
    ``ORIGIN_MARK`` only paths can be compared, and an uploader's page given as an
    absolute URL is taken to be on the site.

    Raises:
        EntryError: A field is missing or illegal.
    """
    page = f"{origin}{loc}" if loc.startswith("/") else loc
    content = _video_location(video.content_loc, origin, page, "content_loc")
    player = _video_location(video.player_loc, origin, page, "player_loc")
    if not content and not player:
        raise EntryError("videos: neither content_loc nor player_loc")
    parts = [
        _video_location(video.thumbnail_loc, origin, None, "thumbnail_loc")
        or _missing("videos.thumbnail_loc"),
        _video("title", text_xml(video.title, "videos.title", MAX_VIDEO_TITLE)),
        _video("description", _description(video.description)),
        content,
        player,
        _count(video.duration, "duration", MIN_VIDEO_DURATION, MAX_VIDEO_DURATION),
        _video_date(video.expiration_date, zone, "expiration_date"),
        _rating(video.rating),
        _count(video.view_count, "view_count", 0, _MAX_COUNT),
        _video_date(video.publication_date, zone, "publication_date"),
        _tags(video.tags),
        _yes_no(video.family_friendly, "family_friendly"),
        _restriction(video.restriction),
        _yes_no(video.requires_subscription, "requires_subscription"),
        _uploader(video.uploader, origin),
        _platform(video.platform),
        _yes_no(video.live, "live"),
    ]
    return f"<video:video>{''.join(parts)}</video:video>"


def news_xml(news: News, zone: tzinfo) -> str:
    """Return ``<news:news>``; EntryError if a field is missing or illegal."""
    if not matches(news.language, _NEWS_LANGUAGE):
        msg = (
            f"news.language {excerpt(news.language)}: not a code of ISO 639, zh-cn "
            "or zh-tw"
        )
        raise EntryError(msg)
    name = text_xml(news.name, "news.name")
    title = text_xml(news.title, "news.title")
    day = date_text(news.publication_date, zone, "news.publication_date")
    return (
        f"<news:news><news:publication><news:name>{name}</news:name>"
        f"<news:language>{news.language}</news:language></news:publication>"
        f"<news:publication_date>{day}</news:publication_date>"
        f"<news:title>{title}</news:title></news:news>"
    )


def _video(tag: str, content: str) -> str:
    return f"<video:{tag}>{content}</video:{tag}>"


def _description(value: object) -> str:
    return text_xml(value, "videos.description", MAX_VIDEO_DESCRIPTION)


def _video_location(location: object, origin: str, page: str | None, tag: str) -> str:
    if location is None:
        return ""
    uri = location_text(location, origin, f"videos.{tag}")
    if uri == page:
        raise EntryError(f"videos.{tag} {excerpt(location)}: is the loc of the entry")
    return _video(tag, address(uri))


def _count(value: object, tag: str, low: int, high: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, int) or isinstance(value, bool):
        raise EntryError(f"videos.{tag} {excerpt(value)}: not a whole number")
    if not low <= value <= high:
        msg = f"videos.{tag} {excerpt(value)}: not within {low} and {high}"
        raise EntryError(msg)
    return _video(tag, f"{int(value)}")


def _rating(value: object) -> str:
    if value is None:
        return ""
    text = number(value, "videos.rating", MIN_VIDEO_RATING, MAX_VIDEO_RATING)
    return _video("rating", text)


def _video_date(value: date | datetime | str | None, zone: tzinfo, tag: str) -> str:
    if value is None:
        return ""
    return _video(tag, date_text(value, zone, f"videos.{tag}"))


def _yes_no(value: object, tag: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, bool):
        raise EntryError(f"videos.{tag} {excerpt(value)}: neither True nor False")
    return _video(tag, "yes" if value else "no")


def _restriction(value: object) -> str:
    if value is None:
        return ""
    field = "restriction"
    return _relation(one(value, Restriction, f"videos.{field}"), field, _COUNTRY)


def _platform(value: object) -> str:
    if value is None:
        return ""
    field = "platform"
    return _relation(one(value, Platform, f"videos.{field}"), field, _PLATFORM)


def _relation(value: Restriction | Platform, tag: str, legal: re.Pattern[str]) -> str:
    if value.relationship not in ("allow", "deny"):
        msg = f"videos.{tag} {excerpt(value.relationship)}: neither allow nor deny"
        raise EntryError(msg)
    names = several(value.values, str, f"videos.{tag}")
    for name in names:
        if not matches(name, legal):
            raise EntryError(f"videos.{tag} {excerpt(name)}: not {legal.pattern}")
    if not names:
        raise EntryError(f"videos.{tag}: no values")
    start = f'<video:{tag} relationship="{value.relationship}">'
    return f"{start}{' '.join(names)}</video:{tag}>"


def _uploader(value: object, origin: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        value = Uploader(value)
    uploader = one(value, Uploader, "videos.uploader")
    name = text_xml(uploader.name, "videos.uploader", MAX_VIDEO_UPLOADER)
    if uploader.info is None:
        return _video("uploader", name)
    info = location_text(uploader.info, origin, "videos.uploader")
    if origin != ORIGIN_MARK and _domain(info) != _domain(f"{origin}/"):
        msg = (
            f"videos.uploader {excerpt(uploader.info)}: not on the domain of the entry"
        )
        raise EntryError(msg)
    return f'<video:uploader info="{address(info)}">{name}</video:uploader>'


def _domain(uri: str) -> str:
    return uri.split("/")[2].partition("?")[0]


def _tags(tags: tuple[str, ...]) -> str:
    names = several(tags, str, "videos.tags", MAX_VIDEO_TAGS)
    return "".join(_video("tag", text_xml(name, "videos.tags")) for name in names)


def _missing(field: str) -> str:
    raise EntryError(f"{field}: missing")
