"""
What an audit should find, with ``EXAMPLE_FAULTS=1``: a section of pages that are wrong.

Beside each path of ``FAULTS`` stand the ids of its faults; ``docs/audit.md`` says what
they mean.
"""

from __future__ import annotations

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path

from django_sitemaps_plus import Sitemap

#: The listed paths, and what is wrong with each. The last is listed twice.
FAULTS = {
    "/about/": "A015",  # the section "pages" lists it
    "/about/?utm_source=mail": "A017 A105",
    "/search/?q=snowman": "A018 A103",  # what is found is not to be indexed, either
    "/faults/gone/": "A100",
    "/faults/moved/": "A101",
    "/faults/private/": "A102",
    "/faults/hidden/": "A103",
    "/faults/hidden-from-one/": "A104",
    "/faults/copy/": "A105",
    "/faults/empty/": "A106",
    "/faults/twice/": "A014",
}


class FaultSitemap(Sitemap):
    """The paths above, from a list."""

    def items(self) -> list[str]:
        """Return all paths, and the last one again."""
        return [*FAULTS, list(FAULTS)[-1]]

    def location(self, item: str) -> str:
        """Return the path itself."""
        return item


def page(request: HttpRequest, name: str) -> HttpResponse:
    """Answer as a page should not."""
    if name == "moved":
        return redirect("about", permanent=True)
    if name == "private":
        return redirect_to_login(request.path)
    robots = {"hidden": "noindex", "hidden-from-one": "bingbot: noindex"}.get(name, "")
    canonical = "/about/" if name == "copy" else request.path
    body = f'<!doctype html><link rel="canonical" href="{canonical}"><p>{name}</p>'
    response = HttpResponse(
        "" if name == "empty" else body, status=410 if name == "gone" else 200
    )
    if robots:
        response.headers["X-Robots-Tag"] = robots
    return response


urlpatterns = [path("faults/<slug:name>/", page)]
