"""
``Route``: a URL pattern compiled once, with exactly the results of ``reverse()``.

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
from typing import Any, NamedTuple

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

from .compiled_routes import CompiledRoute, Values, described
from .url_patterns import (
    RESERVED,
    Form,
    Param,
    Pattern,
    Shape,
    forms_of,
    known_names,
    patterns_of,
)

#: How many combinations of URLconf, language and script prefix a route caches.
_MAX_CONTEXTS = 64


class _Context(NamedTuple):
    """What a route knows under one URLconf, language and script prefix."""

    #: Another one means that the URL caches were cleared: nothing of this is valid.
    resolver: URLResolver
    patterns: list[Pattern]
    forms: dict[Shape, list[Form]]


class Route:
    """
    A named URL pattern and where the values of its parameters come from.

    The values are ORM expressions (``F("slug")``) or constants, positional or by
    keyword, as the ``args`` and ``kwargs`` of ``reverse()``::

        location = Route("article-detail", slug=F("slug"))

    ``viewname``
        The name of the pattern, with its namespaces.
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
        self._contexts: dict[tuple[Any, str | None, str], _Context] = {}

    def __repr__(self) -> str:
        return f"Route({', '.join([repr(self.viewname), *described(self._given)])})"

    def __call__(self, /, *args: Any, **kwargs: Any) -> str:
        """
        Return ``reverse(viewname, args=args, kwargs=kwargs)``, several times as fast.

        For the ``location()`` method of a sitemap. The parameters with which the
        route was declared are not used. Raises what ``reverse()`` raises.
        """
        urlconf = get_urlconf()
        resolver = get_resolver(urlconf)
        key = (urlconf, get_language(), get_script_prefix())
        context = self._contexts.get(key)
        if context is None or context.resolver is not resolver:
            context = self._enter(key, resolver)
        shape = tuple(kwargs) or len(args)
        forms = context.forms.get(shape)
        if forms is None:
            forms = list(forms_of(context.patterns, key[2], shape))
            context.forms[shape] = forms
        if not (args and kwargs):
            for form in forms:
                url = form.url(dict(zip(form.names, args)) if args else kwargs)  # noqa: B905
                if url is not None:
                    return url
        # It raises the error, with all its details.
        return reverse(self.viewname, args=args, kwargs=kwargs)

    def _enter(
        self, key: tuple[Any, str | None, str], resolver: URLResolver
    ) -> _Context:
        """Read the patterns of a context and cache them."""
        if len(self._contexts) >= _MAX_CONTEXTS:
            self._contexts.clear()
        context = _Context(resolver, patterns_of(resolver, self.viewname), {})
        self._contexts[key] = context
        return context

    def of(self, values: Sequence[Any]) -> str:
        """
        Return the URL for values of ``expressions``, in their order.

        Raises what ``reverse()`` raises.
        """
        given = {**self._given, **dict(zip(self.expressions, values, strict=True))}
        if 0 in given:
            return self(*given.values())
        return self(**{str(name): value for name, value in given.items()})

    def compile(self) -> CompiledRoute:
        """
        Compile under the active language, URLconf and script prefix.

        Raises ``RouteError`` with the reason if ``reverse()`` could not succeed.
        """
        resolver = get_resolver(get_urlconf())
        patterns = patterns_of(resolver, self.viewname)
        if not patterns:
            raise RouteError(self._unknown(resolver))
        forms = list(forms_of(patterns, get_script_prefix(), self._shape))
        if not forms:
            raise RouteError(self._not_taken(patterns))
        values = Values(self._given, tuple(self.expressions))
        possible = [
            form for form in forms if not form.rules_out(values.constants(form))
        ]
        if not possible:
            raise RouteError(self._not_possible())
        try:
            return CompiledRoute(self.viewname, values, possible)
        except (ValueError, NoReverseMatch) as error:
            raise RouteError(f"{self!r}: {error}") from error
        except Exception as error:
            msg = f"{self!r}: reverse() fails with {type(error).__name__}: {error}"
            raise RouteError(msg) from error

    @property
    def _shape(self) -> Shape:
        names = tuple(param for param in self.params if isinstance(param, str))
        return names or len(self.params)

    def _unknown(self, resolver: URLResolver) -> str:
        msg = f"{self!r}: the URLconf has no pattern named {self.viewname!r}."
        close = get_close_matches(self.viewname, sorted(set(known_names(resolver))))
        if close:
            return f"{msg} Did you mean {' or '.join(map(repr, close))}?"
        return f"{msg} Give the name of a path() of the URLconf, with its namespaces."

    def _not_taken(self, patterns: Iterable[Pattern]) -> str:
        reserved = sorted(RESERVED.intersection(map(str, self.params)))
        if reserved:
            return (
                f"{self!r}: reverse() cannot take a parameter called "
                f"{' or '.join(reserved)}. Rename it in the URL pattern."
            )
        known = {
            _listed(params) for pattern in patterns for _, params in pattern.templates
        }
        return (
            f"{self!r}: no URL pattern of that name takes {_listed(self.params)}. "
            f"Give the parameters that one takes: {' or '.join(sorted(known))}."
        )

    def _not_possible(self) -> str:
        constants = {
            param: value
            for param, value in self._given.items()
            if param not in self.expressions
        }
        return (
            f"{self!r}: no URL pattern of that name takes "
            f"{', '.join(described(constants))}. Give values that one takes."
        )


def _listed(params: Sequence[Param]) -> str:
    """Write parameters for a message."""
    # Django calls the groups that have no name _0, _1, …
    if params and all(re.fullmatch(r"_?\d+", str(param)) for param in params):
        return f"({len(params)} positional)"
    return f"({', '.join(map(str, params))})"
