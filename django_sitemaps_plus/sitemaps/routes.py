"""
``Route``: a URL pattern compiled once, with exactly the results of ``reverse()``.

Or a literal path with placeholders, for URLs that another program serves
(``literal_paths``).

``django.urls.reverse()`` finds the patterns of a name, fills in the first that
takes the given parameters, checks the result against the pattern's regular
expression and percent-encodes it:
https://docs.djangoproject.com/en/stable/ref/urlresolvers/#reverse
For one name and one set of parameters nearly all of that is the same for every
row, and is done once here. What depends on the values is done as ``reverse()``
does it (``url_patterns.Form``), or for a whole column of values at a time
(``compiled_routes``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from django.urls import (
    NoReverseMatch,
    URLResolver,
    get_resolver,
    get_script_prefix,
    get_urlconf,
    reverse,
)
from django.utils.translation import get_language

from django_sitemaps_plus.exceptions import RouteError

from .compiled_routes import CompiledRoute, described, no_match
from .literal_paths import follows_language, form_of_path, is_literal, values_of
from .site import known_names
from .url_patterns import RESERVED, Form, Param, Shape, UrlForm, forms_of, patterns_of


@lru_cache(maxsize=1024)
def _forms(
    resolver: URLResolver,
    viewname: str,
    language: str | None,  # the active one, on which a resolver's patterns depend
    prefix: str,
    shape: Shape,
) -> list[Form]:
    """Return the forms that reverse() tries. Cleared URL caches mean new resolvers."""
    return list(forms_of(patterns_of(resolver, viewname), prefix, shape))


class Route:
    """
    A URL pattern or a path, and where the values of its parameters come from.

    The values are ORM expressions (``F("slug")``) or constants, positional or by
    keyword, as the ``args`` and ``kwargs`` of ``reverse()``::

        location = Route("article-detail", slug=F("slug"))

    What begins with "/" is the path of a URL that Django does not serve, from the
    root of the host. Its placeholders are as in ``str.format()``, and ``{language}`` is
    the entry's language::

        location = Route("/{language}/p/{slug}/", slug=F("slug"))

    ``viewname``
        The name of the pattern, with its namespaces, or the path.
    ``params``
        Every parameter: its name, or its index if they are positional.
    ``expressions``
        The ORM expressions by parameter, in the order in which they are declared.

    Raises ``ValueError`` if positional and named parameters are mixed.
    """

    def __init__(self, viewname: str, /, *args: Any, **kwargs: Any) -> None:
        self.viewname = viewname
        self._given: dict[Param, Any] = dict([*enumerate(args), *kwargs.items()])
        if args and kwargs:
            msg = f"{self!r}: give args or kwargs, not both, as with reverse()."
            raise ValueError(msg)
        self.params: tuple[Param, ...] = tuple(self._given)
        self.expressions: dict[Param, Any] = {
            param: value
            for param, value in self._given.items()
            if hasattr(value, "resolve_expression")
        }

    @property
    def is_literal(self) -> bool:
        """Whether it is a path, and not the name of a URL pattern."""
        return is_literal(self.viewname)

    @property
    def follows_language(self) -> bool:
        """Whether it is a path with the entry's language in it; valid ones know."""
        return self.is_literal and follows_language(self.viewname, self.params)

    def __repr__(self) -> str:
        return f"Route({', '.join([repr(self.viewname), *described(self._given)])})"

    def __call__(self, /, *args: Any, **kwargs: Any) -> str:
        """
        Return ``reverse(viewname, args=args, kwargs=kwargs)``, but faster.

        For the ``location()`` method of a sitemap. The parameters with which the
        route was declared are not used. Raises what ``reverse()`` raises.
        """
        if self.is_literal:
            return self._filled(args, kwargs)
        if not (args and kwargs):
            for form in _forms(
                get_resolver(get_urlconf()),
                self.viewname,
                get_language(),
                get_script_prefix(),
                tuple(kwargs) or len(args),
            ):
                # As many names as arguments: that is the shape.
                url = form.url(dict(zip(form.names, args)) if args else kwargs)  # noqa: B905
                if url is not None:
                    return url
        # It raises the error, with all its details.
        return reverse(self.viewname, args=args, kwargs=kwargs)

    def _filled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Fill in the placeholders of a path."""
        try:
            form = form_of_path(self.viewname, (*range(len(args)), *kwargs))
        except ValueError as error:
            raise NoReverseMatch(f"Route({self.viewname!r}): {error}") from error
        url = form.url(kwargs)
        if url is None:
            raise no_match(self.viewname, kwargs)
        return url

    def of(self, values: Sequence[Any]) -> str:
        """
        Return the URL for values of ``expressions``, in their order.

        Raises what ``reverse()`` raises.
        """
        given = {**self._given, **dict(zip(self.expressions, values, strict=True))}
        if 0 in given:
            return self(*given.values())
        return self(**{str(name): value for name, value in given.items()})

    def values_of(self, path: str) -> dict[Param, str]:
        """Return the values in a decoded path that is of this one; else nothing."""
        return values_of(self.viewname, self.params, path)

    def compile(self) -> CompiledRoute:
        """
        Compile under the active language, URLconf and script prefix.

        Raises ``RouteError`` with the reason if ``reverse()`` could not succeed.
        """
        forms = self._forms_of_path() if self.is_literal else self._forms_of_name()
        try:
            return CompiledRoute(self.viewname, self._given, self.expressions, forms)
        except (ValueError, NoReverseMatch) as error:
            raise RouteError(f"{self!r}: {error}") from error
        except Exception as error:
            msg = f"{self!r}: reverse() fails with {type(error).__name__}: {error}"
            raise RouteError(msg) from error

    def _forms_of_path(self) -> list[Form]:
        try:
            form = form_of_path(self.viewname, self.params)
            constants = form.constants(self._given, self.expressions)
            if form.rules_out(constants):
                raise no_match(self.viewname, constants)
        except (ValueError, NoReverseMatch) as error:
            raise RouteError(f"{self!r}: {error}") from error
        return [form]

    def _forms_of_name(self) -> list[Form]:
        resolver = get_resolver(get_urlconf())
        patterns = patterns_of(resolver, self.viewname)
        if not patterns:
            raise RouteError(f"{self!r}: {problem_of_name(self.viewname)}")
        given, expressions = self._given, self.expressions
        names = tuple(param for param in given if isinstance(param, str))
        forms = list(forms_of(patterns, get_script_prefix(), names or len(given)))
        if not forms:
            raise RouteError(self._not_taken(patterns))
        possible = [
            form
            for form in forms
            if not form.rules_out(form.constants(given, expressions))
        ]
        if not possible:
            constants = {p: given[p] for p in given if p not in expressions}
            raise RouteError(
                f"{self!r}: no URL pattern of that name takes "
                f"{', '.join(described(constants))}. Give values that one takes."
            )
        return possible

    def _not_taken(self, patterns: Iterable[UrlForm]) -> str:
        reserved = sorted(RESERVED.intersection(map(str, self.params)))
        if reserved:
            return (
                f"{self!r}: reverse() cannot take a parameter called "
                f"{' or '.join(reserved)}. Rename it in the URL pattern."
            )
        takeable = {
            _listed(params) for pattern in patterns for _, params in pattern.templates
        }
        return (
            f"{self!r}: no URL pattern of that name takes {_listed(self.params)}. "
            f"Give the parameters that one takes: {' or '.join(sorted(takeable))}."
        )


def problem_of_name(viewname: str) -> str:
    """Return why the active URLconf has no URL of a name; empty if it has patterns."""
    resolver = get_resolver(get_urlconf())
    if patterns_of(resolver, viewname):
        return ""
    if not is_literal(viewname) and ("/" in viewname or "{" in viewname):
        path = re.sub("^[a-z]+://[^/]*", "", viewname, flags=re.IGNORECASE).lstrip("/")
        return (
            f"no URL pattern is named {viewname!r}. A path begins with '/', without "
            f"scheme and host, which are the site's: write {f'/{path}'!r}."
        )
    msg = f"no URL pattern is named {viewname!r}."
    close = get_close_matches(viewname, sorted(set(known_names(resolver))))
    if close:
        return f"{msg} Did you mean {' or '.join(map(repr, close))}?"
    return f"{msg} Give a path() that name, or use the name of another."


def _listed(params: Sequence[Param]) -> str:
    """Write parameters for a message."""
    # Django calls the groups that have no name _0, _1, …
    if params and all(re.fullmatch(r"_?\d+", str(param)) for param in params):
        return f"({len(params)} positional)"
    return f"({', '.join(map(str, params))})"
