"""What cannot be published or purged fails in CI, by its id."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.helpers import run_command

pytestmark = pytest.mark.django_db

BLOG = {"BASE_URL": "https://blog.example.com", "URLCONF": "tests.support.blog_urls"}
FOLDER = {"STORAGE": "default"}
FILES = "django.core.files.storage"


def checked(settings: Any, given: dict[str, Any]) -> list[str]:
    """Run the checks as CI does: the ids."""
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com", **given}
    options = ("--tag", "sitemaps_plus", "--fail-level", "WARNING")
    out, err, code = run_command("check", *options)
    found = re.findall(r"\(sitemaps_plus\.(\w+)\)", out + err)
    assert code == bool(found)
    return found


def test_what_no_storage_can_do_is_refused(settings: Any) -> None:
    assert checked(settings, {"PUBLISH": {"OPTIONS": {}}}) == ["E001"]
    for options in (
        {"gzip": True},
        {"every": 0},
        {"prefix": "/maps"},
        {"prefx": "maps"},
        {"prefix": "{hots}/"},
    ):
        publish = {**FOLDER, "OPTIONS": options}
        assert checked(settings, {"PUBLISH": publish}) == ["E001"], options


def test_headers_that_no_cache_reads_are_refused(settings: Any) -> None:
    for tags, problem in (
        ("Cache-Tag", "must be a list, not 'Cache-Tag'."),
        (["Cache-Tags"], "has 'Cache-Tags'. Did you mean 'Cache-Tag'?"),
        ([7], "is [7]; use a list of texts."),
    ):
        settings.SITEMAPS_PLUS = {"CACHE_TAGS": tags}
        _, err, code = run_command("check", "--tag", "sitemaps_plus")
        assert f"SITEMAPS_PLUS['CACHE_TAGS'] {problem}" in err
        assert code == 1


@pytest.mark.parametrize(
    ("number", "given", "storage"),
    [
        ("E081", {"SITES": {"blog": BLOG}, "PUBLISH": FOLDER}, {}),
        ("E082", {"PUBLISH": {"STORAGE": "sitemap"}}, {}),
        ("E083", {"PUBLISH": {**FOLDER, "OPTIONS": {"gzip": "encoding"}}}, {}),
        ("E084", {"PUBLISH": FOLDER}, {"BACKEND": "tests.support.published.Keeping"}),
        (
            "W081",
            {"PUBLISH": FOLDER},
            {"BACKEND": f"{FILES}.FileSystemStorage", "LOCATION": "/srv/sitemaps"},
        ),
        ("W080", {"CACHE_TAGS": ["Cache-Tag"]}, {}),
    ],
)
def test_each_wrong_fails_by_its_id(
    settings: Any, number: str, given: dict[str, Any], storage: dict[str, str]
) -> None:
    if storage:
        settings.STORAGES = {"default": storage}
    assert set(checked(settings, given)) == {number}
