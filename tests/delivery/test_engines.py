"""``ENGINES``: created once, refused with its path, and no secret in any message."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest
from django.core.checks import run_checks
from django.test import Client

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.delivery import workers
from django_sitemaps_plus.delivery.engines import engines, known_files
from django_sitemaps_plus.exceptions import ConfigurationError
from tests.conftest import Register
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    remove_sites,
    use_backend,
)
from tests.support.outbox_world import BASE, use

pytestmark = pytest.mark.django_db

ENGINES = "SITEMAPS_PLUS['ENGINES']"
PATH = "tests.support.outbox_engines"
KEY = "abcdef0123456789"
SHIPPED = "django_sitemaps_plus.engines"


def checked(settings: Any, **given: Any) -> dict[str, str]:
    """Return the messages of the engines' checks by their numbers."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **given}
    found = run_checks(tags=["sitemaps_plus"])
    numbers = {str(m.id).removeprefix("sitemaps_plus."): m.msg for m in found}
    return {number: text for number, text in numbers.items() if "03" in number}


def test_engines_are_created_once_for_the_same_settings(settings: Any) -> None:
    one = use(settings, one=("Scripted", {"interval": 7}), two="Few")
    assert list(engines()) == ["one", "two"]
    assert (one.alias, one.interval) == ("one", 7)
    assert engines()["one"] is one
    use(settings, one="Scripted")
    assert engines()["one"] is not one


def options(name: str, given: Any) -> dict[str, Any]:
    return {"BACKEND": f"{PATH}.{name}", "OPTIONS": given}


EXAMPLE = 'for example {"BACKEND": "dotted.path", "OPTIONS": {…}}.'
#: Entries of the settings by what is said of them.
ENTRIES: dict[str, Any] = {
    "['BACKEND'] is 'no.such', which cannot be imported: No module named 'no'": {
        "BACKEND": "no.such"
    },
    "['BACKEND'] is 7, which cannot be imported: ": {"BACKEND": 7},
    "['BACKEND'] is 'datetime.date', which is not a subclass of "
    "django_sitemaps_plus.engines.base.Engine.": {"BACKEND": "datetime.date"},
    f" needs a 'BACKEND', {EXAMPLE}": {},
    f" must be a dict, {EXAMPLE}": "s3cr3t",
    "['key'] is unknown. Known keys: BACKEND, OPTIONS.": {
        "BACKEND": f"{PATH}.Few",
        "key": "s3cr3t",
    },
}
OPTIONS: dict[str, Any] = {
    "['kye'] is unknown. Did you mean 'key'?": options("Keyed", {"kye": 1}),
    "['x'] is unknown. Known options: interval, timeout, sections, ": options(
        "Few", {"x": "s3cr3t"}
    ),
    "['alias'] is unknown. Known": options("Few", {"alias": "s3cr3t"}),
    "['sent'] is unknown. Did": options("Few", {"sent": ["s3cr3t"]}),
    "['key'] is missing; Memory needs it.": options("Keyed", {}),
    " must be a dict, ": options("Few", ["s3cr3t"]),
    " cannot be used: … is no key.": options("Picky", {"key": "s3cr3t"}),
}


def test_what_cannot_be_used_is_refused_by_name(settings: Any) -> None:
    wrong = [("E030", entry, text) for text, entry in ENTRIES.items()]
    wrong += [("E031", entry, f"['OPTIONS']{text}") for text, entry in OPTIONS.items()]
    for number, entry, message in wrong:
        found = checked(settings, ENGINES={"one": entry})
        assert list(found) == [number]
        assert found[number].startswith(f"{ENGINES}['one']{message}")
        assert "s3cr3t" not in found[number]
        with pytest.raises(ConfigurationError) as caught:
            engines()
        assert str(caught.value) == found[number]


def test_anything_but_a_dict_of_engines_is_refused(settings: Any) -> None:
    for value in ("s3cr3t", ["s3cr3t"], None):
        settings.SITEMAPS_PLUS = {"ENGINES": value}
        with pytest.raises(ConfigurationError) as caught:
            get_settings()
        assert str(caught.value).startswith(f"{ENGINES} must be a dict, for example")
        assert "s3cr3t" not in str(caught.value)
    settings.SITEMAPS_PLUS = {"ENGINES": {"x" * 101: options("Few", {})}}
    with pytest.raises(ConfigurationError, match="1 to 100 characters"):
        engines()


def test_checks_warn_of_no_address_and_of_workers_that_cannot_be_used(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings, one="Few")
    assert checked(settings) == {}
    installed = ModuleType("celery")
    installed.__spec__ = ModuleSpec("celery", None)
    monkeypatch.setitem(sys.modules, "celery", installed)
    monkeypatch.setitem(workers.WORKERS, "celery", "no.such.module")
    assert checked(settings, BACKGROUND="celery") == {
        "E033": "SITEMAPS_PLUS['BACKGROUND'] is 'celery', which cannot be used: "
        "ModuleNotFoundError: No module named 'no'"
    }
    for module in ("celery", "django.tasks", "django_tasks"):
        monkeypatch.setitem(sys.modules, module, None)
    for how, package in (("celery", "celery"), ("tasks", "django-tasks")):
        assert checked(settings, BACKGROUND=how) == {
            "E033": f"SITEMAPS_PLUS['BACKGROUND'] is {how!r}, but {package} is not "
            "installed."
        }
    remove_sites(settings)
    assert list(checked(settings, BACKGROUND=True, BASE_URL=None)) == ["W030"]


