"""
System checks: what is wrong with settings and sitemaps, and what to type instead.

The ids are listed in ``docs/checks.md``. Checks that ask a database run only with
``manage.py check --database default`` and on ``migrate``, as Django's own do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as CheckWarning
from django.core.exceptions import FieldError
from django.db import Error as DatabaseError
from django.db.models import F, Model, QuerySet, deletion
from django.db.models.expressions import Col
from django.db.models.lookups import IsNull
from django.db.models.sql.constants import LOUTER
from django.db.models.sql.query import Query
from django.db.models.sql.where import AND, OR, WhereNode
from django.urls import NoReverseMatch, get_resolver, reverse
from django.utils import timezone

from django_sitemaps_plus.changes import receivers
from django_sitemaps_plus.changes.dependencies import Dependencies, dependencies
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.delivery import background, engines
from django_sitemaps_plus.exceptions import ConfigurationError, RouteError
from django_sitemaps_plus.pagination.queries import pages
from django_sitemaps_plus.protocol.dates import w3c
from django_sitemaps_plus.protocol.errors import EntryError
from django_sitemaps_plus.protocol.limits import CHANGEFREQS, MAX_ENTRIES
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.protocol.writers import (
    changefreq_xml,
    lastmod_xml,
    priority_xml,
)
from django_sitemaps_plus.publishing.by_position import position_pages
from django_sitemaps_plus.rendering.row_path import RowPlan
from django_sitemaps_plus.rendering.serializer import describe
from django_sitemaps_plus.sitemaps.attributes import (
    alias,
    declared,
    is_expression,
    is_method,
)
from django_sitemaps_plus.sitemaps.contrib_templates import is_own
from django_sitemaps_plus.sitemaps.registry import AnySitemap, ambiguous_names, registry
from django_sitemaps_plus.sitemaps.routes import Route
from django_sitemaps_plus.sitemaps.sections import (
    SectionSource,
    object_path_reason,
    source_of,
)
from django_sitemaps_plus.sitemaps.site import (
    SiteAddress,
    configured,
    rendering_context,
)

#: An address to compile routes for; which one it is does not matter.
_ANYWHERE = SiteAddress(Origin(scheme="https", host="localhost"))


#: What the database itself does when a foreign key's target is deleted (Django 6.1).
_IN_DATABASE: Any = getattr(deletion, "DatabaseOnDelete", ())
_DB_CASCADE: Any = getattr(deletion, "DB_CASCADE", None)


def _error(number: str, message: str, hint: str, obj: Any = None) -> Error:
    return Error(message, hint=hint, obj=obj, id=f"sitemaps_plus.E{number}")


def _warning(number: str, message: str, hint: str, obj: Any = None) -> CheckWarning:
    return CheckWarning(message, hint=hint, obj=obj, id=f"sitemaps_plus.W{number}")


@register("sitemaps_plus")
def check_settings(**kwargs: Any) -> list[CheckMessage]:
    """E001 to E003, W001 and W011: ``SITEMAPS_PLUS``, the origin, the storage."""
    try:
        get_settings()
    except ConfigurationError as error:
        return [
            _error("001", str(error), "Correct SITEMAPS_PLUS in the settings module.")
        ]
    found: list[CheckMessage] = []
    try:
        place = configured() if get_settings().BASE_URL else _ANYWHERE
    except ConfigurationError as error:
        hint = 'Set SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com"}.'
        return [_error("002", str(error), hint)]
    if place is _ANYWHERE and not _has_sites():
        found.append(
            _warning(
                "001",
                "The site's address is not set: links follow the request's Host "
                "header, and build_sitemaps cannot work.",
                'Set SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com"}.',
            )
        )
    return found


def _has_sites() -> bool:
    return "django.contrib.sites" in django_settings.INSTALLED_APPS


@register("sitemaps_plus")
def check_engines(**kwargs: Any) -> list[CheckMessage]:
    """E030 to E033 and W030: the engines in the settings."""
    try:
        aliases = list(get_settings().ENGINES)
    except ConfigurationError:
        return []  # E001 says so
    found: list[CheckMessage] = []
    for name in aliases:
        found += _check_engine(name)
    found += _check_workers()
    if aliases and not get_settings().BASE_URL and not _has_sites():
        found.append(
            _warning(
                "030",
                "Engines are named, but the site's address is not set: nothing is "
                "told to them.",
                'Set SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com"}.',
            )
        )
    return found


def _check_engine(name: str) -> Iterator[CheckMessage]:
    try:
        engines.backend(name)
    except ConfigurationError as error:
        yield _error(
            "030",
            str(error),
            'Use {"BACKEND": "django_sitemaps_plus.engines.indexnow.IndexNow", '
            '"OPTIONS": {…}}; docs/engines.md lists the engines.',
        )
        return
    try:
        engine = engines.make(name)
    except ConfigurationError as error:
        yield _error("031", str(error), "Correct the option.")
        return
    for option, sentence in engines.retired_addresses(engine):
        yield _error(
            "032",
            f"SITEMAPS_PLUS['ENGINES'][{name!r}]['OPTIONS'][{option!r}] names an "
            f"address that is gone. {sentence}",
            "Remove the engine, or use the one that took its place.",
        )


def _check_workers() -> Iterator[CheckMessage]:
    """E033: what BACKGROUND hands the work over to is not there."""
    how = get_settings().BACKGROUND
    if how not in background.TASKS:
        return
    problem = background.problem(str(how))
    if problem:
        yield _error(
            "033",
            f"SITEMAPS_PLUS['BACKGROUND'] is {how!r}, which cannot be used: {problem}",
            f'Type: pip install "django-sitemaps-plus[{how}]", and configure it; or '
            "set it to True.",
        )


@register("sitemaps_plus")
def check_names(**kwargs: Any) -> list[CheckMessage]:
    """E004: names of sections that cannot be told apart; the dict in the settings."""
    try:
        get_settings()
    except ConfigurationError:
        return []  # E001 says so
    try:
        names = registry.sources()
    except ConfigurationError as error:
        return [_error("004", str(error), "Rename or remove one of the sections.")]
    return [
        _error(
            "004",
            f"/sitemap-{name}.xml could be the section {name!r} or page {page} of "
            f"the section {other!r}.",
            f'Rename one of them, for example @register(name="{other}{page}").',
        )
        for name, other, page in ambiguous_names(names)
    ]


@register("sitemaps_plus")
def check_sections(**kwargs: Any) -> list[CheckMessage]:
    """E005 to E013, E020, W002 to W004, W010, W020, W021: what classes declare."""
    try:
        sources = registry.sources()
    except ConfigurationError:
        return []  # E004 says so
    found: list[CheckMessage] = []
    for name in sources:
        found += _check_section(name)
    return found


def _check_section(name: str) -> Iterator[CheckMessage]:
    try:
        sitemap = registry.get(name)
    except Exception as error:  # a class of the project's may raise whatever it likes
        reason = error if isinstance(error, TypeError) else describe(error)
        yield _error(
            "005",
            f"The sitemap of section {name!r} cannot be made: {reason}",
            "Give it no required arguments, or register an instance.",
        )
        return
    cls = type(sitemap)
    try:
        yield from _check_sitemap(name, sitemap, cls)
    except Exception as error:  # items() may raise whatever it likes
        yield _unreadable(name, error, cls)


def _unreadable(name: str, error: Exception, cls: type) -> CheckMessage:
    """W002 or E013: the items cannot be looked at."""
    if isinstance(error, DatabaseError):
        # items() asked the database, which may not be there yet.
        return _warning(
            "002",
            f"The items of section {name!r} cannot be looked at: {error}",
            "Let items() return a queryset without asking the database.",
            cls,
        )
    return _error(
        "013",
        f"The items of section {name!r} cannot be looked at: {describe(error)}",
        "Correct items(); it is called without a request, and by commands too.",
        cls,
    )


def _check_sitemap(name: str, sitemap: AnySitemap, cls: type) -> Iterator[CheckMessage]:
    try:
        source = source_of(name, sitemap)
    except ConfigurationError as error:
        yield _error(
            "006", str(error), "Correct page_by, or remove it to page by pk.", cls
        )
        return
    yield from _check_route(source, cls)
    yield from _check_expressions(source, cls)
    yield from _check_nulls(source, cls)
    yield from _check_constants(sitemap, cls)
    yield from _check_moments(sitemap, cls)
    if source.key is not None:
        yield from _check_watched(source, cls)


def _check_route(source: SectionSource, cls: type) -> Iterator[CheckMessage]:
    location = getattr(source.sitemap, "location", None)
    if not isinstance(location, Route):
        return
    try:
        for language in source.languages:
            with rendering_context(_ANYWHERE, language):
                location.compile()
    except RouteError as error:
        yield _error(
            "007",
            f"The location of section {source.name!r} cannot be compiled: {error}",
            "Use the name and the parameters of a pattern in the URLconf.",
            cls,
        )


def _check_expressions(source: SectionSource, cls: type) -> Iterator[CheckMessage]:
    if source.key is None:
        if any(is_expression(value) for value in declared(source.sitemap).values()):
            items = source.sitemap.items()
            if not isinstance(items, QuerySet):
                yield _error(
                    "008",
                    f"Section {source.name!r} declares ORM expressions, but items() "
                    f"returns {type(items).__name__}.",
                    "Let items() return a queryset, or use methods.",
                    cls,
                )
        return
    try:
        RowPlan.make(source.sitemap, source.sitemap.items(), source.key)
    except FieldError as error:
        yield _error(
            "008",
            f"An expression of section {source.name!r} cannot be resolved: {error}",
            "Use the names of the model's fields, for example F('slug').",
            cls,
        )


def _check_nulls(source: SectionSource, cls: type) -> Iterator[CheckMessage]:
    """W010: a route's column that may be NULL, which reverse() writes as "None"."""
    location = getattr(source.sitemap, "location", None)
    items = source.sitemap.items()
    if not isinstance(location, Route) or not isinstance(items, QuerySet):
        return
    if items.query.combinator:
        return
    for param, expression in location.expressions.items():
        if type(expression) is not F:
            continue
        field = expression.name  # type: ignore[attr-defined]  # no stub
        selected = alias("location", param)
        query = items.annotate(**{selected: expression}).query
        column = query.annotations[selected]
        if isinstance(column, Col) and _may_be_null(query, column.alias, column.target):
            yield _warning(
                "010",
                f"Section {source.name!r}: {field} may be NULL, which is "
                "'None' in the URL of its Route, as reverse() writes it.",
                f"Exclude it in items(): .exclude({field}=None), or give "
                f"another value: Coalesce({field!r}, Value('…')).",
                cls,
            )


