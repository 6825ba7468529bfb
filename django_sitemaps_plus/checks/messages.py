"""Messages by their number, and the sections that are checked."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning

from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.registry import registry


def message(number: str, text: str, hint: str, obj: Any = None) -> CheckMessage:
    """Return the error or warning with a number: "E001" is an error."""
    kind = Error if number.startswith("E") else CheckWarning
    return kind(text, hint=hint, obj=obj, id=f"sitemaps_plus.{number}")


def section_names() -> list[str]:
    """Return the names of all sections; none where E001 or E004 says what is wrong."""
    try:
        return list(registry.sources())
    except ConfigurationError:
        return []
