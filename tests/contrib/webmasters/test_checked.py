"""What checks of these engines say: of options, of a package, of what is in between."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps_plus.engines import asking
from tests.checks.test_robots_and_feeds import of
from tests.engines.test_contract import set_up
from tests.support.fakes.faults import html, reply
from tests.support.fakes.site import FakeSite
from tests.support.outbox_world import BASE


@pytest.mark.parametrize("name", ["bing", "yandex"])
def test_a_check_blames_no_key_for_what_is_not_its_fault(
    name: str, site: FakeSite
) -> None:
    with set_up(name, site) as (setup, server):
        for status, fix in ((503, "Try again later."), (429, "Try again later.")):
            server.fault = reply(status)
            [found] = asking.check_engine(setup.engine, site.origin)
            assert (found.is_good, found.fix) == (False, fix)
        server.fault = html(200)
        [found] = asking.check_engine(setup.engine, site.origin)
        assert found.text.endswith("a web page (200): check 'endpoint'.")
        assert not found.fix


WEBMASTERS = "django_sitemaps_plus.contrib.webmasters"


@pytest.mark.parametrize(
    ("backend", "options", "text"),
    [
        (f"{WEBMASTERS}.google_indexing.GoogleIndexing", {}, "['sections'] is empty"),
        (f"{WEBMASTERS}.bing.BingWebmaster", {"site": BASE}, "['key'] is missing"),
        (f"{WEBMASTERS}.yandex.YandexWebmaster", {"token": ""}, "['token'] is empty"),
    ],
)
def test_options_that_cannot_work_are_named(
    settings: Any, backend: str, options: dict[str, Any], text: str
) -> None:
    entry = {"BACKEND": backend, "OPTIONS": options}
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ENGINES": {"it": entry}}
    [(_, message, _)] = of("E031")
    assert text in message or "pip install" in message


def test_without_google_auth_the_error_names_the_command() -> None:
    code = """
import sys
sys.modules["google.auth"] = None
from django_sitemaps_plus.engines.base import MissingExtra
from django_sitemaps_plus.contrib.webmasters.google import SearchConsole
try:
    SearchConsole(alias="google", site="sc-domain:example.com")
except MissingExtra as error:
    print(error.option, error.problem)
"""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stderr == ""
    assert result.stdout == (
        "BACKEND needs a package that is not installed: "
        "pip install 'django-sitemaps-plus[google]'.\n"
    )
