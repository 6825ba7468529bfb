"""What this app adds to the core: see ``django_sitemaps_plus.hooks``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from .conf import Settings as Settings
from .conf import own_settings as _own_settings

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase

    from django_sitemaps_plus.health.alerts import Alert
    from django_sitemaps_plus.hooks import Standing


def answered(
    request: HttpRequest, response: HttpResponseBase, *, site: str, is_sitemap: bool
) -> None:
    """Name the tags of what was asked for in the headers of ``CACHE_TAGS``."""
    from .cache_tags import cache_tags

    for header, tags in cache_tags(request.path, site).items():
        response.headers[header] = tags


def changes_wait() -> float | None:
    """Return how often files are put: nobody asks here for what a bucket answers."""
    options = _own_settings().publish
    return None if options is None else options.every


def are_packed() -> bool:
    """Return whether files have the ending ``.gz``."""
    options = _own_settings().publish
    return options is not None and options.gzip == "file"


def listens() -> bool:
    """Return whether files are put, or caches are to hear what changed."""
    from .documents import are_wanted

    return _own_settings().publish is not None or are_wanted()


def background(is_over: Callable[[], bool]) -> float | None:
    """Put the files that have changed."""
    from .publish import publish_in_turn

    return publish_in_turn(is_over)


def rebuilt(is_over: Callable[[], bool]) -> float | None:
    """Send ``documents_changed``."""
    from .documents import announce_documents

    return announce_documents(is_over)


def alerts(sections: Collection[str] | None) -> Iterator[Alert]:
    """Yield what is old where caches, buckets and folders answer."""
    from .alerts import alerts

    yield from alerts()


def status() -> Iterator[Standing]:
    """Yield what was published."""
    from .alerts import standing

    yield from standing()
