"""A URLconf whose last pattern of the project's own comes before the include."""

from __future__ import annotations

from django.urls import include, path

from tests.support.without_sitemaps_urls import urlpatterns as others
from tests.testapp.views import anything

urlpatterns = [
    *others,
    path("<path:page>", anything),
    path("", include("django_sitemaps_plus.urls")),
]
