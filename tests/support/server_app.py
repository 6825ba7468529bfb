"""
A site for real servers, on the test's database, and the simplest server for it.

``SITEMAPS_PLUS_TEST_SERVER`` is JSON: what ``settings.use_given`` takes, and
"constants" of modules that are to have other values. What it can be asked for is in
``urlpatterns``.
"""

from __future__ import annotations

import json
import os
import threading
from importlib import import_module
from typing import Any
from wsgiref.simple_server import make_server

GIVEN: dict[str, Any] = json.loads(os.environ["SITEMAPS_PLUS_TEST_SERVER"])
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"

from tests import settings  # noqa: E402 (which must be changed before it is used)

settings.use_given(GIVEN)
settings.ROOT_URLCONF = "tests.support.server_app"
settings.ALLOWED_HOSTS = ["127.0.0.1"]
settings.MIDDLEWARE = []
settings.INSTALLED_APPS.remove("django.contrib.sites")
settings.STORAGES["sitemaps"] = {
    "BACKEND": "django.core.files.storage.FileSystemStorage",
    "OPTIONS": {"location": os.environ.get("PUBLISHED")},
}

from django.core.asgi import get_asgi_application  # noqa: E402 (after the setup)
from django.core.wsgi import get_wsgi_application  # noqa: E402 (after the setup)

application = get_wsgi_application()
asgi = get_asgi_application()

from django.core.mail import EmailMessage  # noqa: E402 (after the setup)
from django.core.mail.backends.locmem import EmailBackend  # noqa: E402 (after the setup)
from django.db import transaction  # noqa: E402 (after the setup)
from django.db.backends.signals import connection_created  # noqa: E402 (after the setup)
from django.http import HttpRequest, HttpResponse, JsonResponse  # noqa: E402 (after the setup)
from django.test import Client  # noqa: E402 (after the setup)
from django.urls import path  # noqa: E402 (after the setup)

from django_sitemaps_plus.sitemaps.registry import registry  # noqa: E402 (after the setup)
from tests import urls  # noqa: E402 (after the setup)
from tests.storing.test_freshness import News  # noqa: E402 (after the setup)
from tests.testapp.models import Article  # noqa: E402 (after the setup)

registry.add("news", News)
for name, value in GIVEN["constants"].items():
    module, _, constant = name.rpartition(".")
    setattr(import_module(f"django_sitemaps_plus.{module}"), constant, value)

THREAD = "django-sitemaps-plus"
#: Connections to databases that the background thread has opened.
opened: list[str] = []


def count(connection: Any, **kwargs: Any) -> None:
    if threading.current_thread().name == THREAD:
        opened.append(connection.alias)


connection_created.connect(count)


def save(request: HttpRequest, pk: int, slug: str) -> HttpResponse:
    article = Article.objects.get(pk=pk)
    article.slug = slug
    article.save()
    return HttpResponse(str(os.getpid()))


def atomic(request: HttpRequest, pk: int, slug: str) -> HttpResponse:
    with transaction.atomic():
        return save(request, pk, slug)


def undo(request: HttpRequest, pk: int, slug: str) -> HttpResponse:
    with transaction.atomic():
        save(request, pk, slug)
        transaction.set_rollback(True)
    return HttpResponse("undone")


def send_mail(request: HttpRequest) -> HttpResponse:
    """Send one as the mail backend "locmem" does, which some have outside of tests."""
    message = EmailMessage("About", "text", "a@example.com", ["b@example.com"])
    EmailBackend().send_messages([message])
    return HttpResponse("sent")


def thread(request: HttpRequest | None = None) -> JsonResponse:
    """Return whether the background thread runs, and what it has connected to."""
    runs = THREAD in {thread.name for thread in threading.enumerate()}
    return JsonResponse({"runs": runs, "opened": opened, "pid": os.getpid()})


def fork(request: HttpRequest) -> HttpResponse:
    """Return the same of a child, before and after it has answered a request."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        before = thread().content
        Client().get("/robots.txt")
        os.write(write, b"[%s, %s]" % (before, thread().content))
        os._exit(0)
    os.waitpid(pid, 0)
    return HttpResponse(os.read(read, 1000))


urlpatterns = [
    path("save/<int:pk>/<slug:slug>/", save),
    path("atomic/<int:pk>/<slug:slug>/", atomic),
    path("undo/<int:pk>/<slug:slug>/", undo),
    path("mail/", send_mail),
    path("thread/", thread),
    path("fork/", fork),
    *urls.urlpatterns,
]


def serve(port: int) -> None:
    """Serve the site by one process with one thread for requests."""
    make_server("127.0.0.1", port, application).serve_forever()
