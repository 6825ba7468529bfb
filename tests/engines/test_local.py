"""The engines that need no network, and what is left without an extra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from django_sitemaps_plus.engines.base import Batch, Outcome
from django_sitemaps_plus.engines.console import Console
from django_sitemaps_plus.engines.memory import Memory

ROOT = Path(__file__).parent.parent.parent
BATCH = Batch(origin="https://a.example", urls=["https://a.example/1", "…/2"])


def test_the_console_writes_a_line_for_each_url(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = Console(alias="screen").submit(BATCH)
    assert answer.outcome is Outcome.ACCEPTED
    assert capsys.readouterr().out == (
        "[screen] URL https://a.example/1\n[screen] URL …/2\n"
    )


def test_the_console_says_what_is_a_sitemap(capsys: pytest.CaptureFixture[str]) -> None:
    urls = ["https://a.example/sitemap.xml"]
    Console(alias="screen").submit(
        Batch(origin="https://a.example", urls=urls, are_sitemaps=True)
    )
    assert capsys.readouterr().out == (
        "[screen] sitemap https://a.example/sitemap.xml\n"
    )


def test_each_memory_is_its_own() -> None:
    first, second = Memory(alias="first"), Memory(alias="second")
    first.submit(BATCH)
    assert first.sent == [BATCH]
    assert second.sent == []


def test_without_google_auth_the_error_is_the_command() -> None:
    code = """
import sys
sys.modules["google.auth"] = None
from django_sitemaps_plus.engines.errors import MissingExtra
from django_sitemaps_plus.engines.google import SearchConsole
try:
    SearchConsole(alias="google", site="sc-domain:example.com")
except MissingExtra as error:
    print(error.option, error.problem)
"""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stderr == ""
    assert result.stdout == (
        "BACKEND needs a package that is not installed: "
        "pip install 'django-sitemaps-plus[google]'.\n"
    )
