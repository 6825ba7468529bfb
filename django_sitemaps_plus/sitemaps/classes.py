"""
``Sitemap``: contrib's class, plus attributes that may be ORM expressions.

Each of ``location, lastmod, changefreq, priority, images, videos, news`` is a
constant, a method of the item, or an expression. Where none is a method, entries
are built straight from database rows (see ``rendering``).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib.sitemaps import GenericSitemap as ContribGenericSitemap
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.db.models import Model, QuerySet

from django_sitemaps_plus.exceptions import ConfigurationError

from .attributes import (
    OBJECTS_AT_ONCE,
    annotated,
    declared_expressions,
    declared_related,
    getter,
    has_expressions,
    methods_of,
    tags,
)
from .media import is_expression, settled
from .routes import Route

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # has defaults in every Python

    #: What a section lists: ``Sitemap[Article]``.
    ItemT = TypeVar("ItemT", default=Any)
    _Contrib = ContribSitemap
else:
    ItemT = None

    class _Contrib(ContribSitemap):
        """Contrib's class, which takes a type as it does in its stubs."""

        def __class_getitem__(cls, item: Any) -> type:
            return cls


#: When this process first imported this: before classes that inherit from it exist.
IMPORTED_AT = time.time()


class Sitemap(_Contrib[ItemT]):
    """
    A section of the site: its items, and how an item becomes an entry.

    ``Sitemap[Article]`` says of what type they are, to whoever checks types.
    ``items()`` (or ``model``) gives the items, ``location``, ``lastmod``,
    ``changefreq``, ``priority``, ``images``, ``videos`` and ``news`` the parts of
    an entry. What ``django.contrib.sitemaps.Sitemap`` has means the same here.
    """

    #: The model whose default manager gives the items; ``items()`` overrides it.
    model: ClassVar[type[Model] | None] = None

    #: What people call the section: a text, translated or not. ``/llms.txt`` lists the
    #: sections that have one.
    title: ClassVar[Any] = None
    #: What the section has, for ``/llms.txt``.
    section_description: ClassVar[str] = ""

    #: What people call an item: a text, a method of the item, or an expression. By
    #: default feeds show its URL.
    item_title: ClassVar[Any] = None

    #: The column that divides the section into pages: NOT NULL, unique, immutable.
    page_by: ClassVar[str] = "pk"

    #: Whether deleted objects are recorded. False keeps Django's fast delete, which
    #: sends no signals: they are found when their page is compared with its rows.
    record_deletes: ClassVar[bool] = True

    #: Whether methods that only return columns are read as these, and not called.
    read_columns: ClassVar[bool] = True

    #: When an item appears and when it expires, as ORM expressions, if ``items()``
    #: filters by the current time: once a minute both are looked up and recorded.
    appears: ClassVar[Any] = None
    expires: ClassVar[Any] = None

    def items(self) -> Any:
        """Return the items: a queryset, a list, or anything that can be sliced."""
        if self.model is None:
            return []
        return self.model._default_manager.all()

    def listed_items(self) -> Any:
        """Return the items that are listed: all, unless a class filters them too."""
        return self.items()

    def annotated_items(self) -> Any:
        """
        Return the items, each carrying the values of the declared expressions.

        A queryset is ordered: in its own order, or by primary key. Raises
        ``ConfigurationError`` if there are expressions, and items that they cannot
        be read with.
        """
        items = self.listed_items()
        expressions = declared_expressions(self)
        if not expressions and not declared_related(self):
            return in_order(items)
        if what := unqueryable(self, items):
            raise ConfigurationError(
                f"{type(self).__qualname__} declares ORM expressions, but items() "
                f"returns {what}. Return an unevaluated queryset, or use methods only."
            )
        return in_order(annotated(items, expressions, self))

    def get_latest_lastmod(self) -> Any:
        """
        Return the newest lastmod of all items, or None if it is not known.

        The database computes it of an expression, ignoring NULL, and of a method that
        returns a column. Another method is called for each item. An item without a
        date makes it unknown, as with contrib, but not all items are in memory at a
        time.
        """
        from .as_columns import newest_in  # it imports this

        lastmod: Any = getattr(self, "lastmod", None)
        if is_expression(lastmod):
            items = self.annotated_items()
        elif callable(lastmod):
            items = self.listed_items()
        else:
            return lastmod
        if newest := newest_in(self, lambda: items):
            return newest[0]
        if isinstance(items, QuerySet) and not is_evaluated(items):
            items = items.iterator(chunk_size=OBJECTS_AT_ONCE)
        try:
            return max((lastmod(item) for item in items), default=None)
        except TypeError:
            return None

    def prepare_items(self, items: Sequence[ItemT]) -> None:
        """
        Look up what the entries of some items need, for all of them at once.

        It is called on the object path, with some hundreds of items, before anything
        is asked of them, and does nothing unless you override it::

            def prepare_items(self, items):
                prefetch_related_objects(items, "pictures")
        """

    def get_urls_for_item(self, item: ItemT) -> Iterable[Mapping[str, Any]]:
        """
        Return the entries of an item: one, with what the class declares.

        Override it for items that have none or several, or alternates of their own.
        An entry is a dict with a ``location``, and, where there are any, ``lastmod``,
        ``changefreq``, ``priority``, ``images``, ``videos``, ``news`` and
        ``alternates``: a list of ``{"location": …, "lang_code": …}``, as contrib's
        ``get_urls()`` returns it. ``i18n`` has no effect then.
        """
        others = {name: self._get(name, item) for name in tags()}
        location = self._location(item)  # type: ignore[attr-defined]  # no stub
        return [{"location": location, **others}]

    def records(
        self, instance: Any, *, created: bool, update_fields: frozenset[str] | None
    ) -> bool:
        """
        Return whether a save of ``instance`` is recorded.

        Override it to decline a save that changes nothing listed, such as that of a
        view counter::

            def records(self, instance, *, created, update_fields):
                return created or set(update_fields or ()) != {"views"}

        The arguments are those of the ``post_save`` signal. What is declined although
        it did change an entry is found when its page is compared with its rows.
        """
        return True

    def _get(self, name: str, item: Any, default: Any = None) -> Any:
        """Look up an attribute of an item as contrib does, with expressions."""
        declared = getattr(self, name, default)
        if has_expressions(name, declared):
            own, language = item if self.i18n else (item, None)
            return getter(name, declared, language)(own)
        return super()._get(name, item, default)  # type: ignore[misc]  # no stub

    def _items(self) -> Any:
        """Contrib's items, or (item, language) pairs, carrying the expressions."""
        items = self.annotated_items()
        if not self.i18n:
            return items
        return [
            (item, language)
            for item in items
            for language in self.get_languages_for_item(item)
        ]


