"""
Django's own sitemap tests, with only the import changed.

Contrib leaves the zone of a time to guessing, and cuts it off in a page's lastmod;
we write W3C Datetime. The tests that ask for the former, in the body, are listed.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import django
import pytest

from tests.compat.environments import OWN, Outcomes, sdist

pytestmark = pytest.mark.network

IMPORT = re.compile(r"^from django\.contrib\.sitemaps import ", re.MULTILINE)
#: What a test wants of a naive 10:00 in TIME_ZONE, America/Chicago.
LASTMOD = re.compile(r"<lastmod>(201[34]-03-13)(?:T10:00:00)?</lastmod>")

ASK_FOR_LESS = {
    "test_generic.GenericViewsSitemapTests.test_generic_sitemap_lastmod": "no time",
    "test_generic.GenericViewsSitemapTests.test_generic_sitemap_index": "no zone",
    "test_http.HTTPSitemapTests.test_sitemap_get_latest_lastmod": "no zone",
    "test_http.HTTPSitemapTests.test_callable_sitemod_partial": "no time",
    "test_http.HTTPSitemapTests.test_callable_sitemod_full": "no time, and no zone",
}

Run = Callable[..., Outcomes]


@pytest.fixture
def run(tmp_path: Path, package: Path) -> Run:
    """Run Django's tests with some texts of theirs replaced."""
    origin = sdist("django", django.get_version()) / "tests"

    def run(*replacements: tuple[re.Pattern[str], str]) -> Outcomes:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for name in ("sitemaps_tests", "templates"):
            shutil.copytree(origin / name, folder / name)
        for file in folder.rglob("*.py"):
            text = file.read_text()
            for pattern, new in replacements:
                text = pattern.sub(new, text)
            file.write_text(text)
        shutil.copy(origin / "urls.py", folder)
        return OWN.run_suite(
            "sitemaps_tests",
            settings="django_settings",
            path=[package, folder],
            variables={"PYTHONWARNINGS": "error"},
            cwd=folder,
        )

    return run


def unhappy(outcomes: Outcomes) -> set[str]:
    return {
        name.removeprefix("sitemaps_tests.")
        for name, outcome in outcomes.items()
        if outcome != "passed"
    }


def test_all_pass_but_those_that_ask_for_less(run: Run) -> None:
    contrib = run()
    ours = run((IMPORT, "from django_sitemaps_plus import "))
    assert len(ours) >= 51
    assert ours.keys() == contrib.keys()
    assert unhappy(contrib) == set()
    assert unhappy(ours) == set(ASK_FOR_LESS)


def test_those_pass_too_once_they_ask_for_the_zone(run: Run) -> None:
    outcomes = run(
        (IMPORT, "from django_sitemaps_plus import "),
        (LASTMOD, r"<lastmod>\1T10:00:00-05:00</lastmod>"),
    )
    assert unhappy(outcomes) == set()
