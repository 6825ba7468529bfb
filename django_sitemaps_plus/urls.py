"""
The addresses, to be included at the root::

    path("", include("django_sitemaps_plus.urls"))

The converters match only sections that are registered, so that everything else
falls through to the project's own patterns. In the URLconf of one of ``SITES``::

    path("", include("django_sitemaps_plus.urls"), {"site": "blog"})
"""

from __future__ import annotations

from collections.abc import Callable

from django.apps import apps
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

if not apps.is_installed(app_name):
    raise ConfigurationError(
        "A URLconf includes django_sitemaps_plus.urls, but 'django_sitemaps_plus' is "
        "not in INSTALLED_APPS. Add it, then run 'manage.py migrate sitemaps_plus'."
    )


def _register(name: str, regex: str, knows: Callable[[str], bool]) -> None:
    """
    Register a converter of what matches ``regex``, and is known.

    Anything else is tried with the next pattern, as ``ValueError`` says to Django.
    """

    def to_python(self: StringConverter, value: str) -> str:
        if not knows(value):
            raise ValueError(value)
        return value

    members = {"regex": regex, "to_python": to_python}
    converter = type(f"{name.capitalize()}Converter", (StringConverter,), members)
    register_converter(converter, f"sitemaps_plus_{name}")


def _asks_for_llms(value: str) -> bool:
    """Return whether the settings ask for ``/llms.txt``."""
    try:
        return get_settings().LLMS is not None
    except ConfigurationError:
        return False  # E001 says so


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


register_converter(PageConverter, "sitemaps_plus_page")
_register("section", r"[\w-]+", registry.has)
_register("file", r"[\w.-]+", lambda name: name in known_files())
_register("llms", r"llms\.txt", _asks_for_llms)
_register("text", "txt", lambda ending: served("text") is not None)
_register("feed", "|".join(ENDINGS), lambda ending: served("feeds") is not None)
_register("recent", "recent", lambda what: served("recent") is not None)


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
