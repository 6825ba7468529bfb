"""What the outbox and ``ping_sitemaps`` submit to the engines of this app."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes.yandex import FakeYandex
from tests.support.helpers import later, run_command
from tests.support.outbox_world import BASE, happened, run, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def test_a_sitemap_may_have_a_longer_interval_than_urls(settings: Any) -> None:
    path = "django_sitemaps_plus.contrib.webmasters.yandex.YandexWebmaster"
    with FakeYandex("token") as yandex:
        options = {"token": "token", "recrawl": True, "endpoint": yandex.endpoint}
        use(settings, yandex=(path, options))
        for _ in range(2):
            happened("/a/")
            run()
            later(601)
        assert yandex.calls.count("POST user-added-sitemaps") == 1
        assert yandex.calls.count("POST queue") == 2
        later(86_400)
        run()
        assert yandex.calls.count("POST user-added-sitemaps") == 2


def test_bing_without_urls_is_asked_for_none(settings: Any) -> None:
    bing = "django_sitemaps_plus.contrib.webmasters.bing.BingWebmaster"
    use(settings, bing=(bing, {"site": f"{BASE}/", "key": "a-key", "urls": False}))
    out, err, code = run_command("ping_sitemaps", "--engine", "bing", "--url", "/a/")
    assert (out, code) == ("", 2)
    problem = "No URL of a page can be submitted to bing. Leave out --url"
    assert err.startswith(f"CommandError: {problem}")