def _may_be_null(query: Query, table: str, column: Any) -> bool:
    """Tell whether a column of a query's rows may be NULL, for all that one sees."""
    if _excludes_null(query.where, table, column):
        return False
    if column.null:
        return True
    join: Any = query.alias_map[table]
    if join.join_type != LOUTER:
        return False
    # No row at the other end of a relation is NULL in all its columns.
    return _may_be_null(query, join.parent_alias, join.join_field)


def _excludes_null(condition: Any, table: str, column: Any, truth: bool = True) -> bool:
    """Tell whether a column is surely not NULL where a condition is ``truth``."""
    if isinstance(condition, WhereNode):
        truth = truth != condition.negated
        found = [
            _excludes_null(child, table, column, truth) for child in condition.children
        ]
        # True "and", false "or": each of the children is. Else it is one of them.
        each = condition.connector == (AND if truth else OR)
        return any(found) if each else bool(found) and all(found)
    left = getattr(condition, "lhs", None)
    if not isinstance(left, Col) or (left.alias, left.target) != (table, column):
        return False
    # NULL is neither equal nor unequal to anything: only IS NULL knows it.
    return not isinstance(condition, IsNull) or condition.rhs != truth


def _check_constants(sitemap: AnySitemap, cls: type) -> Iterator[CheckMessage]:
    limit = sitemap.limit
    if not _is_legal_limit(limit):
        yield _error(
            "009",
            f"limit = {limit!r}: a sitemap may have from 1 to {MAX_ENTRIES:,} URLs.",
            f"Set limit to at most {MAX_ENTRIES}, or remove it.",
            cls,
        )
    changefreq = getattr(sitemap, "changefreq", None)
    if not _is_legal(changefreq, changefreq_xml):
        yield _error(
            "010",
            f"changefreq = {changefreq!r} is none of the protocol's words.",
            f"Use one of: {', '.join(sorted(CHANGEFREQS))}.",
            cls,
        )
    priority = getattr(sitemap, "priority", None)
    if not _is_legal(priority, priority_xml):
        yield _error(
            "011",
            f"priority = {priority!r} is no number from 0 to 1.",
            "Set priority to a number from 0.0 to 1.0, or remove it.",
            cls,
        )
    lastmod = getattr(sitemap, "lastmod", None)
    if not _is_legal(lastmod, _constant_lastmod_xml):
        yield _error(
            "012",
            f"lastmod = {lastmod!r} is no date.",
            "Set lastmod to a date, to a text such as '2026-01-31', or to "
            "F('updated'); or remove it.",
            cls,
        )
    if (sitemap.alternates or sitemap.x_default) and not sitemap.i18n:
        yield _warning(
            "003",
            "alternates and x_default do nothing without i18n.",
            "Set i18n = True.",
            cls,
        )
    languages = sitemap._languages() if sitemap.i18n else []
    if (
        sitemap.x_default
        and languages
        and django_settings.LANGUAGE_CODE not in languages
    ):
        yield _warning(
            "004",
            f"x_default does nothing: LANGUAGE_CODE {django_settings.LANGUAGE_CODE!r} "
            "is not among the sitemap's languages.",
            f"Add {django_settings.LANGUAGE_CODE!r} to languages.",
            cls,
        )


