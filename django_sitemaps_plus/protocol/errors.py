"""What the protocol floor refuses.

ValueError
└── ProtocolError
    ├── EntryError          a field of an entry is illegal: leave the entry out
    │   ├── LocationError   ... because of a location
    │   └── DateError       ... because of a date
    └── PageFull            it does not fit: open the next page
"""

from __future__ import annotations

import reprlib

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 80


class ProtocolError(ValueError):
    """The base of all errors of this floor; never raised itself."""


class EntryError(ProtocolError):
    """A field of an entry is illegal; the message names it and its value."""


class LocationError(EntryError):
    """A location is not a legal URL of the sitemap."""


class DateError(EntryError):
    """A date cannot be written as a W3C Datetime."""


class PageFull(ProtocolError):  # a state of the page, not a fault
    """An entry would pass the limit of entries or of bytes of its page."""


def excerpt(value: object) -> str:
    """Return at most 80 printable characters of any value, for a message."""
    try:
        return _repr.repr(value)
    except Exception:  # an int of too many digits for Python, a __repr__ that raises
        return f"<{type(value).__name__}>"
