"""The recipes for webhooks, each tried against a small server of that kind."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from tests.support.fakes.faults import Reply, reply
from tests.support.fakes.server import FakeServer, Request

DOCS = Path(__file__).parent.parent.parent / "docs" / "engines.md"
SITE = "https://www.example.com"
KEY = "key-of-the-service"


def recipes() -> dict[str, Any]:
    """Return what the code of the recipes defines."""
    text = DOCS.read_text().partition("\n### Recipes\n")[2].partition("\n## ")[0]
    known: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(block, known)  # noqa: S102 (our own)
    return known


RECIPES = recipes()


def change(**kinds: list[str]) -> dict[str, Any]:
    """Return a document as the webhook sends it."""
    names = ("added", "changed", "removed", "requested")
    return {"site": SITE, **{name: kinds.get(name, []) for name in names}}


def of(*names: str) -> list[str]:
    return [f"{SITE}/{name}/" for name in names]


class Cloudflare(FakeServer):
    """Purges up to 30 URLs in a request."""

    def answer(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return Reply(status=403)
        if (request.method, request.path) != ("POST", "/zones/z1/purge_cache"):
            return Reply(status=404)
        files = json.loads(request.body)["files"]
        return Reply(status=200 if 0 < len(files) <= 30 else 400)


def test_cloudflare_purges_all_urls() -> None:
    with Cloudflare() as server:
        urls = of(*map(str, range(65)))
        given = change(added=urls[:1], changed=urls[1:60], removed=urls[60:])
        RECIPES["purge_cloudflare"](given, "z1", KEY, api=server.origin)
        batches = [json.loads(request.body)["files"] for request in server.requests]
    assert [url for batch in batches for url in batch] == urls
    assert len(batches) == 3


class Search(FakeServer):
    """A search server: ``documents`` has what is indexed by id."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.documents: dict[str, Any] = {}

    def answer(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return Reply(status=401)
        match request.method, request.route:
            case "POST", "/indexes/pages/documents":
                self.add(json.loads(request.body))
                return Reply(status=202)
            case "POST", "/indexes/pages/documents/delete-batch":
                for name in json.loads(request.body):
                    self.documents.pop(name, None)
                return Reply(status=202)
            case _:
                return Reply(status=405)

    def add(self, given: list[Any]) -> None:
        for document in given:
            assert re.fullmatch(r"[\w-]{1,511}", document["id"])
            self.documents[document["id"]] = document

    @property
    def titles(self) -> dict[str, str]:
        return {one["url"]: one["title"] for one in self.documents.values()}


def test_a_search_has_what_is_listed() -> None:
    a, b, c = of("a", "b", "c")
    titles: dict[str, str] = {a: "A", b: "B"}

    def document_of(url: str) -> dict[str, str] | None:
        return {"title": titles[url]} if url in titles else None

    with Search() as server:
        arguments = (document_of, server.origin, "pages", KEY)
        for _ in range(2):  # at least once
            RECIPES["index_meilisearch"](change(added=[a, b]), *arguments)
        assert server.titles == {a: "A", b: "B"}
        titles[b] = "B2"
        RECIPES["index_meilisearch"](change(changed=[b, c], removed=[a]), *arguments)
        assert server.titles == {b: "B2"}
        del titles[b]
        RECIPES["index_meilisearch"](change(changed=[b]), *arguments)
        assert server.titles == {}


def test_a_failure_is_raised_so_that_the_batch_comes_again() -> None:
    with Search() as server:
        server.fault = reply(503)
        for name, arguments in (
            ("purge_cloudflare", ("z1", KEY, server.origin)),
            ("index_meilisearch", (lambda url: {}, server.origin, "pages", KEY)),
        ):
            with pytest.raises(HTTPError) as raised:
                RECIPES[name](change(added=of("a")), *arguments)
            raised.value.close()
