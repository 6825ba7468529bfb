"""
Everything this package raises.

::

    SitemapsPlusError                      do not raise directly
    ├── ConfigurationError                 also Django's ImproperlyConfigured
    │   └── RouteError                     a Route that cannot be compiled
    ├── HookError                          an app's hook that something depends on
    ├── TooManyBadRows                     more than MAX_BAD of a page
    ├── UnusableError                      a section that raises, and has no pages
    └── NotReady                           not now: ask again in retry_after seconds
        ├── Filling                        the boundaries of pages are still being found
        └── Busy                           another process is at it

Errors of single entries are in ``protocol.errors``: they are about data, and
know nothing of Django.
"""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured
from django.urls import NoReverseMatch

from django_sitemaps_plus.protocol.errors import EntryError, printable


class SitemapsPlusError(Exception):
    """The base of this package's errors. Do not raise directly."""


class ConfigurationError(SitemapsPlusError, ImproperlyConfigured):
    """A setting or a sitemap class that cannot work, and what to type instead."""


class RouteError(ConfigurationError):
    """A ``Route`` that cannot be compiled, with the reason."""


class HookError(SitemapsPlusError):
    """A hook of an app failed, and what was asked for depends on it."""


class TooManyBadRows(SitemapsPlusError):
    """More rows of a page are bad than ``MAX_BAD`` allows."""


class UnusableError(SitemapsPlusError):
    """A section cannot be used, and nothing is stored of what was asked for."""


class NotReady(SitemapsPlusError):
    """What was asked for is being built; ask again in ``retry_after`` seconds."""

    retry_after = 5


class Filling(NotReady):
    """The page bounds of a section are still being found."""


class Busy(NotReady):
    """Another process holds the lease."""


def describe(error: BaseException) -> str:
    """Return an error as one printable line for a report."""
    try:
        # Cut first: the text may quote a value of many megabytes.
        text = printable(str(error)[:1_000])
    except Exception:  # the project's own error may do anything
        text = ""
    if isinstance(error, (EntryError, NoReverseMatch)):
        return text[:300]
    return f"{type(error).__name__}: {text}"[:300]
