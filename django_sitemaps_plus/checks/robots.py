"""Checks of robots.txt and llms.txt: what they say, and what they do not say."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, register
from django.db import DatabaseError

from django_sitemaps_plus.changes.receivers import no_queries
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.protocol.robots import closed, not_repeated
from django_sitemaps_plus.sitemaps.registry import registry

from .messages import message, of_each_site


@register("sitemaps_plus")
def check_robots(**kwargs: Any) -> list[CheckMessage]:
    """W050: crawlers that robots.txt names do not follow the rules for all."""
    try:
        groups = get_settings().robots_groups()
    except ConfigurationError:
        return []  # E001 says so
    return [
        message(
            "W050",
            f"robots.txt has a group for {name}, so it does not follow these rules of "
            f"'*': {', '.join(rules)}. A crawler follows only the groups that name it.",
            "Repeat them in that group of SITEMAPS_PLUS['ROBOTS'], or silence this "
            "check if the crawler may fetch these paths.",
        )
        for name, rules in not_repeated(groups).items()
    ]


@register("sitemaps_plus")
@of_each_site
def check_llms(**kwargs: Any) -> list[CheckMessage]:
    """W051: llms.txt is asked for, and would list nothing."""
    try:
        settings = get_settings()
        if settings.LLMS is None or closed(settings.robots_groups()):
            return []
        with no_queries():
            sources = registry.sources().values()
    except ConfigurationError:
        return []  # E001 or E004 says so
    except DatabaseError:
        return []  # of sections that only a database knows, nothing is known yet
    if any(getattr(source, "section_title", "") for source in sources):
        return []
    return [
        message(
            "W051",
            "SITEMAPS_PLUS['LLMS'] is set, but no section declares a section_title: "
            "/llms.txt lists nothing.",
            'Declare section_title = "Articles" in a sitemap class, or remove LLMS.',
        )
    ]
