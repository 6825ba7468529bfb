"""Checks of values whose type only the caller's types promise."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from .errors import EntryError

_Kind = TypeVar("_Kind")

_DECIMAL = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,40})?")


def matches(value: object, pattern: re.Pattern[str]) -> bool:
    """Return whether a value is a text, and wholly of the pattern."""
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def one(value: object, kind: type[_Kind], field: str) -> _Kind:
    """Return the value; EntryError if it is not of its kind."""
    if not isinstance(value, kind):
        raise EntryError.of(field, value, f"not of {kind.__name__}")
    return value


def several(values: object, kind: type[_Kind], field: str) -> list[_Kind]:
    """Return the values as a list.

    Raises:
        EntryError: A text, or not iterable: a tuple was forgotten; or one of them is
            not of its kind.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise EntryError.of(field, values, "not a tuple")
    return [one(value, kind, field) for value in values]


def decimal_text(value: object, field: str, bounds: tuple[int, int]) -> str:
    """Write a number as xsd:decimal: as given, no exponent, no locale.

    ``bounds`` are the least and the most that it may be, 0 or more.

    Raises:
        EntryError: Not a number (a truth value is none), infinite, out of range, or
            of more than 40 decimals.
    """
    exact, (low, high) = _exact(value, field), bounds
    if not exact.is_finite() or not low <= exact <= high:
        raise EntryError.of(field, value, f"not within {low} and {high}")
    # Its size first: an exponent may stand for a million zeros.
    text = "" if exact.adjusted() < -40 else format(exact.copy_abs(), "f")
    if not _DECIMAL.fullmatch(text):
        raise EntryError.of(field, value, "too many decimals")
    return text


def _exact(value: object, field: str) -> Decimal:
    try:
        if isinstance(value, float):
            return Decimal(float.__repr__(value))
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            return Decimal(value)
        if isinstance(value, str) and value.isascii() and "_" not in value:
            return Decimal(value)
    except InvalidOperation:
        pass
    raise EntryError.of(field, value, "not a number")
