"""
What would put a class on the row path: found on a few rows, proved on all.

It is proved in every section that has the class, each in its own context. Where they
differ in language only, one class with ``i18n = True`` is what is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from django.conf import settings as django_settings
from django.contrib.sitemaps import GenericSitemap as ContribGenericSitemap
from django.contrib.sitemaps import Sitemap as ContribSitemap

from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.sitemaps.attributes import declared, is_method
from django_sitemaps_plus.sitemaps.classes import GenericSitemap, Sitemap
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource

from .proof import compared, site_of
from .search import Refused, Search, literal

#: Classes that a project cannot edit.
OURS = (ContribSitemap, ContribGenericSitemap, Sitemap, GenericSitemap)
_REPLACEABLE = ("location", "lastmod", "changefreq", "priority")
_HOOKS = ("_get", "_location", "get_languages_for_item")

#: Told the number of rows that were compared, and of all.
Progress: TypeAlias = Callable[[int, int], object]


@dataclass
class Suggestion:
    """What was found out about a class."""

    #: The sections that have it.
    sections: list[str]
    #: Why they are on the object path; empty if they are not.
    reason: str
    #: How many rows the lines were proved on, in all sections together.
    rows: int = 0
    #: The lines of the class, by attribute, as Python code.
    lines: dict[str, str] = field(default_factory=dict)
    #: By attribute or hook, why nothing can be suggested.
    refused: dict[str, str] = field(default_factory=dict)
    #: What to look at before the lines are used.
    notes: list[str] = field(default_factory=list)


def suggest(source: SectionSource, progress: Progress) -> Suggestion:
    """
    Look for what would put a section's class on the row path, and prove it.

    Raises what the database raises, and ``ConfigurationError`` where a section that
    has the class cannot be read at all.
    """
    found = Suggestion([source.name], sections.object_path_reason(source.sitemap))
    if source.key is None:
        found.reason = found.reason or "it is paged by position"
        found.refused["items"] = f"it is paged by position: {source.by_position}"
    elif found.reason:
        sharing, cls = _sharing(source), type(source.sitemap)
        found.sections = [one.name for one in sharing if type(one.sitemap) is cls]
        _Suggester(found, source, sharing, progress).run()
    return found


def _sharing(source: SectionSource) -> list[SectionSource]:
    """Return the sections that a line in the class of this one concerns."""
    cls, found = type(source.sitemap), list[SectionSource]()
    for name, given in registry.sources().items():
        other = given if isinstance(given, type) else type(registry.get(name))
        if issubclass(other, cls):
            found.append(sections.source(name))
    return [source] if cls in OURS else found


@dataclass
class _Suggester:
    found: Suggestion
    source: SectionSource
    sharing: Sequence[SectionSource]
    progress: Progress

    def run(self) -> None:
        """Propose lines, and prove them; only a route where the others are wrong."""
        found, search = self.found, Search(self.source, site_of(self.source))
        lines = self._lines(search)
        if not lines:
            # At least one class may do for all languages.
            found.lines = self._for_all_languages({"location": "Sitemap.location"})
        while lines:
            wrong = self._first_wrong([lines] * len(self.sharing))
            if wrong and not found.refused and (i18n := self._for_all_languages(lines)):
                wrong, lines = "", i18n
            if not wrong:
                found.lines = lines
                notes = [search.notes.get(name, []) for name in lines]
                found.notes = [note for some in notes for note in some]
                found.notes += [
                    f"Section {one.name!r} has no row: nothing was compared there."
                    for one in self.sharing
                    if not one.sitemap.items().exists()
                ]
                return
            names = [name for name in lines if name != "location"] or ["location"]
            found.refused |= dict.fromkeys(names, wrong)
            lines = {name: lines[name] for name in lines if name not in names}

    def _lines(self, search: Search) -> dict[str, str]:
        """Return lines that hold on some rows, and gain something together."""
        lines, sitemap = dict[str, str](), self.source.sitemap
        refused = self.found.refused
        for name in _HOOKS if sitemap.i18n else _HOOKS[:2]:
            if sections.overridden(sitemap, name):
                refused[name] = f"{name}() is overridden: only it knows what it gives"
                return {}
        for name, value in declared(sitemap).items():
            if not is_method(value):
                continue
            refused[name] = f"{name}() is a method, which no line of the class replaces"
            if name in _REPLACEABLE and name not in vars(sitemap):
                try:
                    lines[name] = search.code(name, _languages())
                    del refused[name]
                except Refused as error:
                    refused[name] = str(error)
        # On the object path, only a Route is faster than a method.
        for name in lines.keys() - {"location"} if refused else ():
            refused[name] = f"{lines.pop(name)} alone gains nothing"
        return lines

    def _first_wrong(self, lines: Sequence[dict[str, str]]) -> str:
        """Compare every row of every section; return what is wrong."""
        total = sum(one.sitemap.items().count() for one in self.sharing if one.key)
        self.found.rows = 0
        for one, codes in zip(self.sharing, lines, strict=True):
            for rows, wrong in compared(one, self._inherited(one, codes)):
                self.found.rows += rows
                self.progress(self.found.rows, total)
                if wrong:
                    return f"in section {one.name!r}, {wrong}"
        return ""

    def _inherited(self, other: SectionSource, lines: dict[str, str]) -> dict[str, str]:
        """Return the lines that a subclass does not override."""
        mro = type(other.sitemap).__mro__
        below = mro[: mro.index(type(self.source.sitemap))]
        own = {name for cls in below for name in vars(cls)}
        return {name: code for name, code in lines.items() if name not in own}

    def _for_all_languages(self, lines: dict[str, str]) -> dict[str, str]:
        """
        Return the lines of one class for all languages, if that is what is wanted.

        The sections have the same rows, and each has the URLs of one language.
        """
        items = [one.sitemap.items() for one in self.sharing if one.key]
        same = {(rows.model, str(rows.query.where)) for rows in items}
        known = {len(self.found.sections), len(self.sharing), len(items)}
        if self.source.sitemap.i18n or not len(same) == len(known) == 1 < len(items):
            return {}
        free, used = _languages(), []
        for one in self.sharing:
            for language in free:
                codes = {**lines, "i18n": "True", "languages": f"[{literal(language)}]"}
                if not next(compared(one, codes), (0, ""))[1]:
                    used.append(codes)
                    free.remove(language)
                    break
        if len(used) < len(items) or self._first_wrong(used):
            return {}
        kept = [literal(one) for one in _languages() if one not in free]
        languages = {"languages": f"[{', '.join(kept)}]"} if free else {}
        return {"i18n": "True", **languages, **lines}


def _languages() -> list[str]:
    return [code for code, _ in django_settings.LANGUAGES]
