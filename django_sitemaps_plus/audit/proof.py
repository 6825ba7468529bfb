"""
Does an expression give what a method gives? Compared on rows, byte for byte.

One query reads an instance together with the values that the row path would read,
so that a row that changes meanwhile cannot look like a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from django.db import Error as DatabaseError
from django.db import connections
from django.db.models import QuerySet
from django.utils import timezone

from django_sitemaps_plus.protocol.locations import local_path
from django_sitemaps_plus.protocol.writers import (
    changefreq_xml,
    lastmod_xml,
    priority_xml,
)
from django_sitemaps_plus.rendering.columns import Lastmods
from django_sitemaps_plus.rendering.reader import instances
from django_sitemaps_plus.rendering.row_path import row_zone, textual
from django_sitemaps_plus.rendering.serializer import describe
from django_sitemaps_plus.sitemaps.attributes import alias, is_expression
from django_sitemaps_plus.sitemaps.compiled_routes import CompiledRoute
from django_sitemaps_plus.sitemaps.keys import Key
from django_sitemaps_plus.sitemaps.registry import AnySitemap
from django_sitemaps_plus.sitemaps.routes import Route
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress, rendering_context

from .columns import Import


@dataclass(frozen=True)
class Candidate:
    """What a class could declare in the place of a method."""

    value: Any
    code: str
    imports: frozenset[Import] = frozenset()
    #: Columns that could as well be meant, if nothing tells which one is.
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fault:
    """Why a row is bad. All bad rows are alike: they are left out."""

    reason: str = field(compare=False)


#: What stands in the sitemap for an attribute of an item, if anything can.
Outcome: TypeAlias = str | Fault


@dataclass(frozen=True)
class Mismatch:
    """A row for which a claim is wrong."""

    item: Any
    label: Any
    said: Outcome
    claimed: Outcome


#: Gives what is claimed for an item in a language.
_Read: TypeAlias = Callable[[Any, str | None], Any]
#: Told how many rows were compared.
Progress: TypeAlias = Callable[[int], object]


@dataclass
class Proof:
    """What came out of a look at every row."""

    rows: int = 0
    #: By attribute, the first row for which its claim is wrong.
    wrong: dict[str, Mismatch] = field(default_factory=dict)


@dataclass(frozen=True)
class Prover:
    """Compares claims with the methods of one section's sitemap."""

    source: SectionSource
    key: Key
    place: SiteAddress

    @property
    def sitemap(self) -> AnySitemap:
        """The section's sitemap."""
        return self.source.sitemap

    def rows(self) -> QuerySet[Any]:
        """Return all items in the order of their key."""
        with rendering_context(self.place):
            return self.key.order(self.sitemap.items())

    def prove(self, claims: Mapping[str, Candidate], progress: Progress) -> Proof:
        """
        Compare ``claims``, by attribute, with what the methods say of every row.

        Ends early when all of them are wrong. Raises what the database raises.
        """
        found = Proof()
        for items, differences in self._chunks(self.rows(), claims, found.wrong):
            for name, difference in differences:
                found.wrong.setdefault(name, difference)
            found.rows += len(items)
            progress(found.rows)
            if len(found.wrong) == len(claims):
                break
        return found

    def first_wrong(
        self, name: str, claim: Candidate, keys: Sequence[Any]
    ) -> Mismatch | None:
        """Return the first of some rows, by primary key, for which a claim is wrong."""
        rows = self.rows().filter(pk__in=list(keys))
        for _, differences in self._chunks(rows, {name: claim}, ()):
            for _, difference in differences:
                return difference
        return None

    def _chunks(
        self,
        queryset: QuerySet[Any],
        claims: Mapping[str, Candidate],
        done: Container[str],
    ) -> Iterator[tuple[list[Any], list[tuple[str, Mismatch]]]]:
        """Yield rows and where claims are wrong, but for those that are ``done``."""
        with rendering_context(self.place):
            expressions, form = _selected(queryset, claims)
            queryset = queryset.annotate(**expressions)
        carried = _Carried(self, form, connections[queryset.db].vendor)
        readers = {name: carried.reader(name, claim) for name, claim in claims.items()}
        for items, labels in instances(self.source, queryset, self.key):
            yield (
                items,
                [
                    (name, difference)
                    for name, read in readers.items()
                    if name not in done
                    for difference in self._differences(name, items, labels, read)
                ],
            )

    def _differences(
        self, name: str, items: Sequence[Any], labels: Sequence[Any], read: _Read
    ) -> Iterator[Mismatch]:
        # Only locations depend on the language.
        languages = self.source.languages if name == "location" else (None,)
        method = getattr(self.sitemap, name)
        for language in languages:
            with rendering_context(self.place, language):
                for item, label in zip(items, labels, strict=True):
                    value = _attempt(read, item, language)
                    given = _attempt(method, item)
                    if type(value) is type(given) is str and value == given:
                        # The same text is written the same way, or is bad both ways.
                        continue
                    said, claimed = (
                        self._outcome(name, given),
                        self._outcome(name, value),
                    )
                    if said != claimed:
                        yield Mismatch(item, label, said, claimed)

    def said(self, name: str, item: Any) -> Outcome:
        """Return what a method says of an item, in the active language."""
        return self._outcome(name, _attempt(getattr(self.sitemap, name), item))

    def _outcome(self, name: str, value: Any) -> Outcome:
        """Return what a value, if there is one, becomes in the sitemap."""
        if isinstance(value, Fault):
            return value
        written: Outcome = _attempt(self.written, name, value)
        return written

    def written(self, name: str, value: Any) -> str:
        """Return a value as it stands in a sitemap; raises what makes a row bad."""
        if name == "location":
            return local_path(value, self.place.origin)
        if name == "lastmod":
            return _lastmod(value)
        return changefreq_xml(value) if name == "changefreq" else priority_xml(value)

    def compiled(self, route: Route) -> dict[str | None, CompiledRoute]:
        """Compile a route in each language; raises ``RouteError`` with the reason."""
        found = {}
        for language in self.source.languages:
            with rendering_context(self.place, language):
                found[language] = route.compile()
        return found


