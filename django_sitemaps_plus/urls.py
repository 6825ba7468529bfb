"""
The addresses, to be included at the root::

    path("", include("django_sitemaps_plus.urls"))

The converters match only sections that are registered, so that everything else
falls through to the project's own patterns. In the URLconf of one of ``SITES``::

    path("", include("django_sitemaps_plus.urls"), {"site": "blog"})
"""

from __future__ import annotations

from django.urls import URLPattern, include, path, register_converter
from django.urls.converters import StringConverter
from django.urls.resolvers import ResolverMatch, RoutePattern

from . import views
from .conf import get_settings
from .delivery.engines import known_files
from .exceptions import ConfigurationError
from .publishing.formats import ENDINGS, served
from .publishing.stylesheet import PATH
from .sitemaps.registry import registry

app_name = "django_sitemaps_plus"


class SectionConverter(StringConverter):
    """The name of a registered section."""

    regex = r"[\w-]+"

    def to_python(self, value: str) -> str:
        """Return the name; ``ValueError`` lets the next pattern try."""
        if not registry.has(value):
            raise ValueError(value)
        return value


class PageConverter:
    """The name of a registered section, a hyphen and digits."""

    regex = r"[\w-]+-[0-9]+"

    def to_python(self, value: str) -> tuple[str, str]:
        """Return name and digits; ``ValueError`` lets the next pattern try."""
        name, _, number = value.rpartition("-")
        if not registry.has(name):
            raise ValueError(value)
        return name, number

    def to_url(self, value: tuple[str, int] | str) -> str:
        """Return the part of the address that names a page."""
        return value if isinstance(value, str) else f"{value[0]}-{value[1]}"


class FileConverter(StringConverter):
    """The name of a file by which an engine knows that the site is ours."""

    regex = r"[\w.-]+"

    def to_python(self, value: str) -> str:
        """Return the name; ``ValueError`` lets the next pattern try."""
        if value not in known_files():
            raise ValueError(value)
        return value


class _FormatConverter(StringConverter):
    """A part of the addresses of a format that ``FORMATS`` asks for."""

    name: str

    def to_python(self, value: str) -> str:
        """Return the part; ``ValueError`` lets the next pattern try."""
        if served(self.name) is None:
            raise ValueError(value)
        return value


class TextConverter(_FormatConverter):
    """The ending of text files, where they are served."""

    name, regex = "text", "txt"


class FeedConverter(_FormatConverter):
    """The ending of a feed, where feeds are served."""

    name, regex = "feeds", "|".join(ENDINGS)


class RecentConverter(_FormatConverter):
    """What names the sitemap of recent changes, where it is served."""

    name, regex = "recent", "recent"


register_converter(TextConverter, "sitemaps_plus_text")
register_converter(FeedConverter, "sitemaps_plus_feed")
register_converter(RecentConverter, "sitemaps_plus_recent")


class LlmsConverter(StringConverter):
    """``llms.txt``, where the settings ask for it."""

    regex = r"llms\.txt"

    def to_python(self, value: str) -> str:
        """Return the name; ``ValueError`` lets the next pattern try."""
        try:
            is_asked_for = get_settings().LLMS is not None
        except ConfigurationError:
            is_asked_for = False  # E001 says so
        if not is_asked_for:
            raise ValueError(value)
        return value


register_converter(LlmsConverter, "sitemaps_plus_llms")
register_converter(SectionConverter, "sitemaps_plus_section")
register_converter(FileConverter, "sitemaps_plus_file")
register_converter(PageConverter, "sitemaps_plus_page")


class _ForPeople(URLPattern):
    """A pattern of the site map for people: where that is off, the next may match."""

    def resolve(self, path: str) -> ResolverMatch | None:
        """Return what matches ``path``, if the project wants such pages."""
        return super().resolve(path) if get_settings().HTML_SITEMAP else None


def _for_people(route: str, view: views.View, name: str) -> URLPattern:
    return _ForPeople(RoutePattern(route, name=name, is_endpoint=True), view, {}, name)


def _both(route: str, view: views.View, name: str) -> list[URLPattern]:
    """Return the patterns of an address and of its gzipped twin."""
    return [
        path(route, view, name=name),
        path(f"{route}.gz", view, {"gz": True}, name=f"{name}-gz"),
    ]


_SECTION = "<sitemaps_plus_section:name>"
_PAGE = "<sitemaps_plus_page:page>"
_TEXT = "<sitemaps_plus_text:ending>"
_FEED = "<sitemaps_plus_feed:ending>"

# What crawlers ask for first. Of two that match, the first one counts.
_SITEMAPS = [
    # Before sections: of one that is called so, a check says it.
    *_both("-<sitemaps_plus_recent:what>.xml", views.recent, "recent"),
    *_both(".xml", views.gathered, "site"),
    *_both("-index-<int:part>.xml", views.gathered, "site-part"),
    *_both(f"-{_SECTION}.xml", views.gathered, "section"),
    *_both(f"-{_SECTION}-index-<int:part>.xml", views.gathered, "section-part"),
    *_both(f"-{_PAGE}.xml", views.page, "page"),
    path(f".{_FEED}", views.feed, name="feed"),
    path(f"-{_SECTION}.{_FEED}", views.feed, name="section-feed"),
    *_both(f".{_TEXT}", views.gathered, "text-site"),
    *_both(f"-index-<int:part>.{_TEXT}", views.gathered, "text-site-part"),
    *_both(f"-{_SECTION}.{_TEXT}", views.gathered, "text-section"),
    *_both(
        f"-{_SECTION}-index-<int:part>.{_TEXT}", views.gathered, "text-section-part"
    ),
    *_both(f"-{_PAGE}.{_TEXT}", views.page, "text-page"),
]
_SITE_MAP = [
    _for_people("", views.site_map, "site-map"),
    _for_people(f"{_SECTION}/", views.site_map_section, "site-map-section"),
    _for_people(
        f"{_SECTION}/<int:number>/<int:page>/", views.site_map_section, "site-map-page"
    ),
]

urlpatterns = [
    # The project's other addresses are compared with this one beginning.
    path("sitemap", include(_SITEMAPS)),
    path("sitemap/", include(_SITE_MAP)),
    path(PATH, views.style, name="style"),
    path("robots.txt", views.robots, name="robots"),
    path("<sitemaps_plus_llms:name>", views.llms, name="llms"),
    path("<sitemaps_plus_file:name>", views.engine_file, name="engine-file"),
]
