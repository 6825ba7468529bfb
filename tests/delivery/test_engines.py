"""``ENGINES``: made once, refused with the path, and no secret in any message."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import run_checks
from django.test import Client

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.delivery import engines as engine_settings
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.exceptions import ConfigurationError
from tests.support.helpers import remove_sites
from tests.support.outbox_world import BASE, use

pytestmark = pytest.mark.django_db

ENGINES = "SITEMAPS_PLUS['ENGINES']"
PATH = "tests.support.outbox_engines"


def refusal(settings: Any, entry: Any) -> tuple[str, str]:
    """Return the message for an engine called "one", and the id of the check."""
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ENGINES": {"one": entry}}
    with pytest.raises(ConfigurationError) as caught:
        engines()
    found = [m for m in run_checks(tags=["sitemaps_plus"]) if m.id and "E03" in m.id]
    assert [message.msg for message in found] == [str(caught.value)]
    return str(caught.value), str(found[0].id).removeprefix("sitemaps_plus.")


def test_engines_are_made_once_for_as_long_as_the_settings_stay(settings: Any) -> None:
    one = use(settings, one=("Scripted", {"interval": 7}), two="Few")
    assert list(engines()) == ["one", "two"]
    assert (one.alias, one.interval) == ("one", 7)
    assert engines()["one"] is one
    use(settings, one="Scripted")
    assert engines()["one"] is not one


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"BACKEND": "no.such"},
            "['BACKEND'] is 'no.such', which cannot be imported: No module named 'no'",
        ),
        ({"BACKEND": 7}, "['BACKEND'] is 7, which cannot be imported: "),
        (
            {"BACKEND": f"{PATH}.NoEngine"},
            f"['BACKEND'] is '{PATH}.NoEngine', which is not a subclass of "
            "django_sitemaps_plus.engines.base.Engine.",
        ),
        ({}, ' needs a dict: {"BACKEND": "dotted.path", "OPTIONS": {…}}.'),
        ("s3cr3t", ' needs a dict: {"BACKEND": "dotted.path", "OPTIONS": {…}}.'),
        (
            {"BACKEND": f"{PATH}.Few", "key": "s3cr3t"},
            "['key'] is unknown; use 'OPTIONS' for it.",
        ),
    ],
)
def test_what_is_no_engine_is_refused(settings: Any, entry: Any, message: str) -> None:
    told, number = refusal(settings, entry)
    assert told.startswith(f"{ENGINES}['one']{message}")
    assert number == "E030"
    assert "s3cr3t" not in told


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("Keyed", {"kye": "s3cr3t"}, "['kye'] is not an option. Did you mean 'key'?"),
        (
            "Few",
            {"x": "s3cr3t"},
            "['x'] is not an option. Known options: interval, timeout.",
        ),
        ("Few", {"alias": "s3cr3t"}, "['alias'] is not an option. Known options: "),
        ("Few", {"sent": ["s3cr3t"]}, "['sent'] is not an option. Known options: "),
        ("Keyed", {}, "['key'] is missing; Memory needs it."),
        ("Few", ["s3cr3t"], " is not a dict."),
        ("Picky", {"key": "s3cr3t"}, " cannot be used: … is no key."),
    ],
)
def test_what_is_no_option_is_refused(
    settings: Any, name: str, options: Any, message: str
) -> None:
    told, number = refusal(settings, {"BACKEND": f"{PATH}.{name}", "OPTIONS": options})
    assert told.startswith(f"{ENGINES}['one']['OPTIONS']{message}")
    assert number == "E031"
    assert "s3cr3t" not in told


def test_an_alias_fits_the_tables(settings: Any) -> None:
    entry = {"BACKEND": f"{PATH}.Few"}
    settings.SITEMAPS_PLUS = {"ENGINES": {"x" * 101: entry}}
    with pytest.raises(ConfigurationError, match="1 to 100 characters"):
        engines()


@pytest.mark.parametrize("value", ["s3cr3t", ["s3cr3t"], None])
def test_anything_but_a_dict_of_engines_is_refused(settings: Any, value: Any) -> None:
    settings.SITEMAPS_PLUS = {"ENGINES": value}
    with pytest.raises(ConfigurationError) as caught:
        get_settings()
    assert str(caught.value) == f"{ENGINES} is no dict of engines by alias."


def ids(settings: Any, **given: Any) -> list[str]:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **given}
    found = [str(message.id) for message in run_checks(tags=["sitemaps_plus"])]
    return [name for name in found if "03" in name]


def test_without_an_address_a_warning_says_that_nothing_is_told(settings: Any) -> None:
    use(settings, one="Few")
    assert ids(settings) == []
    remove_sites(settings)
    assert ids(settings, BASE_URL=None) == ["sitemaps_plus.W030"]


def test_workers_that_cannot_be_used_are_an_error(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django_sitemaps_plus.delivery import background

    monkeypatch.setitem(background.TASKS, "celery", "no.such.module")
    assert ids(settings, BACKGROUND="celery") == ["sitemaps_plus.E033"]
    settings.SITEMAPS_PLUS = {"BACKGROUND": "rq"}
    with pytest.raises(ConfigurationError, match="use True, False, 'celery' or"):
        get_settings()


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("https://www.google.com/ping?sitemap=", "engines.google.SearchConsole"),
        ("http://www.bing.com/webmaster/ping.aspx?siteMap=", "engines.indexnow"),
        ("http://submissions.ask.com/ping?sitemap=", "Remove it."),
    ],
)
def test_an_address_that_is_gone_is_an_error_that_names_another(
    settings: Any, url: str, named: str
) -> None:
    use(settings, one=("Pinged", {"url": url}), two=("Pinged", {"url": f"{BASE}/ping"}))
    found = [m for m in run_checks(tags=["sitemaps_plus"]) if "E032" in str(m.id)]
    [message] = found
    assert message.msg.startswith(f"{ENGINES}['one']['OPTIONS']['url'] is an address")
    assert named in message.msg


# The files by which engines know that a host is ours


def test_a_key_is_served_at_the_root(settings: Any, client: Client) -> None:
    use(settings, one=("Keyed", {"key": "abcdef0123456789"}))
    answer = client.get("/abcdef0123456789.txt", headers={"host": "www.example.com"})
    assert (answer.status_code, answer.content) == (200, b"abcdef0123456789")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert client.post("/abcdef0123456789.txt").status_code == 405


def test_what_no_engine_wants_falls_through(settings: Any, client: Client) -> None:
    use(settings, one=("Keyed", {"key": "abcdef0123456789"}))
    assert client.get("/abcdef.txt").status_code == 404
    own = client.get("/sitemap-of-the-project.xml")
    assert own.status_code == 200
    use(settings)
    assert client.get("/abcdef0123456789.txt").status_code == 404


def test_keys_are_those_of_the_host(settings: Any, client: Client) -> None:
    use(settings, one="PerHost")
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BASE_URL": BASE}

    def get(path: str, host: str) -> int:
        return int(client.get(path, headers={"host": host}).status_code)

    assert get("/www.example.com.txt", "www.example.com") == 200
    assert get("/example.org.txt", "example.org") == 200
    assert get("/example.org.txt", "www.example.com") == 404
    assert get("/evil.example.txt", "evil.example") in (400, 404)


@pytest.mark.parametrize("allowed", ["*", ".example.com"])
def test_keys_of_hosts_are_served_where_a_pattern_allows_the_hosts(
    settings: Any, client: Client, allowed: str
) -> None:
    settings.ALLOWED_HOSTS = [allowed]
    own, other = "ownkey0123", "otherkey0123"
    keys = {"shop.example.com": own}
    backend = "django_sitemaps_plus.engines.indexnow.IndexNow"
    use(settings, one=(backend, {"key": other, "keys": keys}))

    def get(key: str, host: str) -> int:
        return int(client.get(f"/{key}.txt", headers={"host": host}).status_code)

    assert get(own, "shop.example.com") == 200
    assert get(own, "www.example.com") == 404
    assert get(other, "www.example.com") == 200


def test_an_engine_that_cannot_be_used_breaks_no_other_address(
    settings: Any, client: Client
) -> None:
    settings.SITEMAPS_PLUS = {"ENGINES": {"one": {"BACKEND": "no.such"}}}
    assert engine_settings.known_files() == frozenset()
    assert client.get("/sitemap-of-the-project.xml").status_code == 200
