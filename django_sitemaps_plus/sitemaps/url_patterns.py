"""
The URL patterns of a name, and the ways to write a URL of them.

What there is to reverse is read from ``URLResolver.reverse_dict``, ``app_dict``
and ``namespace_dict``. They are Django's own and not documented, but the public
interface cannot list the patterns of a name, and the three have been the same
since Django 2.0. They are only read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from django.urls import URLResolver, get_ns_resolver
from django.urls.converters import DEFAULT_CONVERTERS
from django.utils.http import RFC3986_SUBDELIMS, escape_leading_slashes

#: A parameter of a URL: its name, or its index among the positional ones.
Param: TypeAlias = str | int
#: The parameters of a URL: how many positional ones, or the names of the others.
Shape: TypeAlias = int | tuple[str, ...]

_Match: TypeAlias = Callable[[str], re.Match[str] | None]

#: What reverse() does not encode, besides what quote() never does.
SAFE = RFC3986_SUBDELIMS + "/~:@"
#: All that is not encoded, and the separator of joined values.
_SAFE_BYTES = bytes(
    byte for byte in range(128) if quote(chr(byte), safe=SAFE) == chr(byte)
)
SEPARATOR = b"\n"
SAFE_OR_SEPARATOR = _SAFE_BYTES + SEPARATOR
_find_unsafe = re.compile(f"[^{re.escape(_SAFE_BYTES.decode())}]").search

#: reverse() passes its keyword arguments to a method with these parameters, and
#: raises TypeError for a URL parameter of the same name.
RESERVED = frozenset({"self", "lookup_view", "_prefix"})

#: Converters whose ``to_url()`` gives what ``str()`` gives: Django's own.
_WRITTEN_BY_STR = frozenset(map(type, DEFAULT_CONVERTERS.values()))


# Patterns


class UrlForm(NamedTuple):
    """One URL pattern of a name, as ``reverse_dict`` has it."""

    #: Ways to write the pattern, each a template and its parameters: a pattern
    #: with optional groups has several.
    templates: Sequence[tuple[str, Sequence[str]]]
    regex: str
    #: The ``kwargs`` of ``path()`` and of the ``include()`` around it.
    defaults: Mapping[str, Any]
    converters: Mapping[str, Any]


def patterns_of(resolver: URLResolver, viewname: str) -> list[UrlForm]:
    """Return the patterns of ``viewname`` in the order reverse() tries them."""
    *path, view = viewname.split(":")
    prefix = ""
    captured: dict[str, Any] = {}
    for namespace in path:
        # The name of an app stands for its default instance, or its first one.
        instances = resolver.app_dict.get(namespace, [namespace])
        if namespace not in instances:
            namespace = instances[0]
        if namespace not in resolver.namespace_dict:
            return []
        extra, resolver = resolver.namespace_dict[namespace]
        prefix += extra
        captured.update(resolver.pattern.converters)
    if prefix:
        resolver = get_ns_resolver(prefix, resolver, tuple(captured.items()))
    return [UrlForm(*pattern) for pattern in resolver.reverse_dict.getlist(view)]


# Forms: the ways to write a URL


@dataclass(frozen=True)
class Form:
    """One way to write a pattern, for one set of parameters."""

    #: A format string for ``%``, script prefix included.
    template: str
    regex: str
    #: The names of the values, in the order in which they are passed.
    names: tuple[str, ...]
    #: Values that are not part of the URL: one that is passed has to be equal.
    fixed: tuple[tuple[str, Any], ...]
    converters: Mapping[str, Any]

    def writer(self, name: str) -> Callable[[Any], str]:
        """Return the function that writes a value as reverse() does."""
        converter = self.converters.get(name)
        if converter is None or type(converter) in _WRITTEN_BY_STR:
            return str
        return lambda value: str(converter.to_url(value))

    def constants(
        self, given: Mapping[Param, Any], expressions: Iterable[Param]
    ) -> dict[str, Any]:
        """Return the values that are no expressions, by the form's names for them."""
        params = dict(zip(self.names, given, strict=True))
        return {
            name: given[param]
            for name, param in params.items()
            if param not in expressions
        }

    # Compiled at first use: an invalid regex is no error before that.
    @cached_property
    def search(self) -> _Match:
        """Search a filled template for the pattern."""
        return re.compile(self.regex).search

    def url(self, given: Mapping[str, Any]) -> str | None:
        """Return the URL, or None where reverse() tries the next form."""
        texts = self._texts(given)
        url = None if texts is None else self.template % texts
        if url is None or self.search(url) is None:
            return None
        if _find_unsafe(url):
            url = quote(url, safe=SAFE)
        return escape_leading_slashes(url)

    def rules_out(self, constants: Mapping[str, Any]) -> bool:
        """Return whether url() is None for these values, whatever the others are."""
        try:
            return self._texts(constants) is None
        except Exception:
            # reverse() lets it through: no other form is tried.
            return False

    def _texts(self, given: Mapping[str, Any]) -> dict[str, str] | None:
        """Return values as reverse() writes them; None where it tries the next form."""
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
        return texts


