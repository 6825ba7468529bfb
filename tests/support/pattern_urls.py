"""URL patterns of many shapes."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path, re_path

from tests.support import route_urls  # noqa: F401 (registers the converter "year")
from tests.testapp.views import anything

inner = ([path("<slug:slug>/", anything, name="page")], "shop")

urlpatterns = [
    path("articles/<slug:slug>/", anything, name="article"),
    path("by-number/<int:pk>/", anything, name="by-number"),
    path("wörter/<str:slug>/", anything, name="word"),
    path("in/<slug:category>/<slug:slug>/", anything, name="in-category"),
    path("tags/<slug:category>/<str:name>/", anything, name="tag"),
    path("dated/<int:year>/<int:month>/<int:day>/<slug:slug>/", anything, name="dated"),
    re_path(
        r"^padded/(?P<year>\d{4})/(?P<month>\d\d)/(?P<day>\d\d)/(?P<slug>[\w-]+)/$",
        anything,
        name="padded",
    ),
    path("years/<year:year>/<slug:slug>/", anything, name="year"),
    re_path(r"^positional/(\d+)-([\w-]+)/$", anything, name="positional"),
    path("kinds/<slug:kind>/<slug:slug>/", anything, name="kind"),
    path("list/<slug:slug>/", anything, {"style": "list"}, name="style"),
    path("grid/<slug:slug>/", anything, {"style": "grid"}, name="style"),
    path("reserved/<slug:class>/", anything, name="reserved"),
    path("nameless/<slug:slug>/", anything),
    path("shop/", include(inner, namespace="one")),
    path("<year:year>/shop/", include(inner, namespace="two")),
    path("pairs/<int:shop>/<str:code>/", anything, name="pair"),
    path("uuids/<uuid:id>/", anything, name="uuid"),
    *i18n_patterns(path("notes/<int:number>/", anything, name="note")),
    path("", include("django_sitemaps_plus.urls")),
]