HOOK = (
    f"{SHIPPED}.webhook.Webhook",
    {"url": "https://a.example/in/", "secret": "s" * 16},
)
NOW = (f"{SHIPPED}.indexnow.IndexNow", {"key": "abc12345"})


def beside(engine: tuple[str, dict[str, Any]], **more: Any) -> tuple[Any, Any]:
    """Return an engine with some options more."""
    return engine[0], {**engine[1], **more}


#: Pairs of engines that notify the same service of the same URLs, and others.
SAME = [
    (NOW, beside(NOW, endpoint="https://indexnow.yep.com/indexnow", key="x" * 8)),
    (beside(NOW, sections=["a"]), NOW),
    (beside(NOW, events=["added"]), beside(NOW, exclude=["b"])),
    (HOOK, HOOK),
    (beside(HOOK, events=["documents"]), beside(HOOK, events=["documents"])),
]
OTHERS = [
    (NOW, beside(NOW, endpoint="http://127.0.0.1/indexnow")),
    (beside(NOW, sections=["a"]), beside(NOW, sections=["b"])),
    (beside(NOW, sections=["a"]), beside(NOW, exclude=["a"])),
    (beside(NOW, events=["added"]), beside(NOW, events=["removed"])),
    (HOOK, beside(HOOK, url="https://b.example/in/")),
    (beside(HOOK, events=["added"]), beside(HOOK, events=["documents", "removed"])),
    (NOW, HOOK),
]


def test_a_service_that_is_notified_twice_of_the_same_is_a_warning(
    settings: Any, register: Register
) -> None:
    register("a", ArticleSitemap)
    register("b", PagesSitemap)
    for one, two in SAME:
        use(settings, one=one, two=two)
        assert checked(settings) == {
            "W034": "SITEMAPS_PLUS['ENGINES'] has 'one' and 'two', which notify the "
            f"same service: {one[0].rpartition('.')[2]} receives each URL twice."
        }, two
    for one, two in OTHERS:
        use(settings, one=one, two=two)
        assert checked(settings) == {}, (one, two)


def test_checks_warn_of_tasks_that_no_worker_gets(settings: Any) -> None:
    for backend, does in (
        ("Immediate", "it runs it itself, at once."),
        ("Dummy", "it runs none."),
    ):
        use_backend(settings, backend)
        assert checked(settings, BACKGROUND=True) == {}
        assert checked(settings, BACKGROUND="tasks") == {
            "W033": "SITEMAPS_PLUS['BACKGROUND'] is 'tasks', but TASKS has the "
            f"{backend}Backend, which hands no task to a worker: {does}"
        }


def test_an_address_that_no_longer_works_is_an_error(settings: Any) -> None:
    """Which addresses these are, and what is said of them, the engines say."""
    retired = {"url": "https://www.google.com/ping?sitemap="}
    use(settings, one=("Pinged", retired), two=("Pinged", {"url": f"{BASE}/ping"}))
    found = checked(settings)
    assert list(found) == ["E032"]
    assert found["E032"].startswith(f"{ENGINES}['one']['OPTIONS']['url'] is an address")
    assert "Search Console" in found["E032"]


def test_sections_that_engines_name_are_registered(
    settings: Any, register: Any
) -> None:
    register("article", ArticleSitemap)
    wanted = {"sections": ["article"], "exclude": ["articel"]}
    use(settings, one=("Few", wanted))
    assert checked(settings) == {
        "E034": f"{ENGINES}['one']['OPTIONS']['exclude'] has 'articel', which is "
        "not a section. Did you mean 'article'?"
    }


# The files by which engines verify that a host is ours


def status(client: Client, path: str, host: str = "www.example.com") -> int:
    return int(client.get(path, headers={"host": host}).status_code)


def test_a_key_is_served_at_the_root(settings: Any, client: Client) -> None:
    use(settings, one=("Keyed", {"key": KEY}))
    answer = client.get(f"/{KEY}.txt", headers={"host": "www.example.com"})
    assert (answer.status_code, answer.content) == (200, KEY.encode())
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert client.post(f"/{KEY}.txt").status_code == 405
    assert status(client, "/abcdef.txt") == 404
    assert status(client, "/sitemap-of-the-project.xml") == 200
    use(settings)
    assert status(client, f"/{KEY}.txt") == 404


def test_a_host_serves_its_own_keys(settings: Any, client: Client) -> None:
    use(settings, one="PerHost")
    for path, host, found in (
        ("/www.example.com.txt", "www.example.com", (200,)),
        ("/example.org.txt", "example.org", (200,)),
        ("/example.org.txt", "www.example.com", (404,)),
        ("/evil.example.txt", "evil.example", (400, 404)),
    ):
        assert status(client, path, host) in found


def test_keys_of_hosts_are_served_where_a_pattern_allows_the_hosts(
    settings: Any, client: Client
) -> None:
    own, other = "ownkey0123", "otherkey0123"
    use(settings, one=(NOW[0], {"key": other, "keys": {"shop.example.com": own}}))
    for allowed in ("*", ".example.com"):
        settings.ALLOWED_HOSTS = [allowed]
        assert status(client, f"/{own}.txt", "shop.example.com") == 200
        assert status(client, f"/{own}.txt") == 404
        assert status(client, f"/{other}.txt") == 200


def test_a_wrong_engine_breaks_no_other_address(settings: Any, client: Client) -> None:
    settings.SITEMAPS_PLUS = {"ENGINES": {"one": {"BACKEND": "no.such"}}}
    assert known_files() == frozenset()
    assert status(client, "/sitemap-of-the-project.xml") == 200
