"""A section: a registered sitemap, its key, and how it is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import SimpleNamespace
from typing import Any

from django.contrib.sitemaps import GenericSitemap as ContribGenericSitemap
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.signals import setting_changed
from django.db import DEFAULT_DB_ALIAS, router
from django.db.models import QuerySet
from django.utils import translation

from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.protocol.errors import excerpt
from django_sitemaps_plus.protocol.extensions import MEDIA
from django_sitemaps_plus.protocol.limits import MAX_ENTRIES, MAX_NEWS

from .attributes import declared_media, methods_of
from .classes import GenericSitemap, Sitemap, in_order, is_evaluated
from .keys import Key, KeyValue, key_of
from .news import NewsSitemap
from .registry import AnySitemap, instance, registry
from .site import PLACEHOLDER_SITE, Site, SiteAddress

#: What makes pages in contrib's classes, down to their scheme and host. The last one
#: is ignored where it says what counts anyway.
_HOOKS = ("get_urls", "_urls", "_items", "paginator", "get_protocol", "get_domain")
#: How many entries a page has where its class does not say: a change of one rewrites
#: them all. Where an address has several pages, it joins them while they are few.
_PAGE_ENTRIES = 10_000
#: Why it is by position where a filter looks at other rows.
BY_WINDOW = "items() filters by a window function"
WITH_WINDOW = "items() annotates a window function"
_OURS = (ContribSitemap, ContribGenericSitemap, Sitemap, GenericSitemap, NewsSitemap)


@dataclass(frozen=True)
class SectionSource:
    """A section's sitemap, and how it is read."""

    name: str
    sitemap: AnySitemap
    key: Key | None
    #: Why the section cannot be paged by key; empty if it can.
    by_position: str = ""
    #: Which of contrib's hooks the class overrides, so that it builds its own pages.
    hook: str = ""
    #: The database in which its rows are written, as far as one can see.
    database: str = DEFAULT_DB_ALIAS
    #: Whether it was given to a view, and is built for one request.
    is_live: bool = False
    #: What was registered, and for which of ``SITES``.
    registered: Any = field(default=None, compare=False)
    site: str = field(default="", compare=False)

    @property
    def paged_by(self) -> Key:
        """The key that divides it into pages; ``TypeError`` for one by position."""
        if self.key is None:
            raise TypeError(f"The section {self.name!r} is paged by position.")
        return self.key

    def rows(
        self, lower: KeyValue | None = None, upper: KeyValue | None = None
    ) -> QuerySet[Any]:
        """Return its rows from ``lower`` to before ``upper``; None means no bound."""
        items = items_of(self.sitemap)
        # Where they are written: a replica may not have received yet what was saved.
        rows: QuerySet[Any] = items.using(database_of(items))
        if lower is not None:
            rows = self.paged_by.where(rows, "gte", lower)
        if upper is not None:
            rows = self.paged_by.where(rows, "lt", upper)
        return rows

    def context(
        self, site: SiteAddress, language: str | None = None
    ) -> AbstractContextManager[None]:
        """
        Set the context in which entries are built: ``SiteAddress.rendering``.

        But for one request its own: its language, time zone, URLconf and script prefix.
        """
        if not self.is_live:
            return site.rendering(language)
        return translation.override(language) if language else nullcontext()

    @property
    def languages(self) -> tuple[str | None, ...]:
        """The languages in which it lists its items; None for no particular one."""
        return tuple(self.sitemap._languages()) if self.sitemap.i18n else (None,)

    @property
    def signature(self) -> str:
        """What its pages are divided by: boundaries found for another are void."""
        return "" if self.key is None else self.key.signature

    def items(self) -> Any:
        """Return all items, with the values of declared expressions; asked for once."""
        return self._items

    @cached_property
    def _items(self) -> Any:
        if isinstance(self.sitemap, Sitemap):
            return self.sitemap.annotated_items()
        return in_order(self.sitemap.items())

    @property
    def entries_per_item(self) -> int:
        """How many entries an item has at most: one, or one per language."""
        return max(1, len(self.languages))

    @property
    def object_path(self) -> str:
        """Why it is read object by object; empty on the row path."""
        return object_path_reason(self.sitemap)

    @property
    def is_news(self) -> bool:
        """Whether it lists what is listed elsewhere too, as long as it is news."""
        return isinstance(self.sitemap, NewsSitemap)

    @property
    def limit(self) -> int:
        """
        How many entries a page may have.

        Raises ``ConfigurationError`` for what is not a number, or less than 1.
        """
        most = self.most_in_one_file
        if self.key is None or overridden(self.sitemap, "limit"):
            return most
        return min(most, max(_PAGE_ENTRIES, self.entries_per_item))

    @property
    def most_in_one_file(self) -> int:
        """How many entries one file may have: those of one page, or of several."""
        try:
            given = int(self.sitemap.limit)
        except (TypeError, ValueError, OverflowError):
            given = 0
        if given < 1:
            raise ConfigurationError(
                f"{type(self.sitemap).__qualname__}.limit must be a whole number from "
                f"1 to {MAX_ENTRIES:,}, not {excerpt(self.sitemap.limit)}."
            )
        most = MAX_NEWS if getattr(self.sitemap, "news", None) else MAX_ENTRIES
        # The languages of an item stay together, however low the limit is.
        return max(self.entries_per_item, min(given, most))

    @property
    def items_per_page(self) -> int:
        """How many items fit on a page, in all their languages."""
        return max(1, self.limit // self.entries_per_item)

    def position_size(self, site: SiteAddress = PLACEHOLDER_SITE) -> tuple[int, int]:
        """Return how many items it has by position, and on how many pages."""
        with self.context(site):
            if self.hook:
                paginator = self.sitemap.paginator
                return int(paginator.count), int(paginator.num_pages)
            items = self.items()
            count = items.count() if isinstance(items, QuerySet) else len(items)
        return count, max(1, math.ceil(count / self.items_per_page))

    @property
    def position_pages(self) -> int:
        """How many pages it has by position."""
        return self.position_size()[1]

    @property
    def media(self) -> list[str]:
        """Which of images, videos and news the section declares, or may have."""
        if gives_entries(self.sitemap) or self.hook:
            return list(MEDIA)
        return list(declared_media(self.sitemap))


# Three ways to a section: ``source`` of a registered one, which is looked at once;
# ``source_of`` of any sitemap, looked at now; ``live_source`` of one given to a view.


def live_source(name: str, sitemap: AnySitemap) -> SectionSource:
    """Return a sitemap that was given to a view: by position, as contrib does."""
    hook = _overrides(sitemap)
    reason = f"it overrides {hook}" if hook else "it was given to a view"
    return SectionSource(name, sitemap, None, reason, hook=hook, is_live=True)


@PLACEHOLDER_SITE.rendering()
def source_of(name: str, sitemap: AnySitemap) -> SectionSource:
    """
    Return how the section ``name`` is read.

    Raises ``ConfigurationError`` if ``page_by`` cannot divide it into pages.
    """
    hook = _overrides(sitemap)
    if hook == "get_domain" and len({*hosts_of(sitemap)}) == 1:
        hook = ""
    # Asked once: items() may take many statements where it returns a list.
    items = None if hook else items_of(sitemap)
    reason, key = (f"it overrides {hook}", None) if hook else _paging(sitemap, items)
    database = database_of(items) if isinstance(items, QuerySet) else DEFAULT_DB_ALIAS
    return SectionSource(name, sitemap, key, reason, hook=hook, database=database)


def _paging(sitemap: AnySitemap, items: Any) -> tuple[str, Key | None]:
    if not isinstance(items, QuerySet):
        return f"items() returns {type(items).__name__}, not a queryset", None
    if is_evaluated(items):
        return "items() returns an evaluated queryset", None
    query = items.query
    if query.is_sliced:
        return "items() returns a sliced queryset", None
    if query.combinator:
        return f"items() returns a queryset combined by {query.combinator}()", None
    if query.where.contains_over_clause:
        # A page's range of keys would be inside of what the window looks at.
        return BY_WINDOW, None
    if any(one.contains_over_clause for one in query.annotations.values()):
        # A method that shows it would show the number within a page.
        return WITH_WINDOW, None
    if query.distinct_fields:
        return "items() returns a queryset with distinct() on some fields", None
    if items._fields is not None:  # type: ignore[attr-defined]  # no stub
        return "items() returns values, not model instances", None
    return "", key_of(items, getattr(sitemap, "page_by", "pk"))


def _overrides(sitemap: AnySitemap, names: Sequence[str] = _HOOKS) -> str:
    """Return which of contrib's own methods a class overrides; empty if it does not."""
    return next((name for name in names if overridden(sitemap, name)), "")


def hosts_of(sitemap: AnySitemap) -> tuple[str, str]:
    """
    Return the host that ``get_domain()`` says, and the one that counts: ``BASE_URL``'s.

    That is empty where only a request or the database knows it.
    """
    given = Site.current().unasked().base_url
    host = SiteAddress.parse(given).origin.host if given else ""
    return str(sitemap.get_domain(SimpleNamespace(domain=host, name=host))), host


def overridden(sitemap: AnySitemap, name: str) -> bool:
    """Return whether a class of the project's own defines ``name``."""
    definer = next(cls for cls in type(sitemap).__mro__ if name in vars(cls))
    return name in vars(sitemap) or definer not in _OURS


def items_of(sitemap: AnySitemap) -> Any:
    """Return what a section lists of its class's ``items()``."""
    if isinstance(sitemap, Sitemap):
        return sitemap.listed_items()
    return sitemap.items()


def gives_entries(sitemap: AnySitemap) -> bool:
    """Return whether a class returns the entries of an item itself."""
    return isinstance(sitemap, Sitemap) and overridden(sitemap, "get_urls_for_item")


def object_path_reason(sitemap: AnySitemap) -> str:
    """Return why ``sitemap`` is read object by object; empty on the row path."""
    if not isinstance(sitemap, Sitemap):
        return "its class is not a django_sitemaps_plus.Sitemap"
    if gives_entries(sitemap):
        return "it overrides get_urls_for_item()"
    if methods := methods_of(sitemap):
        return f"{methods[0]}() is a method"
    hooks = ["_get", "_location"]
    if sitemap.i18n:
        hooks.append("get_languages_for_item")
    hook = _overrides(sitemap, hooks)
    return f"it overrides {hook}()" if hook else ""


def database_of(items: Any) -> str:
    """Return the database in which the rows of a queryset are written."""
    return items._db or router.db_for_write(items.model)


def repeats(source: SectionSource) -> ConfigurationError:
    """Return the error for a section whose query returns a key more than once."""
    return ConfigurationError(
        f"Section {source.name!r}: rows come more than once, because items() or an "
        "expression joins a relation that has several rows for one item. In items(), "
        "filter with Exists() or add .distinct(); in an expression, use Subquery()."
    )


def source(name: str) -> SectionSource:
    """
    Return the section ``name``; ``KeyError`` if it is not registered.

    How it is paged is found out once, because only its ``items()`` can tell. What that
    raises is raised each time.
    """
    site = Site.current().name
    registered = registry.source(name, site)
    return replace(_paged(name, registered, site), sitemap=instance(registered))


@lru_cache(maxsize=1024)
def _paged(name: str, registered: Any, site: str) -> SectionSource:
    section = source_of(name, instance(registered))
    return replace(section, registered=registered, site=site)


# Look at the sections again after a test has overridden a setting.
setting_changed.connect(lambda **kwargs: _paged.cache_clear(), weak=False)
