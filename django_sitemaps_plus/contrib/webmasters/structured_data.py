"""Find the types of the structured data that a web page declares (schema.org)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from django_sitemaps_plus.protocol.markup import parts

_LD_JSON = "application/ld+json"


def types_in(page: str) -> set[str]:
    """
    Return the names of the types in JSON-LD, microdata and RDFa.

    https://schema.org/docs/gs.html. Anything that cannot be read has none.
    """
    found: set[str] = set()
    is_json = False
    for tag, given, text in parts(page):
        if is_json and text:
            found.update(_types(text))
        for name in ("itemtype", "typeof"):
            found.update(map(_name, given.get(name, "").split()))
        kind = given.get("type", "").partition(";")[0].strip().lower()
        is_json = tag == "script" and kind == _LD_JSON
    return found


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
