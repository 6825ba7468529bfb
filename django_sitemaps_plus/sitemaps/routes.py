"""
``Route``: a URL pattern compiled once, with exactly the results of ``reverse()``.

``django.urls.reverse()`` finds the patterns of a name, fills in the first that
takes the parameters given, checks the result against the pattern's regular
expression and percent-encodes it:
https://docs.djangoproject.com/en/stable/ref/urlresolvers/#reverse
For one name and one set of parameters nearly all of that is the same for every
row. Here it is done once; what depends on the values is done as ``reverse()``
does it (``_Form.url``), or for a whole column of values at a time
(``CompiledRoute.texts``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from django.urls import (
    NoReverseMatch,
    URLResolver,
    get_resolver,
    get_script_prefix,
    get_urlconf,
    reverse,
)
from django.utils.http import escape_leading_slashes
from django.utils.translation import get_language

from django_sitemaps_plus.exceptions import RouteError

from .url_patterns import (
    SAFE,
    SAFE_OR_SEPARATOR,
    SEPARATOR,
    Entry,
    Group,
    entries_of,
    find_unsafe,
    known_names,
    split_template,
    take_apart,
    writer_of,
)

#: The number of positional parameters, or the names of the others.
_Shape: TypeAlias = int | tuple[str, ...]
#: A parameter of a route: its name, or its index among the positional ones.
Param: TypeAlias = str | int

_Match: TypeAlias = Callable[[str], re.Match[str] | None]

#: reverse() hands its keyword arguments on to a method with these parameters,
#: and ends in a TypeError for a URL parameter of the same name.
_RESERVED = frozenset({"self", "lookup_view", "_prefix"})

#: How many combinations of URLconf, language and script prefix a route keeps.
_MAX_CONTEXTS = 64


# One row at a time.


class _Plain(NamedTuple):
    """
    A form taken apart: a text is a URL of it, not yet encoded, if it is made of
    the literals and, between them, texts that each match their own group.
    """

    #: The literals, encoded.
    pieces: Sequence[str]
    names: Sequence[str]
    groups: Sequence[Group]


@dataclass(frozen=True)
class _Form:
    """One way to write a pattern, for one set of parameters."""

    #: A format string for ``%``, script prefix included.
    template: str
    regex: str
    #: The names of the values given, in the order in which they are given.
    names: tuple[str, ...]
    #: Values that are not part of the URL: one that is given has to be equal.
    fixed: tuple[tuple[str, Any], ...]
    converters: Mapping[str, Any]

    # Compiled when it is first needed: an invalid one is no error before.
    @cached_property
    def search(self) -> _Match:
        """Search a filled template for the pattern."""
        return re.compile(self.regex).search

    @cached_property
    def plain(self) -> _Plain | None:
        """Take the form apart, if what it is made from can be proved to match."""
        try:
            re.compile(self.regex)
            apart = take_apart(self.regex)
            literals, names = split_template(self.template, self.regex, self.names)
            pieces = [quote(text, safe=SAFE) for text in literals]
        except (ValueError, re.error):
            return None
        if self.fixed or apart is None or apart[0] != literals:
            return None
        return _Plain(pieces, names, apart[1])

    @cached_property
    def quick(self) -> tuple[str, tuple[tuple[str, _Match, str], ...]] | None:
        """
        Return the first piece, and name, check and next piece of each value.

        Only where ``str()`` writes the values.
        """
        if self.plain is None or any(
            writer_of(self.converters.get(name)) is not str for name in self.names
        ):
            return None
        first, *others = self.plain.pieces
        checks = (group.match_safe for group in self.plain.groups)
        return first, tuple(zip(self.plain.names, checks, others, strict=True))

    def url(self, given: Mapping[str, Any]) -> str | None:
        """Return the URL, or None where reverse() tries the next form."""
        if self.quick is not None:
            url, values = self.quick
            for name, match, piece in values:
                try:
                    text = str(given[name])
                except ValueError:
                    break
                if match(text) is None:
                    break
                url += text + piece
            else:
                return escape_leading_slashes(url)
        return self._url(given)

    def _url(self, given: Mapping[str, Any]) -> str | None:
        """Return the same, step by step as reverse() takes them."""
        for name, default in self.fixed:
            if given.get(name, default) != default:
                return None
        texts = {}
        for name, value in given.items():
            converter = self.converters.get(name)
            if converter is None:
                texts[name] = str(value)
                continue
            try:
                texts[name] = converter.to_url(value)
            except ValueError:
                return None
        url = self.template % texts
        if self.search(url) is None:
            return None
        if find_unsafe(url):
            url = quote(url, safe=SAFE)
        return escape_leading_slashes(url)

    def rules_out(self, constants: Mapping[str, Any]) -> bool:
        """Say whether url() is None for these values, whatever the others are."""
        for name, default in self.fixed:
            if constants.get(name, default) != default:
                return True
        for name, value in constants.items():
            if name in self.converters:
                try:
                    self.converters[name].to_url(value)
                except ValueError:
                    return True
                except Exception:
                    # reverse() lets it through: no other form is tried.
                    return False
        return False


def _forms(entries: Iterable[Entry], prefix: str, shape: _Shape) -> Iterator[_Form]:
    """
    Yield the forms that reverse() tries, in its order.

    ``shape`` is the number of positional parameters, or the names of the others.
    """
    if isinstance(shape, tuple) and not _RESERVED.isdisjoint(shape):
        return
    start = prefix.replace("%", "%%")
    names = shape or ()
    for entry in entries:
        for template, params in entry.forms:
            fixed: tuple[tuple[str, Any], ...] = ()
            if isinstance(names, int):
                if names != len(params):
                    continue
            else:
                if set(names).symmetric_difference(params).difference(entry.defaults):
                    continue
                fixed = tuple(
                    (name, default)
                    for name, default in entry.defaults.items()
                    if name not in params
                )
            yield _Form(
                template=start + template,
                regex=f"^{re.escape(prefix)}{entry.regex}",
                names=tuple(params) if isinstance(names, int) else names,
                fixed=fixed,
                converters=entry.converters,
            )


class _Context(NamedTuple):
    """What a route knows under one URLconf, language and script prefix."""

    #: Another one means that the URL caches were cleared: all is void.
    resolver: URLResolver
    entries: list[Entry]
    forms: dict[_Shape, list[_Form]]


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
        The ORM expressions by parameter, in the order in which they were given.

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
        return f"Route({', '.join([repr(self.viewname), *_described(self._given)])})"

    def __call__(self, /, *args: Any, **kwargs: Any) -> str:
        """
        Return ``reverse(viewname, args=args, kwargs=kwargs)``, several times as fast.

        For the ``location()`` method of a sitemap. What the route was declared
        with plays no part. Raises what ``reverse()`` raises.
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
            forms = list(_forms(context.entries, key[2], shape))
            context.forms[shape] = forms
        if not (args and kwargs):
            for form in forms:
                url = form.url(dict(zip(form.names, args)) if args else kwargs)  # noqa: B905
                if url is not None:
                    return url
        # It fails, and says why at length.
        return reverse(self.viewname, args=args, kwargs=kwargs)

    def _enter(
        self, key: tuple[Any, str | None, str], resolver: URLResolver
    ) -> _Context:
        """Read the patterns of a context and keep them."""
        if len(self._contexts) >= _MAX_CONTEXTS:
            self._contexts.clear()
        context = _Context(resolver, entries_of(resolver, self.viewname), {})
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
        entries = entries_of(resolver, self.viewname)
        if not entries:
            raise RouteError(self._unknown(resolver))
        forms = list(_forms(entries, get_script_prefix(), self._shape))
        if not forms:
            raise RouteError(self._not_taken(entries))
        possible = [form for form in forms if not form.rules_out(self._constants(form))]
        if not possible:
            raise RouteError(self._not_possible())
        try:
            return CompiledRoute(self, possible)
        except (ValueError, NoReverseMatch) as error:
            raise RouteError(f"{self!r}: {error}") from error
        except Exception as error:
            msg = f"{self!r}: reverse() fails with {type(error).__name__}: {error}"
            raise RouteError(msg) from error

    @property
    def _shape(self) -> _Shape:
        names = tuple(param for param in self.params if isinstance(param, str))
        return names or len(self.params)

    def _constants(self, form: _Form) -> dict[str, Any]:
        """Return the constants by the names that a form has for them."""
        params = dict(zip(form.names, self.params, strict=True))
        return {
            name: self._given[param]
            for name, param in params.items()
            if param not in self.expressions
        }

    def _unknown(self, resolver: URLResolver) -> str:
        msg = f"{self!r}: the URLconf has no pattern named {self.viewname!r}."
        close = get_close_matches(self.viewname, sorted(set(known_names(resolver))))
        if close:
            return f"{msg} Did you mean {' or '.join(map(repr, close))}?"
        return f"{msg} Give the name of a path() of the URLconf, with its namespaces."

    def _not_taken(self, entries: Iterable[Entry]) -> str:
        reserved = sorted(_RESERVED.intersection(map(str, self.params)))
        if reserved:
            return (
                f"{self!r}: reverse() cannot take a parameter called "
                f"{' or '.join(reserved)}. Rename it in the URL pattern."
            )
        known = {_listed(params) for entry in entries for _, params in entry.forms}
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
            f"{', '.join(_described(constants))}. Give values that one takes."
        )