def _is_legal_limit(limit: Any) -> bool:
    return isinstance(limit, int) and 1 <= limit <= MAX_ENTRIES


def _is_legal(value: Any, xml: Callable[[Any], str]) -> bool:
    """Tell whether a constant can be written; what is none is not looked at."""
    if is_method(value) or is_expression(value):
        return True
    try:
        xml(value)
    except EntryError:
        return False
    return True


def _constant_lastmod_xml(value: Any) -> str:
    """Write a lastmod as an entry does, to which None and "" are none."""
    if value is None or value == "":
        return ""
    return lastmod_xml(w3c(value, timezone.get_default_timezone()))


def _check_moments(sitemap: AnySitemap, cls: type) -> Iterator[CheckMessage]:
    """E020: ``appears`` and ``expires``."""
    for name in ("appears", "expires"):
        value = getattr(sitemap, name, None)
        if value is not None and not is_expression(value):
            yield _error(
                "020",
                f"{name} = {value!r} is no expression.",
                f'Set {name} to the date\'s field, for example F("publish_at"), or '
                "remove it.",
                cls,
            )


def _check_watched(source: SectionSource, cls: type) -> Iterator[CheckMessage]:
    """W020 and W021: changes of which the section will not be told."""
    try:
        found = dependencies(source.sitemap)
    except (ConfigurationError, FieldError, RouteError):
        return  # E007 or E008 says so
    reason = receivers.unwatched.get(source.name)
    if reason is not None:
        yield _warning(
            "020",
            f"Changes of section {source.name!r} are not recorded: its models could "
            f"not be learned at startup ({reason}).",
            "Let items() return a queryset without asking the database.",
            cls,
        )
        return
    if found is None or not getattr(source.sitemap, "record_deletes", True):
        return
    by_object = bool(object_path_reason(source.sitemap))
    for model, field in _silent_foreign_keys(found, read_by_object=by_object):
        yield _warning(
            "021",
            f"{model._meta.label}.{field.name} lets the database delete or change "
            f"rows of section {source.name!r} when its target is deleted: that is not "
            "recorded, and shows when the page is next compared.",
            "Use on_delete=CASCADE or SET_NULL, or call touch() after such deletes.",
            cls,
        )


