"""
What would put a section on the row path, proposed from a few rows, proved on all.

For each method that a class declares, columns are looked for that give the same on
some rows, the first and the last. What is found is compared with the method on every
row. A row for which it is wrong joins the others, and the search begins again: so a
column that has the right values by chance is refused, and the next one tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

from django.contrib.sitemaps import GenericSitemap as ContribGenericSitemap
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.db.models import Model

from django_sitemaps_plus.sitemaps.attributes import declared, is_method
from django_sitemaps_plus.sitemaps.classes import GenericSitemap, Sitemap
from django_sitemaps_plus.sitemaps.registry import AnySitemap
from django_sitemaps_plus.sitemaps.sections import (
    SectionSource,
    object_path_reason,
    overridden,
)
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, configured

from .columns import Import
from .proof import Candidate, Prover
from .search import REPLACEABLE, Search

_OURS = (ContribSitemap, ContribGenericSitemap, Sitemap, GenericSitemap)
_PACKAGE = "django_sitemaps_plus"
#: Told the number of rows that were compared, and of all.
Progress: TypeAlias = Callable[[int, int], object]


@dataclass
class Suggestion:
    """What was found out about one section."""

    name: str
    #: Why the section is on the object path; empty if it is not.
    reason: str
    #: How many rows all of ``proved`` holds for.
    rows: int = 0
    #: By attribute, what gives the same on every row.
    proved: dict[str, Candidate] = field(default_factory=dict)
    #: By attribute or hook, why nothing can be suggested.
    refused: dict[str, str] = field(default_factory=dict)
    #: Lines to paste into the project; empty if there is nothing to suggest.
    code: str = ""
    #: What to look at before it is used.
    notes: list[str] = field(default_factory=list)

    @property
    def gets_there(self) -> bool:
        """Whether the section is on the row path once the code is pasted."""
        return bool(self.reason and self.proved) and not self.refused


def suggest(source: SectionSource, progress: Progress) -> Suggestion:
    """
    Look for what would put a section on the row path, and prove it on every row.

    Raises what the database raises, and ``ConfigurationError`` where the section
    cannot be read at all.
    """
    found = Suggestion(source.name, object_path_reason(source.sitemap))
    if source.key is None:
        found.reason = found.reason or "it is paged by position"
        found.refused["items"] = f"it is paged by position: {source.by_position}"
        return found
    if not found.reason:
        return found
    found.refused |= _hooks(source)
    if set(found.refused) & {"_get", "_location", "get_languages_for_item"}:
        return found
    place = (configured() or PLACEHOLDER_SITE).with_scheme(source.sitemap.protocol)
    search = Search(Prover(source, source.key, place))
    if not search.sample:
        found.refused["items"] = "it has no row, so nothing can be proved"
        return found
    _run(search, found, progress)
    if found.proved:
        found.code = _code(source.sitemap, search.model, found.proved)
        found.notes += _notes(source.sitemap, found.proved)
    return found


def _hooks(source: SectionSource) -> dict[str, str]:
    """Return what no expression can stand for."""
    sitemap = source.sitemap
    found = {
        name: f"{name}() is a method, and nothing is looked for in its place"
        for name, value in declared(sitemap).items()
        if name not in REPLACEABLE and is_method(value)
    }
    hooks = ["_get", "_location"] + ["get_languages_for_item"] * bool(sitemap.i18n)
    for name in hooks:
        if overridden(sitemap, name):
            found[name] = f"{name}() is overridden: only it knows what it gives"
    return found


def _run(search: Search, found: Suggestion, progress: Progress) -> None:
    """Propose and prove until nothing is left to propose."""
    pending = [name for name, value in search.declared.items() if is_method(value)]
    while pending:
        claims: dict[str, Candidate] = {}
        for name in pending:
            claim = search.claim(name)
            if isinstance(claim, Candidate):
                claims[name] = claim
            else:
                found.refused[name] = claim
        if not claims:
            return
        proof = search.prover.prove(claims, lambda rows: progress(rows, search.total))
        for name, claim in claims.items():
            if name in proof.wrong:
                search.learn(name, claim, proof.wrong[name])
            else:
                found.proved[name] = claim
                found.rows = proof.rows
        pending = list(proof.wrong)


def _code(
    sitemap: AnySitemap, model: type[Model], proved: Mapping[str, Candidate]
) -> str:
    """Return the class as it would be, with its imports."""
    cls = type(sitemap)
    lines = {name: proved[name].code for name in REPLACEABLE if name in proved}
    imports = set[Import]().union(*(claim.imports for claim in proved.values()))
    bases = ", ".join(base.__name__ for base in cls.__bases__)
    name = cls.__name__
    if cls in _OURS or _is_plain(cls):
        bases = "Sitemap"
        imports.add((_PACKAGE, "Sitemap"))
    if cls in _OURS:
        # An instance of GenericSitemap: its arguments become attributes.
        name = f"{model.__name__}Sitemap"
        imports.add((model.__module__, model.__name__))
        given = {
            attribute: repr(vars(sitemap).get(attribute))
            for attribute in ("changefreq", "priority", "protocol")
            if vars(sitemap).get(attribute) is not None
        }
        lines = {"model": model.__name__, **lines, **given}
    body = "".join(f"    {attribute} = {code}\n" for attribute, code in lines.items())
    return f"{_import_lines(imports)}\n\nclass {name}({bases}):\n{body}"


def _is_plain(cls: type) -> bool:
    return cls.__bases__[0] in (ContribSitemap, Sitemap)


def _import_lines(imports: Iterable[Import]) -> str:
    """Return import statements: the standard library, Django, this package."""
    order = {"datetime": 0, "django": 1, _PACKAGE: 2}
    modules = groupby(
        sorted(imports, key=lambda one: (order.get(one[0].split(".")[0], 3), one)),
        key=lambda one: one[0],
    )
    return "".join(
        f"from {module} import {', '.join(name for _, name in found)}\n"
        for module, found in modules
    )


def _notes(sitemap: AnySitemap, proved: Mapping[str, Candidate]) -> list[str]:
    """Return what to look at before the code is used."""
    notes = [
        f"{name}: {' and '.join(claim.others)} gave the same on all rows that were "
        "looked at. Use the one that is meant."
        for name, claim in proved.items()
        if claim.others
    ]
    if type(sitemap) in _OURS:
        notes.append(
            "items() has to return the queryset that GenericSitemap is given, if that "
            "is not all of the model."
        )
    elif not isinstance(sitemap, Sitemap):
        notes.append("The base class is django_sitemaps_plus.Sitemap, not contrib's.")
    return notes
