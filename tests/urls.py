from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path

from tests.testapp.views import anything

urlpatterns = [
    path("admin/", admin.site.urls),
    path("articles/<slug:slug>/", anything, name="article"),
    path("wörter/<str:slug>/", anything, name="word"),
    path("things/<path:code>/", anything, name="thing"),
    path("uuids/<uuid:id>/", anything, name="uuid"),
    path("numbers/<int:number>/", anything, name="number"),
    path("days/<str:day>/", anything, name="day"),
    path("shops/<int:shop>/<str:code>/", anything, name="pair"),
    path("", anything, name="home"),
    path("about/", anything, name="about"),
    *i18n_patterns(path("notes/<int:number>/", anything, name="note")),
    path("", include("django_sitemaps_plus.urls")),
    path("sitemap-of-the-project.xml", anything, {"own": True}, name="own"),
]
