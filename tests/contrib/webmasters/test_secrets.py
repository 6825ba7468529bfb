"""Keys and tokens of these engines are shown nowhere: see ``tests/test_secrets``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from django_sitemaps_plus.delivery.engines import engines
from tests import test_secrets as kept
from tests.support.outbox_world import BASE
from tests.test_secrets import SECRETS

BING = "django_sitemaps_plus.contrib.webmasters.bing.BingWebmaster"
YANDEX = "django_sitemaps_plus.contrib.webmasters.yandex.YandexWebmaster"
ENGINES: dict[str, Any] = {
    "bing": {"BACKEND": BING, "OPTIONS": {"site": f"{BASE}/", "key": SECRETS["bing"]}},
    "yandex": {
        "BACKEND": YANDEX,
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


@pytest.mark.parametrize(
    ("given", "action"),
    [
        (ENGINES, kept.raising),
        ({"google": GOOGLE}, kept.raising),
        (
            {"it": {"BACKEND": BING, "OPTIONS": {"site": "x", "key": SECRETS["bing"]}}},
            engines,
        ),
        (
            {"it": {"BACKEND": YANDEX, "OPTIONS": {"token": SECRETS["yandex"] + "\n"}}},
            engines,
        ),
    ],
)
@pytest.mark.parametrize("accept", ["text/html", "text/plain"])
def test_an_error_page_shows_none(
    settings: Any, given: Any, action: Callable[[], object], accept: str
) -> None:
    kept.is_kept(settings, {"ENGINES": given}, action, accept)
