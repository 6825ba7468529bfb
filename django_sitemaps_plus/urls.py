"""
The addresses, to be included at the root::

    path("", include("django_sitemaps_plus.urls"))

The converters match only sections that are registered, so that everything else
falls through to the project's own patterns. In the URLconf of one of ``SITES``::

    path("", include("django_sitemaps_plus.urls"), {"site": "blog"})
"""

from __future__ import annotations

from django.apps import apps
from django.urls import include, path

from . import hooks, views
from .conf import STYLESHEET_PATH
from .converters import register, with_gz
from .exceptions import ConfigurationError

#: Of what this app registers in ``converters``.
_SECTION, _PAGE = "<sitemaps_plus_section:name>", "<sitemaps_plus_page:page>"

app_name = "django_sitemaps_plus"

if not apps.is_installed(app_name):
    raise ConfigurationError(
        "A URLconf includes django_sitemaps_plus.urls, but 'django_sitemaps_plus' is "
        "not in INSTALLED_APPS. Add it, then run 'manage.py migrate'."
    )


def _is_known_file(name: str) -> bool:
    from .delivery.engines import known_files

    try:
        return name in known_files()
    except ConfigurationError:
        # The project's own addresses are answered; those of sitemaps say what is wrong.
        return False


register("file", r"[\w.-]+", _is_known_file)

# What crawlers ask for most often first.
_SITEMAPS = [
    *with_gz(f"-{_PAGE}.xml", views.page, "page"),
    *with_gz(".xml", views.gathered, "site"),
    *with_gz("-index-<int:part>.xml", views.gathered, "site-part"),
    *with_gz(f"-{_SECTION}.xml", views.gathered, "section"),
    *with_gz(f"-{_SECTION}-index-<int:part>.xml", views.gathered, "section-part"),
]
urlpatterns = [
    # The project's other addresses are compared with this one beginning.
    path("sitemap", include(_SITEMAPS)),
    path(STYLESHEET_PATH, views.style, name="style"),
    path("robots.txt", views.robots, name="robots"),
    path("<sitemaps_plus_file:name>", views.engine_file, name="engine-file"),
    *hooks.urls(),
]
