"""The addresses, which ``django_sitemaps_plus.urls`` includes."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from django_sitemaps_plus import views as core
from django_sitemaps_plus.conf import app_settings
from django_sitemaps_plus.converters import register, with_gz
from django_sitemaps_plus.exceptions import ConfigurationError

from . import views
from .conf import Settings, formats
from .documents import ENDINGS


def _asks_for_llms(value: str) -> bool:
    """Return whether the settings ask for ``/llms.txt``."""
    try:
        return app_settings(Settings).LLMS is not None
    except ConfigurationError:
        return False  # E001 says so


register("llms", r"llms\.txt", _asks_for_llms)
register("text", "txt", lambda ending: "text" in formats())
register("feed", "|".join(ENDINGS), lambda ending: "feeds" in formats())
register("recent", "recent", lambda what: "recent" in formats())

_SECTION, _PAGE = "<sitemaps_plus_section:name>", "<sitemaps_plus_page:page>"
_TEXT = "<sitemaps_plus_text:ending>"
_FEED = "<sitemaps_plus_feed:ending>"
_SITEMAPS = [
    *with_gz("-<sitemaps_plus_recent:what>.xml", views.recent, "recent"),
    path(f".{_FEED}", views.feed, name="feed"),
    path(f"-{_SECTION}.{_FEED}", views.feed, name="section-feed"),
    *with_gz(f".{_TEXT}", core.gathered, "text-site"),
    *with_gz(f"-index-<int:part>.{_TEXT}", core.gathered, "text-site-part"),
    *with_gz(f"-{_SECTION}.{_TEXT}", core.gathered, "text-section"),
    *with_gz(
        f"-{_SECTION}-index-<int:part>.{_TEXT}", core.gathered, "text-section-part"
    ),
    *with_gz(f"-{_PAGE}.{_TEXT}", core.page, "text-page"),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("sitemap", include(_SITEMAPS)),
    path("<sitemaps_plus_llms:name>", views.llms, name="llms"),
]
