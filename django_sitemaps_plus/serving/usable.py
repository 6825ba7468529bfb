"""Whether a registered section can be used, and if not, why."""

from __future__ import annotations

from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.rendering.serializer import describe
from django_sitemaps_plus.sitemaps.sections import source


def why_unusable(name: str) -> str:
    """Return why a registered section cannot be used; empty if it can."""
    try:
        definition(source(name))
    except ConfigurationError as error:
        return str(error)
    except Exception as error:  # items() may raise whatever it likes
        return describe(error)
    return ""
