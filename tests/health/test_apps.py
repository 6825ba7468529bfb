"""What apps say of a site's health, and what nobody says without them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import get_commands

from django_sitemaps_plus.health.alerts import Alert, alerts, errors
from tests.conftest import Register
from tests.hooked import hooks as app
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, run_command
from tests.support.hooked import hooked

AUDIT = "django_sitemaps_plus.contrib.audit"
UNSEEN = "The audit is not installed, so nobody has looked at what the listed URLs"

__all__ = ["hooked"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def unaudited(settings: Any) -> Iterator[None]:
    """A project without the audit."""
    get_commands.cache_clear()
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != AUDIT]
    yield
    get_commands.cache_clear()


def test_without_the_audit_it_is_said_what_nobody_has_looked_at(
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
    out, _, _ = run_command("ping_sitemaps", "--check")
    assert f"warn   site: {UNSEEN}" in out


def test_without_the_audit_nothing_advises_its_command(
    unaudited: None, register: Register
) -> None:
    articles(2)
    register("article", type("Same", (ArticleSitemap,), {"location": lambda *_: "/a/"}))
    out, _, code = run_command("build_sitemaps")
    assert "with the URL of another entry" in out
    assert "check_sitemaps" not in out
    assert code == 0
    assert "check_sitemaps" not in get_commands()


def test_what_an_app_says_is_an_error_and_that_it_fails_too(hooked: None) -> None:
    alert = Alert(subject=Alert.Subject.SECTIONS, text="It rains.")
    app.instead["alerts"] = lambda: [alert]
    assert errors(alerts()) == [alert]
    _, err, code = run_command("ping_sitemaps", "--status")
    assert ("It rains" in err, code) == (True, 1)
    app.instead |= {"alerts": app.breaks, "checks": app.breaks}
    _, err, code = run_command("ping_sitemaps", "--status")
    unknown = (
        "tests.hooked could not check, so this is unknown: {}: BrokenError: Broken."
    )
    assert unknown.format("alerts") in " ".join(err.split())
    assert code == 1
    out, _, code = run_command("ping_sitemaps", "--check")
    assert [unknown.format(n) in out for n in ("alerts", "checks")] == [True, True]
    assert code == 1
