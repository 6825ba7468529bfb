"""The fakes refuse what the engines refuse; else they would prove nothing."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

from django_sitemaps_plus.engines import http
from tests.support.fakes.google import ACCOUNT, SCOPE, FakeGoogle
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.fakes.server import fetch
from tests.support.fakes.site import FakeSite

ROOT = Path(__file__).parent.parent.parent
HOST = "www.example.com"
KEY = "0123456789abcdef"
GOOD = {"host": HOST, "key": KEY, "urlList": [f"https://{HOST}/a"]}

# IndexNow


def post(server: FakeIndexNow, said: Any, kind: str = "application/json") -> Any:
    body = said if isinstance(said, bytes) else json.dumps(said).encode()
    headers = {"Content-Type": kind}
    return http.send("POST", server.url, headers=headers, body=body)


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"key": None}, 400, "No key provided"),
        ({"host": None}, 400, "No host provided"),
        ({"urlList": None}, 400, "No url provided"),
        ({"urlList": "https://www.example.com/"}, 422, "Url list has to be an array"),
        ({"urlList": []}, 422, "Url list cannot be empty"),
        ({"urlList": [1]}, 422, "Url has to be an array of string"),
        (
            {"urlList": [f"https://{HOST}/"] * 10_001},
            422,
            "No more than 10000 urls allowed",
        ),
        ({"urlList": ["https://other.example/"]}, 422, "Invalid url"),
        ({"urlList": [f"https://{HOST}/a b"]}, 422, "Invalid url"),
        ({"urlList": [f"https://{HOST}/ä"]}, 422, "Invalid url"),
        ({"urlList": [f"https://{HOST}/#a"]}, 422, "Invalid url"),
        ({"urlList": [f"ftp://{HOST}/"]}, 422, "Invalid url"),
        ({"key": "short"}, 422, "Key must be at least 8 characters"),
        ({"key": "x" * 129}, 422, "Key must be no longer than 128 characters"),
        ({"key": "with_underscore"}, 422, "Key must consist of a-Z0-9 or '-'"),
        ({"host": f"https://{HOST}"}, 422, "No host provided"),
        (
            {"keyLocation": "https://other.example/k.txt"},
            422,
            "Invalid key location",
        ),
        ({"keyLocation": f"https://{HOST}/b/k.txt"}, 422, "Invalid key location"),
    ],
)
def test_indexnow_refuses(change: dict[str, Any], status: int, message: str) -> None:
    with FakeIndexNow("yandex") as server:
        response = post(server, {**GOOD, **change})
    assert (response.status, json.loads(response.body)["message"]) == (status, message)
    assert server.posts == []


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{", "application/json"),
        (b"[]", "application/json"),
        (json.dumps(GOOD).encode(), "text/plain"),
    ],
)
def test_indexnow_cannot_read(body: bytes, kind: str) -> None:
    with FakeIndexNow() as server:
        assert post(server, body, kind).status == 400


def test_indexnow_takes_one_url_by_get_and_no_other_verb(site: FakeSite) -> None:
    site.pages[f"/{KEY}.txt"] = KEY
    with FakeIndexNow("api", resolve={HOST: site.host}) as server:
        one = urllib.parse.quote(f"https://{HOST}/a", safe="")
        asked = f"{server.origin}/IndexNow?url={one}&key={KEY}"
        assert [http.send("GET", asked).status for _ in range(2)] == [202, 200]
        assert http.send("PUT", server.url, body=b"").status == 405
        assert http.send("GET", f"{server.origin}/other").status == 404
    assert server.accepted == [f"https://{HOST}/a"] * 2


@pytest.mark.parametrize(
    ("profile", "statuses"),
    [("api", [202, 403, 403]), ("bing", [403, 403, 403]), ("yandex", [202, 403, 202])],
)
def test_indexnow_remembers_a_key_file_that_was_late(
    site: FakeSite, profile: str, statuses: list[int]
) -> None:
    with FakeIndexNow(profile, resolve={HOST: site.host}) as server:
        found = [post(server, GOOD).status]
        server.settle()
        site.pages[f"/{KEY}.txt"] = KEY
        found += [post(server, GOOD).status for _ in range(2)]
    assert found == statuses


@pytest.mark.parametrize("text", [f"{KEY}\n", f" {KEY}", "else", f"<p>{KEY}</p>"])
def test_indexnow_compares_the_key_exactly(site: FakeSite, text: str) -> None:
    site.pages[f"/{KEY}.txt"] = text
    with FakeIndexNow("bing", resolve={HOST: site.host}) as server:
        post(server, GOOD)
        response = post(server, GOOD)
    assert json.loads(response.body)["errorCode"] == "UserForbiddedToAccessSite"


def test_a_profile_that_does_not_exist_leaves_nothing_open() -> None:
    with pytest.raises(ValueError, match="there are api, bing, yandex"):
        FakeIndexNow("altavista")


def test_nothing_but_loopback_is_ever_fetched() -> None:
    assert fetch("https://www.example.com/x", {}) == (0, b"")


# Google


def encoded(value: object) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def grant(google: FakeGoogle, header: Any = None, **claims: Any) -> tuple[int, Any]:
    """Ask for a token with a JWT that is right but for what is given."""
    now = int(time.time())
    right = {
        "iss": ACCOUNT,
        "scope": SCOPE,
        "aud": google.token_endpoint,
        "iat": now,
        "exp": now + 3600,
    }
    start = f"{encoded(header or {'alg': 'RS256'})}.{encoded({**right, **claims})}"
    pem = google.credentials["private_key"].encode()
    key: Any = serialization.load_pem_private_key(pem, None)
    signature = key.sign(start.encode(), padding.PKCS1v15(), hashes.SHA256())
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "assertion": f"{start}.{encoded(signature)}",
    }
    return asked(google, form)


def asked(google: FakeGoogle, form: dict[str, str]) -> tuple[int, Any]:
    response = http.send(
        "POST",
        google.token_endpoint,
        headers={"Content-Type": "application/x-www-form-urlencoded"},
        body=urllib.parse.urlencode(form).encode(),
    )
    return response.status, json.loads(response.body)


@pytest.fixture
def google(site: FakeSite) -> Iterator[FakeGoogle]:
    with FakeGoogle(resolve={HOST: site.host}) as server:
        yield server


def test_google_gives_a_token_for_a_signed_claim(google: FakeGoogle) -> None:
    status, said = grant(google)
    assert (status, said["token_type"]) == (200, "Bearer")


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "somebody@else.example"},
        {"scope": "https://www.googleapis.com/auth/webmasters.readonly"},
        {"aud": "https://elsewhere.example/token"},
        {"iat": 1, "exp": 3601},
        {"exp": 4_102_444_800},
        {"header": {"alg": "none"}},
    ],
    ids=repr,
)
def test_google_gives_none_for_a_wrong_claim(
    google: FakeGoogle, claims: dict[str, Any]
) -> None:
    status, said = grant(google, **claims)
    assert (status, said["error"]) == (400, "invalid_grant")


@pytest.mark.parametrize("assertion", ["", "a.b.c", "e30.e30.AAAA"])
def test_google_gives_none_without_its_signature(
    google: FakeGoogle, assertion: str
) -> None:
    kind = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    status, said = asked(google, {"grant_type": kind, "assertion": assertion})
    assert (status, said["error"]) == (400, "invalid_grant")


def call(google: FakeGoogle, method: str, path: str, token: str = "") -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return http.send(method, f"{google.endpoint}{path}", headers=headers).status


def test_google_knows_accounts_properties_and_what_is_of_them(
    google: FakeGoogle,
) -> None:
    token = grant(google)[1]["access_token"]

    def path(site: str, feed: str) -> str:
        parts = [urllib.parse.quote(part, safe="") for part in (site, feed)]
        return "/sites/{}/sitemaps/{}".format(*parts)

    own, feed = f"https://{HOST}/", f"https://{HOST}/sitemap.xml"
    assert call(google, "PUT", path(own, feed)) == 401
    assert call(google, "PUT", path(own, feed), "ya29.other") == 401
    assert call(google, "PUT", path(own, feed), token) == 204
    assert call(google, "GET", path(own, feed), token) == 200
    assert call(google, "PUT", path(own, "https://b.example/s.xml"), token) == 403
    assert call(google, "PUT", path(f"https://{HOST}", feed), token) == 403
    assert call(google, "PUT", path("sc-domain:example.com", feed), token) == 403
    assert call(google, "GET", path(own, f"{feed}.gz"), token) == 404
    assert call(google, "PUT", f"/sites/{own}/sitemaps/{feed}", token) == 404
    google.expire_tokens()
    assert call(google, "PUT", path(own, feed), token) == 401


# As scripts


@contextlib.contextmanager
def script(name: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
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
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=10)


def read(process: subprocess.Popen[str], pattern: str) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    match = re.fullmatch(pattern, line.strip())
    assert match, line
    return match[1]


def test_the_fake_indexnow_runs_for_the_example_project(site: FakeSite) -> None:
    site.pages[f"/{KEY}.txt"] = KEY
    with script("indexnow", "--site", site.origin, "--profile", "api") as process:
        url = read(process, r"IndexNow \(api\) at (\S+)")
        http.send(
            "POST",
            url,
            headers={"Content-Type": "application/json"},
            body=json.dumps(GOOD).encode(),
        )
        assert read(process, r"(202) www\.example\.com: 1 URLs") == "202"
        assert read(process, r"(https://\S+)") == f"https://{HOST}/a"


def test_the_fake_google_runs_for_the_example_project(
    site: FakeSite, tmp_path: Path
) -> None:
    file = tmp_path / "google.json"
    options = ["--site", site.origin, "--credentials", str(file)]
    with script("google", *options) as process:
        url = read(process, r"Search Console at (\S+), for .*")
        assert http.send("GET", f"{url}/sites").status == 401
        assert json.loads(file.read_text())["client_email"] == ACCOUNT
        assert file.stat().st_mode & 0o077 == 0
