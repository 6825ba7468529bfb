"""The receivers of docs/edge.md, each tried against a server as strict as theirs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from xml.etree import ElementTree

import pytest

from django_sitemaps_plus.contrib.edge.signals import documents_changed
from tests.support.fakes.faults import Reply, reply
from tests.support.fakes.server import FakeServer, Request

DOCS = Path(__file__).parents[3] / "docs" / "edge.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text(), re.M | re.S)
KEY = "key-of-the-service"
TAGS = [f"sitemap-article-{number}.xml" for number in range(1, 100)]
TAGS.append("blog/sitemap-%C3%BC.xml")
URLS = [f"https://www.example.com/{tag}{gz}" for tag in TAGS for gz in ("", ".gz")]

Connect = Callable[[str, str], None]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connect a receiver of the documentation, which asks a server of ours."""
    receivers: list[Any] = []

    def run(name: str, api: str) -> None:
        (block,) = (block for block in BLOCKS if f"def {name}(" in block)
        known: dict[str, Any] = {}
        exec(block, known)  # noqa: S102 (our own)
        known["API"] = api
        receivers.append(known[name])

    yield run
    for receiver in receivers:
        assert documents_changed.disconnect(receiver)


def send() -> list[Exception]:
    """Send the signal; return what its receivers raised."""
    answers = documents_changed.send_robust(sender=None, urls=URLS, tags=TAGS)
    raised = [answer for _, answer in answers if isinstance(answer, Exception)]
    for error in raised:
        if isinstance(error, HTTPError):
            error.close()
    return raised


class Service(FakeServer):
    """Purges what a request with the key names, at one address."""

    header, value, address = "", "", ""

    def answer(self, request: Request) -> Reply:
        if not request.headers.get(self.header, "").startswith(self.value):
            return Reply(status=403)
        if (request.method, request.path) != ("POST", self.address):
            return Reply(status=404)
        return self.purge(request)

    def purge(self, request: Request) -> Reply:
        raise NotImplementedError


class Cloudflare(Service):
    """Purges up to 100 tags of a zone in a request."""

    header, value = "authorization", f"Bearer {KEY}"
    address = "/zones/z1/purge_cache"

    def purge(self, request: Request) -> Reply:
        if request.headers.get("content-type") != "application/json":
            return Reply(status=415)
        given = json.loads(request.body)
        tags = given.pop("tags")
        good = given == {} and 0 < len(tags) <= 100
        good = good and all(re.fullmatch(r"[!-+\--~]{1,1024}", tag) for tag in tags)
        return Reply(status=200 if good else 400, body=b'{"success": true}')


class Fastly(Service):
    """Purges up to 256 keys of a service in a request."""

    header, value, address = "fastly-key", KEY, "/service/s1/purge"

    def purge(self, request: Request) -> Reply:
        keys = request.headers.get("surrogate-key", "").split(" ")
        good = len(keys) <= 256 and all(re.fullmatch("[!-~]{1,1024}", k) for k in keys)
        return Reply(status=200 if good else 400)


AWS = "{http://cloudfront.amazonaws.com/doc/2020-05-31/}"


class CloudFront(Service):
    """Invalidates paths, as many as their number says, of requests that are signed."""

    header, value = "authorization", f"AWS4-HMAC-SHA256 Credential={KEY}/"
    address = "/2020-05-31/distribution/E1/invalidation"

    def purge(self, request: Request) -> Reply:
        root = ElementTree.fromstring(request.body)  # noqa: S314 (our own)
        items = [item.text or "" for item in root.iterfind(f"*/{AWS}Items/{AWS}Path")]
        good = root.findtext(f"*/{AWS}Quantity") == str(len(items))
        good = good and len(items) <= 3_000
        good = good and bool(root.findtext(f"{AWS}CallerReference"))
        good = good and all(re.fullmatch("/[!-~]*", item) for item in items)
        self.items = items
        body = f'<Invalidation xmlns="{AWS[1:-1]}"><Id>I1</Id></Invalidation>'.encode()
        return Reply(status=201 if good else 400, body=body)


@pytest.mark.parametrize(
    ("service", "tags"),
    [
        (Cloudflare, lambda request: json.loads(request.body)["tags"]),
        (Fastly, lambda request: request.headers["surrogate-key"].split(" ")),
    ],
)
def test_tags_are_purged(
    connect: Connect,
    settings: Any,
    service: type[FakeServer],
    tags: Callable[[Request], list[str]],
) -> None:
    settings.CLOUDFLARE_ZONE, settings.CLOUDFLARE_TOKEN = "z1", KEY
    settings.FASTLY_SERVICE, settings.FASTLY_TOKEN = "s1", KEY
    with service() as server:
        connect(f"purge_{service.__name__.lower()}", server.origin)
        assert send() == []
        (request,) = server.requests
        assert tags(request) == TAGS
        server.fault = reply(503)
        assert len(send()) == 1, "so that it comes again"


def test_cloudfront_invalidates_paths(
    connect: Connect, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CLOUDFRONT_DISTRIBUTION = "E1"
    for name, value in {
        "ACCESS_KEY_ID": KEY,
        "SECRET_ACCESS_KEY": "secret",
        "CONFIG_FILE": "none",
        # Which of several it does not matter: CloudFront is global.
        "DEFAULT_REGION": "us-east-1",
        "MAX_ATTEMPTS": "1",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    with CloudFront() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_CLOUDFRONT", server.origin)
        connect("purge_cloudfront", "")
        assert send() == []
        paths = [url.removeprefix("https://www.example.com") for url in URLS]
        assert server.items == paths
        server.fault = reply(503)
        assert len(send()) == 1, "so that it comes again"