def _attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what ``function`` gives, or a ``Fault``; database errors come through."""
    try:
        return function(*arguments)
    except DatabaseError:
        raise
    except Exception as error:  # a project's method may raise anything
        return Fault(describe(error))


def _lastmod(value: Any) -> str:
    """Write what a method gave, or what the row path reads (a column of one row)."""
    if not isinstance(value, Lastmods):
        value = Lastmods([value], zone=timezone.get_default_timezone())
    text = value.exact(0)
    return "" if text is None else lastmod_xml(text)


def _selected(
    queryset: QuerySet[Any], claims: Mapping[str, Candidate]
) -> tuple[dict[str, Any], str]:
    """Return what the row path selects for ``claims``, and the form of lastmod."""
    found: dict[str, Any] = {}
    for name, claim in claims.items():
        if isinstance(claim.value, Route):
            for parameter, expression in claim.value.expressions.items():
                found[alias(name, parameter)] = expression
        elif is_expression(claim.value):
            found[alias(name)] = claim.value
    return textual(queryset, found) if alias("lastmod") in found else (found, "python")


@dataclass(frozen=True)
class _Carried:
    """Reads the values that instances carry for claims, as the row path would."""

    prover: Prover
    form: str
    vendor: str

    def reader(self, name: str, claim: Candidate) -> _Read:
        """Return what gives the claimed value of an item in a language."""
        value = claim.value
        if isinstance(value, Route):
            compiled = self.prover.compiled(value)
            aliases = [alias(name, parameter) for parameter in value.expressions]
            return lambda item, language: compiled[language].exact(
                [getattr(item, column) for column in aliases]
            )
        if not is_expression(value):
            return lambda item, language: value
        if name == "lastmod":
            return lambda item, language: self._lastmods(item)
        return lambda item, language: getattr(item, alias(name))

    def _lastmods(self, item: Any) -> Lastmods:
        python = self.form == "python"
        return Lastmods(
            [getattr(item, alias("lastmod"))],
            self.form,
            timezone.get_default_timezone() if python else row_zone(),
            exist=self.vendor == "postgresql",
        )
