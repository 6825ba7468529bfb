"""``check_sitemaps --suggest``: how suggestions are printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from textwrap import indent

from django_sitemaps_plus.contrib.audit.suggestions import OUR_CLASSES, Suggestion
from django_sitemaps_plus.management.utils import counted
from django_sitemaps_plus.sitemaps.classes import Sitemap
from django_sitemaps_plus.sitemaps.registry import AnySitemap
from django_sitemaps_plus.sitemaps.sections import SectionSource


def suggested(advice: Suggestion, code: str) -> str:
    """Return a suggestion as text."""
    names = ", ".join(map(repr, advice.sections))
    several = len(advice.sections) > 1
    start = f"Sections {names} are" if several else f"Section {names} is"
    if not advice.reason:
        return f"{start} on the row path already."
    reason = advice.reason.replace("its", "their", 1) if several else advice.reason
    start += f" on the object path, because {reason}."
    refused = [f"  {name}: {why.rstrip('.')}." for name, why in advice.refused.items()]
    if not advice.lines:
        return "\n".join([f"{start} Nothing can be suggested:", *refused])
    promise = "This puts it on the row path:"
    if "i18n" in advice.lines:
        promise = "One class with i18n = True lists the same URLs:"
    elif several:
        promise = "This puts them on the row path:"
    elif refused:
        promise = "This saves reverse() for each row:"
    sections = f" of {len(advice.sections)} sections" if several else ""
    proved = f"Proved on {counted(advice.rows, 'row')}{sections}."
    said = [f"  {note}" for note in advice.notes]
    lines = [f"{start} {promise}", "", indent(code, "    "), proved, *said]
    if refused:
        lines += ["It stays on the object path:", *refused]
    return "\n".join(lines)


def code_of(advice: Suggestion, source: SectionSource) -> str:
    """Return the lines as they stand in a class, with their imports."""
    cls, lines = type(source.sitemap), dict(advice.lines)
    if not lines:
        return ""
    name, bases = cls.__name__, ", ".join(base.__name__ for base in cls.__bases__)
    text = re.sub(r'"[^"]*"', "", " ".join(lines.values()))
    imports = {(_MODULES.get(one, _FUNCTIONS), one) for one in _NAME.findall(text)}
    if cls in OUR_CLASSES or cls.__bases__[0] in OUR_CLASSES or "i18n" in lines:
        bases = "Sitemap"
        imports.add(("django_sitemaps_plus", "Sitemap"))
    if cls in OUR_CLASSES:
        # An instance of GenericSitemap: its arguments become attributes.
        model, given = source.sitemap.items().model, vars(source.sitemap)
        name = f"{model.__name__}Sitemap"
        imports.add((model.__module__, model.__name__))
        for one in ("changefreq", "priority", "protocol"):
            lines |= {one: repr(given[one])} if given.get(one) else {}
        lines = {"model": model.__name__, **lines}
    head = "".join(
        f"from {module} import {', '.join(one for _, one in names)}\n"
        for module, names in groupby(sorted(imports), key=itemgetter(0))
    )
    body = "".join(f"    {one} = {code}\n" for one, code in lines.items())
    return f"{head}\n\nclass {name}({bases}):\n{body}"


def notes(advice: Suggestion, sitemap: AnySitemap) -> Iterator[str]:
    """Yield what else has to be done where the lines are used."""
    cls = type(sitemap)
    if cls in OUR_CLASSES:
        rows = sitemap.items()
        if str(rows.query) != str(rows.model._default_manager.all().query):
            yield "items() has to return the queryset that GenericSitemap is given."
    elif not isinstance(sitemap, Sitemap):
        yield "The base class is django_sitemaps_plus.Sitemap, not contrib's."
    if "i18n" in advice.lines:
        yield (
            f"Register {cls.__name__} once, in place of its {len(advice.sections)} "
            "instances, and let it do without arguments."
        )


_NAME = re.compile(r"\b([A-Z]\w*)\b[(.]")
_FUNCTIONS = "django.db.models.functions"
_MODULES = dict.fromkeys(("CharField", "F", "Value"), "django.db.models")
_MODULES |= dict.fromkeys(("Route", "Sitemap"), "django_sitemaps_plus")
