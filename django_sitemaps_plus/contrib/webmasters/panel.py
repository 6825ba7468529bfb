"""What engines say of sitemaps and URLs: parts of the page of ``contrib.insight``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.template.loader import render_to_string
from django.utils.encoding import uri_to_iri
from django.utils.http import urlencode

from django_sitemaps_plus.db import digest_of
from django_sitemaps_plus.health.words import seconds_of
from django_sitemaps_plus.hooks import AdminPage
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site

from . import coverage, shares
from .conf import inspections
from .models import Inspection, SitemapReport
from .reports import able, reports

#: Sitemaps of which reports are shown.
_MOST = 20
#: Where Search Console inspects a URL for people, and has the button.
_CONSOLE = "https://search.google.com/search-console/inspect"


def panel(page: AdminPage) -> Iterator[str]:
    """Yield it, if there is an engine that can say anything."""
    known = able()
    if known:
        asked = reports().filter(engine__in=known, asked_at__gt=0).order_by("engine")
        display = page.display
        rows = [_row(display, one, said) for one in asked for said in one.sitemaps]
        rows = sorted(rows, key=lambda row: str(row["location"]))[:_MOST]
        yield render_to_string("sitemaps_plus_webmasters/panel.html", {"rows": rows})


def indexed_panel(page: AdminPage) -> Iterator[str]:
    """Yield what share of each section is indexed, where URLs are inspected."""
    if coverage.console() is None or not inspections():
        return
    display, every = page.display, shares.shares()
    shown = {
        "problems": [f"{one.text} {one.fix}" for one in coverage.check_inspections()],
        "rows": [_share(display, one) for one in every],
        "left_out": shares.not_inspected(every).items(),
        "list": page.list(Inspection, ""),
        "worth": [(display.link(one.url), one) for one in shares.worth_requesting()],
    }
    yield render_to_string("sitemaps_plus_webmasters/indexed.html", shown)


def of_url(page: AdminPage, url: str) -> Iterator[str]:
    """Yield Google's newest answer on a URL, where there is somebody to ask."""
    engine = coverage.console()
    if engine is None or not engine.covers(url):
        return
    display = page.display
    # By the index, which begins with the section.
    rows = coverage.inspected().filter(section__in=list(registry.sources()))
    one = rows.filter(digest=digest_of(url)).order_by("-inspected_at").first()
    asked = f"{_CONSOLE}?{urlencode({'resource_id': engine.site, 'id': url})}"
    shown: dict[str, Any] = {"one": one, "link": asked}
    if one is not None:
        shown |= {
            "link": one.link or asked,
            "state": shares.state_of(one),
            "canonical": display.link(one.canonical) if one.canonical else "",
            "crawled": display.when(one.crawled_at),
            "inspected": display.when(one.inspected_at),
        }
    yield render_to_string("sitemaps_plus_webmasters/story.html", shown)


def _share(display: Any, share: shares.Share) -> dict[str, Any]:
    counts = {state: display.number(count) for state, count in share.counts.items()}
    reasons = [
        (display.number(count), reason, urlencode({"state": "not", "reason": reason}))
        for reason, count in share.reasons
    ]
    return {
        "share": share,
        "inspected": display.number(share.inspected),
        "urls": display.number(share.urls),
        "counts": counts,
        "reasons": reasons,
        "others": share.others and display.number(share.others),
    }


def _row(
    display: Any, report: SitemapReport, said: Mapping[str, Any]
) -> dict[str, Any]:
    site, location = Site.current().address(), said["location"]
    path = location.removeprefix(str(site.origin)) if site else location
    submitted = said["submitted"]
    return {
        **said,
        "shown": uri_to_iri(path),
        "engine": report.engine,
        "submitted": _when(display, said["last_submitted"]),
        "read": _when(display, said["last_downloaded"]),
        "urls": display.number(sum(submitted.values()) if submitted else None),
        "errors": display.number(said["errors"]),
        "warnings": display.number(said["warnings"]),
        "asked": display.ago(report.asked_at),
    }


def _when(display: Any, text: str | None) -> str:
    """Return a time as an engine writes it (RFC 3339) as all others are shown."""
    seconds = seconds_of(text)
    shown: str = display.ago(seconds) if seconds else text or "–"
    return shown
