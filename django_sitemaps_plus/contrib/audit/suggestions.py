"""
What would put a class on the row path: found on a few rows, proved on all.

It is proved in every section that has the class, each in its own context: a class with
the very lines that are printed is read by the code that reads pages. Where sections
differ in language only, one class with ``i18n = True`` is what is wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from django.conf import settings as django_settings
from django.contrib.sitemaps import GenericSitemap as ContribGenericSitemap
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.exceptions import FieldError

from django_sitemaps_plus.building.build import Progress
from django_sitemaps_plus.exceptions import RouteError
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.rendering.columns import Tally
from django_sitemaps_plus.rendering.reader import Reader, instances
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.sitemaps.attributes import declared, is_method
from django_sitemaps_plus.sitemaps.classes import GenericSitemap, Sitemap
from django_sitemaps_plus.sitemaps.keys import KeyValue
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource, database_of
from django_sitemaps_plus.sitemaps.site import SiteAddress, rendering_context

from .search import NothingToSuggest, Search, evaluated, literal
from .sides import compared_site

#: Classes that a project cannot edit.
OUR_CLASSES = (ContribSitemap, ContribGenericSitemap, Sitemap, GenericSitemap)
_REPLACEABLE = ("location", "lastmod", "changefreq", "priority")
#: How many rows are compared at a time.
STEP = 500
_HOOKS = ("_get", "_location", "get_languages_for_item")


@dataclass
class Suggestion:
    """What was found out about a class."""

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

    Raises ``ConfigurationError`` if a section that has the class cannot be read.
    """
    advice = Suggestion([source.name], sections.object_path_reason(source.sitemap))
    sharing, cls = [source], type(source.sitemap)
    if (advice.reason or source.key is None) and cls not in OUR_CLASSES:
        sharing = []
        for name, given in registry.sources().items():
            other = given if isinstance(given, type) else type(registry.get(name))
            sharing += [sections.source(name)] if issubclass(other, cls) else []
    advice.sections = [one.name for one in sharing if type(one.sitemap) is cls]
    if source.key is None:
        advice.reason = advice.reason or "it is paged by position"
        advice.refused["items"] = f"it is paged by position: {source.by_position}"
    elif advice.reason:
        _Suggester(advice, source, sharing, progress).run()
    return advice


@dataclass
class _Suggester:
    advice: Suggestion
    source: SectionSource
    sharing: Sequence[SectionSource]
    progress: Progress

    def __post_init__(self) -> None:
        self.site = compared_site()
        self.search = Search(self.source, self.site)
        self.languages = list(dict(django_settings.LANGUAGES))

    def run(self) -> None:
        """Propose lines, and prove them; only a route where the others are wrong."""
        advice, lines = self.advice, self._lines()
        if not lines:
            # At least one class may do for all languages.
            advice.lines = self._for_all_languages({"location": "Sitemap.location"})
        while lines:
            wrong = self._first_wrong([lines] * len(self.sharing))
            if (
                wrong
                and not advice.refused
                and (i18n := self._for_all_languages(lines))
            ):
                wrong, lines = "", i18n
            if not wrong:
                advice.lines = lines
                notes = self.search.notes
                advice.notes = [note for name in lines for note in notes.get(name, [])]
                advice.notes += [
                    f"Section {one.name!r} has no row: nothing was compared there."
                    for one in self.sharing
                    if not one.sitemap.items().exists()
                ]
                return
            names = lines.keys() - {"location"} or {"location"}
            advice.refused |= dict.fromkeys(names, wrong)
            lines = {name: lines[name] for name in lines if name not in names}

    def _lines(self) -> dict[str, str]:
        """Return lines that hold on some rows, and gain something together."""
        lines, sitemap = dict[str, str](), self.source.sitemap
        refused = self.advice.refused
        for name in _HOOKS if sitemap.i18n else _HOOKS[:2]:
            if sections.overridden(sitemap, name):
                refused[name] = f"{name}() is overridden: only it knows what it gives"
                return {}
        for name, value in declared(sitemap).items():
            if is_method(value):
                try:
                    if name not in _REPLACEABLE or name in vars(sitemap):
                        raise NothingToSuggest(
                            "no line of the class replaces this method"
                        )
                    lines[name] = self.search.code(name)
                except NothingToSuggest as error:
                    refused[name] = str(error)
        # On the object path, only a Route is faster than a method.
        for name in lines.keys() - {"location"} if refused else ():
            refused[name] = f"{lines.pop(name)} alone gains nothing"
        return lines

    def _first_wrong(self, lines: Sequence[dict[str, str]]) -> str:
        """Compare every row of every section; return what is wrong."""
        total = sum(one.sitemap.items().count() for one in self.sharing if one.key)
        self.advice.rows = 0
        for one, codes in zip(self.sharing, lines, strict=True):
            # But for lines that a subclass overrides.
            mro = type(one.sitemap).__mro__
            below = mro[: mro.index(type(self.source.sitemap))]
            replaced = {name for cls in below for name in vars(cls)}
            codes = {k: code for k, code in codes.items() if k not in replaced}
            for rows, wrong in _compared(one, codes, self.site):
                self.advice.rows += rows
                self.progress(self.advice.rows, total)
                if wrong:
                    return f"in section {one.name!r}, {wrong}"
        return ""

    def _for_all_languages(self, lines: dict[str, str]) -> dict[str, str]:
        """Return those of one class, if sections with the same rows have one each."""
        items = [one.sitemap.items() for one in self.sharing if one.key]
        same = {(rows.model, str(rows.query.where)) for rows in items}
        numbers = {len(self.advice.sections), len(self.sharing), len(items)}
        if self.source.sitemap.i18n or not len(same) == len(numbers) == 1 < len(items):
            return {}
        free, used = list(self.languages), list[dict[str, str]]()
        for one in self.sharing:
            for language in free:
                codes = {**lines, "i18n": "True", "languages": f"[{literal(language)}]"}
                if not next(_compared(one, codes, self.site), (0, ""))[1]:
                    used.append(codes)
                    free.remove(language)
                    break
        if len(used) < len(items) or self._first_wrong(used):
            return {}
        kept = ", ".join(literal(one) for one in self.languages if one not in free)
        return {"i18n": "True", **({"languages": f"[{kept}]"} if free else {}), **lines}


