"""
The two sides of a comparison: what contrib lists, and what this package lists.

Contrib's own code renders the former sitemaps, for the host and the protocol for which
ours are rendered, through the middleware of the project where it serves them.
"""

from __future__ import annotations

import datetime as dt
import inspect
import io
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from itertools import count
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from django.conf import settings as django_settings
from django.contrib.sitemaps import views as contrib
from django.core.handlers.base import BaseHandler
from django.core.handlers.wsgi import WSGIRequest
from django.db import Error as DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.template.defaultfilters import date
from django.test import RequestFactory
from django.urls import (
    NoReverseMatch,
    ResolverMatch,
    URLResolver,
    get_resolver,
    resolve,
    reverse,
)
from django.utils import timezone
from django.utils.translation import get_language_from_path

from django_sitemaps_plus import Sitemap
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import describe
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.serving.responses import is_own
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from .asking import coming_back
from .entries import Entry, ListedEntry, Unreadable, entries_of_page, parse, walk

FormerView: TypeAlias = Callable[..., Any]
#: Contrib's two views, or ours, by the names that both have.
Views: TypeAlias = Mapping[str, FormerView]

#: Where the two views are that ``Views`` take the place of.
_MODULES = (contrib.__name__, "django_sitemaps_plus.contrib_views")
#: How many of the rows that a section leaves out are named.
_NAMED = 10


def compared_site() -> SiteAddress:
    """Return the configured address, or else that of the first allowed host."""
    hosts = [host.lstrip(".") for host in django_settings.ALLOWED_HOSTS if host != "*"]
    allowed = Origin.parse(f"https://{[*hosts, 'localhost'][0]}")
    return Site.current().address() or SiteAddress(origin=allowed)


# What is registered


def registered_entries(
    names: Iterable[str], site: SiteAddress, problems: list[str]
) -> Iterator[ListedEntry]:
    """
    Yield what sections list, page by page; nothing is stored.

    ``problems`` is given what is left out: rows, pages and sections.
    """
    for name in names:
        with _noted(problems, f"Section {name!r}"):
            source = sections.source(name)
            address = site.with_scheme(source.sitemap.protocol)
            left_out = list[str]()
            for number, reader, batches in pages_as_built(source, address):
                texts, rows, listed = list[str](), 0, 0
                with address.rendering():
                    for batch, some in reader.texts(batches):
                        texts.append(some.at(str(address.origin)))
                        rows += len(batch.labels)
                        listed += some.entries
                tally = reader.tally
                raises = bool(tally.bad) and get_settings().ON_ERROR == "raise"
                if raises or tally.is_too_bad(rows, listed):
                    problems.append(tally.too_many(rows, f"{name}-{number}"))
                    continue
                left_out += (f"{row.label}: {row.reason}" for row in tally.bad)
                entries = entries_of_page("".join(texts).encode())
                yield from ((name, entry) for entry in entries)
            problems += [
                f"Section {name!r} leaves out row {row}." for row in left_out[:_NAMED]
            ]
            if len(left_out) > _NAMED:
                problems.append(
                    f"Section {name!r} leaves out {len(left_out):,} rows; these are "
                    "the first."
                )


@contextmanager
def _noted(problems: list[str] | None, what: str) -> Iterator[None]:
    """Note an error of a project's sitemap; without ``problems``, raise it."""
    try:
        yield
    except (DatabaseError, Http404):
        raise
    except Exception as error:  # a project's methods may raise anything
        said = str(error).rstrip(".") if isinstance(error, Unreadable) else ""
        text = f"{said or f'{what} cannot be built: {describe(error)}'}."
        if problems is None:
            raise Unreadable(text) from error
        problems.append(text)


def pages_as_built(
    source: SectionSource, site: SiteAddress
) -> Iterator[tuple[int, Reader, Iterator[Any]]]:
    """
    Yield the pages as they are when a section is built for the first time.

    Of each its number, its reader and its rows.
    """
    if source.key is None:
        for number in range(1, source.position_pages + 1):
            of_page = Reader(source, site)
            yield number, of_page, of_page.by_position(number)
        return
    batches = Reader(source, site).by_key(None, None, source.limit)
    for number in count(1):
        # Not across the yield: a caller that stops there would stay in it.
        with site.rendering():
            first = next(batches, None)
        if first is None:
            return
        yield number, Reader(source, site), _some(first, batches, source.items_per_page)


def _some(first: Any, rest: Iterator[Any], most: int) -> Iterator[Any]:
    """Yield batches until they have ``most`` rows."""
    yield first
    rows = len(first.labels)
    while rows < most and (batch := next(rest, None)) is not None:
        rows += len(batch.labels)
        yield batch


# What contrib's views, or ours in their place, list