def _silent_foreign_keys(
    found: Dependencies, *, read_by_object: bool
) -> Iterator[tuple[type[Model], Any]]:
    """Yield foreign keys whose targets are deleted without a word about the rows."""
    told = {model for model, related in found.related.items() if related.deletes_matter}
    chain = {known.model for known in found.model._meta.concrete_fields}
    for model in sorted({*chain, *found.related}, key=lambda known: known._meta.label):
        for field in model._meta.local_concrete_fields:
            on_delete = getattr(field.remote_field, "on_delete", None)
            target: Any = field.related_model
            if not isinstance(on_delete, _IN_DATABASE) or target in {*told, *chain}:
                continue
            if on_delete is _DB_CASCADE or read_by_object:
                yield model, field


@register(Tags.urls, "sitemaps_plus")
def check_urls(**kwargs: Any) -> list[CheckMessage]:
    """W005 to W007: where the addresses are, and templates that cost speed."""
    found: list[CheckMessage] = []
    try:
        sources = registry.sources()
    except ConfigurationError:
        return []  # E004 says so
    if not getattr(django_settings, "ROOT_URLCONF", None):
        return []
    with rendering_context(_ANYWHERE):
        get_resolver()
        try:
            address = reverse("django_sitemaps_plus:site")
        except NoReverseMatch:
            address = ""
    if sources and not address:
        found.append(
            _warning(
                "005",
                "Sections are registered, but no URLconf includes their addresses.",
                'Add path("", include("django_sitemaps_plus.urls")) to urlpatterns.',
            )
        )
    if address and address != "/sitemap.xml":
        found.append(
            _warning(
                "006",
                f"The sitemap's address is {address}: crawlers look for robots.txt at "
                "the root only, and take a sitemap for pages below its own folder "
                "unless robots.txt names it.",
                'Include the URLs at the root: path("", '
                'include("django_sitemaps_plus.urls")).',
            )
        )
    for name in ("sitemap.xml", "sitemap_index.xml"):
        if is_own(name, name):
            found.append(
                _warning(
                    "007",
                    f"The project's template {name!r} renders contrib-style sitemaps "
                    "fifty times slower than this package does.",
                    "Remove the template, or silence this check.",
                )
            )
    return found


