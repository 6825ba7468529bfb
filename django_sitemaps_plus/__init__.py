"""Sitemaps for Django: correct and fast at ten URLs and at a hundred million."""

from __future__ import annotations

from .gathering import gather_changes
from .registry import register
from .routes import Route
from .signals import submission_finished
from .sitemaps import GenericSitemap, Sitemap, StaticSitemap
from .touching import touch

__all__ = [
    "GenericSitemap",
    "Route",
    "Sitemap",
    "StaticSitemap",
    "gather_changes",
    "register",
    "submission_finished",
    "touch",
]
