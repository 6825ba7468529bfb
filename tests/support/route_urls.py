"""The URL patterns with which the tests of ``Route`` try ``reverse()``."""

from __future__ import annotations

from typing import Any

from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.urls import converters, include, path, re_path, register_converter
from django.utils.functional import lazy
from django.utils.translation import get_language


class YearConverter:
    """Four digits; a year before 1900 cannot be written."""

    regex = "[0-9]{4}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: Any) -> str:
        year = int(value)
        if year < 1900:
            raise ValueError("too early")
        return f"{year:04d}"


class ShoutingConverter(converters.StringConverter):
    """Not the text it is given, and not a plain pattern either."""

    regex = "(?!NO)[^/a-z]+"

    def to_url(self, value: Any) -> str:
        return str(value).upper()


for name, converter in {"year": YearConverter, "shouting": ShoutingConverter}.items():
    if name not in converters.get_converters():
        register_converter(converter, name)


def view(request: HttpRequest, **kwargs: Any) -> HttpResponse:
    """Answer for every pattern."""
    return HttpResponse()


def _translated() -> str:
    routes = {"de": "artikel/<slug:slug>/", "pt-br": "notícias/<slug:slug>/"}
    return routes.get(get_language() or "", "articles/<slug:slug>/")


translated = lazy(_translated, str)()

inner = [
    path("", view, name="home"),
    path("<slug:slug>/", view, name="page"),
    path("é ~/<str:text>", view, name="odd"),
]
# "shop" has no instance of that name, so the first one stands for it; "blog" has.
shop = ([path("", include((inner, "deep"))), *inner], "shop")
blog = (inner, "blog")

patterns = [
    path("int/<int:value>/", view, name="int"),
    path("str/<value>/", view, name="str"),
    path("slug/<slug:value>/", view, name="slug"),
    path("path/<path:value>", view, name="path"),
    path("uuid/<uuid:value>", view, name="uuid"),
    path("year/<year:value>/", view, name="year"),
    path("shouting/<shouting:value>/", view, name="shouting"),
    path("two/<int:year>-<str:text>/é~(*)/<path:rest>", view, name="two"),
    path("joined/<str:first><str:second>", view, name="joined"),
    path("<path:value>", view, name="anything"),
    path("/<slug:value>/", view, name="slash"),
    # The last pattern of a name is the first to be tried.
    path("choice/<str:value>/", view, name="choice"),
    path("choice/number/<int:value>/", view, name="choice"),
    path("choice/year/<year:value>/", view, name="choice"),
    path("choice/<int:year>/<slug:value>/", view, name="choice"),
    # Values that are not part of the URL.
    path("list/<slug:value>/", view, {"kind": "list"}, name="kind"),
    path("grid/<slug:value>/", view, {"kind": "grid"}, name="kind"),
    path("under/", include([path("<int:n>/", view, name="under")]), {"kind": 1}),
    path("both/<slug:value>/", view, {"value": "x"}, name="both"),
    # Regular expressions.
    re_path(r"^named/(?P<year>[0-9]{4})/(?P<text>[^/]+)/$", view, name="named"),
    re_path(r"^unnamed/(\d+)/([\w-]*)$", view, name="unnamed"),
    re_path(r"^optional/(?:page-(?P<page>\d+)/)?$", view, name="optional"),
    re_path(r"^maybe/(?P<text>\w+)?/x{2}y?z+/$", view, name="maybe"),
    re_path(r"^nested/((\d+)-(\w+))/(?:a(?:b(\d))?)?$", view, name="nested"),
    re_path(r"^twice/(\d){2}/$", view, name="twice"),
    re_path(r"^again/(?P<text>\w+)-(?P=text)/$", view, name="again"),
    re_path(r"^ahead/(?!no)(?P<text>.+)(?<!end)$", view, name="ahead"),
    re_path(r"^either/(?P<text>a|b|[c-f]+)/$", view, name="either"),
    re_path(r"^alternatives/a|b$", view, name="alternatives"),
    re_path(r"^possessive/(?P<text>\w++)a$", view, name="possessive"),
    re_path(r"^scoped/(?P<text>(?i:[a-f]+))/$", view, name="scoped"),
    re_path(r"open/feed.(?P<text>xml|rss)", view, name="open"),
    re_path(r"^dot/(?P<text>.*)", view, name="dot"),
    re_path(r"^class/[ab]\d\w\.(?P<text>[^a-m\W]{2,5})\Z", view, name="class"),
    # What reverse() cannot write: a "%" of the pattern's own, one name for two.
    path("100%/<slug:value>/", view, name="percent"),
    path("100%%/<slug:value>/", view, name="percents"),
    path("%(value)s/<str:value>/", view, name="format"),
    path("<int:value>/", include([path("<int:value>/", view, name="clash")])),
    path("reserved/<slug:self>/", view, name="reserved"),
    # Namespaces.
    path("shop/", include(shop, namespace="one")),
    path("<year:year>/shop/", include(shop, namespace="two")),
    path("blog-2/", include(blog, namespace="other")),
    re_path(r"^blog-(?P<year>\d{4})/", include(blog)),
    path("", include((inner, "bare"))),
]

urlpatterns = [
    *patterns,
    *i18n_patterns(
        path("about/<slug:slug>/", view, name="about"),
        path(translated, view, name="translated"),
        path("i18n/", include((inner, "i18n"))),
    ),
]

#: Another URLconf: no language prefix for the default language.
unprefixed = (
    path("elsewhere/<str:value>/", view, name="str"),
    *i18n_patterns(
        path("about/<slug:slug>/", view, name="about"),
        prefix_default_language=False,
    ),
)