def of_dict(
    views: Views,
    sitemaps: Mapping[str, Any],
    site: SiteAddress,
    problems: list[str] | None = None,
    paths: Sequence[str] = (),
) -> Iterator[ListedEntry]:
    """
    Yield what a view lists for each sitemap of a dict.

    It is asked through the project's middleware where the site serves it, at ``paths``.
    What fails is noted in ``problems``; without them, ``Unreadable`` is raised.
    """
    handler = _Handler(views) if paths else None
    for name, sitemap in sitemaps.items():
        given = {"sitemaps": sitemaps, "section": name}
        # What does not depend on the language is the same at each path.
        shown = set[int]()
        for path in paths or [f"{site.prefix}sitemap.xml"]:
            before: list[Entry] = []
            for number in count(1):
                is_last = False
                request = _request(site, path, f"p={number}&{_uncached()}")
                what, entries = f"Page {number} of the section {name!r}", list[Entry]()
                try:
                    with _noted(problems, what), site.rendering(), coming_back():
                        if handler is None:
                            response = views["sitemap"](request, **given)
                        else:
                            response = handler.answer(request, given)
                        entries = list(_entries(what, response))
                        # get_urls() may filter: pages that follow may have entries.
                        is_last = not entries and number >= _pages(sitemap)
                except Http404:
                    break
                # A class that overrides get_urls() may give the same for each page.
                if is_last or (entries and entries == before):
                    break
                if number == 1 and entries:
                    if hash(tuple(entries)) in shown:
                        break
                    shown.add(hash(tuple(entries)))
                yield from ((name, entry) for entry in entries)
                before = entries


def paths_of(sitemaps: Any, site: SiteAddress) -> list[str]:
    """Return the paths at which the site's view lists a dict, one for each language."""
    return _in_languages(site, partial(_path_of, sitemaps))


def _path_of(sitemaps: Any) -> str:
    """Return the path of a view that lists a dict, or its first section."""
    patterns = get_resolver(Site.current().urlconf).url_patterns
    for name in _views_of(sitemaps, patterns):
        for given in ({}, {"section": next(iter(sitemaps), "")}):
            with suppress(NoReverseMatch):
                return reverse(name, kwargs={"sitemaps": sitemaps, **given})
    raise NoReverseMatch


def _views_of(
    sitemaps: Any, patterns: Iterable[Any], inside: str = ""
) -> Iterator[Any]:
    """Yield the view of a dict as ``reverse()`` takes it: by name, or itself."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            space = f"{inside}{pattern.namespace}:" if pattern.namespace else inside
            yield from _views_of(sitemaps, pattern.url_patterns, space)
        elif _name_of(pattern.callback) == "sitemap":
            given = pattern.default_args.get("sitemaps")
            if given is sitemaps or given == sitemaps:
                yield f"{inside}{pattern.name}" if pattern.name else pattern.callback


def _pages(sitemap: Any) -> int:
    """Return how many pages contrib's index lists of a sitemap, or of its class."""
    given = sitemap() if callable(sitemap) else sitemap
    return int(given.paginator.num_pages)


def of_url_name(
    views: Views, name: str, site: SiteAddress, problems: list[str] | None = None
) -> Iterator[ListedEntry]:
    """
    Yield what the view of a URL name lists, in each language that has an address.

    The requests go through the project's middleware; where they lead to contrib's
    views, or to ours, ``views`` take their place. ``problems`` as for ``of_dict``.
    """
    handler = _Handler(views)

    def read(url: str) -> Iterator[Entry]:
        parts = urlsplit(url)
        query = f"{parts.query}&{_uncached()}"
        entries: list[Entry] = []
        with _noted(problems, parts.path), site.rendering(), coming_back():
            response = handler.get_response(_request(site, parts.path, query))
            entries = list(_entries(parts.path, response))
        return iter(entries)

    for path in paths_of_name(name, site):
        yield from walk(path, read)


def paths_of_name(name: str, site: SiteAddress) -> list[str]:
    """Return the paths of a URL name without arguments, in all languages."""
    return _in_languages(site, partial(reverse, name))


def _in_languages(site: SiteAddress, path: Callable[[], str]) -> list[str]:
    """Return a path in the languages that addresses may have, the default one first."""
    paths = dict[str, None]()
    for language in (Site.current().default_language, *dict(django_settings.LANGUAGES)):
        with site.rendering(language), suppress(NoReverseMatch):
            paths[path()] = None
    return list(paths)


def is_contrib(path: str, site: SiteAddress) -> bool:
    """Return whether a path of the site leads to one of contrib's views, or of ours."""
    return bool(_name_of(_resolved(path, site).func))


def ours_at(path: str, site: SiteAddress) -> list[str]:
    """Return the sections that this package's own code lists at a path of the site."""
    match = _resolved(path, site)
    if "django_sitemaps_plus" in match.app_names:
        return list(registry.sources())
    sitemaps = match.kwargs.get("sitemaps")
    return ours_in(sitemaps) if isinstance(sitemaps, Mapping) else []


def ours_in(sitemaps: Mapping[str, Any]) -> list[str]:
    """Return the sections of a dict whose classes are this package's by now."""
    return [
        name
        for name, one in sitemaps.items()
        if issubclass(one if isinstance(one, type) else type(one), Sitemap)
    ]


