"""
A route for whole columns of values: a URL for each row, a few passes over all of them.

The values of a column are joined by line breaks, then checked, percent-encoded and
taken apart again. Where that is not certain to give what ``reverse()`` gives, the rows
are done one by one, which defines what is right.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from django.urls import NoReverseMatch
from django.utils.http import escape_leading_slashes

from django_sitemaps_plus.protocol.limits import MAX_LOCATION

from .literal_paths import is_literal
from .url_patterns import (
    SAFE,
    SAFE_OR_SEPARATOR,
    SEPARATOR,
    Form,
    Param,
    PatternGroup,
    split_template,
    take_apart,
)

_HEX = b"0123456789ABCDEF"
#: A character for each byte: itself if it is safe. UTF-8 writes each of the others in
#: three bytes: E1, then 80 and 80 plus the values of its two hexadecimal digits.
_WIDENED = "".join(
    chr(byte)
    if byte in SAFE_OR_SEPARATOR
    else chr(0x1000 + ((byte >> 4) << 6) + (byte & 15))
    for byte in range(256)
)
#: Makes "%" and two digits of these three.
_DIGITS = bytes.maketrans(b"\xe1" + bytes(range(0x80, 0x90)), b"%" + _HEX)


def _percent_encoded(joined: bytes) -> str:
    """Encode joined texts as quote() does each of them, in three passes in C."""
    widened, _ = codecs.charmap_decode(joined, "strict", _WIDENED)
    return widened.encode().translate(_DIGITS).decode("ascii")


class CompiledRoute:
    """
    A route under one URLconf, language and script prefix. See ``Route.compile()``.

    ``verbatim``
        Whether the URL contains the value of each expression as it is, encoded, so that
        a value that is too long makes the URL too long.
    ``pieces``, ``slots``
        The URL is ``pieces[0] + text(values[slots[0]]) + pieces[1] + …``, where
        ``values`` are in the order of ``Route.expressions``. The pieces are
        percent-encoded, with the constants in them. They belong to the form that
        ``reverse()`` tries first; ``texts()`` knows whether it is the one for the
        values of a row.
    """

    def __init__(
        self,
        viewname: str,
        given: Mapping[Param, Any],
        expressions: Iterable[Param],
        forms: Sequence[Form],
    ) -> None:
        self._viewname = viewname
        self._forms = forms
        self._params = list(given)
        # The constants, with room for the other values.
        self._values = list(given.values())
        self._indexes = [self._params.index(param) for param in expressions]
        form = forms[0]
        literals, names = split_template(form)
        self.slots: tuple[int, ...] = ()
        self.verbatim = [
            all(form.writer(form.names[index]) is str for form in forms)
            for index in self._indexes
        ]
        try:
            self._search = form.search
        except re.error as error:
            msg = f"the URL pattern {form.regex!r} is invalid: {error}."
            raise ValueError(msg) from error
        if not self._indexes:
            self.pieces: tuple[str, ...] = (self.exact(()),)
            return
        constants = {
            name: form.writer(name)(value)
            for name, value in form.constants(given, expressions).items()
        }
        # Of several positional parameters of one name the last one counts.
        columns = {
            form.names[index]: column
            for column, index in enumerate(self._indexes)
            if form.names[index] not in constants
        }
        self._writers = [form.writer(form.names[index]) for index in self._indexes]
        # What the expressions have to match, in the order of the URL. None if the whole
        # pattern may not match although they do.
        self._groups: list[PatternGroup] | None = None
        own, groups = take_apart(form.regex) or ([], [])
        if own == literals:
            each = list(zip(names, groups, strict=True))
            known = [(group, name) for name, group in each if name in constants]
            if all(group.matches(constants[name]) for group, name in known):
                self._groups = [group for name, group in each if name not in constants]
        # The literals between the expressions, with the constants in them.
        folded = [literals[0]]
        for name, literal in zip(names, literals[1:], strict=True):
            if name in constants:
                folded[-1] += constants[name] + literal
            else:
                folded.append(literal)
        self.slots = tuple(columns[name] for name in names if name in columns)
        # Whether a value equals a default is left to exact().
        defaults = {name for name, _ in form.fixed}
        self._is_provable = len(self.slots) > 0 and defaults.isdisjoint(columns)
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
        if len(self._indexes) < len(self._values):
            given = self._values.copy()
            for index, value in zip(self._indexes, values, strict=True):
                given[index] = value
        for form in self._forms:
            url = form.url(dict(zip(form.names, given, strict=True)))
            if url is not None:
                return url
        raise no_match(self._viewname, dict(zip(self._params, given, strict=True)))

    def texts(
        self,
        columns: Sequence[Sequence[Any]],
        finish: Callable[[str], str | None] = str,
    ) -> list[Sequence[str]] | None:
        """
        Return what goes between ``pieces`` for many rows, percent-encoded.

        ``columns`` has the values of each expression, in the order of
        ``Route.expressions``, and the result a text for each of them. ``finish`` is
        called with all texts of a column, joined by line breaks; it returns the same
        object where it has nothing to change, and None to refuse. None means that
        some row may have another URL: ``exact()`` knows.
        """
        if not columns or not len(columns[0]):
            return [[] for _ in columns]
        if not self._is_provable:
            return None
        try:
            texts = [
                values
                if write is str and {*map(type, values)} == {str}
                else list(map(write, values))
                for write, values in zip(self._writers, columns, strict=True)
            ]
            joined = ["\n".join(column) for column in texts]
            if any(len(text) > MAX_LOCATION * len(columns[0]) for text in joined):
                # exact() is asked for those that are not too long.
                return None
            encoded = [column.encode() for column in joined]
        except Exception:
            # A value that cannot be written: exact() raises it again for its row.
            return None
        if any("" in column for column in texts):
            return None
        slash = SEPARATOR + b"/"
        if self.pieces[0] == "/" and slash in SEPARATOR + encoded[self.slots[0]]:
            return None
        if not self._all_match(texts, encoded):
            return None
        finished = []
        for column, text, data in zip(texts, joined, encoded, strict=True):
            is_safe = text.isascii() and not data.translate(None, SAFE_OR_SEPARATOR)
            lines = finish(text if is_safe else _percent_encoded(data))
            if lines is None or lines.count("\n") != len(column) - 1:
                return None  # refused, or a text has a line break itself
            finished.append(column if lines is text else lines.split("\n"))
        return finished

    def _all_match(
        self, texts: Sequence[Sequence[str]], encoded: Sequence[bytes]
    ) -> bool:
        """Return whether the URL of each row, before it is encoded, matches."""
        if self._groups is not None:
            return all(
                group.matches_all(texts[column], encoded[column])
                for column, group in zip(self.slots, self._groups, strict=True)
            )
        rows = zip(*(texts[column] for column in self.slots), strict=True)
        return all(map(self._search, map(self._fill, rows)))


def no_match(viewname: str, given: Mapping[Any, Any]) -> NoReverseMatch:
    """Return the error of a URL pattern or a path that does not take some values."""
    values = ", ".join(described(given)) or "without parameters"
    if is_literal(viewname):
        what = f"A value of {viewname!r} is empty or has a '/'"
        return NoReverseMatch(f"{what}: {values}.")
    return NoReverseMatch(f"No URL pattern named {viewname!r} matches {values}.")


def described(given: Mapping[Any, Any]) -> list[str]:
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
