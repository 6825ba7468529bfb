"""Keys and tokens of these engines are shown nowhere: see ``tests/test_secrets``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from django_sitemaps_plus.contrib.webmasters import google_auth
from django_sitemaps_plus.delivery.engines import engines
from tests import test_secrets as kept
from tests.support.fakes.server import FakeServer
from tests.support.outbox_world import BASE
from tests.test_secrets import SECRETS

ENGINES: dict[str, Any] = {
    "bing": {
        "BACKEND": "django_sitemaps_plus.contrib.webmasters.bing.BingWebmaster",
        "OPTIONS": {"site": f"{BASE}/", "key": SECRETS["bing"]},
    },
    "yandex": {
        "BACKEND": "django_sitemaps_plus.contrib.webmasters.yandex.YandexWebmaster",
        "OPTIONS": {"token": SECRETS["yandex"], "recrawl": True},
    },
}
GOOGLE: dict[str, Any] = {
    "BACKEND": "django_sitemaps_plus.contrib.webmasters.google.SearchConsole",
    "OPTIONS": {
        "site": f"{BASE}/",
        "credentials": {
            "type": "authorized_user",
            "client_id": "id",
            "client_secret": SECRETS["client"],
            "refresh_token": SECRETS["refresh"],
            "private_key": SECRETS["private"],
        },
    },
}


def with_options(alias: str, **options: Any) -> dict[str, Any]:
    """Return one of the engines, with other options."""
    known = ENGINES[alias]
    return {**known, "OPTIONS": {**known["OPTIONS"], **options}}


@pytest.mark.parametrize(
    ("given", "action"),
    [
        (ENGINES, kept.raising),
        ({"google": GOOGLE}, kept.raising),
        ({"bing": with_options("bing", site="x")}, engines),
        ({"it": with_options("yandex", token=SECRETS["yandex"] + "\n")}, engines),
    ],
)
@pytest.mark.parametrize("accept", ["text/html", "text/plain"])
def test_an_error_page_shows_none(
    settings: Any, given: Any, action: Callable[[], object], accept: str
) -> None:
    kept.is_kept(settings, {"ENGINES": given}, action, accept)


def test_a_repr_shows_none(settings: Any) -> None:
    # Without google-auth there is no such engine.
    google = {"google": GOOGLE} if google_auth.is_installed() else {}
    assert "BingWebmaster(" in kept.shown_of(settings, {**ENGINES, **google})


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["bing", "yandex"])
@pytest.mark.costly
def test_rows_logs_and_the_admin_show_none(
    settings: Any, caplog: Any, admin_client: Client, name: str
) -> None:
    caplog.set_level(logging.DEBUG)
    with FakeServer() as server:
        given = with_options(name, endpoint=server.origin)
        texts = kept.submitted(settings, admin_client, server, given)
    assert not any(SECRETS[name] in text for text in [*texts, caplog.text])
