"""
How the items of a section are read: the row path and the object path.

The **row path** (see ``row_path``) is used when nothing that the class declares is a
Python method. The **object path** calls the methods with model instances, or with any
Python objects.

Both yield ``RowBatch`` objects, whose text ``serializer`` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from django.apps import apps
from django.conf import settings as django_settings
from django.db import Error as DatabaseError
from django.db import connections
from django.db.models import QuerySet
from django.utils import timezone

from django_sitemaps_plus.protocol.errors import excerpt
from django_sitemaps_plus.protocol.patterns import matcher
from django_sitemaps_plus.sitemaps.attributes import (
    MEDIA,
    OBJECTS_AT_ONCE,
    TAGS,
    declared_expressions,
    getter,
    has_expressions,
    is_method,
)
from django_sitemaps_plus.sitemaps.classes import Sitemap
from django_sitemaps_plus.sitemaps.compiled_routes import CompiledRoute
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.leaving_out import left_out, patterns_that_leave_out
from django_sitemaps_plus.sitemaps.news import NewsSitemap
from django_sitemaps_plus.sitemaps.registry import AnySitemap
from django_sitemaps_plus.sitemaps.routes import Route
from django_sitemaps_plus.sitemaps.sections import (
    SectionSource,
    database_of,
    gives_entries,
    items_of,
    object_path_reason,
    overridden,
    repeats,
    rows_between,
)
from django_sitemaps_plus.sitemaps.site import (
    SiteAddress,
    default_language,
    rendering_context,
)

from .bulk import Texts
from .columns import (
    Constant,
    FailedValue,
    GivenLocations,
    LastmodColumn,
    Locations,
    RowBatch,
    Tally,
    TextLocations,
    latest_believed,
)
from .related_rows import attach
from .row_path import RowPlan
from .serializer import Serializer, describe

#: Entries built at a time on the row path: as fast as more, in less memory.
BLOCK = 1_000


@dataclass(frozen=True)
class Reader:
    """
    Reads the items of one section for one site address, batch by batch.

    With ``raises`` the errors of the items' own methods are raised; else they are
    noted in the batch.
    """

    source: SectionSource
    site: SiteAddress
    tally: Tally = field(default_factory=Tally)
    raises: bool = False
    #: Whether patterns leave nothing out, to find out what they would.
    lists_all: bool = False

    @property
    def sitemap(self) -> AnySitemap:
        """The section's sitemap."""
        return self.source.sitemap

    def serializer(self) -> Serializer:
        """Return the serializer for this reader's batches."""
        sitemap = self.sitemap
        patterns = () if self.lists_all else patterns_that_leave_out(sitemap)
        x_default = None
        if sitemap.i18n and sitemap.alternates and sitemap.x_default:
            # Contrib's views look for LANGUAGE_CODE itself.
            is_live = self.source.is_live
            x_default = django_settings.LANGUAGE_CODE if is_live else default_language()
        return Serializer(
            origin=self.site.origin,
            zone=timezone.get_default_timezone(),
            folder=self.site.folder,
            latest=latest_believed().strftime("%Y-%m-%dT%H:%M:%S"),
            alternates=bool(sitemap.i18n and sitemap.alternates),
            x_default=x_default,
            leaves_out=matcher(patterns) if patterns else None,
            is_news=isinstance(sitemap, NewsSitemap),
            raises=self.raises,
        )

    def texts(self, batches: Iterable[RowBatch]) -> Iterator[tuple[RowBatch, Texts]]:
        """Yield each batch with the text of its items."""
        serializer = self.serializer()
        for batch in batches:
            yield batch, serializer.items(batch, self.tally)

    # By key

    def by_key(
        self, lower: KeyValue | None, upper: KeyValue | None, most: int
    ) -> Iterator[RowBatch]:
        """
        Yield the items from ``lower`` to before ``upper``.

        ``most`` is how many rows one query may return.
        """
        rows, key = self._keyed_rows()
        queryset = key.order(rows_between(rows, key, lower, upper))
        if object_path_reason(self.sitemap):
            queryset = queryset.annotate(**declared_expressions(self.sitemap))
            for items, labels in instances(self.source, queryset, key):
                yield from self.objects(items, labels)
        else:
            yield from self._rows(queryset, key, most)

    def _keyed_rows(self) -> tuple[QuerySet[Any], Key]:
        """Return the section's rows where they are written, and its key."""
        key = self.source.key
        if key is None:
            raise TypeError(f"the section {self.source.name!r} has no key")
        items = items_of(self.sitemap)
        # A replica may not have received yet what was saved.
        return items.using(database_of(items)), key

    def _rows(self, queryset: QuerySet[Any], key: Key, most: int) -> Iterator[RowBatch]:
        """The row path: queries on the raw cursor, until one returns too few rows."""
        connection = connections[queryset.db]
        routes = self.routes()
        languages = self.source.languages
        block = max(1, BLOCK // max(1, len(languages)))
        rest = queryset
        while True:
            plan = RowPlan.make(self.sitemap, rest[:most], key)
            read, last = 0, None
            with connection.cursor() as cursor:
                cursor.execute(*plan.statement)
                while rows := cursor.fetchmany(block):
                    batch = plan.batch(rows, languages, routes, self._attempt)
                    repeated = last == rows[0][: plan.key_width]
                    if repeated or len({*batch.labels}) < len(rows):
                        raise repeats(self.source)
                    read, last = read + len(rows), rows[-1][: plan.key_width]
                    yield batch
            if read < most or last is None:
                return
            rest = queryset.filter(key.after(plan.key(last), connection.vendor))

    def of_keys(
        self, keys: Sequence[KeyValue]
    ) -> Iterator[tuple[KeyValue, str | None]]:
        """Yield those of some keys that are listed, with their text; None if bad."""
        rows, key = self._keyed_rows()
        rows = rows.order_by().filter(key.among(keys))
        if object_path_reason(self.sitemap):
            objects = list(rows.annotate(**declared_expressions(self.sitemap)))
            read = [key.of(item) for item in objects]
            batches: Iterable[RowBatch] = self.objects(objects, read)
        else:
            plan = RowPlan.make(self.sitemap, rows, key)
            with connections[rows.db].cursor() as cursor:
                cursor.execute(*plan.statement)
                raw = cursor.fetchall()
            if not raw:
                return
            read = [plan.key(row[: plan.key_width]) for row in raw]
            languages, routes = self.source.languages, self.routes()
            batches = [plan.batch(raw, languages, routes, self._attempt)]
        texts = [text for _, some in self.texts(batches) for text in some.each()]
        yield from zip(read, texts, strict=True)

    def routes(self) -> dict[str | None, CompiledRoute]:
        """Compile the section's route in each of its languages."""
        location = getattr(self.sitemap, "location", None)
        if not isinstance(location, Route):
            return {}
        compiled = {}
        for language in self.source.languages:
            with rendering_context(self.site, language):
                compiled[language] = location.compile()
        return compiled

    # By position

    def by_position(self, page: int) -> Iterator[RowBatch]:
        """
        Yield the items of a page, counted from 1, by slicing.

        Raises Django's ``EmptyPage`` for a class that builds its own pages.
        """
        if self.source.contrib_pages:
            yield from self._contrib_page(page)
            return
        size = self.source.items_per_page
        window = iter(self.source.items()[(page - 1) * size : page * size])
        while chunk := list(islice(window, OBJECTS_AT_ONCE)):
            yield from self.objects(chunk, [_shown(item) for item in chunk])

    def _contrib_page(self, page: int) -> Iterator[RowBatch]:
        """Yield what ``get_urls()`` returns, for a class that overrides its hooks."""
        with self.source.context(self.site):
            infos = self.sitemap.get_urls(
                page=page,
                site=_site_of(self.site.origin.host),
                protocol=self.site.origin.scheme,
            )
        for info in infos:
            yield _contrib_batch(info)

    # Objects

    def objects(self, items: list[Any], labels: Sequence[Any]) -> Iterator[RowBatch]:
        """
        Yield batches of what the sitemap's methods return for ``items``.

        One batch, unless items have different languages: then one for each run
        of items that have the same.
        """
        faults: dict[int, str] = {}
        if isinstance(self.sitemap, Sitemap):
            with self.source.context(self.site):
                self.sitemap.prepare_items(items)
                attach(self.source, items, self._attempt, faults)
        hidden = self._left_out(items, faults)
        if gives_entries(self.sitemap):
            batch = self._given_batch(items, labels, faults)
            yield replace(batch, left_out=hidden)
            return
        for languages, start, stop in self._language_runs(items, faults):
            batch = self._object_batch(
                items[start:stop],
                labels[start:stop],
                languages,
                {index - start: faults[index] for index in faults if index >= start},
            )
            some = frozenset(i - start for i in hidden if start <= i < stop)
            yield replace(batch, left_out=some)

    def _left_out(self, items: list[Any], faults: dict[int, str]) -> frozenset[int]:
        """Return the items, by index, that their model says are not listed."""
        if self.source.is_live and not isinstance(self.sitemap, Sitemap):
            return frozenset()

        def attempt(ask: Callable[[Any], bool], given: Sequence[Any]) -> list[bool]:
            return self._attempt(ask, given, faults, default=True)

        return left_out(items, attempt)

    def _given_batch(
        self, items: list[Any], labels: Sequence[Any], faults: dict[int, str]
    ) -> RowBatch:
        """Return the entries that the class itself gives for each item."""

        def entries(item: Any) -> list[RowBatch]:
            given = self.sitemap.get_urls_for_item(item)
            return [_given_entry(info) for info in given]

        with self.source.context(self.site):
            given = self._attempt(entries, items, faults, default=[])
        return RowBatch(labels=labels, locations={}, entries=given, faults=faults)

    def _language_runs(
        self, items: list[Any], faults: dict[int, str]
    ) -> Iterator[tuple[tuple[str | None, ...], int, int]]:
        if not self.sitemap.i18n:
            yield (None,), 0, len(items)
            return
        languages = self._attempt(
            lambda item: tuple(self.sitemap.get_languages_for_item(item)),
            items,
            faults,
            default=(),
        )
        start = 0
        for index in range(1, len(items) + 1):
            if index == len(items) or languages[index] != languages[start]:
                yield languages[start], start, index
                start = index

    def _object_batch(
        self,
        items: list[Any],
        labels: Sequence[Any],
        languages: tuple[str | None, ...],
        faults: dict[int, str],
    ) -> RowBatch:
        """Call the sitemap's methods; the items for which one fails are noted."""

        def column(name: str, language: str | None) -> Sequence[Any]:
            get = self._getter(name, language)
            if isinstance(get, Constant):
                return replace(get, length=len(items))
            return self._attempt(get, items, None if name in TAGS else faults)

        locations: dict[str | None, Locations] = {}
        media: dict[str | None, dict[str, Sequence[Any]]] = {}
        for language in languages:
            with self.source.context(self.site, language):
                locations[language] = TextLocations(column("location", language))
                if self.source.media:
                    media[language] = {name: column(name, language) for name in MEDIA}
        first = next(iter(languages), None)
        with self.source.context(self.site):
            return RowBatch(
                labels=labels,
                locations=locations,
                lastmods=LastmodColumn(
                    column("lastmod", first), zone=timezone.get_default_timezone()
                ),
                changefreqs=column("changefreq", first),
                priorities=column("priority", first),
                media=media,
                faults=faults,
            )

    def _attempt(
        self,
        get: Callable[[Any], Any],
        items: Sequence[Any],
        faults: dict[int, str] | None,
        default: Any = None,
    ) -> list[Any]:
        """
        Return what ``get`` returns for each item; its errors go to ``faults``.

        Without ``faults`` they stand in place of the values.
        """
        values = []
        for index, item in enumerate(items):
            try:
                values.append(get(item))
            except DatabaseError:
                raise
            except Exception as error:
                if self.raises:
                    raise
                if faults is None:
                    values.append(FailedValue(describe(error)))
                    continue
                values.append(default)
                faults.setdefault(index, describe(error))
        return values

    def _getter(
        self, name: str, language: str | None
    ) -> Callable[[Any], Any] | Constant:
        """Return the function that gives an attribute of an item, the cheapest."""
        sitemap = self.sitemap
        if overridden(sitemap, "_get") or overridden(sitemap, "_location"):
            return _hooked(sitemap, name, language)
        value: Any = getattr(sitemap, name, None)
        if is_method(value):
            method: Callable[[Any], Any] = value
            return method
        if has_expressions(name, value):
            return getter(name, value)
        return Constant(value, 0)


@dataclass(frozen=True)
class _Site:
    """The part of a Site that contrib's ``get_urls()`` uses."""

    domain: str


def _site_of(host: str) -> Any:
    """Return the current Site under ``host``: django CMS asks for its key as well."""
    if not apps.is_installed("django.contrib.sites"):
        return _Site(host)
    model = apps.get_model("sites.Site")
    if not getattr(django_settings, "SITE_ID", None):
        return model.objects.filter(domain__iexact=host).first() or _Site(host)
    # A copy: Django caches the object for the whole process.
    site = copy(model.objects.get_current())
    site.domain = host
    return site


def _contrib_batch(info: Mapping[str, Any]) -> RowBatch:
    """Return one of contrib's dicts as a batch of one."""
    return RowBatch(
        labels=[_shown(info.get("item"))],
        locations={None: GivenLocations([info.get("location")])},
        lastmods=LastmodColumn(
            [info.get("lastmod")], zone=timezone.get_default_timezone()
        ),
        changefreqs=[info.get("changefreq")],
        priorities=[info.get("priority") or None],
        links=[
            (link["lang_code"], link["location"])
            for link in info.get("alternates") or ()
        ],
    )


def _given_entry(info: Mapping[str, Any]) -> RowBatch:
    """Return one of ``get_urls_for_item()``'s dicts as a batch of one."""
    return replace(
        _contrib_batch(info),
        locations={None: TextLocations([info.get("location")])},
        priorities=[info.get("priority")],
        media={None: {name: [info.get(name)] for name in MEDIA}},
    )


def _hooked(
    sitemap: AnySitemap, name: str, language: str | None
) -> Callable[[Any], Any]:
    """Return a getter through contrib's own hooks, which the class overrides."""

    def get(item: Any) -> Any:
        wrapped = (item, language) if sitemap.i18n else item
        if name == "location":
            return sitemap._location(wrapped)
        return sitemap._get(name, wrapped)

    return get


def instances(
    source: SectionSource, queryset: QuerySet[Any], key: Key
) -> Iterator[tuple[list[Any], list[Any]]]:
    """
    Yield the instances of ``queryset``, which is in the key's order, and their labels.

    A keyset query for every chunk: ``iterator()`` would copy the whole result into a
    cursor WITH HOLD on PostgreSQL. Raises ``ConfigurationError`` for rows that are
    returned more than once.
    """
    vendor = connections[queryset.db].vendor
    rest = queryset
    while items := list(rest[:OBJECTS_AT_ONCE]):
        labels = key.labels(items)
        if len(set(labels)) != len(labels):
            raise repeats(source)
        yield items, labels
        if len(items) < OBJECTS_AT_ONCE:
            return
        rest = queryset.filter(key.after(key.of(items[-1]), vendor))


def _shown(item: Any) -> str:
    primary_key = getattr(item, "pk", None)
    return excerpt(item) if primary_key is None else str(primary_key)
