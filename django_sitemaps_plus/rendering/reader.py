"""
How the items of a section are read: the row path and the object path.

The **row path** (see ``row_path``) is used when nothing that the class declares is a
Python method, or only such as are read as columns (``as_columns``). The **object path**
calls the methods with model instances, or with any Python objects.

Both yield ``RowBatch`` objects, whose text ``serializer`` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any, ClassVar

from django.apps import apps
from django.conf import settings as django_settings
from django.db import Error as DatabaseError
from django.db import connections
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.functional import Promise

from django_sitemaps_plus.db import parts
from django_sitemaps_plus.exceptions import describe
from django_sitemaps_plus.protocol.errors import excerpt
from django_sitemaps_plus.protocol.extensions import MEDIA
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.sitemaps.as_columns import AsColumns, as_columns
from django_sitemaps_plus.sitemaps.attributes import (
    OBJECTS_AT_ONCE,
    TITLE,
    annotated,
    declared_expressions,
    getter,
    has_expressions,
    is_method,
    tags,
)
from django_sitemaps_plus.sitemaps.classes import Sitemap
from django_sitemaps_plus.sitemaps.compiled_routes import CompiledRoute
from django_sitemaps_plus.sitemaps.keys import KeyValue
from django_sitemaps_plus.sitemaps.media import settled
from django_sitemaps_plus.sitemaps.registry import AnySitemap
from django_sitemaps_plus.sitemaps.routes import Route
from django_sitemaps_plus.sitemaps.sections import (
    SectionSource,
    gives_entries,
    items_of,
    overridden,
    repeats,
)
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, Site, SiteAddress

from .bulk import Texts
from .columns import (
    OMITTED,
    Constant,
    FailedValue,
    GivenLocations,
    LastmodColumn,
    Locations,
    Media,
    RowBatch,
    Tally,
    TextLocations,
    latest_believed,
)
from .digest import definition
from .listing import lastmods_of, listing_of, location_of
from .related_rows import attach
from .row_path import Routes, RowPlan
from .serializer import Serializer

#: Entries built at a time on the row path: as fast as more, in less memory.
BLOCK = 1_000


@dataclass(frozen=True)
class Reader:
    """
    Reads the items of one section for one site address, batch by batch.

    With ``raises`` the errors of the items' own methods are raised; else they are
    noted in the batch.
    """

    #: How the reason begins of a row that is listed, without a tag.
    OMITTED: ClassVar = OMITTED

    source: SectionSource
    site: SiteAddress = PLACEHOLDER_SITE
    tally: Tally = field(default_factory=Tally)
    raises: bool = False
    #: Whether the titles of items are read, too.
    with_titles: bool = False

    @property
    def sitemap(self) -> AnySitemap:
        """The section's sitemap."""
        return self.source.sitemap

    @property
    def definition(self) -> str:
        """The digest of what the bytes depend on besides the rows."""
        return definition(self.source).digest

    @cached_property
    def read_as(self) -> AsColumns:
        """How the section's methods are read; asked only where rows are read."""
        is_keyed = self.source.key is not None
        rows = partial(items_of, self.sitemap) if is_keyed else self.source.items
        return as_columns(
            self.sitemap, rows, lambda route: [*self._compiled(route).values()]
        )

    def serializer(self) -> Serializer:
        """Return the serializer for this reader's batches."""
        sitemap = self.sitemap
        x_default = None
        if sitemap.i18n and sitemap.alternates and sitemap.x_default:
            # Contrib's views look for LANGUAGE_CODE itself.
            x_default = Site.current().default_language
            if self.source.is_live:
                x_default = django_settings.LANGUAGE_CODE
        return Serializer(
            origin=self.site.origin,
            zone=timezone.get_default_timezone(),
            folder=self.site.folder,
            latest=latest_believed().strftime("%Y-%m-%dT%H:%M:%S"),
            alternates=bool(sitemap.i18n and sitemap.alternates),
            x_default=x_default,
            is_news=self.source.is_news,
            raises=self.raises,
        )

    def texts(self, batches: Iterable[RowBatch]) -> Iterator[tuple[RowBatch, Texts]]:
        """Yield each batch with the text of its items."""
        serializer = self.serializer()
        for batch in batches:
            yield batch, serializer.items(batch, self.tally)

    def lastmods(
        self, batches: Iterable[RowBatch]
    ) -> Iterator[tuple[Any, dict[str, str]]]:
        """Yield what each item is called, and the lastmods of its URLs."""
        for batch, texts in self.texts(batches):
            for label, text in zip(batch.labels, texts.each(), strict=True):
                body = (text or "").replace(ORIGIN_MARK, str(self.site.origin))
                yield label, lastmods_of(body.encode())

    # By key

    def by_key(
        self, lower: KeyValue | None, upper: KeyValue | None, most: int
    ) -> Iterator[RowBatch]:
        """
        Yield the items from ``lower`` to before ``upper``.

        ``most`` is how many rows one query may return. Raises ``ConfigurationError``
        for rows that are returned more than once.
        """
        key = self.source.paged_by
        queryset = key.order(self.source.rows(lower, upper))
        if not self._needs_objects():
            yield from self._rows(queryset, most)
            return
        rest = queryset = self.annotated(queryset)
        # A keyset query for every chunk: ``iterator()`` would copy the whole result
        # into a cursor WITH HOLD on PostgreSQL.
        while items := list(rest[:OBJECTS_AT_ONCE]):
            labels = key.labels(items)
            if len(set(labels)) != len(labels):
                raise repeats(self.source)
            yield from self.objects(items, labels)
            if len(items) < OBJECTS_AT_ONCE:
                return
            rest = key.where(queryset, "gt", key.of(items[-1]))

    def _needs_objects(self) -> bool:
        """Return whether what is wanted of an item takes a method."""
        title = getattr(self.sitemap, "item_title", None)
        is_called = self.with_titles and is_method(title)
        return is_called or self.read_as.sitemap is None

    def annotated(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return rows with the values of the expressions that are wanted."""
        wanted = declared_expressions(self.sitemap, titles=self.with_titles)
        return annotated(rows, wanted, self.sitemap)

    def _rows(self, queryset: QuerySet[Any], most: int) -> Iterator[RowBatch]:
        """The row path: queries on the raw cursor, until one returns too few rows."""
        rest = queryset
        while True:
            plan = self._plan(rest[:most])
            read, last = 0, None
            for batch in self._batches(plan):
                labels = batch.labels
                if last == labels[0] or len({*labels}) < len(labels):
                    raise repeats(self.source)
                read, last = read + len(labels), labels[-1]
                yield batch
            if read < most or last is None:
                return
            rest = plan.divided_by.where(queryset, "gt", plan.key(last))

    def _batches(self, plan: RowPlan) -> Iterator[RowBatch]:
        """Yield what the statement of a plan returns, some rows at a time."""
        block = max(1, BLOCK // self.source.entries_per_item)
        with connections[plan.using].cursor() as cursor:
            cursor.execute(*plan.statement)
            while rows := cursor.fetchmany(block):
                yield plan.batch(rows, self.routes, self._attempt)

    def of_keys(
        self, keys: Sequence[KeyValue]
    ) -> Iterator[tuple[KeyValue, str | None]]:
        """Yield those of some keys that are listed, with their text; None if bad."""
        key, read = self.source.paged_by, list[KeyValue]()
        rows = QuerySet.order_by(self.source.rows()).filter(key.among(keys))
        batches = list[RowBatch]()
        if self._needs_objects():
            objects = list(self.annotated(rows))
            read += map(key.of, objects)
            batches += self.objects(objects, read)
        else:
            plan = self._plan(rows)
            batches += self._batches(plan)
            read += [plan.key(label) for batch in batches for label in batch.labels]
        texts = [text for _, some in self.texts(batches) for text in some.each()]
        yield from zip(read, texts, strict=True)

    def entries_by_key(
        self, texts: Iterable[str]
    ) -> Mapping[str, Sequence[tuple[str, bytes]]]:
        """
        Return the entries of rows now, by the texts of keys: location and rest of each.

        The section is paged by key. Rows that it does not list, and bad ones, are
        missing.
        """
        key = self.source.paged_by
        given = (one for text in sorted(texts) if (one := key.read(text)) is not None)
        found: dict[str, Sequence[tuple[str, bytes]]] = {}
        with self.site.rendering():
            for some in parts(given):
                for value, text in self.of_keys(some):
                    if text is not None:
                        found[key.dumps(value)] = [
                            (location_of(item, ORIGIN_MARK), rest)
                            for item, rest in listing_of(text.encode()).items()
                        ]
        return found

    def _plan(self, rows: QuerySet[Any]) -> RowPlan:
        sitemap, key = self.read_as.sitemap, self.source.key
        return RowPlan(sitemap, rows, key, with_titles=self.with_titles)

    @cached_property
    def routes(self) -> Routes:
        """The section's route, compiled in each of its languages."""
        location = getattr(self.read_as.sitemap, "location", None)
        if isinstance(location, Route):
            return self._compiled(location)
        return dict.fromkeys(self.source.languages)

    def _compiled(self, route: Route) -> dict[str | None, CompiledRoute]:
        compiled = {}
        for language in self.source.languages:
            with self.source.context(self.site, language):
                compiled[language] = route.compile()
        return compiled

    # By position

    def by_position(self, page: int) -> Iterator[RowBatch]:
        """
        Yield the items of a page, counted from 1, by slicing.

        Raises Django's ``EmptyPage`` for a class that builds its own pages.
        """
        if self.source.hook:
            origin = self.site.origin
            with self.source.context(self.site):
                site, scheme = _site_of(origin.host), origin.scheme
                infos = self.sitemap.get_urls(page=page, site=site, protocol=scheme)
                given = [_contrib_batch(settled(info)) for info in infos]
            yield from given
            return
        size = self.source.items_per_page
        rows = self.source.items()[(page - 1) * size : page * size]
        if self.read_as.expressions and not self._needs_objects():
            yield from self._batches(self._plan(rows))
            return
        for chunk in parts(rows, OBJECTS_AT_ONCE):
            yield from self.objects(chunk, [_shown(item) for item in chunk])

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
        if gives_entries(self.sitemap):
            yield self._given_batch(items, labels, faults)
            return
        for languages, start, stop in self._language_runs(items, faults):
            yield self._object_batch(
                items[start:stop],
                labels[start:stop],
                languages,
                {index - start: faults[index] for index in faults if index >= start},
            )

    def _given_batch(
        self, items: list[Any], labels: Sequence[Any], faults: dict[int, str]
    ) -> RowBatch:
        """Return the entries that the class itself gives for each item."""

        def entries(item: Any) -> list[RowBatch]:
            given = self.sitemap.get_urls_for_item(item)
            return [_given_entry(settled(info)) for info in given]

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
            is_tag = name in tags() or name == TITLE
            noted = None if is_tag else faults
            return self._attempt(lambda item: settled(get(item)), items, noted)

        titles = list[Sequence[Any]]()
        locations: dict[str | None, Locations] = {}
        media: dict[str | None, Media] = {}
        for language in languages:
            with self.source.context(self.site, language):
                locations[language] = TextLocations(column("location", language))
                if self.with_titles:
                    titles.append(column(TITLE, language))
                if kinds := self.source.media:
                    media[language] = {name: column(name, language) for name in kinds}
        first = next(iter(languages), None)
        with self.source.context(self.site):
            return RowBatch(
                labels=labels,
                locations=locations,
                lastmods=_lastmods(column("lastmod", first)),
                changefreqs=column("changefreq", first),
                priorities=column("priority", first),
                media=media,
                faults=faults,
                titles=titles,
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
            hook = (
                sitemap._location if name == "location" else partial(sitemap._get, name)
            )
            return lambda item: hook((item, language) if sitemap.i18n else item)
        value: Any = getattr(sitemap, name, None)
        if is_method(value):
            method: Callable[[Any], Any] = value
            return method
        if has_expressions(name, value):
            return getter(name, value, language)
        if isinstance(value, Promise) or name in MEDIA:
            return lambda item: value
        return Constant(value, 0)


def _site_of(host: str) -> Any:
    """Return the current Site under ``host``: django CMS asks for its key as well."""
    no_row = SimpleNamespace(domain=host)  # all that contrib's get_urls() uses
    if not apps.is_installed("django.contrib.sites"):
        return no_row
    model = apps.get_model("sites.Site")
    if not getattr(django_settings, "SITE_ID", None):
        return model.objects.filter(domain__iexact=host).first() or no_row
    # A copy: Django caches the object for the whole process.
    site = copy(model.objects.get_current())
    site.domain = host
    return site


def _lastmods(values: Sequence[Any]) -> LastmodColumn:
    """Return lastmods as methods give them: times are of ``TIME_ZONE``."""
    return LastmodColumn(values, zone=timezone.get_default_timezone())


def _contrib_batch(info: Mapping[str, Any]) -> RowBatch:
    """Return one of contrib's dicts as a batch of one."""
    return RowBatch(
        labels=[_shown(info.get("item"))],
        locations={None: GivenLocations([info.get("location")])},
        lastmods=_lastmods([info.get("lastmod")]),
        changefreqs=[info.get("changefreq")],
        priorities=[info.get("priority") or None],
        media={None: {name: [info.get(name)] for name in MEDIA}},
        links=list(info.get("alternates") or ()),
    )


def _given_entry(info: Mapping[str, Any]) -> RowBatch:
    """Return one of ``get_urls_for_item()``'s dicts as a batch of one."""
    return replace(
        _contrib_batch(info),
        locations={None: TextLocations([info.get("location")])},
        priorities=[info.get("priority")],
    )


def _shown(item: Any) -> str:
    primary_key = getattr(item, "pk", None)
    return excerpt(item) if primary_key is None else str(primary_key)