def _described(given: Mapping[Param, Any]) -> list[str]:
    """Write arguments as in a call, none at great length."""
    return [
        f"{param}={_shown(value)}" if isinstance(param, str) else _shown(value)
        for param, value in given.items()
    ]


def _shown(value: object) -> str:
    try:
        return f"{value!r:.80}"
    except Exception:
        # An int of some thousand digits has no repr(): the message goes without.
        return f"<{type(value).__name__}>"


def _listed(params: Sequence[Param]) -> str:
    """Write parameters for a message."""
    # Django calls the groups that have no name _0, _1, …
    if params and all(re.fullmatch(r"_?\d+", str(param)) for param in params):
        return f"({len(params)} positional)"
    return f"({', '.join(map(str, params))})"


# A column of values at a time.


def _lane(digit: Callable[[int], int]) -> bytes:
    """Return a table of what is written for a byte; of one that is safe, nothing."""
    return bytes(0 if byte in SAFE_OR_SEPARATOR else digit(byte) for byte in range(256))


_HEX = b"0123456789ABCDEF"
#: For each byte the sign "%", or itself if it is safe; then its two digits.
_FIRST = bytes(b if b in SAFE_OR_SEPARATOR else ord("%") for b in range(256))
_SECOND = _lane(lambda byte: _HEX[byte >> 4])
_THIRD = _lane(lambda byte: _HEX[byte & 15])


