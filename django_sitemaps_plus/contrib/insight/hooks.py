"""What this app adds to the core: see ``django_sitemaps_plus.hooks``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase

    from django_sitemaps_plus.hooks import Report


def answered(
    request: HttpRequest, response: HttpResponseBase, *, site: str, is_sitemap: bool
) -> None:
    """Count who got a sitemap or a feed, or heard that it has not changed."""
    from .readers import reader_counts

    status = response.status_code
    if is_sitemap and status in (200, 304) and request.method == "GET":
        agent = request.META.get("HTTP_USER_AGENT", "")
        reader_counts.count(request.path, agent, status)


def store(*, process_ends: bool) -> None:
    """Store who read the sitemaps."""
    from .readers import reader_counts

    reader_counts.store(at_once=process_ends)


def delivered(report: Report) -> None:
    """Count what engines have settled, for the chart."""
    from . import history

    history.count_settled(report)


def hourly() -> None:
    """Count what is listed, and delete what is old of all counts."""
    from . import history, readers

    history.count_entries()
    history.prune_days()
    readers.prune_reads()
