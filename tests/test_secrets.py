"""Keys and tokens are shown nowhere, not even on Django's page for errors."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client, RequestFactory
from django.views.debug import technical_500_response

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import EngineState, Submission
from tests.support.fakes.faults import reply
from tests.support.fakes.server import FakeServer
from tests.support.helpers import run_command
from tests.support.outbox_world import BASE, happened

NAMES = "key old host hub client refresh private bing yandex"
SECRETS = {name: f"{name}-0123456789abcdef" for name in NAMES.split()}
BACKENDS = "django_sitemaps_plus.engines"
ENGINES: dict[str, Any] = {
    "indexnow": {
        "BACKEND": f"{BACKENDS}.indexnow.IndexNow",
        "OPTIONS": {
            "key": SECRETS["key"],
            "old_keys": [SECRETS["old"]],
            "keys": {"shop.example.com": SECRETS["host"]},
        },
    },
    "ping": {
        "BACKEND": f"{BACKENDS}.ping.Ping",
        "OPTIONS": {
            "url": "https://hub.example/ping?token={token}&sitemap=",
            "token": SECRETS["hub"],
        },
    },
}
PICKY: dict[str, Any] = {
    "BACKEND": "tests.support.outbox_engines.Picky",
    "OPTIONS": {"key": SECRETS["key"]},
}


def raising() -> None:
    """Raise where the settings and the engines are variables."""
    ours, clients = get_settings(), dict(engines())
    raise LookupError(f"{len(clients)} engines of {type(ours).__name__}")


def with_options(alias: str, **options: Any) -> dict[str, Any]:
    """Return the engines, one of them with other options."""
    known = ENGINES[alias]
    return {**ENGINES, alias: {**known, "OPTIONS": {**known["OPTIONS"], **options}}}


@pytest.mark.parametrize(
    ("given", "action"),
    [
        ({"ENGINES": ENGINES}, raising),
        ({"ENGINE": ENGINES}, get_settings),
        ({"ENGINES": ENGINES, "MAX_BAD": 7}, get_settings),
        ({"ENGINES": ENGINES, "MAX_BAD": "7"}, get_settings),
        ([{"ENGINES": ENGINES}], get_settings),
        ({"ENGINES": with_options("indexnow", kye=1)}, engines),
        ({"ENGINES": with_options("indexnow", timeout=0)}, engines),
        ({"ENGINES": with_options("indexnow", key=f"_{SECRETS['key']}")}, engines),
        ({"ENGINES": with_options("ping", url="https://hub.example/?s=")}, engines),
        ({"ENGINES": {"picky": PICKY}}, engines),
    ],
)
@pytest.mark.parametrize("accept", ["text/html", "text/plain"])
def test_an_error_page_shows_none(
    settings: Any, given: Any, action: Callable[[], object], accept: str
) -> None:
    is_kept(settings, given, action, accept)


def is_kept(
    settings: Any, given: Any, action: Callable[[], object], accept: str
) -> None:
    """With DEBUG: it has the settings, and each variable of the traceback."""
    settings.DEBUG = True
    settings.SITEMAPS_PLUS = given
    page = error_page(action, accept)
    assert "SITEMAPS_PLUS" in page
    assert "LookupError" in page or "ConfigurationError" in page
    assert not [name for name, value in SECRETS.items() if value in page]


def error_page(action: Callable[[], object], accept: str) -> str:
    try:
        action()
    except (LookupError, ConfigurationError):
        request = RequestFactory().get("/", headers={"accept": accept})
        return technical_500_response(request, *sys.exc_info()).content.decode()
    raise AssertionError


def test_a_repr_shows_none(settings: Any) -> None:
    shown = shown_of(settings, ENGINES)
    assert "Ping(" in shown


def shown_of(settings: Any, given: dict[str, Any]) -> str:
    """Check that no repr of engines has a secret, and return all of them."""
    settings.SITEMAPS_PLUS = {"ENGINES": given}
    shown = f"{get_settings()!r} {dict(engines())!r} {get_settings().ENGINES!r}"
    assert not any(value in shown for value in SECRETS.values())
    return shown


@pytest.mark.django_db
def test_rows_logs_and_the_admin_show_none(
    settings: Any, caplog: Any, admin_client: Client
) -> None:
    """Not even where an engine's answer repeats them."""
    caplog.set_level(logging.DEBUG)
    with FakeServer() as server:
        url = f"{server.origin}/ping?token={{token}}&sitemap="
        given = with_options("ping", url=url)["ping"]
        texts = submitted(settings, admin_client, server, given)
    assert not any(SECRETS["hub"] in text for text in [*texts, caplog.text])


def submitted(
    settings: Any, client: Client, server: FakeServer, given: dict[str, Any]
) -> list[str]:
    """Return what is stored, printed and shown where an engine repeats its secrets."""
    server.fault = reply(500, "You said " + " ".join(SECRETS.values()))
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ENGINES": {"it": given}}
    happened("/a/")
    ran = run_command("ping_sitemaps", "--force")
    assert ran[2] == 1
    status = run_command("ping_sitemaps", "--status")
    checked = run_command("ping_sitemaps", "--check", "--force")
    row = Submission.objects.exclude(status=None).get()
    state = EngineState.objects.get()
    assert "…" in row.excerpt
    pages = []
    if admin.site.is_registered(Submission):
        for name, shown in (("submission", row), ("enginestate", state)):
            for path in ("", f"{shown.pk}/change/"):
                answer = client.get(f"/admin/sitemaps_plus/{name}/{path}")
                pages.append(answer.content.decode())
    return [*pages, *map(str, (*ran, *status, *checked, vars(row), vars(state)))]
