"""The fakes refuse what the engines refuse; otherwise they would prove nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django_sitemaps_plus.engines import http
from tests.support.fakes.google import ACCOUNT
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.fakes.site import FakeSite

ROOT = Path(__file__).parent.parent.parent
HOST = "www.example.com"
KEY = "0123456789abcdef"
GOOD = {"host": HOST, "key": KEY, "urlList": [f"https://{HOST}/a"]}


def post(url: str, document: Any = GOOD) -> http.Response:
    return http.send("POST", url, document=document)


def test_indexnow_refuses_what_the_real_ones_refuse() -> None:
    refused: list[tuple[dict[str, Any], int, str]] = [
        ({"key": None}, 400, "No key provided"),
        ({"urlList": []}, 422, "Url list cannot be empty"),
        ({"urlList": [f"https://{HOST}/"] * 10_001}, 422, "No more than 10000 urls al"),
        ({"urlList": ["https://other.example/"]}, 422, "Invalid url"),
        ({"urlList": [f"https://{HOST}/ä"]}, 422, "Invalid url"),
        ({"key": "short"}, 422, "Key must be at least 8 characters"),
        ({"key": "with_underscore"}, 422, "Key must consist of a-Z0-9 or '-'"),
        ({"host": f"https://{HOST}"}, 422, "No host provided"),
        ({"keyLocation": f"https://{HOST}/b/k.txt"}, 422, "Invalid key location"),
    ]
    with FakeIndexNow("yandex") as server:
        for change, status, message in refused:
            response = post(server.url, {**GOOD, **change})
            assert response.status == status
            assert response.json_object["message"].startswith(message)
        assert post(server.url, [GOOD]).status == 400
        assert server.posts == []


# As scripts


@contextlib.contextmanager
def script(name: str, *arguments: str) -> Iterator[Callable[[str], str]]:
    """Yield a function that reads the next line of a script's output."""
    module = f"tests.support.fakes.{name}"
    command = [sys.executable, "-m", module, "--port", "0", *arguments]
    env, pipe = {**os.environ, "PYTHONPATH": str(ROOT)}, subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=pipe, text=True)

    def read(pattern: str) -> str:
        assert process.stdout is not None
        line = process.stdout.readline()
        match = re.fullmatch(pattern, line.strip())
        assert match, line
        return match[1]

    try:
        yield read
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_the_fake_indexnow_runs_as_a_script(site: FakeSite) -> None:
    site.pages[f"/{KEY}.txt"] = KEY
    with script("indexnow", "--site", site.origin, "--profile", "api") as read:
        url = read(r"IndexNow \(api\) at (\S+)")
        post(url)
        assert read(r"(202) www\.example\.com: 1 URLs") == "202"
        assert read(r"(https://\S+)") == f"https://{HOST}/a"


def test_the_fake_google_runs_as_a_script(site: FakeSite, tmp_path: Path) -> None:
    file = tmp_path / "google.json"
    with script("google", "--site", site.origin, "--credentials", str(file)) as read:
        url = read(r"Search Console at (\S+), for .*")
        assert http.send("GET", f"{url}/sites").status == 401
        assert json.loads(file.read_text())["client_email"] == ACCOUNT
        assert file.stat().st_mode & 0o077 == 0
