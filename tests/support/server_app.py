"""
A site for real servers, gunicorn or uvicorn, on the test's database.

``SITEMAPS_PLUS_TEST_SERVER`` is JSON: the databases, the folder of pages, and the
settings. ``/save/<pk>/<slug>/`` saves an article, ``/undo/<pk>/<slug>/`` saves it and
rolls back, ``/pid/`` tells which process answers.
"""

from __future__ import annotations

import json
import os
from typing import Any

GIVEN: dict[str, Any] = json.loads(os.environ["SITEMAPS_PLUS_TEST_SERVER"])
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"

from tests import settings  # noqa: E402 (which must be changed before it is used)

settings.use_given(GIVEN)
settings.ROOT_URLCONF = __name__
settings.MIDDLEWARE = []

from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402

application = get_wsgi_application()
asgi = get_asgi_application()

from django.db import transaction  # noqa: E402
from django.http import HttpRequest, HttpResponse  # noqa: E402
from django.urls import path  # noqa: E402

from django_sitemaps_plus.sitemaps.registry import registry  # noqa: E402
from tests import urls  # noqa: E402
from tests.publishing.test_freshness import News  # noqa: E402
from tests.testapp.models import Article  # noqa: E402

registry.add("news", News)


def save(request: HttpRequest, pk: int, slug: str) -> HttpResponse:
    article = Article.objects.get(pk=pk)
    article.slug = slug
    article.save()
    return HttpResponse(str(os.getpid()))


def undo(request: HttpRequest, pk: int, slug: str) -> HttpResponse:
    with transaction.atomic():
        save(request, pk, slug)
        transaction.set_rollback(True)
    return HttpResponse("undone")


def pid(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(os.getpid()))


urlpatterns = [
    path("save/<int:pk>/<slug:slug>/", save),
    path("undo/<int:pk>/<slug:slug>/", undo),
    path("pid/", pid),
    *urls.urlpatterns,
]
