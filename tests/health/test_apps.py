"""What apps say of a site's health, and what nobody says without them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import get_commands

from django_sitemaps_plus.health.alerts import Alert, alerts, errors
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, run_command

AUDIT = "django_sitemaps_plus.contrib.audit"
UNSEEN = "The audit is not installed, so nobody has looked at what the listed URLs"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def unaudited(settings: Any) -> Iterator[None]:
    """A project without the audit."""
    get_commands.cache_clear()
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != AUDIT]
    yield
    get_commands.cache_clear()


@pytest.fixture
def installed(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], None]]:
    """Install an app that somebody else wrote, by the text of its hooks."""

    def install(hooks: str) -> None:
        package = tmp_path / "station"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "hooks.py").write_text(hooks)
        (package / "apps.py").write_text(
            "from django.apps import AppConfig\n"
            "class Station(AppConfig):\n"
            "    name, sitemaps_plus = 'station', 'station.hooks'\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "station"]

    yield install
    for name in [one for one in sys.modules if one.partition(".")[0] == "station"]:
        del sys.modules[name]


def test_without_the_audit_the_status_says_what_nobody_has_looked_at(
    unaudited: None, register: Register
) -> None:
    articles(3)
    register("article", ArticleSitemap)
    run_command("build_sitemaps")
    assert [one.level for one in alerts() if UNSEEN in one.text] == [Alert.NOTE]
    out, err, code = run_command("ping_sitemaps", "--status")
    text = " ".join(out.split())
    assert f"Note: {UNSEEN}" in text
    assert f"add '{AUDIT}' to INSTALLED_APPS" in text
    assert (err, code) == ("", 0)


def test_without_the_audit_the_check_says_that_nobody_asked_as_a_crawler(
    unaudited: None,
) -> None:
    out, _, _ = run_command("ping_sitemaps", "--check")
    assert f"warn   site: {UNSEEN}" in out


def test_without_the_audit_nothing_advises_its_command(
    unaudited: None, register: Register, settings: Any
) -> None:
    class Same(ArticleSitemap):
        def location(self, item: Any) -> str:
            return "/same/"

    articles(2)
    register("article", Same)
    out, _, code = run_command("build_sitemaps")
    assert "with the URL of another entry" in out
    assert "check_sitemaps" not in out
    assert code == 0
    assert "check_sitemaps" not in get_commands()


def test_an_app_says_what_needs_attention(installed: Callable[[str], None]) -> None:
    installed(
        "def alerts(sections):\n"
        "    from django_sitemaps_plus.health.alerts import Alert\n"
        "    text = f'It rains: {sections}.'\n"
        "    yield Alert(subject=Alert.Subject.SECTIONS, text=text)\n"
    )
    assert [one.text for one in errors(alerts())] == ["It rains: None."]
    _, err, code = run_command("ping_sitemaps", "--status")
    assert ("It rains" in err, code) == (True, 1)


def test_an_app_that_cannot_look_is_an_error(
    installed: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    installed(
        "def alerts(sections):\n    raise OSError('No power.')\n\n"
        "def checks(site, *, force, closed):\n    raise OSError('No light.')\n"
    )
    assert apps.is_installed("station")
    _, err, code = run_command("ping_sitemaps", "--status")
    assert "station could not check, so this is unknown: alerts: OSError: No" in err
    assert code == 1
    out, _, code = run_command("ping_sitemaps", "--check")
    assert ("No power." in out, "No light." in out, code) == (True, True, 1)
