"""
An IndexNow engine, as strict as the real ones.

It reads the key file from the site under test, and remembers the result. Profiles:

- ``api`` (api.indexnow.org): 202 for a new key, then 403 if its file was not found
- ``bing``: 403 SiteVerificationNotCompleted for a new key; a key whose file was once
  not found gets 403 UserForbiddedToAccessSite for good
- ``yandex``: 202 for a new key, messages in words, and a key file is fetched again

    python -m tests.support.fakes.indexnow --port 9001 --site http://127.0.0.1:8000
"""

from __future__ import annotations

import argparse
import json
import re
import time
import urllib.parse
from dataclasses import dataclass
from typing import Any

from tests.support.fakes.faults import Reply
from tests.support.fakes.server import FakeServer, Request
from tests.support.fakes.shown import show

PROFILES = ("api", "bing", "yandex")
_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")


@dataclass(frozen=True)
class Post:
    """A submission, and the status of its answer."""

    host: str
    key: str
    key_location: str | None
    urls: list[str]
    status: int
    #: ``time.monotonic()`` when it came.
    at: float


class Refusal(Exception):
    """A problem of a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class FakeIndexNow(FakeServer):
    """
    ``url`` is its endpoint, ``accepted`` lists the URLs that were answered with 200 or
    202, and ``posts`` every submission that could be read.

    With ``rest``, the same URL within so many seconds gets 429, and ``retry_after``.
    """

    def __init__(
        self,
        profile: str = "bing",
        *,
        rest: float | None = None,
        retry_after: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.profile = profile
        self.rest = rest
        self.retry_after = retry_after
        self.posts: list[Post] = []
        self.accepted: list[str] = []
        #: Whether the key file is correct, by host and key.
        self.verdicts: dict[tuple[str, str], bool] = {}
        self._seen: dict[str, float] = {}

    @property
    def url(self) -> str:
        """The option ``endpoint`` of the engine."""
        return f"{self.origin}/indexnow"

    def trust(self, host: str, key: str) -> None:
        """Regard a key as verified."""
        self.verdicts[host, key] = True

    def answer(self, request: Request) -> Reply:
        if request.route.lower() != "/indexnow":
            return Reply(status=404)
        if request.method != "POST":
            return self._refuse(405, "Method not allowed")
        at = time.monotonic()
        try:
            said = _post(request)
            _check(said)
        except Refusal as refusal:
            return self._refuse(refusal.status, refusal.message)
        with self.lock:
            answer = self._judge(said, at)
            names = (said["host"], said["key"], said.get("keyLocation"))
            post = Post(*names, said["urlList"], answer.status, at)
            self.posts.append(post)
            if answer.status in (200, 202):
                self.accepted += post.urls
                self._seen.update(dict.fromkeys(post.urls, at))
        return answer

    def _judge(self, said: dict[str, Any], at: float) -> Reply:
        """Answer a request that is well-formed."""
        if self.rest is not None and any(
            at - self._seen.get(url, float("-inf")) < self.rest
            for url in said["urlList"]
        ):
            again = {"Retry-After": self.retry_after} if self.retry_after else {}
            body = b"Too Many Requests"
            return Reply(status=429, body=body, headers=again)
        known = (said["host"], said["key"])
        self.settle()
        verdict = self.verdicts.get(known)
        if verdict is None:
            self._verify(said)
            if self.profile == "bing":
                return self._refuse(403, "SiteVerificationNotCompleted")
            return Reply(status=202)
        if verdict:
            return Reply(headers={"Content-Type": "application/json; charset=utf-8"})
        if self.profile == "yandex":
            del self.verdicts[known]
            return self._refuse(403, "Invalid key")
        return self._refuse(
            403,
            "UserForbiddedToAccessSite",
            "User is unauthorized to access the site. Please verify the site using "
            "the key and try again",
        )

    def _verify(self, said: dict[str, Any]) -> None:
        """Fetch a key file in the background; the next request waits for it."""
        host, key = said["host"], said["key"]
        # The origin is that of the URLs: on loopback it has a port.
        parts = urllib.parse.urlsplit(said["urlList"][0])
        default = f"{parts.scheme}://{parts.netloc}/{key}.txt"

        def verify() -> None:
            status, body = self.fetch(said.get("keyLocation") or default)
            self.verdicts[host, key] = status == 200 and body == key.encode()

        self.run(verify)

    def _refuse(self, status: int, code: str, message: str = "") -> Reply:
        if self.profile == "yandex":
            body = {"success": False, "message": code}
        else:
            body = {"errorCode": code, "message": message or code}
        kind = {"Content-Type": "application/json; charset=utf-8"}
        return Reply(status=status, body=json.dumps(body).encode(), headers=kind)


def _post(request: Request) -> dict[str, Any]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    try:
        said = json.loads(request.body)
    except ValueError as error:
        raise Refusal(400, "Invalid params") from error
    if kind != "application/json" or not isinstance(said, dict):
        raise Refusal(400, "Invalid params")
    return said


def _check(said: dict[str, Any]) -> None:
    """Refuse what the protocol's and Yandex's documentation refuse."""
    host, key, urls = said.get("host"), said.get("key"), said.get("urlList")
    for name, value in (("host", host), ("key", key), ("url", urls)):
        if value is None:
            raise Refusal(400, f"No {name} provided")
    if not isinstance(urls, list):
        raise Refusal(422, "Url list has to be an array")
    if not urls:
        raise Refusal(422, "Url list cannot be empty")
    if not all(isinstance(url, str) for url in urls):
        raise Refusal(422, "Url has to be an array of string")
    if len(urls) > 10_000:
        raise Refusal(422, "No more than 10000 urls allowed")
    if not isinstance(key, str) or len(key) < 8:
        raise Refusal(422, "Key must be at least 8 characters")
    if len(key) > 128:
        raise Refusal(422, "Key must be no longer than 128 characters")
    if not _KEY.fullmatch(key):
        raise Refusal(422, "Key must consist of a-Z0-9 or '-'")
    if not isinstance(host, str) or not re.fullmatch(r"[A-Za-z0-9.-]+", host):
        raise Refusal(422, "No host provided")
    for url in urls:
        if not _is_of(host, url) or len(url) > 2_048:
            raise Refusal(422, "Invalid url")
    _check_location(host, urls, said.get("keyLocation"))


def _is_of(host: str, url: str) -> bool:
    """Return whether a URL is a valid one of a host (RFC 3986)."""
    legal = re.fullmatch(r"https?://[!-~]+", url) and not re.search(r'[#<>"\s]', url)
    return bool(legal) and urllib.parse.urlsplit(url).hostname == host.lower()


def _check_location(host: str, urls: list[str], location: Any) -> None:
    if location is None:
        return
    if not isinstance(location, str) or not _is_of(host, location):
        raise Refusal(422, "Invalid key location")
    folder = urllib.parse.urlsplit(location).path.rpartition("/")[0] + "/"
    paths = [urllib.parse.urlsplit(url).path or "/" for url in urls]
    if not all(path.startswith(folder) for path in paths):
        raise Refusal(422, "Invalid key location")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--port", type=int, default=9001)
    parser.add_argument("--site", help="origin of the key files: http://127.0.0.1:8000")
    parser.add_argument("--profile", choices=PROFILES, default="bing")
    given = parser.parse_args()
    options = {"port": given.port, "site": given.site}
    with FakeIndexNow(given.profile, **options) as engine:
        show(f"IndexNow ({given.profile}) at {engine.url}", engine.posts, _described)


def _described(post: Post) -> str:
    summary = f"{post.status} {post.host}: {len(post.urls)} URLs"
    return "\n    ".join([summary, *post.urls[:20]])


if __name__ == "__main__":
    main()
