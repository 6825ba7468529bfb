"""Google's extensions of an entry, with the tags that it reads today, no others.

Plain values. They are checked where they are written (``extensions``), in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Image:
    """An image on the page.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
    """

    #: A path, or a URL of any host.
    loc: str


@dataclass(frozen=True, slots=True)
class Restriction:
    """The countries where a video may ("allow") or may not ("deny") be played."""

    relationship: str
    #: Codes of ISO 3166, such as ``("GB", "IE")``.
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Platform:
    """The platforms where a video may ("allow") or may not ("deny") be played."""

    relationship: str
    #: Of ``web``, ``mobile`` and ``tv``.
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Uploader:
    """Who uploaded a video, and a page about them on the host of the entry."""

    name: str
    info: str | None = None


@dataclass(frozen=True, slots=True)
class Video:
    """A video on the page; one of ``content_loc`` and ``player_loc`` is required.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
    """

    thumbnail_loc: str
    title: str
    description: str
    content_loc: str | None = None
    player_loc: str | None = None
    #: Seconds.
    duration: int | None = None
    expiration_date: date | datetime | str | None = None
    #: From 0 to 5.
    rating: float | Decimal | str | None = None
    view_count: int | None = None
    publication_date: date | datetime | str | None = None
    family_friendly: bool | None = None
    restriction: Restriction | None = None
    platform: Platform | None = None
    requires_subscription: bool | None = None
    uploader: Uploader | str | None = None
    live: bool | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class News:
    """A news article.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
    """

    #: The publication.
    name: str
    #: Of the publication: a code of ISO 639, or ``zh-cn`` or ``zh-tw``.
    language: str
    publication_date: date | datetime | str
    title: str
