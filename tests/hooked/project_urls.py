"""A URLconf that has the app's address, however early that of the core was imported."""

from __future__ import annotations

from tests.hooked.urls import own
from tests.urls import urlpatterns as of_the_project

urlpatterns = [*own, *of_the_project]
