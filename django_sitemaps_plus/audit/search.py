"""
The search for expressions that give what methods give, on a few rows.

Which of several columns is meant, the method's own code can tell: the names that it
mentions come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import CodeType
from typing import Any

from django.db.models import Model

from django_sitemaps_plus.exceptions import RouteError
from django_sitemaps_plus.sitemaps.attributes import declared
from django_sitemaps_plus.sitemaps.routes import Route
from django_sitemaps_plus.sitemaps.site import rendering_context

from .columns import HOPS, TABLES, Column, Path, columns, relations, values
from .proof import Candidate, Fault, Mismatch, Outcome, Prover
from .url_parameters import (
    Unroutable,
    Wanted,
    is_writable,
    literal,
    route_code,
    wanted_of,
)

#: The attributes for which an expression may do instead of a method.
REPLACEABLE = ("location", "lastmod", "changefreq", "priority")
#: Rows that are looked at first, from either end.
SAMPLED = 50

#: How many columns are told that might be meant as well.
_OTHERS = 3
#: What makes a date local.
_LOCAL = frozenset({"localtime", "localdate", "astimezone"})


@dataclass
class Search:
    """Looks for columns on a few rows of a section."""

    prover: Prover
    #: Claims that some row has disproved, by attribute.
    disproved: dict[str, dict[str, str]] = field(default_factory=dict)

    @cached_property
    def sample(self) -> dict[Any, Model]:
        """Some items by primary key: the first, the last, and those that disproved."""
        rows = self.prover.rows()
        with rendering_context(self.prover.place):
            items = [*rows[:SAMPLED], *rows.reverse()[:SAMPLED]]
        return {item.pk: item for item in items}

    @cached_property
    def total(self) -> int:
        """How many rows there are, as far as progress is concerned."""
        return self.prover.rows().count()

    @property
    def model(self) -> type[Model]:
        """The model of the items."""
        model: type[Model] = self.prover.rows().model
        return model

    @property
    def declared(self) -> dict[str, Any]:
        """What the class declares for the attributes that can be replaced."""
        everything = declared(self.prover.sitemap)
        return {name: everything[name] for name in REPLACEABLE}

    def learn(self, name: str, claim: Candidate, difference: Mismatch) -> None:
        """Take the row that disproved a claim to those that are looked at."""
        self.sample[difference.item.pk] = difference.item
        self.disproved.setdefault(name, {})[claim.code] = told(name, claim, difference)

    def claim(self, name: str) -> Candidate | str:
        """Return a claim that holds for the sample, or why there is none."""
        known = self.disproved.get(name, {})
        reasons = list(known.values())
        try:
            for claim in self._proposals(name):
                if claim.code in known:
                    continue
                reason = self._reason_against(name, claim)
                if not reason:
                    return claim
                reasons.append(reason)
        except Unroutable as error:
            reasons.append(str(error))
        return "; ".join(reasons)

    def _reason_against(self, name: str, claim: Candidate) -> str:
        """Return why a claim does not hold for the sample; empty if it does."""
        try:
            wrong = self.prover.first_wrong(name, claim, list(self.sample))
        except RouteError as error:
            return str(error)
        return "" if wrong is None else told(name, claim, wrong)

    def _proposals(self, name: str) -> Iterator[Candidate]:
        with rendering_context(self.prover.place, self.prover.source.languages[0]):
            said = {
                key: self.prover.said(name, item) for key, item in self.sample.items()
            }
        good = {key: text for key, text in said.items() if isinstance(text, str)}
        if not good:
            key, fault = next(iter(said.items()))
            reason = fault.reason if isinstance(fault, Fault) else ""
            raise Unroutable(f"row {key}: {name}() gives nothing legal: {reason}")
        names = self._names(name)
        if name == "location":
            yield from self._routes(good, names)
        else:
            yield from self._plain(name, good, names)

    def _routes(
        self, paths: dict[Any, str], names: frozenset[str]
    ) -> Iterator[Candidate]:
        """Yield routes that would give these paths."""
        with rendering_context(self.prover.place, self.prover.source.languages[0]):
            wanted = wanted_of(paths, self.prover.place)
        for variant in wanted.variants():
            arguments: dict[str | int, Candidate] = {}
            for parameter in variant.texts:
                arguments[parameter] = self._argument(variant, parameter, names)
            given = {param: claim.value for param, claim in arguments.items()}
            positional = [given[param] for param in given if isinstance(param, int)]
            named = {param: given[param] for param in given if isinstance(param, str)}
            yield Candidate(
                value=Route(variant.viewname, *positional, **named),
                code=route_code(
                    variant.viewname,
                    {param: claim.code for param, claim in arguments.items()},
                ),
                imports=frozenset({("django_sitemaps_plus", "Route")}).union(
                    *(claim.imports for claim in arguments.values())
                ),
                others=tuple(
                    text for claim in arguments.values() for text in claim.others
                ),
            )

    def _argument(
        self, wanted: Wanted, parameter: str | int, names: frozenset[str]
    ) -> Candidate:
        """Return what gives a parameter's text; ``Unroutable`` if nothing does."""
        texts = wanted.texts[parameter]
        constant = wanted.constant(parameter)
        if constant is not None and parameter in wanted.extra:
            return constant
        match = self._best(
            texts,
            lambda column, value: wanted.text(parameter, value),
            names,
            str(parameter),
            constant=constant,
            parts=True,
        )
        if match is None:
            key, text = next(iter(texts.items()))
            raise Unroutable(
                f"row {key}: the URL pattern {wanted.viewname!r} takes "
                f"{_named(parameter)} {text!r}, and no column of "
                f"{self.model.__name__}, or of a model up to two foreign keys away, "
                "has the value on every row that was checked"
            )
        return match

    def _plain(
        self, name: str, texts: dict[Any, str], names: frozenset[str]
    ) -> Iterator[Candidate]:
        """Yield a column, or a constant, that would give these texts."""
        constant = _constant(self, name, texts)
        match = self._best(
            texts,
            lambda column, value: self.prover.written(name, value),
            names,
            name,
            constant=constant,
            parts=False,
        )
        if match is None:
            key, text = next(iter(texts.items()))
            raise Unroutable(
                f"row {key}: {name}() gives {shown(text)}, and no column "
                f"{'' if len(set(texts.values())) > 1 else 'or constant '}gives that "
                "on all rows that were looked at"
            )
        yield match

    def _best(
        self,
        texts: Mapping[Any, str],
        write: Callable[[Column, Any], str],
        names: frozenset[str],
        wanted: str,
        *,
        constant: Candidate | None,
        parts: bool,
    ) -> Candidate | None:
        """Return the likeliest of the columns, and a constant, that give ``texts``."""
        matches = self._matches(texts, write, names, parts=parts)
        ranked = sorted(matches, key=lambda column: _rank(column, names, wanted))
        best = ranked[0] if ranked else None
        unlikely = best is None or _rank(best, names, wanted)[:2] == (True, True)
        if constant is not None and unlikely and (len(texts) > 1 or not parts):
            return constant
        if best is None:
            return None
        others = [
            column.code for column in ranked[1:] if _may_be_meant(column, best, names)
        ][:_OTHERS]
        return Candidate(
            value=best.expression,
            code=best.code,
            imports=best.imports,
            others=(best.code, *others) if others else (),
        )

    def _matches(
        self,
        texts: Mapping[Any, str],
        write: Callable[[Column, Any], str],
        names: frozenset[str],
        *,
        parts: bool,
    ) -> list[Column]:
        """Return columns that give ``texts``: near ones, or such as are mentioned."""
        found: list[Column] = []
        looked = 0
        for hops in range(HOPS + 1):
            tables = sorted(
                relations(self.model, hops), key=lambda path: not _mentions(names, path)
            )
            for relation in tables:
                if found and not _mentions(names, relation):
                    break
                looked += 1
                if looked > TABLES:
                    return found
                found += self._matches_in(relation, texts, write, parts=parts)
            if any(_mentions(names, column.fields) for column in found):
                break
        return found

    def _matches_in(
        self,
        relation: Path,
        texts: Mapping[Any, str],
        write: Callable[[Column, Any], str],
        *,
        parts: bool,
    ) -> list[Column]:
        rows = self.prover.rows()
        wanted = [
            column for column in columns(rows, relation) if parts or not column.is_part
        ]
        with rendering_context(self.prover.place):
            known = values(rows, texts, wanted)
            return [
                column
                for index, column in enumerate(wanted)
                if all(
                    key in known and _gives(write, column, known[key][index], text)
                    for key, text in texts.items()
                )
            ]

    def _names(self, name: str) -> frozenset[str]:
        """Return the names that a method's code mentions, and those that it calls."""
        sitemap = self.prover.sitemap
        found: set[str] = set()
        todo = [*_codes(getattr(sitemap, name))]
        while todo:
            code = todo.pop()
            fresh = set(code.co_names) - found
            found |= fresh
            todo += [c for c in code.co_consts if isinstance(c, CodeType)]
            for text in fresh:
                todo += _codes(getattr(self.model, text, None))
        # GenericSitemap knows its date by the field's name.
        return frozenset(found) | {
            value for value in vars(sitemap).values() if isinstance(value, str)
        }


