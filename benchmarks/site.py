"""The site, asked through Django's WSGI handler as a server would ask it."""

from __future__ import annotations

import io
import json
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command
from django.core.signals import setting_changed
from django.core.wsgi import get_wsgi_application
from django.db.models import F
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
        environ(path, **headers), lambda *said: started.extend(said)
    )
    try:
        chunks = list(response)
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    finally:
        response.close()
    status, said = started[:2]
    return Answer(int(status.split()[0]), dict(said), body)


def page(path: str, **headers: str) -> Answer:
    """Send ``GET path``, which has to succeed."""
    answer = ask(path, **headers)
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {answer.body[:500]!r}")
    return answer


def queries_of(path: str, *, on: str = "", **headers: str) -> list[str]:
    """Return the statements that ``GET path`` runs, or those on some tables."""
    from django.db import connection

    with CaptureQueriesContext(connection) as captured:
        ask(path, **headers)
    ran = [query["sql"] for query in captured.captured_queries]
    return [statement for statement in ran if on in statement]


def contrib_page(sitemap: Any) -> bytes:
    """Return the first page of any of contrib's sitemaps, through contrib's view."""
    from django.contrib.sitemaps import views
    from django.core.handlers.wsgi import WSGIRequest

    request: HttpRequest = WSGIRequest(environ("/"))
    response: Any = views.sitemap(request, {"any": sitemap})
    return bytes(response.render().content)


def register_only(*names: str) -> None:
    """Register some sections and no others."""
    from .shop import sitemaps

    sitemaps.registered = {name: sitemaps.known[name] for name in names}
    # As after a test that overrode the setting: the dict is read again.
    setting_changed.send(sender=None, setting="SITEMAPS_PLUS", value=None, enter=True)


def forget(section: str) -> None:
    """Forget a section altogether: its page bounds, its pages and their bytes."""
    from django_sitemaps_plus.models import Section

    Section.objects.filter(name=section).delete()


def fill(section: str) -> int:
    """Find the bounds of a section's pages, if need be; return how many there are."""
    call_command("build_sitemaps", section, ledger=True, stdout=io.StringIO())
    return len(lowers(section))


def build(section: str) -> int:
    """Build the pages that are not fresh; return how many pages there are."""
    call_command("build_sitemaps", section, stdout=io.StringIO())
    return len(lowers(section))


def notify() -> None:
    """Assign what was saved and notify the engine, as the background thread does."""
    from django_sitemaps_plus.delivery import background

    background.notify_all()


def lowers(section: str) -> list[tuple[int, int | None]]:
    """Return each page's number and first key, in the order of the keys."""
    from django_sitemaps_plus.models import Page

    rows = Page.objects.filter(section__name=section).order_by("position")
    return [
        (number, None if lower is None else int(json.loads(lower)[0]))
        for number, lower in rows.values_list("number", "lower")
    ]


def bounds(section: str, number: int) -> tuple[int, int]:
    """Return the first key of a page, not the first one, and of the next page."""
    found = lowers(section)
    index = [known for known, _ in found].index(number)
    lower, upper = found[index][1], found[index + 1][1]
    assert lower is not None
    assert upper is not None
    return lower, upper


def page_of(section: str, keys: Iterable[int]) -> list[int]:
    """Return the numbers of the pages that list some keys."""
    pages = lowers(section)
    first = [-1 if lower is None else lower for _, lower in pages]
    return [pages[bisect_right(first, key) - 1][0] for key in keys]


def versions(section: str) -> dict[int, tuple[int, str]]:
    """Return the version and the checksum of each page, by its number."""
    from django_sitemaps_plus.models import Page

    rows = Page.objects.filter(section__name=section)
    found = rows.values_list("number", "version", "checksum")
    return {number: (version, checksum) for number, version, checksum in found}


def chill(section: str, *numbers: int) -> None:
    """Forget what was built of some pages (of all, without numbers), not the bounds."""
    from django_sitemaps_plus.models import Page, PageFile

    if not Page.objects.filter(section__name=section).exists():
        fill(section)
    chosen = Page.objects.filter(section__name=section)
    if numbers:
        chosen = chosen.filter(number__in=numbers)
    PageFile.objects.filter(page__in=chosen).delete()
    chosen.update(
        **{
            field.name: field.get_default()
            for field in Page._meta.concrete_fields
            if field.name not in _STAYS
        }
    )


#: What is not forgotten of a page: its bounds, and a version that only counts up.
_STAYS = {"id", "section", "number", "position", "lower", "version"}


def age(seconds: float) -> None:
    """Have all pages been built some time ago."""
    from django_sitemaps_plus.models import Page

    for field in Page._meta.concrete_fields:
        if field.name.endswith("_at"):
            known = Page.objects.filter(**{f"{field.name}__gt": 0})
            known.update(**{field.name: F(field.name) - seconds})