def _percent_encoded(joined: bytes) -> list[str]:
    """
    Encode joined texts.

    Each byte is given room for three, and the room that is not needed (NUL, which
    is not safe itself) is taken out: a few passes in C over all the texts.
    """
    encoded = bytearray(3 * len(joined))
    encoded[::3] = joined.translate(_FIRST)
    encoded[1::3] = joined.translate(_SECOND)
    encoded[2::3] = joined.translate(_THIRD)
    return encoded.translate(None, b"\0").decode("ascii").split("\n")


class CompiledRoute:
    """
    A route under one URLconf, language and script prefix. See ``Route.compile()``.

    ``params``
        The names of the pattern's parameters, in the order of the URL.
    ``pieces``, ``slots``
        The URL is ``pieces[0] + text(values[slots[0]]) + pieces[1] + …``, where
        ``values`` are in the order of ``Route.expressions``. The pieces are
        percent-encoded, with the constants in them. They belong to the way to
        write the URL that ``reverse()`` tries first; ``texts()`` knows whether it
        is the one for given values.
    """

    def __init__(self, route: Route, forms: Sequence[_Form]) -> None:
        self._route = route
        self._forms = forms
        # The constants, with room for the other values.
        self._values = list(route._given.values())
        self._places = [route.params.index(param) for param in route.expressions]
        form = forms[0]
        literals, names = split_template(form.template, form.regex, form.names)
        self.params: tuple[str, ...] = tuple(names)
        self.slots: tuple[int, ...] = ()
        try:
            self._search = form.search
        except re.error as error:
            msg = f"the URL pattern {form.regex!r} is invalid: {error}."
            raise ValueError(msg) from error
        if not route.expressions:
            self.pieces: tuple[str, ...] = (self.exact(()),)
            return
        constants = {
            name: writer_of(form.converters.get(name))(value)
            for name, value in route._constants(form).items()
        }
        # Of several positional parameters of one name the last one counts.
        columns = {
            form.names[place]: column
            for column, place in enumerate(self._places)
            if form.names[place] not in constants
        }
        self._writers = [
            writer_of(form.converters.get(form.names[place])) for place in self._places
        ]
        self._groups = _groups_of_expressions(form.plain, constants)
        folded = [literals[0]]
        for name, literal in zip(names, literals[1:], strict=True):
            if name in constants:
                folded[-1] += constants[name] + literal
            else:
                folded.append(literal)
        self.slots = tuple(columns[name] for name in names if name in columns)
        # Whether a value equals a default is left to exact().
        self._is_provable = len(self.slots) > 0 and not any(
            name in columns for name, _ in form.fixed
        )
        self._fill = "%s".join(text.replace("%", "%%") for text in folded).__mod__
        self.pieces = (
            escape_leading_slashes(quote(folded[0], safe=SAFE)),
            *(quote(text, safe=SAFE) for text in folded[1:]),
        )

    def exact(self, values: Sequence[Any]) -> str:
        """
        Return the URL of one row, its values in the order of ``Route.expressions``.

        Raises ``NoReverseMatch`` where ``reverse()`` does, and whatever a value or
        its converter raises there: ``UnicodeEncodeError`` for half a surrogate
        pair.
        """
        given = values
        if len(self._places) < len(self._values):
            given = self._values.copy()
            for place, value in zip(self._places, values, strict=True):
                given[place] = value
        for form in self._forms:
            url = form.url(dict(zip(form.names, given, strict=True)))
            if url is not None:
                return url
        described = _described(dict(zip(self._route.params, given, strict=True)))
        msg = (
            f"No URL pattern named {self._route.viewname!r} matches "
            f"{', '.join(described) or 'without parameters'}."
        )
        raise NoReverseMatch(msg)

    def texts(self, columns: Sequence[Sequence[Any]]) -> list[Sequence[str]] | None:
        """
        Return what goes between ``pieces`` for many rows, percent-encoded.

        ``columns`` has the values of each expression, in the order of
        ``Route.expressions``, and the result a text for each of them. None means
        that some row may not have the URL so made: ``exact()`` knows.
        """
        if not columns or not len(columns[0]):
            return [[] for _ in columns]
        if not self._is_provable:
            return None
        try:
            texts: list[Sequence[str]] = [
                values
                if write is str and {*map(type, values)} == {str}
                else list(map(write, values))
                for write, values in zip(self._writers, columns, strict=True)
            ]
            joined = ["\n".join(column).encode() for column in texts]
        except Exception:
            # A value that cannot be written: exact() raises it again for its row.
            return None
        for column, data in zip(texts, joined, strict=True):
            if "" in column or data.count(SEPARATOR) != len(column) - 1:
                return None
        if self.pieces[0] == "/" and _has_leading_slash(joined[self.slots[0]]):
            return None
        if not self._all_match(texts, joined):
            return None
        return [
            column
            if not data.translate(None, SAFE_OR_SEPARATOR)
            else _percent_encoded(data)
            for column, data in zip(texts, joined, strict=True)
        ]

    def _all_match(
        self, texts: Sequence[Sequence[str]], joined: Sequence[bytes]
    ) -> bool:
        """Say whether the URL of each row, before it is encoded, is matched."""
        if self._groups is not None:
            return all(
                group.matches_all(texts[column], joined[column])
                for column, group in zip(self.slots, self._groups, strict=True)
            )
        rows = zip(*(texts[column] for column in self.slots), strict=True)
        return all(map(self._search, map(self._fill, rows)))


def _groups_of_expressions(
    plain: _Plain | None, constants: Mapping[str, str]
) -> list[Group] | None:
    """
    Return the groups that the expressions have to match, in the order of the URL.

    None if that is not known to be enough for the whole pattern to match.
    """
    if plain is None:
        return None
    groups = []
    for name, group in zip(plain.names, plain.groups, strict=True):
        if name not in constants:
            groups.append(group)
        elif not group.matches(constants[name]):
            return None
    return groups


def _has_leading_slash(joined: bytes) -> bool:
    return joined.startswith(b"/") or SEPARATOR + b"/" in joined
