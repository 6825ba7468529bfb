"""Messages by their number, and the sections that are checked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import wraps
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning
from django.db import DatabaseError

from django_sitemaps_plus.db import no_queries
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.protocol.errors import page
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site, working_for

SET_BASE_URL = 'Set SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com"}.'
#: Yields what is wrong.
Check = Callable[..., Iterator[CheckMessage]]
#: The checks of the modules that were imported, of the core and of apps, by how they
#: are registered with Django: their tags, and whether for a deployment.
CHECKS = defaultdict[tuple[tuple[str, ...], bool], list[Callable[..., Any]]](list)


def message(number: str, text: str, hint: str, obj: Any = None) -> CheckMessage:
    """Return the error or warning with a number: "E001" is an error."""
    # On a line of its own after a command that one may copy.
    hint += f"{' ' if hint.endswith('.') else chr(10)}See {page('checks', number)}."
    if site := Site.current().name:
        text = f"Site {site!r}: {text}"
    kind = Error if number.startswith("E") else CheckWarning
    return kind(text, hint=hint, obj=obj, id=f"sitemaps_plus.{number}")


def check(
    *tags: str, of_each_site: bool = False, deploy: bool = False
) -> Callable[[Check], Callable[..., list[CheckMessage]]]:
    """
    Register a check, to run once or for each site of the settings.

    It may read settings and the registry as if they were right: where they cannot be
    read it ends, and E001, E002 or E004 says why.
    """

    def decorate(check: Check) -> Callable[..., list[CheckMessage]]:
        @wraps(check)
        def run(**kwargs: Any) -> list[CheckMessage]:
            sites, messages = [Site.current().unasked()], []
            if of_each_site:
                with suppress(ConfigurationError):
                    sites = [site.unasked() for site in Site.all()]
            for site in sites:
                with working_for(site), suppress(ConfigurationError):
                    for one in check(**kwargs):
                        messages.append(one)
            return messages

        CHECKS[tags, deploy].append(run)
        return run

    return decorate


def section_names_of_all_sites() -> list[str]:
    """Return the names of the sections of all ``SITES``, as ``section_names`` does."""
    found: dict[str, None] = {}
    for site in Site.all():
        with working_for(site):
            found |= dict.fromkeys(section_names())
    return list(found)


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


def without_address(number: str, text: str) -> Iterator[CheckMessage]:
    """Yield a message if neither ``BASE_URL``, Sites nor tenants say where it is."""
    site = Site.current()
    if not (site.tenant or site.base_url or apps.is_installed("django.contrib.sites")):
        yield message(number, text, SET_BASE_URL)