def _resolved(path: str, site: SiteAddress) -> ResolverMatch:
    local = f"/{path.removeprefix(site.prefix)}"
    with site.rendering(get_language_from_path(local)):
        return resolve(local)


def _name_of(view: FormerView) -> str:
    """Return the name of contrib's view, or ours, around which a view is wrapped."""
    inner = inspect.unwrap(view)
    return inner.__name__ if inner.__module__ in _MODULES else ""


class _Handler(BaseHandler):
    """Django's handler of requests, with other views in the place of contrib's."""

    def __init__(self, views: Views) -> None:
        super().__init__()
        self._views = views
        #: What the view is given besides, and what it raised.
        self._given: Mapping[str, Any] = {}
        self._error: Exception | None = None
        self.load_middleware()

    def resolve_request(self, request: HttpRequest) -> Any:
        """Return the view and its arguments."""
        view, args, kwargs = super().resolve_request(request)
        if self._given and _name_of(view) != "sitemap":
            raise Http404
        return self._views.get(_name_of(view), view), args, {**kwargs, **self._given}

    def process_exception_by_middleware(self, exception: Any, request: Any) -> Any:
        """Remember what the view raises."""
        self._error = exception
        return super().process_exception_by_middleware(exception, request)

    def answer(self, request: HttpRequest, given: Mapping[str, Any]) -> Any:
        """Return the response of a view that is ``given`` this; raise what it does."""
        self._given, self._error = given, None
        response = self.get_response(request)
        if self._error is not None:
            raise self._error
        if response.status_code == 404:
            raise Http404
        return response


class _Request(WSGIRequest):
    """A request of our own: its host is the site's, whatever ``ALLOWED_HOSTS`` says."""

    def get_host(self) -> str:
        """Return the Host header."""
        return str(self.META["HTTP_HOST"])


def _request(site: SiteAddress, path: str, query: str) -> WSGIRequest:
    """Return a request for a path of the site, as a crawler sends it."""
    host = site.origin.host
    factory = RequestFactory(
        SCRIPT_NAME=site.prefix.rstrip("/"), HTTP_HOST=host, SERVER_NAME=host
    )
    request = factory.get(
        f"/{path.removeprefix(site.prefix)}",
        QUERY_STRING=query,
        secure=site.origin.scheme == "https",
    )
    return _Request(request.environ)


def _uncached() -> str:
    """Return another query each time: a cache of the whole site must not answer."""
    return f"sitemaps-plus-compare={secrets.token_hex(8)}"


class _Answer(HttpResponse):
    """What a view of contrib's lists, before its template is rendered."""

    entries: Sequence[Entry] = ()


def _unrendered(view: FormerView, template: str) -> FormerView:
    """
    Return a view of contrib's without its template, unless that is the project's own.

    It takes three quarters of the time, and is found only among ``INSTALLED_APPS``.
    """

    @wraps(view)
    def inner(*args: Any, **kwargs: Any) -> Any:
        response = view(*args, **kwargs)
        if is_own(response.template_name, template):
            return response
        answer = _Answer()
        given = response.context_data
        if "urlset" in given:
            answer.entries = [_entry(info) for info in given["urlset"]]
        else:
            answer.entries = [
                Entry(location=item.location, is_sitemap=True)
                for item in given["sitemaps"]
            ]
        return answer

    return inner


def _local(lastmod: Any) -> Any:
    """Return a time in the current zone, as templates show it."""
    is_time = isinstance(lastmod, dt.datetime) and timezone.is_aware(lastmod)
    return timezone.localtime(lastmod) if is_time else lastmod


def _called(value: Any) -> Any:
    """Return a value as templates do: what can be called is; nothing if that fails."""
    if not callable(value):
        return value
    try:
        return value()
    except TypeError:
        return ""


def _entry(info: Mapping[str, Any]) -> Entry:
    """Return one URL as contrib's template writes it."""
    # A class that overrides get_urls() may give less than contrib's does.
    lastmod = _called(info.get("lastmod"))
    return Entry(
        location=str(_called(info["location"])),
        lastmod=date(_local(lastmod), "Y-m-d") if lastmod else "",
        changefreq=str(_called(info.get("changefreq")) or ""),
        priority=str(_called(info.get("priority")) or ""),
        alternates=tuple(
            (link["lang_code"], link["location"])
            for link in info.get("alternates") or ()
        ),
    )


#: Contrib's own views.
CONTRIB: Views = {
    "index": _unrendered(contrib.index, "sitemap_index.xml"),
    "sitemap": _unrendered(contrib.sitemap, "sitemap.xml"),
}


def _entries(what: str, response: Any) -> Iterator[Entry]:
    """Yield what a response lists; raises ``Unreadable`` for any but a sitemap."""
    if isinstance(response, _Answer):
        yield from response.entries
        return
    if not getattr(response, "is_rendered", True):
        response.render()
    if response.status_code != 200:
        hint = response.headers.get("Location") or "see the log"
        raise Unreadable(f"{what} answers {response.status_code}: {hint}.")
    body = b"".join(response) if response.streaming else response.content
    yield from parse(what, io.BytesIO(body))
