"""
Sitemaps: what a project declares.

Sitemap classes and their attributes, ``Route``, the registry, keys, and the site's
address. Can be imported before the apps are ready.
"""

from __future__ import annotations

from .classes import GenericSitemap, Sitemap, StaticSitemap

__all__ = ["GenericSitemap", "Sitemap", "StaticSitemap"]
