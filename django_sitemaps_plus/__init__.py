"""Sitemaps for Django: correct and fast at ten URLs and at a hundred million."""

from __future__ import annotations

from .changes.gathering import gather_changes
from .changes.touch import touch
from .signals import submission_finished
from .sitemaps.classes import GenericSitemap, Sitemap, StaticSitemap
from .sitemaps.registry import register
from .sitemaps.routes import Route

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
