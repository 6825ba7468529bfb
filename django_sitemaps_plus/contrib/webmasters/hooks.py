"""What this app adds to the core: see ``django_sitemaps_plus.hooks``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .conf import Settings as Settings

if TYPE_CHECKING:
    from django.db.models import Model

    from django_sitemaps_plus.health.alerts import Alert
    from django_sitemaps_plus.hooks import AdminPage
    from django_sitemaps_plus.sitemaps.site import SiteAddress


def background(is_over: Callable[[], bool]) -> float | None:
    """Ask engines what they say of the sitemaps, every six hours, and of some URLs."""
    from .coverage import inspect_in_turn
    from .reports import ask
    from .unlisted import look

    ask()
    wait = inspect_in_turn(is_over)
    look(is_over)
    return wait


def alerts(sections: Collection[str] | None) -> Iterator[Alert]:
    """Yield pages that searchers see and no sitemap lists; nothing of sections."""
    from .unlisted import alerts

    if sections is None:
        yield from alerts()


def hourly() -> None:
    """Delete what was said of URLs long ago."""
    from .shares import prune_inspections

    prune_inspections()


def checks(site: SiteAddress, *, force: bool, closed: bool) -> Iterator[Any]:
    """Have engines asked now, and say why no URL is inspected."""
    from .coverage import check_inspections
    from .reports import ask

    ask(at_once=True)
    yield from check_inspections()


def panels(page: AdminPage) -> Iterator[str]:
    """Show what engines say of the sitemaps, and of URLs, to those who may see it."""
    from django_sitemaps_plus.models import EngineState

    from .models import Inspection
    from .panel import indexed_panel, panel

    if page.may(EngineState):
        yield from panel(page)
    if page.may(Inspection):
        yield from indexed_panel(page)


def stories(page: AdminPage, url: str, sections: Mapping[str, float]) -> Iterator[str]:
    """Show Google's answer on a URL, to those who may see inspections."""
    from .models import Inspection
    from .panel import of_url

    if page.may(Inspection):
        yield from of_url(page, url)


def admin_lists(base: Any, display: Any) -> Iterator[tuple[type[Model], type[Any]]]:
    """Yield the list of inspected URLs."""
    from .admin_list import inspection_admin
    from .models import Inspection

    yield Inspection, inspection_admin(base, display)
