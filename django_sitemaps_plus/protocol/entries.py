"""Google's extensions of an entry, with the tags that it reads today, no others.

Plain values, or, where a class declares them, ORM expressions of each row's values.
They are checked where they are written (``extensions``), in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar, Protocol


class Expression(Protocol):
    """An ORM expression, in place of a value that each row has of its own."""

    def resolve_expression(self, *args: Any, **kwargs: Any) -> Any:
        """Return the expression as part of a query, as Django's own do."""


@dataclass(frozen=True, slots=True)
class Record:
    """What an entry has of one kind of media, or a part of that."""

    # The fields of which a row has one, if it has such a record at all.
    needs_one_of: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Image(Record):
    """An image on the page.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
    """

    #: A path, or a URL of any host.
    loc: str | Expression


@dataclass(frozen=True, slots=True)
class Restriction(Record):
    """The countries where a video may ("allow") or may not ("deny") be played."""

    relationship: str
    #: Codes of ISO 3166, such as ``("GB", "IE")``.
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Platform(Record):
    """The platforms where a video may ("allow") or may not ("deny") be played."""

    relationship: str
    #: Of ``web``, ``mobile`` and ``tv``.
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Uploader(Record):
    """Who uploaded a video, and a page about them on the host of the entry."""

    name: str | Expression
    info: str | Expression | None = None

    needs_one_of = ("name",)


@dataclass(frozen=True, slots=True)
class Video(Record):
    """A video on the page; one of ``content_loc`` and ``player_loc`` is required.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
    """

    thumbnail_loc: str | Expression
    title: str | Expression
    description: str | Expression
    content_loc: str | Expression | None = None
    player_loc: str | Expression | None = None
    #: Seconds.
    duration: int | Expression | None = None
    expiration_date: date | datetime | str | Expression | None = None
    #: From 0 to 5.
    rating: float | Decimal | str | Expression | None = None
    view_count: int | Expression | None = None
    publication_date: date | datetime | str | Expression | None = None
    family_friendly: bool | Expression | None = None
    restriction: Restriction | Expression | None = None
    platform: Platform | Expression | None = None
    requires_subscription: bool | Expression | None = None
    uploader: Uploader | str | Expression | None = None
    live: bool | Expression | None = None
    tags: tuple[str, ...] | Expression = ()

    needs_one_of = ("content_loc", "player_loc")


@dataclass(frozen=True, slots=True)
class News(Record):
    """A news article.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
    """

    #: The publication.
    name: str | Expression
    #: Of the publication: a code of ISO 639, or ``zh-cn`` or ``zh-tw``.
    language: str | Expression
    publication_date: date | datetime | str | Expression
    title: str | Expression

    needs_one_of = ("publication_date",)
