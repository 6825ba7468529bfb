"""An app that no app of ours is adds to the core, and breaks nothing when it fails."""

from __future__ import annotations

import inspect
import json
import math
import re
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.db.models import F
from django.test import Client

from django_sitemaps_plus import hooks
from django_sitemaps_plus.conf import app_settings, get_settings
from django_sitemaps_plus.delivery import background
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Section, Submission, UrlChange
from tests.hooked import hooks as app
from tests.support.factories import dated_anew
from tests.support.helpers import ArticleSitemap, run_command
from tests.support.hooked import hooked
from tests.support.run_python import python
from tests.test_rooms import listed_for_projects, names_in

__all__ = ["hooked"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("hooked"),
]

#: What ``django_sitemaps_plus.hooks`` calls in apps.
NAMES = {
    name
    for name, function in inspect.getmembers(hooks, inspect.isfunction)
    if function.__module__ == hooks.__name__
    and not name.startswith("_")
    and name not in ("modules", "labels", "each", "each_or_failed")
}
#: Which only an app calls: they are tested with it.
OF_APPS = {"changes_wait", "documents"}


def use_memory(settings: Any) -> None:
    """Notify an engine that takes everything."""
    backend = "django_sitemaps_plus.engines.memory.Memory"
    engines = {"ENGINES": {"one": {"BACKEND": backend}}}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **engines}


def change() -> None:
    """Save an article anew."""
    dated_anew(ArticleSitemap.model.objects.first()).save()  # type: ignore[union-attr]


def work() -> None:
    """Do what workers do, the hourly upkeep too."""
    Section.objects.filter(name="").update(tended_at=0)
    background.work()


def test_the_app_has_every_hook_with_its_arguments() -> None:
    own = dict(inspect.getmembers(app, inspect.isfunction))
    assert set(own) >= NAMES
    for name in NAMES:
        called = inspect.signature(getattr(hooks, name)).parameters
        # To apps it is the same whether a command asks, which shows what they raise.
        # The ``kind`` of what they yield is looked at by the core.
        wanted = [one for one in called if one not in ("is_asked", "kind")]
        assert list(inspect.signature(own[name]).parameters) == wanted, name


def test_the_app_imports_only_what_is_promised() -> None:
    """It is as one that somebody else writes."""
    promised = listed_for_projects()
    modules = {module for module, _ in promised}
    for path in Path(app.__file__).parent.glob("*.py"):
        for name in names_in(path):
            package, _, rest = name.partition(".")
            module, _, last = rest.rpartition(".")
            if package == "django_sitemaps_plus" and rest not in modules:
                assert {(module, last), (module, "*")} & promised, name


def test_the_documentation_has_every_hook_and_no_other() -> None:
    page = Path(__file__).parent.parent / "docs" / "extending.md"
    table = page.read_text().partition("## Hooks\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", table, re.M)
    assert set(re.findall(r"`(\w+)`", " ".join(cells))) == NAMES


# When they are called, and what they are given


def test_hooks_are_called_where_they_belong(client: Client, settings: Any) -> None:
    assert client.get("/sitemap.xml").headers["X-Hooked"] == "yes"
    assert app.given["answered"][-1] == ("/sitemap.xml", "", True)
    robots = client.get("/robots.txt").content.decode()
    assert "Sitemap: https://www.example.com/hooked.xml\n" in robots
    (site,) = app.given["sitemaps"][-1]
    assert site.url("/") == "https://www.example.com/"
    assert app.given["answered"][-1] == ("/robots.txt", "", False)
    use_memory(settings)
    run_command("ping_sitemaps")
    assert app.given["alerts"] == [(["article"],)], "asked once"
    change()
    work()
    results = [one for (report,) in app.given["delivered"] for one in report.results]
    assert [one.engine for one in results if one.accepted] == ["one"]
    out, _, code = run_command("ping_sitemaps", "--status")
    assert "Warning: The mirror is old." in " ".join(out.split())
    assert code == 0
    assert app.given["alerts"][-1] == (None,)
    out, _, _ = run_command("ping_sitemaps", "--status", "--format", "json")
    assert json.loads(out)["mirror"] == {"age": 60}
    out, _, _ = run_command("ping_sitemaps", "--check", "--force")
    assert "The mirror answers." in out
    _, is_forced, _ = app.given["checks"][-1]
    assert is_forced
    hooks.store(process_ends=True)
    assert set(app.called) - OF_APPS == NAMES - OF_APPS - {"urls", "derived"}


def test_an_app_serves_sitemaps_with_another_ending(
    client: Client, settings: Any
) -> None:
    settings.ROOT_URLCONF = "tests.hooked.project_urls"
    response = client.get("/sitemap.hooked")
    assert response.headers["Content-Type"] == "text/x-hooked"
    assert b"/articles/" in response.content


#: A new process, for a URLconf is imported once.
RESOLVED = """
from tests import settings
settings.INSTALLED_APPS = ["tests.hooked", *settings.INSTALLED_APPS]
import django
django.setup()
from django.urls import resolve
print(resolve("/sitemap.hooked").view_name)
"""


def test_an_app_has_addresses_beside_the_core_s() -> None:
    assert python("-c", RESOLVED).stdout == "django_sitemaps_plus:hooked\n"
    app.instead["urls"] = app.breaks
    said = "The hook 'urls' of tests.hooked failed: Broken."
    with pytest.raises(hooks.HookError, match=said):
        hooks.urls()


# When they raise


