"""A sound project passes in CI, and what is wrong fails there by its id."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Register
from tests.support.helpers import ArticleSitemap, PagesSitemap, run_command
from tests.support.outbox_world import BASE

pytestmark = pytest.mark.django_db

KEY = "0123456789abcdef"


def checked() -> tuple[list[str], int]:
    """Run the checks as CI does: the ids, and the exit code."""
    options = ("--database", "default", "--fail-level", "WARNING")
    out, err, code = run_command("check", "--tag", "sitemaps_plus", *options)
    return re.findall(r"\(sitemaps_plus\.(\w+)\)", out + err), code


def test_what_is_right_passes_and_what_is_wrong_fails_by_its_id(
    settings: Any, register: Register
) -> None:
    register("articles", ArticleSitemap)
    register("pages", PagesSitemap)
    assert checked() == ([], 0)
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com/?a=b"}
    assert checked() == (["E002"], 1)

    def notify(*engines: dict[str, Any]) -> None:
        backend = {"BACKEND": "django_sitemaps_plus.engines.indexnow.IndexNow"}
        given = {str(n): {**backend, "OPTIONS": one} for n, one in enumerate(engines)}
        settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ENGINES": given}

    for host in ("www.bing.com", "yandex.com"):
        notify({"key": KEY}, {"key": KEY, "endpoint": f"https://{host}/indexnow"})
        assert checked() == (["W034"], 1)
    notify({"key": KEY, "keys": KEY})
    assert checked() == (["E031"], 1)


def test_each_check_has_a_test_that_names_it() -> None:
    table = (Path(__file__).parents[2] / "docs" / "checks.md").read_text()
    table, _, _ = table.partition("\n## `contrib.")
    known = set(re.findall(r'^\| <a id="(\w+)">', table, re.MULTILINE))
    tests = "".join(one.read_text() for one in Path(__file__).parents[1].rglob("*.py"))
    assert len(known) >= 40
    assert known - set(re.findall(r'([EW]\d{3})"', tests)) == set()