class GenericSitemap(
    ContribGenericSitemap,  # type: ignore[type-arg]  # in the stubs only
    Sitemap,
):
    """Contrib's ``GenericSitemap``: a queryset and the name of its date field."""


class StaticSitemap(Sitemap):
    """
    Pages without a model, by the names of their URLs or by their paths.

    ``names`` holds what a ``Route`` is given, or pairs of that and its arguments::

        class Pages(StaticSitemap):
            names = ["home", "/about/", ("page", {"slug": "imprint"})]
    """

    names: ClassVar[Sequence[str | tuple[str, Mapping[str, Any] | Iterable[Any]]]] = ()

    def items(self) -> Any:
        """Return the names."""
        return list(self.names)

    def location(self, item: Any) -> str:
        """Return the URL of the name or path, as a ``Route`` does."""
        item = settled(item)
        name, arguments = (item, ()) if isinstance(item, str) else item
        # "/#team" is listed as the page that it is a part of.
        name, mark, part = name.partition("#")
        if isinstance(arguments, Mapping):
            return Route(name)(**arguments) + mark + part
        return Route(name)(*arguments) + mark + part


def is_evaluated(items: Any) -> bool:
    """
    Return whether a queryset has been read.

    What was put into its objects is lost in every query that is made of it.
    """
    return isinstance(items, QuerySet) and items._result_cache is not None


def unqueryable(sitemap: ContribSitemap, items: Any) -> str:  # type: ignore[type-arg]  # in the stubs only
    """Return what items are, if expressions cannot be read with them; else ""."""
    if not isinstance(items, QuerySet):
        return type(items).__name__
    if items.query.combinator:
        return f"a queryset combined by {items.query.combinator}()"
    if items._fields is not None:  # type: ignore[attr-defined]  # no stub
        return "values, not model instances"
    # The expressions' query returns other objects than those that a method may need.
    if is_evaluated(items) and methods_of(sitemap):
        return "an evaluated queryset"
    return ""


def in_order(items: Any) -> Any:
    """
    Return a queryset in some order: without one, pages may repeat and miss rows.

    Anything else is returned as it is, as is a queryset that was evaluated or can no
    longer be ordered.
    """
    if not isinstance(items, QuerySet) or is_evaluated(items) or items.ordered:
        return items
    query = items.query
    if query.is_sliced or query.combinator or query.distinct_fields:
        return items
    # The primary key would divide groups and tell equal values apart.
    groups = items._fields if query.group_by or query.distinct else ()  # type: ignore[attr-defined]  # no stub
    return items.order_by(*(groups or ["pk"]))
