"""What this app adds to the core: see ``django_sitemaps_plus.hooks``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .conf import Settings as Settings
from .conf import formats as _formats

if TYPE_CHECKING:
    from django.urls import URLPattern, URLResolver

    from django_sitemaps_plus.hooks import Derived
    from django_sitemaps_plus.serving.documents import Document
    from django_sitemaps_plus.sitemaps.site import SiteAddress


def urls() -> list[URLPattern | URLResolver]:
    """Return the addresses of all formats; one that is not served matches nothing."""
    from .urls import urlpatterns

    return urlpatterns


def derived(site: SiteAddress) -> dict[str, Derived]:
    """Return text files, where ``FORMATS`` asks for them."""
    from .text import derived_of

    return derived_of(site) if "text" in _formats() else {}


def sitemaps(site: SiteAddress) -> list[str]:
    """Return the addresses of the formats that robots.txt is to list."""
    from .documents import listed_in_robots

    return listed_in_robots(site)


def documents(site: SiteAddress) -> Iterator[tuple[str, Callable[[], Document]]]:
    """Yield feeds, and the sitemap of recent changes."""
    from .documents import all_documents

    return all_documents(site)


def wants_titles() -> bool:
    """Return whether feeds are served."""
    return "feeds" in _formats()


def looks_back() -> float:
    """Return for how many seconds the formats look back."""
    return max((one.days * 86_400 for one in _formats().values()), default=0.0)
