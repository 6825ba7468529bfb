"""Sitemaps for Django: correct and fast at ten URLs and at a hundred million."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.db.models import Model, QuerySet

from .exceptions import ConfigurationError
from .protocol.entries import Image, News, Video
from .signals import submission_finished, urls_changed
from .sitemaps.classes import GenericSitemap, Sitemap, StaticSitemap
from .sitemaps.media import Related
from .sitemaps.news import NewsSitemap
from .sitemaps.registry import register
from .sitemaps.routes import Route
from .sitemaps.tenants import Tenants

__all__ = [
    "GenericSitemap",
    "Image",
    "News",
    "NewsSitemap",
    "Related",
    "Route",
    "Sitemap",
    "StaticSitemap",
    "Tenants",
    "Video",
    "atouch",
    "register",
    "submission_finished",
    "touch",
    "urls_changed",
]


def touch(changed: QuerySet[Any] | type[Model] | Model) -> None:
    """
    Say that rows were changed behind Django's signals.

    After ``update()``, ``bulk_create()``, ``bulk_update()`` or raw SQL::

        articles = Article.objects.filter(pk__in=keys)
        articles.update(live=False)
        touch(articles)

    ``changed`` is a queryset of the rows as they are now, an object, or a model: all
    of its rows, those that were deleted too. Of a model that a section's expressions
    or filters read, it concerns the whole section. Raises ``TypeError`` for anything
    else, and ``SynchronousOnlyOperation`` in a coroutine, as the ORM does.
    """
    # It needs models, which may not be imported before the apps are.
    import_module("django_sitemaps_plus.changes.touch").touch(changed)


async def atouch(changed: QuerySet[Any] | type[Model] | Model) -> None:
    """Do as ``touch()`` in a coroutine."""
    await sync_to_async(touch)(changed)


if not TYPE_CHECKING:  # else all names would be known

    def __getattr__(name: str) -> Any:
        """Say what to include; Django would say that there may be a circular import."""
        if name == "urlpatterns":
            raise ConfigurationError(
                'A URLconf has include("django_sitemaps_plus"). Write '
                'include("django_sitemaps_plus.urls").'
            )
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
