"""Checks of robots.txt and llms.txt: what they say, and what they do not say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage
from django.db import DatabaseError

from django_sitemaps_plus.changes.receivers import no_queries
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.protocol.robots import closed, not_repeated
from django_sitemaps_plus.sitemaps.attributes import section_title
from django_sitemaps_plus.sitemaps.registry import registry

from .messages import check, message


@check()
def check_robots(**kwargs: Any) -> Iterator[CheckMessage]:
    """W050: crawlers that robots.txt names do not follow the rules for all."""
    crawlers: dict[str, list[str]] = {}
    for name, rules in not_repeated(get_settings().robots_groups()).items():
        crawlers.setdefault(", ".join(rules), []).append(name)
    for missing, names in crawlers.items():
        follows = "these do" if len(names) > 1 else "it does"
        yield message(
            "W050",
            f"robots.txt has a group for {', '.join(names)}, so {follows} not follow "
            f"these rules of '*': {missing}. A crawler follows only the groups that "
            "name it.",
            "Repeat them in that group of SITEMAPS_PLUS['ROBOTS'], or silence this "
            "check if the crawler may fetch these paths.",
        )


@check()
def check_llms(**kwargs: Any) -> Iterator[CheckMessage]:
    """W051: llms.txt is asked for, and would list nothing, on whichever site."""
    settings = get_settings()
    if settings.LLMS is None or closed(settings.robots_groups()):
        return
    try:
        with no_queries():
            if any(map(section_title, registry.sources_of_all_sites())):
                return
    except DatabaseError:
        return  # of sections that only a database knows, nothing is known yet
    yield message(
        "W051",
        "SITEMAPS_PLUS['LLMS'] is set, but no section declares a title: "
        "/llms.txt lists nothing.",
        'Declare title = "Articles" in a sitemap class, or remove LLMS.',
    )