def _compared(
    source: SectionSource, lines: Mapping[str, str], site: SiteAddress
) -> Iterator[tuple[int, str]]:
    """Yield how many rows were compared, and how the first that differs does so."""
    if source.key is None:
        yield 0, f"all is paged by position: {source.by_position}"
        return
    old = Reader(source, site.with_scheme(source.sitemap.protocol))
    new = replace(old, source=suggested_section(source, lines), tally=Tally())
    items, of = source.sitemap.items(), source.key.of
    rows = source.key.order(items.using(database_of(items)))
    chunks = instances(source, rows, source.key)
    every = (of(item) for some, _ in chunks for item in some)
    while keys := list(islice(every, STEP)):
        # Not across the yield: a caller that stops there would stay in it.
        with rendering_context(old.site):
            odd, wrong = keys, ""
            for _ in range(3):  # what changes meanwhile is read again
                before, after = _texts(old, odd), _texts(new, odd)
                odd = [key for key in odd if before.get(key) != after.get(key)]
            if odd:
                wrong = (
                    f"row {', '.join(map(str, odd[0]))} is {_shown(old, odd[0])} now, "
                    f"and with {', '.join(lines.values())} it is {_shown(new, odd[0])}"
                )
        yield len(keys), wrong


def suggested_section(source: SectionSource, lines: Mapping[str, str]) -> SectionSource:
    """Return a section as it would be with these lines in its class."""
    cls = type(source.sitemap)
    bases = (cls,) if issubclass(cls, Sitemap) else (cls, Sitemap)
    attributes = {name: evaluated(code) for name, code in lines.items()}
    sitemap: Any = object.__new__(type(cls.__name__, bases, attributes))
    sitemap.__dict__.update(vars(source.sitemap))
    languages = tuple(sitemap._languages()) if sitemap.i18n else (None,)
    return replace(source, sitemap=sitemap, languages=languages)


def _texts(reader: Reader, keys: Sequence[KeyValue]) -> dict[KeyValue, str | None]:
    """Return the text of each row; None if it is bad."""
    reader.tally.bad.clear()
    try:
        return dict(reader.of_keys(keys)) if keys else {}
    except (RouteError, FieldError) as error:
        return dict.fromkeys(keys, str(error))


def _shown(reader: Reader, key: KeyValue) -> str:
    """Return what stands in the sitemap for one row, without tags."""
    text = _texts(reader, [key]).get(key)
    if text is None:
        return f"left out ({', '.join(row.reason for row in reader.tally.bad)})"
    words = re.sub("<[^>]*>", " ", text).replace(ORIGIN_MARK, "").split()
    return repr(" ".join(words))
