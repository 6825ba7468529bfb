"""The check that a button runs: what submissions need, of the site and each engine."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.sites import AdminSite
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.health.check import check

from . import display
from .base import page_of


def check_page(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Run the check, and show what it found."""
    problem = ""
    lines: list[dict[str, str]] = []
    try:
        found = check(list(engines()))
        # What is wrong stands first.
        grave = sorted(found, key=lambda one: (one[1].is_good, not one[1].is_warning))
        lines = [_line(of, one) for of, one in grave]
    except ConfigurationError as error:
        problem = str(error)
    is_ready = bool(lines) and all(one.is_good for _, one in found)
    shown = {"lines": lines, "problem": problem, "is_ready": is_ready}
    title = gettext("Check of site and search engines")
    return page_of(request, admin_site, "check", title=title, **shown)


def _line(of: str, one: Any) -> dict[str, str]:
    """Return one thing that was checked, as it is shown."""
    word, name = (gettext("fine"), "ok") if one.is_good else (gettext("wrong"), "wrong")
    if one.is_warning:
        word, name = gettext("warning"), "warning"
    owner = gettext("the site") if of == "site" else of
    verdict = display.state(word, name)
    return {"of": owner, "verdict": verdict, "text": one.text, "fix": one.fix}
