"""
How the items of a section are read: the row path and the object path.

The **row path** runs one query, compiled by the ORM, on the raw cursor: no model
instance, no ``reverse()`` per row. It is taken when nothing that the class
declares is a Python method. The **object path** walks model instances, or any
Python objects, and calls the methods.

Either gives ``Batch``es, which ``serializer`` makes into text.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias

from django.conf import settings as django_settings
from django.contrib.sitemaps import GenericSitemap as ContribGenericSitemap
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.exceptions import EmptyResultSet, FieldError
from django.db import Error as DatabaseError
from django.db import connections, router
from django.db.models import (
    CharField,
    DateField,
    DateTimeField,
    FileField,
    Func,
    QuerySet,
)
from django.utils import timezone

from .exceptions import ConfigurationError
from .keys import Key, KeyValue, key_of
from .origin import ANYWHERE, Place, rendering_context
from .protocol.limits import MAX_ENTRIES, MAX_NEWS
from .registry import AnySitemap
from .routes import CompiledRoute, Route
from .serializer import (
    Batch,
    Constant,
    GivenLocations,
    Lastmods,
    Locations,
    RouteLocations,
    Serializer,
    Tally,
    TextLocations,
    Texts,
    describe,
)
from .sitemaps import (
    CHUNK,
    GenericSitemap,
    Sitemap,
    alias,
    declared,
    declared_expressions,
    entries_per_item,
    in_order,
    is_expression,
    is_method,
    locating_expressions,
    value_of,
)

#: Entries made at a time on the row path: as fast as more, in less memory.
BLOCK = 1_000

#: Takes a function, values and where to note the errors; returns the results.
Attempt: TypeAlias = Callable[
    [Callable[[Any], Any], Sequence[Any], dict[int, str]], list[Any]
]

MEDIA = ("images", "videos", "news")
_OURS = (ContribSitemap, ContribGenericSitemap, Sitemap, GenericSitemap)


class DateText(Func):
    """
    A date or a time as the database's own text, in UTC where it has a zone.

    Slicing a text is ten times cheaper than building a ``datetime`` and
    formatting it again.
    """

    output_field = CharField()
    template = "CAST(%(expressions)s AS CHAR)"

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """The text as it is stored; a bare column would be parsed by the driver."""
        template = "CAST(%(expressions)s AS TEXT)"
        return self.as_sql(compiler, connection, template=template, **extra)

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """
        The text of the type; a timestamp with a zone is moved to UTC first.

        Without the decimals, which are not shown: there is a fifth less to send.
        """
        value = "(%(expressions)s)"
        if isinstance(self.source_expressions[0].output_field, DateTimeField):
            if django_settings.USE_TZ:
                value = f"{value} AT TIME ZONE 'UTC'"
            value = f"date_trunc('second', {value})"
        template = f"{value}::text"
        return self.as_sql(compiler, connection, template=template, **extra)


@dataclass(frozen=True)
class Source:
    """A section's sitemap, and how it is read."""

    name: str
    sitemap: AnySitemap
    key: Key | None
    #: Why the section cannot be paged by key; empty if it can.
    by_position: str = ""
    languages: tuple[str | None, ...] = (None,)

    @property
    def contrib_pages(self) -> bool:
        """Whether the class makes its own pages, as only contrib's hooks can."""
        return self.by_position.startswith("it overrides")

    def items(self) -> Any:
        """Return all items, carrying the values of declared expressions."""
        if isinstance(self.sitemap, Sitemap):
            return self.sitemap.annotated_items()
        return in_order(self.sitemap.items())

    @property
    def limit(self) -> int:
        """How many entries a page may have."""
        most = MAX_NEWS if getattr(self.sitemap, "news", None) else MAX_ENTRIES
        # An item's languages stay together, however low the limit.
        least = entries_per_item(self.sitemap)
        return max(least, min(int(self.sitemap.limit), most))

    @property
    def items_per_page(self) -> int:
        """How many items fit a page, all their languages with them."""
        return max(1, self.limit // entries_per_item(self.sitemap))

    @property
    def media(self) -> dict[str, bool]:
        """Which of images, videos and news the section declares."""
        return {name: getattr(self.sitemap, name, None) is not None for name in MEDIA}


@rendering_context(ANYWHERE)
def source_of(name: str, sitemap: AnySitemap) -> Source:
    """
    Return how the section ``name`` is read.

    Raises ``ConfigurationError`` where ``page_by`` cannot page.
    """
    reason, key = _paging(sitemap)
    languages: tuple[str | None, ...] = (None,)
    if sitemap.i18n:
        languages = tuple(sitemap._languages())
    return Source(
        name=name, sitemap=sitemap, key=key, by_position=reason, languages=languages
    )


def _paging(sitemap: AnySitemap) -> tuple[str, Key | None]:
    for method in ("get_urls", "_urls", "_items", "paginator"):
        if overridden(sitemap, method):
            return f"it overrides {method}", None
    items = sitemap.items()
    if not isinstance(items, QuerySet):
        return f"items() returns {type(items).__name__}, not a queryset", None
    query = items.query
    if query.is_sliced:
        return "items() returns a sliced queryset", None
    if query.combinator:
        return f"items() returns a queryset combined by {query.combinator}()", None
    if query.distinct_fields:
        return "items() returns a queryset with distinct() on some fields", None
    if items._fields is not None:  # type: ignore[attr-defined]
        return "items() returns values, not model instances", None
    return "", key_of(items, getattr(sitemap, "page_by", "pk"))


def overridden(sitemap: AnySitemap, name: str) -> bool:
    """Tell whether a class of the project's own defines ``name``."""
    if name in vars(sitemap):
        return True
    definer = next(cls for cls in type(sitemap).__mro__ if name in vars(cls))
    return definer not in _OURS


def object_path_reason(sitemap: AnySitemap) -> str:
    """Return why ``sitemap`` is read object by object; empty on the row path."""
    if not isinstance(sitemap, Sitemap):
        return "it is no django_sitemaps_plus.Sitemap"
    for name, value in declared(sitemap).items():
        if is_method(value):
            return f"{name}() is a method"
    hooks = ["_get", "_location"]
    if sitemap.i18n:
        hooks.append("get_languages_for_item")
    for name in hooks:
        if overridden(sitemap, name):
            return f"it overrides {name}()"
    return ""


@dataclass(frozen=True)
class Reader:
    """
    Reads the items of one section for one place, batch by batch.

    ``bad`` collects the items whose own methods failed.
    """

    source: Source
    place: Place
    tally: Tally = field(default_factory=Tally)
    raises: bool = False

    @property
    def sitemap(self) -> AnySitemap:
        """The section's sitemap."""
        return self.source.sitemap

    def serializer(self) -> Serializer:
        """Return the serializer for what this reader reads."""
        sitemap = self.sitemap
        x_default = sitemap.i18n and sitemap.alternates and sitemap.x_default
        return Serializer(
            origin=self.place.origin,
            zone=timezone.get_default_timezone(),
            alternates=bool(sitemap.i18n and sitemap.alternates),
            x_default=django_settings.LANGUAGE_CODE if x_default else None,
            raises=self.raises,
        )

    def texts(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, Texts]]:
        """Yield each batch with the text of its items."""
        serializer = self.serializer()
        for batch in batches:
            yield batch, serializer.items(batch, self.tally)

    # By key

    def by_key(
        self, lower: KeyValue | None, upper: KeyValue | None, most: int
    ) -> Iterator[Batch]:
        """
        Yield the items from ``lower`` to before ``upper``.

        ``most`` is how many rows one query may return.
        """
        key = self.source.key
        if key is None:
            raise TypeError(f"the section {self.source.name!r} has no key")
        items = self.sitemap.items()
        # A replica may not have yet what was recorded of a change.
        queryset = bounded(items.using(database_of(items)), key, lower, upper)
        queryset = key.order(queryset)
        if object_path_reason(self.sitemap):
            yield from self._chunks(queryset, key)
        else:
            yield from self._rows(queryset, key, most)

    def _rows(self, queryset: QuerySet[Any], key: Key, most: int) -> Iterator[Batch]:
        """The row path: one query on the raw cursor, as long as it is not full."""
        connection = connections[queryset.db]
        routes = self.routes()
        block = max(1, BLOCK // max(1, len(self.source.languages)))
        rest = queryset
        while True:
            plan = RowPlan.make(self.sitemap, rest[:most], key)
            read, last = 0, None
            with connection.cursor() as cursor:
                cursor.execute(*plan.statement)
                while rows := cursor.fetchmany(block):
                    batch = self.batch(plan, rows, routes)
                    repeated = last == rows[0][: plan.key_width]
                    if repeated or len({*batch.labels}) < len(rows):
                        raise repeats(self.source)
                    read, last = read + len(rows), rows[-1][: plan.key_width]
                    yield batch
            if read < most or last is None:
                return
            rest = queryset.filter(key.after(plan.key(last), connection.vendor))

    def batch(
        self,
        plan: RowPlan,
        rows: Sequence[tuple[Any, ...]],
        routes: dict[str | None, CompiledRoute],
    ) -> Batch:
        """Return rows that a plan's statement gave, column by column."""
        return plan.batch(rows, self.source.languages, routes, self._attempt)

    def locations(
        self,
        plan: RowPlan,
        rows: Sequence[Sequence[Any]],
        routes: dict[str | None, CompiledRoute],
    ) -> Batch:
        """Return rows of what locations are made of, column by column."""
        return plan.locations(rows, self.source.languages, routes, self._attempt)

    def routes(self) -> dict[str | None, CompiledRoute]:
        """Compile the section's route in each of its languages."""
        location = getattr(self.sitemap, "location", None)
        if not isinstance(location, Route):
            return {}
        compiled = {}
        for language in self.source.languages:
            with rendering_context(self.place, language):
                compiled[language] = location.compile()
        return compiled

    def _chunks(self, queryset: QuerySet[Any], key: Key) -> Iterator[Batch]:
        """The object path: model instances, chunk by chunk."""
        expressions = declared_expressions(self.sitemap)
        if expressions:
            queryset = queryset.annotate(**expressions)
        for items, labels in instances(self.source, queryset, key):
            yield from self.objects(items, labels)

    # By position

    def by_position(self, page: int) -> Iterator[Batch]:
        """
        Yield the items of a page, counted from 1, by slicing.

        Raises Django's ``EmptyPage`` from a class that makes its own pages.
        """
        if self.source.contrib_pages:
            yield from self._contrib_page(page)
            return
        size = self.source.items_per_page
        window = iter(self.source.items()[(page - 1) * size : page * size])
        while chunk := list(islice(window, CHUNK)):
            yield from self.objects(chunk, [_shown(item) for item in chunk])

    def _contrib_page(self, page: int) -> Iterator[Batch]:
        """Yield what ``get_urls()`` gives, where a class overrides its making."""
        with rendering_context(self.place):
            infos = self.sitemap.get_urls(
                page=page,
                site=_Site(self.place.origin.host),
                protocol=self.place.origin.scheme,
            )
        for info in infos:
            yield _contrib_batch(info)

    # Objects

    def objects(
        self, items: list[Any], labels: Sequence[Any], *, whole: bool = True
    ) -> Iterator[Batch]:
        """
        Yield batches of what the sitemap's methods say of ``items``.

        One batch, unless items have different languages: then one for each run
        of items that have the same. Not ``whole``, only locations are asked for.
        """
        faults: dict[int, str] = {}
        for languages, start, stop in self._language_runs(items, faults):
            yield self._object_batch(
                items[start:stop],
                labels[start:stop],
                languages,
                {index - start: faults[index] for index in faults if index >= start},
                whole=whole,
            )

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
        *,
        whole: bool,
    ) -> Batch:
        """Call the sitemap's methods; with which items one fails is noted."""

        def column(name: str, language: str | None) -> Sequence[Any]:
            if not whole and name != "location":
                return Constant(None, len(items))
            get = self._getter(name, language)
            if isinstance(get, Constant):
                return replace(get, length=len(items))
            return self._attempt(get, items, faults)

        locations: dict[str | None, Locations] = {}
        media: dict[str | None, dict[str, Sequence[Any]]] = {}
        for language in languages:
            with rendering_context(self.place, language):
                locations[language] = TextLocations(column("location", language))
                if whole and any(self.source.media.values()):
                    media[language] = {name: column(name, language) for name in MEDIA}
        first = next(iter(languages), None)
        with rendering_context(self.place):
            return Batch(
                labels=labels,
                locations=locations,
                lastmods=Lastmods(
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
        faults: dict[int, str],
        default: Any = None,
    ) -> list[Any]:
        """Return what ``get`` gives for each item; its errors go to ``faults``."""
        values = []
        for index, item in enumerate(items):
            try:
                values.append(get(item))
            except DatabaseError:
                raise
            except Exception as error:
                if self.raises:
                    raise
                values.append(default)
                faults.setdefault(index, describe(error))
        return values

    def _getter(
        self, name: str, language: str | None
    ) -> Callable[[Any], Any] | Constant:
        """Return what gives an attribute of an item, as cheaply as it can be had."""
        sitemap = self.sitemap
        if overridden(sitemap, "_get") or overridden(sitemap, "_location"):
            return _hooked(sitemap, name, language)
        value: Any = getattr(sitemap, name, None)
        if is_method(value):
            return lambda item: value(item)
        if isinstance(value, Route):
            return lambda item: value_of(name, value, item)
        if is_expression(value):
            convert = self._conversion(name)
            return lambda item: convert(value_of(name, value, item))
        return Constant(value, 0)

    def _conversion(self, name: str) -> Callable[[Any], Any]:
        """Return what the row path does, beside the ORM, to a column's values."""
        try:
            output = self.source.items().query.annotations[alias(name)].output_field
        except FieldError:
            output = None
        return file_url(output) if isinstance(output, FileField) else unchanged


@dataclass(frozen=True)
class _Site:
    """What contrib's ``get_urls()`` wants of a Site."""

    domain: str


def _contrib_batch(info: dict[str, Any]) -> Batch:
    """Return one of contrib's dicts as a batch of one."""
    return Batch(
        labels=[_shown(info.get("item"))],
        locations={None: GivenLocations([info.get("location")])},
        lastmods=Lastmods([info.get("lastmod")], zone=timezone.get_default_timezone()),
        changefreqs=[info.get("changefreq")],
        priorities=[info.get("priority") or None],
        links=[
            (link["lang_code"], link["location"]) for link in info.get("alternates", ())
        ],
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


def database_of(items: Any) -> str:
    """Return the database in which the rows of a queryset are written."""
    return items._db or router.db_for_write(items.model)


def bounded(
    queryset: QuerySet[Any], key: Key, lower: KeyValue | None, upper: KeyValue | None
) -> QuerySet[Any]:
    """Return the rows from ``lower`` to before ``upper``; None is no bound."""
    vendor = connections[queryset.db].vendor
    if lower is not None:
        queryset = queryset.filter(key.from_(lower, vendor))
    if upper is not None:
        queryset = queryset.filter(key.before(upper, vendor))
    return queryset


def instances(
    source: Source, queryset: QuerySet[Any], key: Key
) -> Iterator[tuple[list[Any], list[Any]]]:
    """
    Yield the instances of ``queryset``, which is in the key's order, and their labels.

    A keyset query for every chunk: ``iterator()`` would hold the whole result in a
    cursor WITH HOLD on PostgreSQL. Raises ``ConfigurationError`` for rows that come
    more than once.
    """
    vendor = connections[queryset.db].vendor
    rest = queryset
    while items := list(rest[:CHUNK]):
        labels = key.labels(items)
        if len(set(labels)) != len(labels):
            raise repeats(source)
        yield items, labels
        if len(items) < CHUNK:
            return
        rest = queryset.filter(key.after(key.of(items[-1]), vendor))


def _shown(item: Any) -> str:
    primary_key = getattr(item, "pk", None)
    return repr(item)[:100] if primary_key is None else str(primary_key)


def repeats(source: Source) -> ConfigurationError:
    """Return the error for a section whose query returns a key more than once."""
    return ConfigurationError(
        f"Section {source.name!r}: items() returns rows more than once, because it "
        "joins a relation that has several rows for one item. Add .distinct(), or "
        "filter with Exists()."
    )


@dataclass(frozen=True)
class RowPlan:
    """A compiled query, and which of its columns holds what."""

    statement: tuple[str, tuple[Any, ...]]
    key_width: int
    #: Column number of each selected alias.
    positions: dict[str, int]
    #: Converters of the columns that the ORM would convert.
    converters: dict[int, Callable[[Any], Any]]
    sitemap: AnySitemap
    lastmod_form: str
    vendor: str

    @classmethod
    def make(cls, sitemap: AnySitemap, queryset: QuerySet[Any], key: Key) -> RowPlan:
        """
        Compile ``queryset`` and the expressions of ``sitemap`` into one statement.

        Raises Django's ``FieldError`` for an expression that cannot be resolved.
        """
        expressions = declared_expressions(sitemap)
        form = "python"
        if alias("lastmod") in expressions:
            expressions, form = textual(queryset, expressions)
        return cls.compile(sitemap, queryset, key.names, expressions, form)

    @classmethod
    def of_locations(cls, sitemap: AnySitemap, queryset: QuerySet[Any]) -> RowPlan:
        """Compile what locations are made of, for ``locations()`` alone."""
        return cls.compile(sitemap, queryset, (), locating_expressions(sitemap))

    @classmethod
    def compile(
        cls,
        sitemap: AnySitemap,
        queryset: QuerySet[Any],
        key: Sequence[str],
        expressions: Mapping[str, Any],
        lastmod_form: str = "python",
    ) -> RowPlan:
        """Compile a query of the columns ``key`` and of ``expressions``, by alias."""
        names = [*key, *expressions]
        selected = queryset.annotate(**expressions).values_list(*names)
        connection = connections[queryset.db]
        compiler = selected.query.get_compiler(connection=connection)
        try:
            sql, params = compiler.as_sql()
        except EmptyResultSet:
            sql, params = "SELECT 1 WHERE 1 = 0", ()
        return cls(
            statement=(sql, tuple(params)),
            key_width=len(key),
            positions={name: index for index, name in enumerate(names)},
            converters=_converters(compiler, connection),
            sitemap=sitemap,
            lastmod_form=lastmod_form,
            vendor=connection.vendor,
        )

    def key(self, raw: KeyValue) -> KeyValue:
        """Return a key as the ORM takes it, of a key as the driver gave it."""
        return tuple(
            self.converters[index](part) if index in self.converters else part
            for index, part in enumerate(raw)
        )

    def batch(
        self,
        rows: Sequence[tuple[Any, ...]],
        languages: tuple[str | None, ...],
        routes: dict[str | None, CompiledRoute],
        attempt: Attempt,
    ) -> Batch:
        """Return ``rows`` column by column; ``attempt`` converts a column's values."""
        columns, faults = self._converted(rows, attempt)
        labels = (
            columns[0]
            if self.key_width == 1
            else list(zip(*columns[: self.key_width], strict=True))
        )
        return Batch(
            labels=labels,
            locations=self._locations(columns, languages, routes),
            lastmods=Lastmods(
                self._column("lastmod", columns),
                self.lastmod_form,
                row_zone(),
                exist=self.vendor == "postgresql",
            ),
            changefreqs=self._column("changefreq", columns),
            priorities=self._column("priority", columns),
            media=self._media(columns, languages),
            faults=faults,
        )

    def locations(
        self,
        rows: Sequence[Sequence[Any]],
        languages: tuple[str | None, ...],
        routes: dict[str | None, CompiledRoute],
        attempt: Attempt,
    ) -> Batch:
        """Return where ``rows`` are listed, and nothing else of them."""
        columns, faults = self._converted(rows, attempt)
        nothing = Constant(None, len(rows))
        return Batch(
            labels=range(len(rows)),
            locations=self._locations(columns, languages, routes),
            lastmods=Lastmods(nothing),
            changefreqs=nothing,
            priorities=nothing,
            faults=faults,
        )

    def _converted(
        self, rows: Sequence[Sequence[Any]], attempt: Attempt
    ) -> tuple[list[Sequence[Any]], dict[int, str]]:
        """Return the columns as the ORM gives them, and what could not be converted."""
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        faults: dict[int, str] = {}
        for index, convert in self.converters.items():
            # Keys are only compared and shown: they stay as the driver gave them.
            if index >= self.key_width:
                columns[index] = attempt(convert, columns[index], faults)
        return columns, faults

    def _column(self, name: str, columns: list[Sequence[Any]]) -> Sequence[Any]:
        value = getattr(self.sitemap, name, None)
        if is_expression(value):
            return columns[self.positions[alias(name)]]
        return Constant(value, len(columns[0]))

    def _locations(
        self,
        columns: list[Sequence[Any]],
        languages: tuple[str | None, ...],
        routes: dict[str | None, CompiledRoute],
    ) -> dict[str | None, Locations]:
        location = getattr(self.sitemap, "location", None)
        if not isinstance(location, Route):
            texts = TextLocations(self._column("location", columns))
            return dict.fromkeys(languages, texts)
        values = [
            columns[self.positions[alias("location", parameter)]]
            for parameter in location.expressions
        ]
        if not values:
            # A route of constants: one text, as often as there are rows.
            length = len(columns[0])
            return {
                language: TextLocations([routes[language].exact(())] * length)
                for language in languages
            }
        return {
            language: RouteLocations(routes[language], values) for language in languages
        }

    def _media(
        self, columns: list[Sequence[Any]], languages: tuple[str | None, ...]
    ) -> dict[str | None, dict[str, Sequence[Any]]]:
        if all(getattr(self.sitemap, name, None) is None for name in MEDIA):
            return {}
        media = {name: self._column(name, columns) for name in MEDIA}
        return dict.fromkeys(languages, media)


def row_zone() -> dt.tzinfo:
    """The zone of the texts that ``DateText`` gives."""
    return dt.UTC if django_settings.USE_TZ else timezone.get_default_timezone()


def textual(
    queryset: QuerySet[Any], expressions: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """
    Select lastmod as text where the database's text can be relied upon.

    Returns the expressions and the ``form`` of ``Lastmods`` that their values have.
    """
    name = alias("lastmod")
    try:
        output = (
            queryset.annotate(**{name: expressions[name]})
            .query.annotations[name]
            .output_field
        )
    except FieldError:
        return expressions, "python"
    connection = connections[queryset.db]
    stored_in_utc = connection.vendor == "postgresql" or (
        connection.timezone_name == "UTC" or not django_settings.USE_TZ
    )
    if isinstance(output, DateTimeField) and stored_in_utc:
        form = "stamp"
    elif isinstance(output, DateField) and not isinstance(output, DateTimeField):
        form = "day"
    else:
        return expressions, "python"
    return {**expressions, name: DateText(expressions[name])}, form


def _converters(compiler: Any, connection: Any) -> dict[int, Callable[[Any], Any]]:
    """Return one function for each column that the ORM would convert."""
    found: dict[int, Callable[[Any], Any]] = {}
    selected = [column[0] for column in compiler.select or ()]
    for index, (steps, expression) in compiler.get_converters(selected).items():
        found[index] = _chain(steps, expression, connection)
    for index, expression in enumerate(selected):
        output = getattr(expression, "output_field", None)
        if isinstance(output, FileField):
            found[index] = file_url(output)
    return found


def _chain(steps: Any, expression: Any, connection: Any) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        for step in steps:
            value = step(value, expression, connection)
        return value

    return convert


def unchanged(value: Any) -> Any:
    return value


def file_url(field: FileField) -> Callable[[Any], Any]:
    """Turn a stored file's name into its address."""
    return lambda name: field.storage.url(name) if name else None
