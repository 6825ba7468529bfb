"""An app that no app of ours is adds to the core, and breaks nothing when it fails."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from django_sitemaps_plus import hooks
from django_sitemaps_plus.conf import app_settings, get_settings
from django_sitemaps_plus.delivery import background, upkeep
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Section, UrlChange
from tests.hooked import hooks as app
from tests.support.factories import articles, dated_anew
from tests.support.helpers import ArticleSitemap, run_command

pytestmark = pytest.mark.django_db(transaction=True)

#: What ``django_sitemaps_plus.hooks`` calls in apps.
NAMES = [
    name
    for name, function in inspect.getmembers(hooks, inspect.isfunction)
    if function.__module__ == hooks.__name__
    and not name.startswith("_")
    and name not in ("modules", "labels", "all_models")
]


@pytest.fixture(autouse=True)
def hooked(settings: Any, register: Any) -> Iterator[None]:
    """The app, and a section with two articles that are built."""
    app.called.clear()
    app.raising.clear()
    settings.INSTALLED_APPS = ["tests.hooked", *settings.INSTALLED_APPS]
    register("article", ArticleSitemap)
    articles(2)
    run_command("build_sitemaps")
    yield
    app.raising.clear()


def work() -> None:
    """Do what workers do, the hourly upkeep too."""
    Section.objects.filter(name="").update(tended_at=0)
    upkeep.tend()
    background.work()


def test_the_documentation_names_every_hook() -> None:
    page = Path(__file__).parent.parent / "docs" / "extending.md"
    named = set(
        re.findall(
            r"`(\w+)`", " ".join(re.findall(r"^\| .*? \|", page.read_text(), re.M))
        )
    )
    assert set(NAMES) <= named


def test_hooks_are_called_where_they_belong(client: Client) -> None:
    assert client.get("/sitemap.xml").headers["X-Hooked"] == "yes"
    robots = client.get("/robots.txt").content.decode()
    assert "Sitemap: https://www.example.com/hooked.xml\n" in robots
    dated_anew(ArticleSitemap.model.objects.first()).save()  # type: ignore[union-attr]
    work()
    assert UrlChange.objects.latest("pk").title == "Hooked"
    out, _, code = run_command("ping_sitemaps", "--status")
    assert "Warning: The mirror is old." in " ".join(out.split())
    assert code == 0
    out, _, _ = run_command("ping_sitemaps", "--status", "--format", "json")
    assert json.loads(out)["mirror"] == {"age": 60}
    expected = {"answered", "sitemaps", "titles", "background", "hourly", "alerts"}
    assert expected | {"status", "rebuilt"} <= set(app.called)


def test_a_page_is_sent_though_a_hook_fails(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    app.raising.add("answered")
    response = client.get("/sitemap.xml")
    assert response.status_code == 200
    assert "The hook 'answered' of tests.hooked failed." in caplog.text


def test_robots_txt_is_never_shorter_because_a_hook_fails(client: Client) -> None:
    app.raising.add("sitemaps")
    assert client.get("/robots.txt").status_code == 503
    app.raising.clear()
    assert client.get("/robots.txt").status_code == 200


def test_the_verdict_is_red_if_an_app_cannot_look() -> None:
    app.raising.add("alerts")
    _, err, code = run_command("ping_sitemaps", "--status")
    assert code == 1
    assert "tests.hooked" in err


def test_the_check_fails_if_an_app_cannot_look() -> None:
    app.raising.add("checks")
    out, err, code = run_command("ping_sitemaps", "--check", "--force")
    assert code == 1
    assert "tests.hooked" in out + err


def test_the_status_says_which_app_cannot_say_its_own() -> None:
    app.raising.add("status")
    out, err, code = run_command("ping_sitemaps", "--status")
    assert "tests.hooked could not" in " ".join((out + err).split())
    assert code == 1


@pytest.mark.parametrize(
    "name",
    ["titles", "background", "rebuilt", "hourly", "changes_wait", "is_prompt", "store"],
)
def test_work_goes_on_though_a_hook_fails(name: str) -> None:
    app.raising.add(name)
    dated_anew(ArticleSitemap.model.objects.first()).save()  # type: ignore[union-attr]
    work()
    hooks.store(process_ends=True)
    assert UrlChange.objects.filter(kind="changed").exists()


def test_a_setting_is_of_the_app_that_declares_it(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "HOOKED": 2}
    assert app_settings(app.Settings).HOOKED == 2
    assert get_settings().INDEX is False
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "HOKED": 2}
    with pytest.raises(ConfigurationError, match="Did you mean 'HOOKED'"):
        get_settings()


def test_an_app_that_is_taken_out_leaves_nothing_behind(
    client: Client, settings: Any
) -> None:
    with_app = settings.INSTALLED_APPS
    without = [name for name in with_app if name != "tests.hooked"]
    for _ in range(2):
        settings.INSTALLED_APPS = without
        assert "X-Hooked" not in client.get("/sitemap.xml").headers
        given = settings.SITEMAPS_PLUS
        settings.SITEMAPS_PLUS = {**given, "HOOKED": 2}
        with pytest.raises(ConfigurationError, match="is unknown"):
            get_settings()
        settings.SITEMAPS_PLUS = given
        settings.INSTALLED_APPS = with_app
        assert client.get("/sitemap.xml").headers["X-Hooked"] == "yes"
        app.called.clear()
        client.get("/robots.txt")
        assert app.called.count("sitemaps") == 1, "asked once, whatever was overridden"
