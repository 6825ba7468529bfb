"""
What Django's URL patterns say, and plain ones taken apart.

What there is to reverse is read from ``URLResolver.reverse_dict``, ``app_dict``
and ``namespace_dict``. They are Django's own, without documentation, but the
public interface has no way to ask which patterns a name has, and the three have
been the same since Django 2.0. They are only read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from django.urls import URLResolver, converters, get_ns_resolver
from django.utils.http import RFC3986_SUBDELIMS

#: What reverse() lets stand unencoded, besides what quote() always does.
SAFE = RFC3986_SUBDELIMS + "/~:@"
#: All that stands unencoded, and the separator of joined values.
_SAFE_BYTES = bytes(
    byte for byte in range(128) if quote(chr(byte), safe=SAFE) == chr(byte)
)
SEPARATOR = b"\n"
SAFE_OR_SEPARATOR = _SAFE_BYTES + SEPARATOR
_SAFE_CLASS = re.escape(_SAFE_BYTES.decode())
find_unsafe = re.compile(f"[^{_SAFE_CLASS}]").search

#: Converters whose ``to_url()`` gives what ``str()`` gives.
_WRITTEN_BY_STR = frozenset(
    {
        converters.IntConverter,
        converters.PathConverter,
        converters.SlugConverter,
        converters.StringConverter,
        converters.UUIDConverter,
    }
)


class Entry(NamedTuple):
    """One URL pattern of a name, as ``reverse_dict`` has it."""

    #: Ways to write the pattern, each a template and its parameters: a pattern
    #: with optional groups has several.
    forms: Sequence[tuple[str, Sequence[str]]]
    regex: str
    #: The ``kwargs`` of ``path()`` and of the ``include()`` around it.
    defaults: Mapping[str, Any]
    converters: Mapping[str, Any]


def entries_of(resolver: URLResolver, viewname: str) -> list[Entry]:
    """Return the patterns of ``viewname`` in the order reverse() tries them."""
    *path, view = viewname.split(":")
    pattern = ""
    captured: dict[str, Any] = {}
    for namespace in path:
        # The name of an app stands for its default instance, or its first one.
        instances = resolver.app_dict.get(namespace, [namespace])
        if namespace not in instances:
            namespace = instances[0]
        if namespace not in resolver.namespace_dict:
            return []
        extra, resolver = resolver.namespace_dict[namespace]
        pattern += extra
        captured.update(resolver.pattern.converters)
    if pattern:
        resolver = get_ns_resolver(pattern, resolver, tuple(captured.items()))
    return [Entry(*entry) for entry in resolver.reverse_dict.getlist(view)]


def known_names(
    resolver: URLResolver, path: str = "", outer: tuple[URLResolver, ...] = ()
) -> Iterator[str]:
    """Yield every name that reverse() knows, with its namespaces."""
    for name in resolver.reverse_dict:
        if isinstance(name, str):
            yield path + name
    for namespace, (_, inner) in resolver.namespace_dict.items():
        if inner not in outer:  # a URLconf may include itself
            yield from known_names(inner, f"{path}{namespace}:", (*outer, inner))


# Regular expressions that are plain enough to be taken apart: characters, and sets
# of characters, each with or without a greedy quantifier. No alternatives, no
# look-around, no back-references, nothing possessive: so a text whose parts each
# match their own part of the pattern matches the whole of it.
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
_match_all_but_ascii = re.compile(
    r"\.\+|\[\^[^\\\x80-\U0010ffff]+\]\+",
).fullmatch
_ENDS = frozenset({"", "$", r"\Z", r"\z"})


class Group:
    """A capturing group of a plain pattern."""

    def __init__(self, source: str) -> None:
        self._match = re.compile(source).fullmatch
        #: Match a text that, besides, needs no encoding.
        self.match_safe = re.compile(rf"(?=[{_SAFE_CLASS}]*\Z)(?:{source})").fullmatch
        #: Of these bytes, any text matches that is not empty.
        self._allowed = b""
        if _match_one_set(source):
            ascii_bytes = (byte for byte in range(128) if self._match(chr(byte)))
            self._allowed = bytes(ascii_bytes) + SEPARATOR
            if _match_all_but_ascii(source):
                self._allowed += bytes(range(128, 256))

    def matches(self, text: str) -> bool:
        """Say whether one text matches."""
        return self._match(text) is not None

    def matches_all(self, texts: Iterable[str], joined: bytes) -> bool:
        """Say whether all texts match; none is empty."""
        return not joined.translate(None, self._allowed) or all(map(self._match, texts))


def take_apart(regex: str) -> tuple[list[str], list[Group]] | None:
    """Return the literals and the groups of a plain pattern, None for any other."""
    literals, groups = [""], []
    position = 1  # after the "^" with which every form's pattern begins
    while token := _match_token(regex, position):
        position = token.end()
        if token["group"]:
            groups.append(Group(token["group"]))
            literals.append("")
        else:
            literals[-1] += re.sub(r"(?s)\\(.)", r"\1", token["literal"])
    return (literals, groups) if regex[position:] in _ENDS else None


def split_template(
    template: str, regex: str, given: Sequence[str]
) -> tuple[list[str], list[str]]:
    """
    Return the literals of a template and the names between them.

    Raises ``ValueError`` if ``%`` cannot fill it from the names given.
    """
    literals, names, end = [""], [], 0
    for field in re.finditer(r"%(?:\((\w+)\)s|(%)?)", template):
        literals[-1] += template[end : field.start()]
        end = field.end()
        if field[2]:
            literals[-1] += "%"
        elif field[1] is None:
            msg = (
                f"reverse() fails on the '%' in the URL pattern {regex!r}. "
                "Take it out of the pattern."
            )
            raise ValueError(msg)
        elif field[1] not in given:
            msg = (
                f"reverse() fails without {field[1]!r} for the URL pattern "
                f"{regex!r}. Give it as well."
            )
            raise ValueError(msg)
        else:
            names.append(field[1])
            literals.append("")
    literals[-1] += template[end:]
    return literals, names


def writer_of(converter: Any) -> Callable[[Any], str]:
    """Return the function that writes a value as reverse() does."""
    if converter is None or type(converter) in _WRITTEN_BY_STR:
        return str
    return lambda value: str(converter.to_url(value))
