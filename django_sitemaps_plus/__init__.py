"""Sitemaps for Django: correct and fast at ten URLs and at a hundred million."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .protocol.entries import Image, News, Video
from .signals import submission_finished
from .sitemaps.classes import GenericSitemap, Sitemap, StaticSitemap
from .sitemaps.registry import register
from .sitemaps.routes import Route

if TYPE_CHECKING:
    from .changes.touch import touch

__all__ = [
    "GenericSitemap",
    "Image",
    "News",
    "Route",
    "Sitemap",
    "StaticSitemap",
    "Video",
    "register",
    "submission_finished",
    "touch",
]


def __getattr__(name: str) -> Any:
    """Find ``touch``, which needs models: those may not be imported before the apps."""
    if name == "touch":
        return import_module("django_sitemaps_plus.changes.touch").touch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
