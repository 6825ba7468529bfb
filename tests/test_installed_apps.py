"""``INSTALLED_APPS``: in any order, none without the core, none leaves traces."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.checks.registry import registry as checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import get_commands
from django.dispatch import Signal
from django.test import Client

from django_sitemaps_plus import hooks
from tests.support.factories import articles
from tests.support.further_apps import APPS
from tests.support.helpers import ArticleSitemap, run_command
from tests.support.run_python import python

CORE = "django_sitemaps_plus"


@pytest.mark.parametrize("app", APPS)
def test_an_app_without_the_core_says_what_to_add(app: str, settings: Any) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        settings.INSTALLED_APPS = [app]
    assert str(caught.value).startswith(
        f"'{app}' needs 'django_sitemaps_plus' in INSTALLED_APPS. Add it there"
    )


#: A new process, in which nothing was imported in another order.
STARTED = """
import sys
from tests import settings
settings.INSTALLED_APPS = sys.argv[1:]
import django
django.setup()
from django.core.management import call_command
call_command("check", fail_level="WARNING")
call_command("makemigrations", check=True, dry_run=True)
"""


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
@pytest.mark.costly
def test_the_order_of_the_apps_is_the_project_s(is_first: bool, settings: Any) -> None:
    others = [app for app in settings.INSTALLED_APPS if app not in (CORE, *APPS)]
    given = [*APPS[::-1], CORE, *others] if is_first else [*others, *APPS, CORE]
    # On SQLite: other databases would have to be there.
    done = python("-W", "error", "-c", STARTED, *given, TEST_DATABASE_URL="")
    assert (done.returncode, done.stderr) == (0, "")


def _module(kept: Any) -> str:
    """Return the module of what a signal keeps: a receiver, or a reference to it."""
    receiver = kept() if isinstance(kept, weakref.ReferenceType) else kept
    return getattr(receiver, "__module__", None) or type(receiver).__module__


def traces() -> Counter[str]:
    """Return what apps may leave behind: who listens of ours, and checks."""
    gc.unfreeze()  # or it lists nothing of what there was before the first test
    found = Counter(
        _module(kept)
        for signal in gc.get_objects()
        # To ask an instance would wake lazy ones.
        if issubclass(type(signal), Signal)
        for _, kept, *_ in signal.receivers
    )
    # Those of Django's apps come again each time.
    ours = {name: count for name, count in found.items() if name.startswith(CORE)}
    return Counter(ours, checks=len(checks.get_checks(include_deployment_checks=True)))


@pytest.mark.django_db(databases=["default", "other"])
def test_apps_that_come_and_go_leave_nothing_behind(
    settings: Any, client: Client, register: Any
) -> None:
    register("article", ArticleSitemap)
    articles(2)
    run_command("build_sitemaps")
    with_apps = settings.INSTALLED_APPS
    without = [app for app in with_apps if app not in APPS]

    def shown() -> tuple[Any, ...]:
        """Return what the site says with the apps that are installed now."""
        get_commands.cache_clear()
        robots = client.get("/robots.txt").content
        named = [name for name, _ in hooks.modules()]
        found = [one.id for one in run_checks(include_deployment_checks=True)]
        return robots, client.get("/sitemap.xml").content, named, found, get_commands()

    before = shown()
    settings.INSTALLED_APPS = without
    of_the_core = shown()
    assert of_the_core[2] == []
    assert [app for app in of_the_core[4].values() if app in APPS] == []
    left = traces()
    assert len(left) > 1
    for _ in range(2):
        settings.INSTALLED_APPS = with_apps
        assert shown() == before
        settings.INSTALLED_APPS = without
        assert shown() == of_the_core
    assert traces() == left
    settings.INSTALLED_APPS = with_apps
    get_commands.cache_clear()
