"""Checks of where a section's entries lead, as far as its class alone tells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from django.core.checks import CheckMessage
from django.db.models import Model, QuerySet
from django.urls import NoReverseMatch
from django.utils.functional import Promise
from django.utils.translation.trans_real import language_code_re

from django_sitemaps_plus.exceptions import ConfigurationError, describe
from django_sitemaps_plus.protocol.errors import LocationError, excerpt
from django_sitemaps_plus.protocol.locations import page_of, refuse_outside
from django_sitemaps_plus.protocol.writers import is_language
from django_sitemaps_plus.sitemaps.attributes import is_method
from django_sitemaps_plus.sitemaps.classes import StaticSitemap
from django_sitemaps_plus.sitemaps.media import is_expression, settled
from django_sitemaps_plus.sitemaps.registry import AnySitemap
from django_sitemaps_plus.sitemaps.routes import Route, problem_of_name
from django_sitemaps_plus.sitemaps.sections import (
    SectionSource,
    gives_entries,
    hosts_of,
    overridden,
)
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, Site, SiteAddress

from .messages import message

#: How many items are looked at.
_LOOKED_AT = 3
#: What a class may override so that contrib's ``location()`` is not called.
_HOOKS = (
    "location",
    "get_urls",
    "get_urls_for_item",
    "_get",
    "_items",
    "_location",
    "_urls",
)


def check_location(source: SectionSource) -> Iterator[CheckMessage]:
    """E007, E014 to E017, E023, W029: no location, or a wrong one; languages."""
    sitemap = source.sitemap
    yield from _check_host(source)
    hooks = [name for name in _HOOKS if hasattr(type(sitemap), name)]
    if not any(overridden(sitemap, name) for name in hooks):
        yield from _check_absolute_url(source)
    elif isinstance(sitemap, StaticSitemap):
        yield from _check_names(source)
    yield from _check_constant(source)
    yield from _check_path(source)
    yield from _check_hreflang(sitemap)


def _check_host(source: SectionSource) -> Iterator[CheckMessage]:
    """E023: a ``get_domain()`` that says another host than ``BASE_URL``."""
    if source.hook != "get_domain":
        return
    says, host = hosts_of(source.sitemap)
    if host:
        yield message(
            "E023",
            f"get_domain() of section {source.name!r} returns {says!r}, but the host "
            f"of BASE_URL counts: {host!r}.",
            f"Remove get_domain(), or write {says!r} in BASE_URL. A section of another "
            'host is registered for that one: @register(site="…"), one of SITES.',
        )


def _check_absolute_url(source: SectionSource) -> Iterator[CheckMessage]:
    """E014: nothing says where the items are."""
    kind = _kind_of(source.sitemap.items())
    if kind is None or hasattr(kind, "get_absolute_url"):
        return
    what, name = kind.__name__, type(source.sitemap).__name__
    hint = f"Define location(self, item) in {name}."
    if issubclass(kind, Model):
        hint = (
            f'Add location = Route("…", pk=F("pk")) to {name}, with the name and the '
            f"parameters of a URL pattern, or define {what}.get_absolute_url()."
        )
    yield message(
        "E014",
        f"Section {source.name!r} lists no URL: {name} declares no location, and "
        f"{what} has no get_absolute_url().",
        hint,
    )


def _kind_of(items: Any) -> type | None:
    """Return the type of some items; None if it is not known without a query."""
    if isinstance(items, QuerySet):
        is_plain = items._fields is None  # type: ignore[attr-defined]  # no stub
        return items.model if is_plain else dict
    return type(items[0]) if isinstance(items, (list, tuple)) and items else None


def _check_names(source: SectionSource) -> Iterator[CheckMessage]:
    """E015: names of ``StaticSitemap`` that cannot be reversed."""
    sitemap = source.sitemap
    if type(sitemap).location is not StaticSitemap.location:
        return
    if isinstance(sitemap.names, str):
        yield message(
            "E015",
            f"Section {source.name!r}: names is the text {sitemap.names!r}, not a "
            "list, so each letter would be the name of a URL pattern.",
            f"Write names = [{sitemap.names!r}].",
        )
        return
    for item in sitemap.items():
        yield from _check_part(source, item, "names")
    seen = set()
    for language in source.languages:
        with PLACEHOLDER_SITE.rendering(language):
            for item in sitemap.items():
                problem = _problem_of(sitemap, item)
                if problem and problem not in seen:
                    seen.add(problem)
                    yield message(
                        "E015",
                        f"Section {source.name!r} cannot list {excerpt(item)}: "
                        f"{problem}",
                        "Use the names of URL patterns, with their namespaces; with "
                        'arguments, pairs such as ("page", {"slug": "imprint"}).',
                    )


def _problem_of(sitemap: AnySitemap, item: Any) -> str:
    """Return why a name has no URL; empty if it has."""
    try:
        sitemap.location(item)
    except NoReverseMatch as error:
        if isinstance(item, Promise):
            return str(error)
        name = item if isinstance(item, str) else item[0]
        return problem_of_name(str(name)) or str(error)
    except Exception as error:  # neither a name nor a pair, or a converter of theirs
        return describe(error)
    with suppress(ConfigurationError):  # E002
        folder = _address().folder
        # What is reversed begins with it.
        if str(item).startswith("/") and not str(item).startswith(folder):
            return f"it is not in {folder}, the path of BASE_URL."
    return ""


def _check_part(source: SectionSource, given: Any, name: str) -> Iterator[CheckMessage]:
    """W029: a part of a page, which crawlers request as the page."""
    if isinstance(given, str) and "#" in given:
        page = page_of(given)
        yield message(
            "W029",
            f"Section {source.name!r}: {given!r} is a part of the page {page!r}, which "
            "is listed once.",
            f"Write {page!r} into {name}, or remove {given!r} if it is there already.",
        )


def _check_constant(source: SectionSource) -> Iterator[CheckMessage]:
    """E016: a location that is the same for all items, and cannot be."""
    value: Any = getattr(source.sitemap, "location", None)
    if is_method(value) or is_expression(value) or isinstance(value, Route):
        return
    yield from _check_part(source, value, "location")
    try:
        with PLACEHOLDER_SITE.rendering():
            value = settled(value)
            _refuse(page_of(value) if value else value)
    except (LocationError, NoReverseMatch) as error:
        yield message(
            "E016",
            f"Section {source.name!r} can list nothing: {error}.",
            "Set location to a path such as '/about/', to a Route, or to an expression "
            f"such as F('path').{_name_meant(value)}",
        )


def _check_path(source: SectionSource) -> Iterator[CheckMessage]:
    """E007: a path whose language or folder is not the section's."""
    route = getattr(source.sitemap, "location", None)
    if not isinstance(route, Route) or not route.is_literal:
        return
    try:
        pieces, folder = route.compile().pieces, _address().folder
    except ConfigurationError:
        return  # E002, or what is wrong with the path itself
    given = f"Section {source.name!r}: {route!r}"
    if route.follows_language and not source.sitemap.i18n:
        text = f"{given} has a {{language}}, but the section has one language only."
        hint = "Set i18n = True, or write the language itself into the path."
        yield message("E007", text, hint)
    may_be_inside = len(pieces) > 1 and folder.startswith(pieces[0])
    if not pieces[0].startswith(folder) and not may_be_inside:
        text = f"{given} is not in {folder}, the path of BASE_URL."
        hint = f"Begin the path with {folder!r}: it is that of the whole URL."
        yield message("E007", text, hint)