def _codes(value: Any) -> Iterator[CodeType]:
    """Yield the code of a function, a method or a property."""
    for function in (value, getattr(value, "fget", None), getattr(value, "func", None)):
        function = getattr(function, "__wrapped__", function)
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            yield code


def _gives(
    write: Callable[[Column, Any], str], column: Column, value: Any, text: str
) -> bool:
    try:
        return write(column, value) == text
    except Exception:  # a converter may raise anything for a value it does not take
        return False


def _mentions(names: frozenset[str], path: Iterable[str]) -> bool:
    """Tell whether code that has ``names`` can be thought to read a path of fields."""
    by_key = "pk" in names or "id" in names
    return all(
        part in names or (by_key and part.removesuffix("_id") in names) for part in path
    )


def _may_be_meant(column: Column, best: Column, names: frozenset[str]) -> bool:
    """Tell whether a column could be meant as well as ``best``, for all one knows."""
    if column.fields == best.fields:
        # The same date in another zone, or with another number of digits.
        return column.is_part
    # "pk" is another name of the same column.
    return column.place != best.place and not _mentions(names, best.fields)


def _rank(
    column: Column, names: frozenset[str], wanted: str
) -> tuple[bool, bool, int, bool, bool]:
    """Order columns: mentioned by the method, named like what is wanted, near."""
    named = wanted in (column.path[-1], column.path[0], "_".join(column.path))
    # A date that comes from the database is in UTC until somebody makes it local.
    zone = "own" if names & _LOCAL else "utc"
    return (
        not _mentions(names, column.fields),
        not named,
        len(column.place),
        column.path[-1] != wanted,
        column.zone not in ("", zone),
    )


def _constant(search: Search, name: str, texts: Mapping[Any, str]) -> Candidate | None:
    """Return what a method gives, if that is the same for all and can be written."""
    if len(set(texts.values())) > 1:
        return None
    key = next(iter(texts))
    with rendering_context(search.prover.place):
        value = getattr(search.prover.sitemap, name)(search.sample[key])
    if not is_writable(value) or (name == "lastmod" and value is not None):
        # A date that is the same for all rows may be that of today.
        return None
    return Candidate(value=value, code=literal(value))


def _named(parameter: str | int) -> str:
    return parameter if isinstance(parameter, str) else f"argument {parameter + 1}"


def shown(outcome: Outcome) -> str:
    """Return what stands in the sitemap for an attribute, as a report has it."""
    if isinstance(outcome, Fault):
        return f"nothing legal ({outcome.reason})"
    text = outcome
    if text.startswith("<"):
        text = text.partition(">")[2].rpartition("</")[0]
    return repr(text) if text else "none"


def told(name: str, claim: Candidate, difference: Mismatch) -> str:
    """Say for which row a claim is wrong, and what the two of them give."""
    return (
        f"row {difference.label}: {name}() gives {shown(difference.said)}, "
        f"{claim.code} gives {shown(difference.claimed)}"
    )
