"""Checks of the formats that are asked for, and of the feeds that engines submit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage
from django.db import DatabaseError

from django_sitemaps_plus.checks.messages import check, message, section_names
from django_sitemaps_plus.conf import app_settings, get_settings
from django_sitemaps_plus.db import no_queries
from django_sitemaps_plus.delivery import engines
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.serving.robots import rules
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from .conf import Settings, formats
from .llms import section_title


@check(of_each_site=True)
def check_formats(**kwargs: Any) -> Iterator[CheckMessage]:
    """E050: a section at the address of recent changes."""
    taken = formats().keys() & {"recent"}
    for name in taken.intersection(section_names()):
        yield message(
            "E050",
            f"The section {name!r} is served at /sitemap-{name}.xml, which is also "
            f"the address of SITEMAPS_PLUS['FORMATS'][{name!r}].",
            f'Rename the section, for example @register(name="{name}-pages").',
        )


@check()
def check_feeds(**kwargs: Any) -> Iterator[CheckMessage]:
    """W032: feeds that engines submit, and that no URL pattern serves."""
    for name in get_settings().ENGINES:
        try:
            feeds = engines.make(name).feeds_of_site()
        except ConfigurationError:
            continue  # E030 and E031 say so
        for feed in feeds:
            if feed.startswith("/") and not _is_served(feed):
                yield message(
                    "W032",
                    f"SITEMAPS_PLUS['ENGINES'][{name!r}] submits the feed {feed!r}, "
                    "which no URL pattern serves.",
                    "Correct the path, or give the whole URL if another server has it.",
                )


def _is_served(path: str) -> bool:
    """Return whether the site's URLconf has a pattern for a path."""
    given = Site.current().base_url
    prefix = SiteAddress.parse(given).prefix if given else "/"
    inner = path.partition("?")[0].removeprefix(prefix.rstrip("/"))
    return Site.current().resolved(inner) is not None


@check()
def check_llms(**kwargs: Any) -> Iterator[CheckMessage]:
    """W051: llms.txt is asked for, and would list nothing, on whichever site."""
    is_closed = rules().are_closed
    if app_settings(Settings).LLMS is None or is_closed:
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
