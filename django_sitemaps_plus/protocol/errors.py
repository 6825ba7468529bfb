"""What the protocol floor refuses.

ValueError
└── ProtocolError
    ├── EntryError          a field of an entry is illegal: leave the entry out
    │   ├── LocationError   ... because of a location
    │   │   └── OutsideError    which lies outside of the sitemap's folder
    │   └── DateError       ... because of a date
    └── PageFull            it does not fit: open the next page
"""

from __future__ import annotations

import reprlib
from typing import Self

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 80


class ProtocolError(ValueError):
    """The base of all errors of this floor; never raised itself."""


class EntryError(ProtocolError):
    """A field of an entry is illegal; the message names it and its value."""

    @classmethod
    def of(cls, field: str, value: object, problem: object) -> Self:
        """Return what is wrong with the value of a field."""
        return cls(f"{field} {excerpt(value)}: {problem}")


class LocationError(EntryError):
    """A location is not a legal URL of the sitemap."""


class OutsideError(LocationError):
    """A location lies outside of the folder of the sitemap."""


class DateError(EntryError):
    """A date cannot be written as a W3C Datetime."""


class PageFull(ProtocolError):  # a state of the page, not a fault
    """An entry would pass the limit of entries or of bytes of its page."""


def printable(text: str) -> str:
    """Return a text as one line that every database, log and terminal can hold.

    What is not printable is written as its escape, such as a NUL as ``\\x00``.
    """
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode()
        for one in line
    )


def excerpt(value: object) -> str:
    """Return at most 80 printable characters of any value, for a message."""
    try:
        return printable(_repr.repr(value))
    except Exception:  # an int of too many digits for Python, a __repr__ that raises
        return f"<{type(value).__name__}>"


def page(name: str, anchor: str = "") -> str:
    """Return what a page of the documentation is called, or a place on it."""
    # No file: pip installs none of them.
    return f'"{name}{anchor and ": "}{anchor}" in the documentation'
