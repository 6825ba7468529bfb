"""Messages by their number, and the sections that are checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning
from django.db import DatabaseError

from django_sitemaps_plus.changes.receivers import no_queries
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import (
    declared_sites,
    named_site,
    working_for,
)

Check = Callable[..., list[CheckMessage]]


def message(number: str, text: str, hint: str, obj: Any = None) -> CheckMessage:
    """Return the error or warning with a number: "E001" is an error."""
    if site := named_site():
        text = f"Site {site!r}: {text}"
    kind = Error if number.startswith("E") else CheckWarning
    return kind(text, hint=hint, obj=obj, id=f"sitemaps_plus.{number}")


def of_each_site(check: Check) -> Check:
    """Have a check run for each site that the settings describe."""

    @wraps(check)
    def inner(**kwargs: Any) -> list[CheckMessage]:
        try:
            sites = declared_sites()
        except ConfigurationError:
            return check(**kwargs)  # E001 says so
        found = []
        for site in sites:
            with working_for(site):
                found += check(**kwargs)
        return found

    return inner


def section_names() -> list[str]:
    """
    Return the names of all sections, without asking a database.

    Empty where E001 or E004 says what is wrong; of those that only the database knows,
    ``check_tables`` says it.
    """
    try:
        with no_queries():
            return list(registry.sources())
    except ConfigurationError:
        return []
    except DatabaseError:
        return list(registry.known())
