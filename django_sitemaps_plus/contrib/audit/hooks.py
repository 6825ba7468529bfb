"""What this app adds to the core: see ``django_sitemaps_plus.hooks``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.db.models import Model

    from django_sitemaps_plus.engines.base import CheckResult
    from django_sitemaps_plus.health.alerts import Alert
    from django_sitemaps_plus.hooks import AdminPage
    from django_sitemaps_plus.sitemaps.site import SiteAddress


def alerts(sections: Collection[str] | None) -> Iterator[Alert]:
    """Yield what the site's audits found; nothing of single sections."""
    from .alerts import alerts

    if sections is None:
        yield from alerts()


def checks(site: SiteAddress, *, force: bool, closed: bool) -> Iterator[CheckResult]:
    """Yield how the sitemaps arrive at crawlers."""
    from . import crawler

    yield from crawler.check_as_crawler(site, private=force, closed=closed)


def audited_at() -> float | None:
    """Return when the section was audited whose last audit is longest ago."""
    from . import queries

    return queries.audited_at()


def panels(page: AdminPage) -> Iterator[str]:
    """Yield the last audits."""
    from . import panels
    from .models import Audit

    if page.may(Audit):
        yield panels.site_panel(page)


def stories(page: AdminPage, url: str, sections: Mapping[str, float]) -> Iterator[str]:
    """Yield what the last audits found of a URL."""
    from . import panels
    from .models import Audit

    if page.may(Audit):
        yield panels.of_url(page, url, sections)


def admin_lists(base: Any, display: Any) -> Iterator[tuple[type[Model], type[Any]]]:
    """Yield the list of findings."""
    from .admin_list import finding_admin
    from .models import Finding

    yield Finding, finding_admin(base, display)