@register(Tags.database, "sitemaps_plus")
def check_tables(
    databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """W008 and W009: the ledger's tables, and sections that should be paged by key."""
    using = pages().db
    if not databases or using not in databases:
        return []
    if not tables_exist(using):
        return [
            _warning(
                "008",
                "The tables of django_sitemaps_plus are missing.",
                "Run: manage.py migrate sitemaps_plus",
            )
        ]
    return list(_check_positions())


def _sound_source(name: str) -> SectionSource | None:
    """Return a section; None if ``check_sections`` says what is wrong with it."""
    try:
        source = source_of(name, registry.get(name))
    except Exception:  # W002, or one of E005, E006 and E013, says so
        return None
    return source if _is_legal_limit(source.sitemap.limit) else None  # E009


def _check_positions() -> Iterator[CheckMessage]:
    """W009: sections of several pages that are paged by position."""
    try:
        names = list(registry.sources())
    except ConfigurationError:
        return  # E004 says so
    for name in names:
        source = _sound_source(name)
        if source is None or source.key is not None:
            continue
        cls = type(source.sitemap)
        try:
            long = position_pages(source) > 1
        except ConfigurationError:
            continue  # E008 says so
        except Exception as error:  # items may raise whatever they like
            yield _unreadable(name, error, cls)
            continue
        if long:
            yield _warning(
                "009",
                f"Section {name!r} has more than one page, and is paged by position: "
                f"{source.by_position}. Late pages are slow, and entries move between "
                "pages.",
                "Let items() return a plain queryset, or shorten the list.",
                cls,
            )
