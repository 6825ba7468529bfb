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

import pytest

from django_sitemaps_plus.engines import http
from tests.support.fakes.google import ACCOUNT
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.fakes.site import FakeSite

ROOT = Path(__file__).parent.parent.parent
HOST = "www.example.com"
KEY = "0123456789abcdef"
GOOD = {"host": HOST, "key": KEY, "urlList": [f"https://{HOST}/a"]}


def post(
    server: FakeIndexNow, body: Any = GOOD, kind: str = "application/json"
) -> http.Response:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return http.send("POST", server.url, headers={"Content-Type": kind}, body=data)


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"key": None}, 400, "No key provided"),
        ({"urlList": []}, 422, "Url list cannot be empty"),
        ({"urlList": [f"https://{HOST}/"] * 10_001}, 422, "No more than 10000 urls al"),
        ({"urlList": ["https://other.example/"]}, 422, "Invalid url"),
        ({"urlList": [f"https://{HOST}/ä"]}, 422, "Invalid url"),
        ({"key": "short"}, 422, "Key must be at least 8 characters"),
        ({"key": "with_underscore"}, 422, "Key must consist of a-Z0-9 or '-'"),
        ({"host": f"https://{HOST}"}, 422, "No host provided"),
        ({"keyLocation": f"https://{HOST}/b/k.txt"}, 422, "Invalid key location"),
    ],
)
def test_indexnow_refuses(change: dict[str, Any], status: int, message: str) -> None:
    with FakeIndexNow("yandex") as server:
        response = post(server, {**GOOD, **change})
    assert response.status == status
    assert json.loads(response.body)["message"].startswith(message)
    assert server.posts == []


def test_indexnow_accepts_json_only() -> None:
    with FakeIndexNow() as server:
        assert post(server, b"{").status == 400
        assert post(server, b"[]").status == 400
        assert post(server, GOOD, "text/plain").status == 400


@pytest.mark.parametrize(
    ("profile", "statuses"),
    [("api", [202, 403, 403]), ("bing", [403, 403, 403]), ("yandex", [202, 403, 202])],
)
@pytest.mark.parametrize("former", [None, f"{KEY}\n"])
def test_indexnow_remembers_a_key_file_that_was_wrong(
    site: FakeSite, profile: str, statuses: list[int], former: str | None
) -> None:
    if former is not None:
        site.pages[f"/{KEY}.txt"] = former
    with FakeIndexNow(profile, resolve={HOST: site.host}) as server:
        found = [post(server).status]
        server.settle()
        site.pages[f"/{KEY}.txt"] = KEY
        found += [post(server).status for _ in range(2)]
    assert found == statuses


# As scripts


@contextlib.contextmanager
def script(name: str, *arguments: str) -> Iterator[Callable[[str], str]]:
    """Yield a function that reads the next line of a script's output."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            f"tests.support.fakes.{name}",
            "--port",
            "0",
            *arguments,
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

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
        headers = {"Content-Type": "application/json"}
        http.send("POST", url, headers=headers, body=json.dumps(GOOD).encode())
        assert read(r"(202) www\.example\.com: 1 URLs") == "202"
        assert read(r"(https://\S+)") == f"https://{HOST}/a"


def test_the_fake_google_runs_as_a_script(site: FakeSite, tmp_path: Path) -> None:
    file = tmp_path / "google.json"
    with script("google", "--site", site.origin, "--credentials", str(file)) as read:
        url = read(r"Search Console at (\S+), for .*")
        assert http.send("GET", f"{url}/sites").status == 401
        assert json.loads(file.read_text())["client_email"] == ACCOUNT
        assert file.stat().st_mode & 0o077 == 0
