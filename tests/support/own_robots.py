"""A URLconf with a robots.txt of the project's own."""

from __future__ import annotations

from django.urls import path

from tests.testapp.views import anything
from tests.urls import urlpatterns as others

urlpatterns = [path("robots.txt", anything), *others]
