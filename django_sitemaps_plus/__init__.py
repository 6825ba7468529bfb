"""Sitemaps for Django: correct and fast at ten URLs and at a hundred million."""

from __future__ import annotations

from .registry import register
from .routes import Route
from .sitemaps import GenericSitemap, Sitemap, StaticSitemap

__all__ = ["GenericSitemap", "Route", "Sitemap", "StaticSitemap", "register"]
