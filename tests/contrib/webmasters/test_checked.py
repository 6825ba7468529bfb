"""What checks of these engines say: of options, of a package, of what is in between."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from django_sitemaps_plus.contrib.webmasters import google_auth
from django_sitemaps_plus.contrib.webmasters.bing import BingWebmaster
from django_sitemaps_plus.contrib.webmasters.google import SearchConsole
from django_sitemaps_plus.contrib.webmasters.google_auth import GoogleEngine
from django_sitemaps_plus.contrib.webmasters.google_indexing import GoogleIndexing
from django_sitemaps_plus.contrib.webmasters.yandex import YandexWebmaster
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import Engine, OptionError
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


SEARCH_CONSOLE = partial(SearchConsole, site=f"{BASE}/")
BING = partial(BingWebmaster, site=f"{BASE}/", key="0123456789abcdef")
YANDEX = partial(YandexWebmaster, token="y0_0123456789abcdef")


@pytest.mark.parametrize(
    ("engine", "option", "value", "problem"),
    [
        (SEARCH_CONSOLE, "site", BASE, "use the property"),
        (SEARCH_CONSOLE, "site", "sc-domain:https://example.com", ""),
        (SEARCH_CONSOLE, "site", None, ""),
        (SEARCH_CONSOLE, "credentials", 5, ""),
        (SEARCH_CONSOLE, "endpoint", "http://api.example/v3", ""),
        (SEARCH_CONSOLE, "token_endpoint", "http://api.example/token", ""),
        (partial(GoogleIndexing), "sections", [], "is empty"),
        (BING, "site", "www.example.com", ""),
        (BING, "key", " ", "is empty"),
        (BING, "urls", "no", ""),
        (BING, "endpoint", "ftp://a", ""),
        (YANDEX, "token", "", "is empty"),
        (YANDEX, "token", "a\nb", ""),
        (YANDEX, "host_id", "example.com", ""),
        (YANDEX, "recrawl", 1, ""),
    ],
)
def test_an_option_that_cannot_work_is_refused(
    engine: partial[Engine], option: str, value: object, problem: str
) -> None:
    with pytest.raises(OptionError) as caught:
        engine(alias="it", **{option: value})
    if issubclass(engine.func, GoogleEngine) and not google_auth.is_installed():
        option, problem = "BACKEND", "pip install"
    assert caught.value.option == option
    assert problem in caught.value.problem


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
    command = [sys.executable, "-W", "error", "-c", code]
    assert subprocess.check_output(
        command, cwd=Path(__file__).parents[3], text=True
    ) == (
        "BACKEND needs a package that is not installed: "
        "pip install 'django-sitemaps-plus[google]'.\n"
    )
