"""News: the articles of the last two days, which leave when they are older."""

from __future__ import annotations

import datetime as dt
from typing import Any, ClassVar

from django.conf import settings as django_settings
from django.db.models import DateField, DateTimeField, F
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.protocol.entries import News
from django_sitemaps_plus.protocol.limits import NEWS_DAYS

from .classes import ItemT, Sitemap, unqueryable
from .media import is_expression
from .registry import instance, registry

#: How long an article is news.
_NEWS_AGE = dt.timedelta(days=NEWS_DAYS)

_MOMENT = "sitemaps_plus_publication_date"
#: Languages of which the code of ISO 639 is not what news sitemaps want.
_CHINESE = {"zh-hans": "zh-cn", "zh-hant": "zh-tw", "zh-cn": "zh-cn", "zh-tw": "zh-tw"}


class NewsSitemap(Sitemap[ItemT]):
    """
    The articles of ``items()`` that were published in the last two days.

    They are filtered by the database, at most 1,000 to a page, and leave the sitemap
    when they are too old, though nobody saves them. All attributes are expressions or
    constants::

        @register(name="news")
        class StoryNewsSitemap(NewsSitemap):
            model = Story
            publication_date = F("published")
    """

    #: When an article was published: the column of a date or a datetime.
    publication_date: ClassVar[Any] = None
    #: The title of an article: an expression, or a constant.
    item_title: ClassVar[Any] = F("title")
    #: The name of the publication; by default that of ``PUBLICATION_NAME``.
    publication_name: ClassVar[Any] = None
    #: Its language; by default ``PUBLICATION_LANGUAGE``, or that of ``LANGUAGE_CODE``.
    publication_language: ClassVar[Any] = None

    @property
    def news(self) -> News:
        """What an entry says of its article."""
        settings = get_settings()
        name: Any = self.publication_name or settings.PUBLICATION_NAME
        return News(
            name=name,
            language=self.publication_language
            or settings.PUBLICATION_LANGUAGE
            or language_of(django_settings.LANGUAGE_CODE),
            publication_date=self.publication_date,
            title=self.item_title,
        )

    @property
    def appears(self) -> Any:
        """When an article appears: once it is published."""
        return self.publication_date

    @property
    def expires(self) -> Any:
        """When an article is no news any more."""
        if not is_expression(self.publication_date):
            return None
        return self.publication_date + _NEWS_AGE

    def listed_items(self) -> Any:
        """
        Return the items that are news now.

        Raises ``ConfigurationError`` where the database cannot be asked that.
        """
        items = self.items()
        what = unqueryable(self, items)
        if what or not is_expression(self.publication_date):
            raise ConfigurationError(
                f"{type(self).__qualname__} cannot select recent items in the "
                f"database: publication_date is {self.publication_date!r}, and items() "
                f"returns {what or type(items).__name__}."
            )
        # all(): one that was evaluated is queried anew.
        dated = items.all().alias(**{_MOMENT: self.publication_date})
        column = dated.query.annotations[_MOMENT].output_field
        now = timezone.now()
        since: dt.date = now - _NEWS_AGE
        until: dt.date = now
        if isinstance(column, DateField) and not isinstance(column, DateTimeField):
            since, until = day_of(now - _NEWS_AGE), day_of(now)
        return dated.filter(**{f"{_MOMENT}__gt": since, f"{_MOMENT}__lte": until})


def separate_news() -> list[str]:
    """
    Return the sections of news, which are sitemaps of their own beside the site's.

    None where there are no other sections. A class that cannot be created is not known.
    """
    sources = registry.sources()
    names = [name for name, given in sources.items() if _is_news(given)]
    return names if len(names) < len(sources) else []


def _is_news(given: Any) -> bool:
    if isinstance(given, type):
        return issubclass(given, NewsSitemap)
    try:
        return isinstance(instance(given), NewsSitemap)
    except Exception:  # a factory may raise whatever it likes
        return False


def day_of(moment: dt.datetime) -> dt.date:
    """Return the day of a moment in the project's time zone."""
    if timezone.is_naive(moment):
        return moment.date()
    return timezone.localdate(moment, timezone.get_default_timezone())


def language_of(code: str) -> str:
    """Return a language as news sitemaps have it: "en" for "en-us"."""
    lower = code.lower()
    found = (_CHINESE[start] for start in _CHINESE if lower.startswith(start))
    return next(found, lower.partition("-")[0])
