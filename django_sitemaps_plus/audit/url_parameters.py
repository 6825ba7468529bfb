"""The parameters of URLs, found by resolving them as Django does for a request."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from django.urls import Resolver404, ResolverMatch, get_resolver, get_urlconf, resolve

from django_sitemaps_plus.sitemaps.site import SiteAddress
from django_sitemaps_plus.sitemaps.url_patterns import (
    Param,
    patterns_of,
    writer_of,
)

from .proof import Candidate


class Unroutable(Exception):
    """There is nothing to propose; the message says for which row, and why."""


@dataclass(frozen=True)
class Wanted:
    """A named URL pattern, and the text that each parameter has for some rows."""

    viewname: str
    converters: Mapping[str, Any]
    #: By parameter, by the row's primary key.
    texts: Mapping[Param, Mapping[Any, str]]
    #: Values that the pattern gives its view without their being in the URL.
    extra: Mapping[str, Any]

    def text(self, parameter: Param, value: Any) -> str:
        """Write a value as ``reverse()`` does; raises what its converter raises."""
        return writer_of(self.converters.get(str(parameter)))(value)

    def constant(self, parameter: Param) -> Candidate | None:
        """Return the one text that a parameter has for all rows, if it is one."""
        if parameter in self.extra:
            value = self.extra[str(parameter)]
            return Candidate(value=value, code=literal(value))
        texts = set(self.texts[parameter].values())
        if len(texts) > 1:
            return None
        (text,) = texts
        return Candidate(value=text, code=literal(text))

    def variants(self) -> Iterator[Wanted]:
        """Yield the pattern as it is, then with its extra values as parameters."""
        yield self
        named = all(isinstance(name, str) for name in self.texts)
        if self.extra and named and all(map(is_writable, self.extra.values())):
            keys = next(iter(self.texts.values()), {})
            given: dict[Param, Mapping[Any, str]] = dict(self.texts)
            for name, value in self.extra.items():
                given[name] = dict.fromkeys(keys, str(value))
            yield replace(self, texts=given)


def wanted_of(paths: Mapping[Any, str], place: SiteAddress) -> Wanted:
    """
    Return the one pattern that all of ``paths`` (by primary key) are of.

    Call it in the rendering context of ``place``. Raises ``Unroutable`` with the
    reason, for the first row that has no pattern or another one than the rest.
    """
    shapes: dict[tuple[str, tuple[Param, ...]], Any] = {}
    matches: dict[Any, ResolverMatch] = {}
    for key, path in paths.items():
        matches[key] = match = _resolved(key, path, place)
        shapes.setdefault((match.view_name, tuple(_captured(match))), key)
    if len(shapes) > 1:
        (first, one), (second, other), *_ = shapes.items()
        raise Unroutable(
            f"row {one} has the URL pattern {_described(first)}, row {other} has "
            f"{_described(second)}; a Route is of one"
        )
    ((viewname, parameters),) = shapes
    converters = _converters(viewname, parameters)
    texts: dict[Param, dict[Any, str]] = {parameter: {} for parameter in parameters}
    for key, match in matches.items():
        for parameter, value in _captured(match).items():
            write = writer_of(converters.get(str(parameter)))
            texts[parameter][key] = write(value)
    extra = _extra(next(iter(matches.values())))
    return Wanted(viewname, converters, texts, extra)


def _resolved(key: Any, path: str, place: SiteAddress) -> ResolverMatch:
    if "?" in path:
        raise Unroutable(
            f"row {key}: {path!r} has a query string, which no Route writes"
        )
    if not path.startswith(place.prefix):
        raise Unroutable(f"row {key}: {path!r} is not below {place.prefix!r}")
    try:
        match = resolve("/" + unquote(path.removeprefix(place.prefix)))
    except Resolver404:
        raise Unroutable(f"row {key}: no URL pattern matches {path!r}") from None
    if not match.url_name:
        raise Unroutable(
            f"row {key}: the URL pattern of {path!r} has no name, which a Route needs"
        )
    return match


def _captured(match: ResolverMatch) -> dict[Param, Any]:
    """Return what the URL itself gives: named values, or else positional ones."""
    if match.args:
        return dict(enumerate(match.args))
    # captured_kwargs lacks what an include() around the pattern captures.
    extra = _extra(match)
    outer = {name: text for name, text in match.kwargs.items() if name not in extra}
    return outer | (match.captured_kwargs or {})  # type: ignore[attr-defined]  # no stub


def _extra(match: ResolverMatch) -> dict[str, Any]:
    """Return what ``path()`` and ``include()`` give the view beside the URL."""
    return dict(match.extra_kwargs or {})  # type: ignore[attr-defined]  # no stub


def _converters(viewname: str, parameters: tuple[Param, ...]) -> Mapping[str, Any]:
    """Return the converters of the pattern that takes these parameters."""
    for pattern in patterns_of(get_resolver(get_urlconf()), viewname):
        if any(set(names) == set(parameters) for _, names in pattern.templates):
            return pattern.converters
    return {}


def _described(shape: tuple[str, tuple[Param, ...]]) -> str:
    viewname, parameters = shape
    named = [str(param) for param in parameters if isinstance(param, str)]
    return f"{viewname!r} ({', '.join(named) or f'{len(parameters)} positional'})"


def route_code(viewname: str, arguments: Mapping[Param, str]) -> str:
    """Write a ``Route`` as Python code."""
    parts = [literal(viewname)]
    for parameter, code in arguments.items():
        if isinstance(parameter, int):
            parts.append(code)
        elif keyword.iskeyword(parameter):
            parts.append(f'**{{"{parameter}": {code}}}')
        else:
            parts.append(f"{parameter}={code}")
    return f"Route({', '.join(parts)})"


def is_writable(value: object) -> bool:
    """Tell whether a constant can be written as Python code, without an import."""
    return isinstance(value, (str, int, float, type(None)))


def literal(value: object) -> str:
    """Write a constant as Python code, texts in double quotes where that is plain."""
    code = repr(value)
    if isinstance(value, str) and code == f"'{value}'" and '"' not in value:
        return f'"{value}"'
    return code
