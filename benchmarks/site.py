"""The site, asked through Django's WSGI handler as a server would ask it."""

from __future__ import annotations

import io
import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest
from django.test.utils import CaptureQueriesContext

ORIGIN = "https://www.example.com"
GZIP = {"HTTP_ACCEPT_ENCODING": "gzip"}


@dataclass(frozen=True)
class Answer:
    """A response, read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes


@lru_cache(maxsize=1)
def _handler() -> WSGIHandler:
    return get_wsgi_application()


def environ(path: str, **headers: str) -> dict[str, Any]:
    """Return what a WSGI server hands over for ``GET path``."""
    path, _, query = path.partition("?")
    return {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "www.example.com",
        "SERVER_PORT": "443",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "www.example.com",
        "wsgi.url_scheme": "https",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": io.StringIO(),
        **headers,
    }


def ask(path: str, **headers: str) -> Answer:
    """Send ``GET path``; ``headers`` by their names in the environ."""
    started: list[Any] = []
    response: Any = _handler()(
        environ(path, **headers), lambda *told: started.extend(told)
    )
    try:
        chunks = list(response)
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    finally:
        response.close()
    status, told = started[:2]
    return Answer(int(status.split()[0]), dict(told), body)


def page(path: str, **headers: str) -> Answer:
    """Send ``GET path``, which has to succeed."""
    answer = ask(path, **headers)
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {answer.body[:500]!r}")
    return answer


def queries_of(path: str, **headers: str) -> list[str]:
    """Return the statements that ``GET path`` runs, parameters and all."""
    from django.db import connection

    with CaptureQueriesContext(connection) as captured:
        ask(path, **headers)
    return [query["sql"] for query in captured.captured_queries]


def contrib_page(sitemap: Any) -> bytes:
    """Return the first page of any of contrib's sitemaps, through contrib's view."""
    from django.contrib.sitemaps import views
    from django.core.handlers.wsgi import WSGIRequest

    request: HttpRequest = WSGIRequest(environ("/"))
    response: Any = views.sitemap(request, {"any": sitemap})
    return bytes(response.render().content)


def forget(section: str) -> None:
    """Forget a section altogether: its bounds, its pages and their bytes."""
    from django_sitemaps_plus.models import Section

    Section.objects.filter(name=section).delete()
    shutil.rmtree(_kept(section), ignore_errors=True)


def fill(section: str) -> int:
    """Find the bounds of a section's pages, if need be; return how many there are."""
    from django_sitemaps_plus.pagination import ledger
    from django_sitemaps_plus.sitemaps import sections

    return ledger.ordered(ledger.fill(sections.source(section))).count()


def bounds(section: str, number: int) -> tuple[Any, Any]:
    """Return the first key of a page and of the page that follows it."""
    from django_sitemaps_plus.pagination import ledger
    from django_sitemaps_plus.sitemaps import sections

    source = sections.source(section)
    key = ledger.key_range_of(source).key
    page = ledger.ordered(ledger.fill(source)).get(number=number)
    texts = (page.lower, ledger.upper_of(page))
    lower, upper = (None if text is None else key.loads(text)[0] for text in texts)
    return lower, upper


def chill(section: str, *numbers: int) -> None:
    """Forget what was made of some pages (of all, without numbers), not the bounds."""
    from django_sitemaps_plus.models import Page

    fill(section)
    chosen = Page.objects.filter(section__name=section)
    folders = [_kept(section)]
    if numbers:
        chosen = chosen.filter(number__in=numbers)
        folders = [_kept(section) / str(number) for number in numbers]
    # As create_pages() leaves them: never made.
    chosen.update(checksum="", digest="", entries=None, lastmod=None, verified_at=0)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _kept(section: str) -> Path:
    return Path(settings.STORAGES["sitemaps"]["OPTIONS"]["location"]) / section
