"""What audits found, or did not look at, is part of the state of health."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.test import override_settings

from django_sitemaps_plus.contrib.audit.kinds import known
from django_sitemaps_plus.contrib.audit.models import Audit
from django_sitemaps_plus.health.alerts import alerts
from tests.commands import test_ping_sitemaps
from tests.conftest import Register
from tests.contrib.audit import kinds
from tests.health import conftest
from tests.support.helpers import ArticleSitemap, run_command
from tests.support.outbox_world import use

from .looked import audited, look_at_everything

pytestmark = pytest.mark.django_db(databases=["default", "other"])

sound, site = conftest.sound, test_ping_sitemaps.site


@pytest.fixture
def looked_at(sound: None) -> None:
    """A site with nothing wrong, of which everything was looked at."""
    look_at_everything()


def status() -> tuple[str, str, int]:
    """Return what the command says, and how it ends."""
    out, err, code = run_command("ping_sitemaps", "--status")
    return " ".join(out.split()), " ".join(err.split()), code


def test_what_was_not_looked_at_is_said(looked_at: None) -> None:
    out, err, code = status()
    assert ("Note" in out, err, code) == (False, "", 0)
    assert alerts() == []
    long_ago = time.time() - 31 * 86_400
    Audit.objects.update(finished_at=long_ago)
    out, err, code = status()
    assert (err, code) == ("", 0)
    assert "No audit of article in the last 30 days: manage.py check_" in out
    assert "The sitemaps were not read as a crawler does in the last 30" in out
    audited(fetched="live", missed="It was stopped at page 2.")
    out, _, _ = status()
    assert "Warning: The last audit of article did not see everything: It" in out
    audited(fetched="crawl", fetched_urls=1, urls=1, sections={}, missed="No IPv6.")
    out, _, _ = status()
    assert "Note: The last audit of the site did not see everything: No" in out


def test_without_engines_it_is_said_that_nobody_read_as_a_crawler(
    settings: Any,
) -> None:
    use(settings)
    out, err, code = status()
    said = "The sitemaps were not read as a crawler" in out
    assert (said, err, code) == (True, "", 0)


def test_the_check_of_a_site_says_it_too(site: Any, register: Register) -> None:
    register("article", ArticleSitemap)
    audited(kinds.SESSION)
    with override_settings(ALLOWED_HOSTS=["*"]):
        out, _, _ = run_command("ping_sitemaps", "--check", "--force")
    assert "The last audit of article found 3 errors" in " ".join(out.split())


def test_what_two_ways_to_look_found_is_one_alert(looked_at: None) -> None:
    audited(kinds.FAILS, fetched="live", fetched_urls=25)
    _, err, code = status()
    found = "article found 3 errors: URLs that do not answer 200. Seen: 25 of 25 URLs"
    assert f"{found} fetched over HTTP: manage.py check_sitemaps --live" in err
    assert code == 1
    audited(kinds.FAILS, fetched="process", fetched_urls=25)
    audited(kinds.FAILS, fetched="live", fetched_urls=24)
    [alert] = [one for one in alerts() if one.level == "error"]
    assert "Seen: 25 of 25 URLs fetched in process." in alert.text


def test_warnings_are_shown_also_beside_errors(looked_at: None) -> None:
    audited(kinds.LOGIN_FORM, fetched="live", fetched_urls=25)
    out, _, code = status()
    assert f"found 3 warnings: {known()[kinds.LOGIN_FORM].title}" in out
    assert code == 0
    audited(fetched="live", fetched_urls=25)
    counts = {kinds.SESSION: {"article": 3}, kinds.TRACKING: {"article": 2}}
    audited()
    Audit.objects.filter(fetched="").update(counts=counts)
    error, warning = alerts()
    assert (error.level, "3 errors" in error.text) == ("error", True)
    assert (warning.level, "2 warnings" in warning.text) == ("warning", True)
