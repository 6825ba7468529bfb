"""Which views answer at the sitemaps' addresses: others may stand in front."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.urls import NoReverseMatch, ResolverMatch, reverse

from django_sitemaps_plus.delivery.engines import known_files
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, Site

APP = "django_sitemaps_plus"
ROBOTS = "/robots.txt"


def others(names: Iterable[str]) -> dict[str, dict[str, ResolverMatch]]:
    """
    Return what answers at addresses of the current site in place of this app's views.

    ``names`` are its sections. By a description of the view: the paths that it answers.
    """
    found: dict[str, dict[str, ResolverMatch]] = {}
    for path in _paths(names):
        match = Site.current().resolved(path)
        if match is not None and APP not in match.app_names:
            view = f"{match._func_path} (URL pattern {match.route!r})"
            found.setdefault(view, {})[path] = match
    return found


def _paths(names: Iterable[str]) -> Iterator[str]:
    """Yield the paths of what crawlers and engines ask for, without script prefix."""
    names = list(names)
    wanted: list[tuple[str, dict[str, Any]]] = [
        ("site", {}),
        ("robots", {}),
        *(("engine-file", {"name": name}) for name in sorted(known_files())),
        *(("section", {"name": name}) for name in names),
        *(("page", {"page": f"{name}-1"}) for name in names),
    ]
    site = Site.current().name or None
    with PLACEHOLDER_SITE.rendering():
        for name, kwargs in wanted:
            try:
                yield reverse(f"{APP}:{name}", kwargs=kwargs, current_app=site)
            except NoReverseMatch:
                return  # W005 says so