def test_a_page_is_sent_though_a_hook_fails(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    app.instead["answered"] = app.breaks
    response = client.get("/sitemap.xml")
    assert response.status_code == 200
    assert "The hook 'answered' of tests.hooked failed." in caplog.text


RAISED = [app.breaks, app.is_misconfigured, app.asks_in_vain, lambda: 1 / 0]
LINES = ["https://www.example.com/a\nDisallow: /"]


@pytest.mark.parametrize(
    ("name", "path", "nonsense"),
    [
        ("sitemaps", "/robots.txt", [["a.xml"], [None], None, "x", LINES]),
        ("are_packed", "/robots.txt", []),
        ("derived", "/sitemap.hooked", [None, {"hooked": None}, {}, "xy"]),
    ],
)
@pytest.mark.costly
def test_nothing_is_shorter_because_a_hook_fails(
    client: Client, settings: Any, name: str, path: str, nonsense: list[Any]
) -> None:
    settings.ROOT_URLCONF = "tests.hooked.project_urls"
    whole = client.get(path).content
    for fault in (*RAISED, *((lambda one=one: one) for one in nonsense)):
        app.instead[name] = fault
        assert client.get(path).status_code == 503
    app.instead.clear()
    assert client.get(path).content == whole


@pytest.mark.parametrize(
    "faults",
    [
        (app.breaks, lambda: ["It is old."]),
        (app.asks_in_vain, lambda: None, lambda: [None], lambda: iter(7)),  # type: ignore[call-overload]
    ],
)
@pytest.mark.costly
def test_nothing_is_well_where_an_app_cannot_look(
    faults: tuple[Callable[[], Any], ...],
) -> None:
    for fault, name in product(faults, ("alerts", "checks", "status")):
        app.instead.clear()
        app.instead[name] = fault
        options = ["--check", "--force"] if name == "checks" else ["--status"]
        # A transaction that an error has broken would refuse whatever is asked then.
        with transaction.atomic():
            out, err, code = run_command("ping_sitemaps", *options)
            assert Section.objects.exists()
        assert code == 1
        assert "tests.hooked could not check" in " ".join((out + err).split())


def test_engines_hear_of_urls_though_nobody_knows_the_sitemap_s_address(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    use_memory(settings)
    app.instead["are_packed"] = app.breaks
    change()
    work()
    sent = Submission.objects.filter(state="accepted").values_list("kind", flat=True)
    assert set(sent) == {"changed"}
    assert "No engine is told of the sitemap." in caplog.text


@pytest.mark.parametrize(
    "name",
    [
        *("wants_titles", "background", "rebuilt", "hourly", "store"),
        *("looks_back", "delivered"),
    ],
)
@pytest.mark.parametrize("fault", [app.breaks, app.asks_in_vain])
@pytest.mark.costly
def test_work_goes_on_though_a_hook_fails(
    settings: Any, caplog: pytest.LogCaptureFixture, name: str, fault: Any
) -> None:
    use_memory(settings)
    app.instead[name] = fault
    change()
    work()
    hooks.store(process_ends=True)
    assert UrlChange.objects.filter(kind="changed").exists()
    assert Submission.objects.filter(state="accepted").exists()
    assert {"hourly", "background"} <= set(app.called)
    assert f"The hook '{name}' of tests.hooked failed." in caplog.text


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.costly
def test_rows_are_read_with_their_titles_where_an_app_wants_them(
    register: Any, wanted: bool
) -> None:
    register("titled", type("Titled", (ArticleSitemap,), {"item_title": F("slug")}))
    app.instead["wants_titles"] = lambda: wanted
    change()
    work()
    told = UrlChange.objects.filter(section="titled").latest("pk")
    title = told.location.strip("/").rpartition("/")[2] if wanted else ""
    assert told.title == title


@pytest.mark.parametrize("fault", [app.breaks, lambda: False])
@pytest.mark.costly
def test_without_engines_the_command_works_for_an_app_that_listens(
    caplog: pytest.LogCaptureFixture, fault: Callable[[], Any]
) -> None:
    change()
    assert run_command("ping_sitemaps")[1:] == ("", 0)
    assert UrlChange.objects.latest("pk").queued_at is not None
    app.instead["listens"] = fault
    _, err, code = run_command("ping_sitemaps")
    assert code == 2
    assert "ENGINES" in err
    is_logged = "The hook 'listens' of tests.hooked failed." in caplog.text
    assert is_logged == (fault is app.breaks)


def test_nothing_is_deleted_that_an_app_may_look_back_at() -> None:
    change()
    work()
    UrlChange.objects.update(at=time.time() - 20 * 86_400)
    work()
    assert UrlChange.objects.exists(), "the app looks back thirty days"
    UrlChange.objects.update(at=time.time() - 400 * 86_400)
    for nonsense in (app.breaks, lambda: math.nan, lambda: "long"):
        app.instead["looks_back"] = nonsense
        work()
        assert UrlChange.objects.exists(), "nobody knows how far"
    app.instead.clear()
    work()
    assert not UrlChange.objects.exists()


def test_a_command_shows_what_a_hook_raises_and_notifies_engines(settings: Any) -> None:
    use_memory(settings)
    change()
    for command, name in (
        ("build_sitemaps", "rebuilt"),
        ("ping_sitemaps", "rebuilt"),
        ("ping_sitemaps", "background"),
    ):
        app.instead.clear()
        app.instead[name] = app.breaks
        with pytest.raises(app.BrokenError):
            call_command(command)
        sent = {row.state for row in Submission.objects.all()}
        assert sent == ({"accepted"} if command == "ping_sitemaps" else set())


# Settings, and INSTALLED_APPS


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
