"""Find the types of the structured data that a web page declares (schema.org)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser

_LD_JSON = "application/ld+json"


def types_in(page: str) -> set[str]:
    """
    Return the names of the types in JSON-LD, microdata and RDFa.

    https://schema.org/docs/gs.html. Anything that cannot be read has none.
    """
    parser = _Parser()
    parser.feed(page)
    parser.close()
    return parser.found


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self._script: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        for name in ("itemtype", "typeof"):
            for value in (given.get(name) or "").split():
                self.found.add(_name(value))
        kind = (given.get("type") or "").partition(";")[0].strip().lower()
        if tag == "script" and kind == _LD_JSON:
            self._script = []

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self._script.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self._script is not None:
            self.found |= set(_types("".join(self._script)))
            self._script = None


def _types(text: str) -> Iterator[str]:
    """Yield the types of all objects in a JSON document, however deep."""
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
            given = part.get("@type")
            for value in given if isinstance(given, list) else [given]:
                if isinstance(value, str):
                    yield _name(value)


def _name(value: str) -> str:
    """Return the name of a type that may be given as a URL or with a prefix."""
    return value.rstrip("/").rpartition("/")[2].rpartition(":")[2]