def _address() -> SiteAddress:
    """Return the address of BASE_URL; raises ``ConfigurationError`` if it is none."""
    given = Site.current().base_url
    return SiteAddress.parse(given) if given else PLACEHOLDER_SITE


def _name_meant(value: Any) -> str:
    """Return what to write where a location is the name of a URL pattern."""
    with PLACEHOLDER_SITE.rendering():
        if not isinstance(value, str) or problem_of_name(value):
            return ""
    return f" For the URL pattern of that name, write Route({value!r}, …)."


def check_same_urls(source: SectionSource) -> Iterator[CheckMessage]:
    """W014: items that have one URL in all their languages, as the first ones show."""
    sitemap = source.sitemap
    if not sitemap.i18n or gives_entries(sitemap):
        return
    same = ""
    try:
        for item in source.items()[:_LOOKED_AT]:
            languages = sitemap.get_languages_for_item(item)
            urls = set()
            for language in languages:
                with PLACEHOLDER_SITE.rendering(language):
                    urls.add(str(sitemap._location((item, language))))
            if len(urls) == len(languages):
                return
            same = min(urls)
    except Exception:  # a bad row, which is reported where it is left out
        return
    if same:
        yield message(
            "W014",
            f"Section {source.name!r} lists an item by the same URL in several "
            f"languages, such as {same!r}.",
            "Put its URL pattern into i18n_patterns(), or {language} into the path of "
            "its Route, or remove i18n = True.",
        )


def _refuse(location: Any) -> None:
    """Raise ``LocationError`` for what is not a location of this site."""
    try:
        site = _address()
    except ConfigurationError:
        return  # E002 says so
    is_text = isinstance(location, str)
    if site is PLACEHOLDER_SITE and is_text and not location.startswith("/"):
        # Only a request or the database knows the site's host.
        site.origin.absolute(location)
        return
    refuse_outside(site.origin.local_path(location), site.folder)


def _check_hreflang(sitemap: AnySitemap) -> Iterator[CheckMessage]:
    """E017: languages that no alternate can name."""
    if not (sitemap.i18n and sitemap.alternates):
        return
    for code in sitemap._languages():
        is_reported = sitemap.languages is None and not language_code_re.match(code)
        if is_language(code) or is_reported:  # by Django, of LANGUAGES
            continue
        close = str(code).replace("_", "-").lower()
        yield message(
            "E017",
            f"{excerpt(code)} is not a language tag, so that no alternate can name it.",
            f"Write {close!r}, in LANGUAGES too."
            if is_language(close)
            else "Use tags such as 'en' and 'pt-br'.",
        )