def forms_of(patterns: Iterable[UrlForm], prefix: str, shape: Shape) -> Iterator[Form]:
    """Yield the forms that reverse() tries, in its order."""
    if isinstance(shape, tuple) and not RESERVED.isdisjoint(shape):
        return
    start = prefix.replace("%", "%%")
    names = shape or ()
    for pattern in patterns:
        for template, params in pattern.templates:
            fixed: tuple[tuple[str, Any], ...] = ()
            if isinstance(names, int):
                if names != len(params):
                    continue
            else:
                if set(names).symmetric_difference(params).difference(pattern.defaults):
                    continue
                fixed = tuple(
                    (name, default)
                    for name, default in pattern.defaults.items()
                    if name not in params
                )
            yield Form(
                template=start + template,
                regex=f"^{re.escape(prefix)}{pattern.regex}",
                names=tuple(params) if isinstance(names, int) else names,
                fixed=fixed,
                converters=pattern.converters,
            )


# Plain regular expressions, which can be taken apart: characters, and sets of
# characters, each with or without a greedy quantifier. No alternatives, no
# look-around, no back-references, nothing possessive: a text whose parts each match
# their own part of such an expression matches the whole of it.
_CHARACTER = r"(?:\\[^a-zA-Z0-9]|[^\\^$*+?{}\[\]|()])"
_SET = r"(?:\[\^?(?:[^\]\[\\^&~|]|\\[dwsDWS./-])+\]|\\[dwsDWS])"
_QUANTIFIER = r"(?:[*+?]|\{\d+(?:,\d*)?\})?"
_match_token = re.compile(
    rf"(?P<literal>{_CHARACTER}+)"
    rf"|\((?:\?P<\w+>)?(?P<group>(?:(?:{_SET}|{_CHARACTER}){_QUANTIFIER})+)\)"
).match
#: One or more characters of one set.
_match_one_set = re.compile(rf"(?:{_SET}|\.)\+").fullmatch
#: The same, of any characters, or of all but some ASCII ones.
_match_all_but_ascii = re.compile(r"\.\+|\[\^[^\\\x80-\U0010ffff]+\]\+").fullmatch
_ENDS = frozenset({"", "$", r"\Z", r"\z"})


class PatternGroup:
    """A capturing group of a plain pattern."""

    def __init__(self, source: str) -> None:
        self._match = re.compile(source).fullmatch
        #: Any text of these bytes that is not empty matches.
        self._allowed = b""
        if _match_one_set(source):
            ascii_bytes = (byte for byte in range(128) if self._match(chr(byte)))
            self._allowed = bytes(ascii_bytes) + SEPARATOR
            if _match_all_but_ascii(source):
                self._allowed += bytes(range(128, 256))
        self._others = bytes({*range(256)} - {*self._allowed})

    def matches(self, text: str) -> bool:
        """Return whether one text matches."""
        return self._match(text) is not None

    def matches_all(self, texts: Iterable[str], joined: bytes) -> bool:
        """Return whether all texts match; none is empty."""
        return not self._has_others(joined) or all(map(self._match, texts))

    def _has_others(self, joined: bytes) -> bool:
        if len(self._others) < 4:
            return any(byte in joined for byte in self._others)
        return bool(joined.translate(None, self._allowed))


def take_apart(regex: str) -> tuple[list[str], list[PatternGroup]] | None:
    """Return the literals and the groups of a plain pattern, None for any other."""
    literals, groups = [""], []
    position = 1  # after the "^" with which every form's pattern begins
    while token := _match_token(regex, position):
        position = token.end()
        if token["group"]:
            groups.append(PatternGroup(token["group"]))
            literals.append("")
        else:
            literals[-1] += re.sub(r"(?s)\\(.)", r"\1", token["literal"])
    return (literals, groups) if regex[position:] in _ENDS else None


def split_template(form: Form) -> tuple[list[str], list[str]]:
    """
    Return the literals of a form's template and the names between them.

    Raises ``ValueError`` if the values of the names that are given cannot fill it.
    """
    template, regex = form.template, form.regex
    literals, names, end = [""], [], 0
    for field in re.finditer(r"%(?:\((\w+)\)s|(%)?)", template):
        literals[-1] += template[end : field.start()]
        end = field.end()
        if field[2]:
            literals[-1] += "%"
        elif field[1] is None:
            raise ValueError(
                f"reverse() fails on the '%' in the URL pattern {regex!r}. "
                "Take it out of the pattern."
            )
        elif field[1] not in form.names:
            raise ValueError(
                f"reverse() fails without {field[1]!r} for the URL pattern "
                f"{regex!r}. Give it as well."
            )
        else:
            names.append(field[1])
            literals.append("")
    literals[-1] += template[end:]
    return literals, names
