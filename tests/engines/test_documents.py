"""The documentation of engines agrees with the classes."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps_plus.engines import asking, indexnow, retired
from django_sitemaps_plus.engines.base import Batch, Engine, Outcome
from tests.engines.setups import found
from tests.support.fakes.faults import Cut, reply, throttle
from tests.support.fakes.server import FakeServer

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "engines.md").read_text()


def sections(page: str = PAGE) -> dict[str, str]:
    """Return the sections of a page by their headings."""
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def listed(section: str) -> dict[str, Any]:
    """Return the defaults in a table of options, by name."""
    _, _, table = section.partition("| Option | Default | Meaning |\n")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| ", table.partition("\n\n")[0], re.M)
    return dict(rows)


def declared(engine: type[Engine]) -> dict[str, Any]:
    """Return the defaults of an engine's own options, by name."""
    shared = {field.name for field in dataclasses.fields(Engine)}
    found = {}
    for field in dataclasses.fields(engine):
        if field.init and field.name not in shared:
            create = field.default_factory
            is_value = create is dataclasses.MISSING
            found[field.name] = field.default if is_value else create()
    return found


@pytest.mark.parametrize("engine", found().values(), ids=lambda engine: engine.__name__)
def test_the_table_of_options_agrees_with_the_class(engine: type[Engine]) -> None:
    """On whichever page: an app has its own."""
    path = f"\n`{engine.__module__}.{engine.__name__}`"
    pages = [page.read_text() for page in (ROOT / "docs").glob("*.md")]
    texts = [text for page in pages for text in sections(page).values()]
    (section,) = (text for text in texts if path in text)
    own = {
        name: dataclasses.MISSING
        if default == "needed"
        else ast.literal_eval(default.strip("`"))
        for name, default in listed(section).items()
    }
    assert own == declared(engine)


def test_the_common_options_are_listed() -> None:
    defaults = {
        name: ast.literal_eval(default.strip("`"))
        for name, default in listed(sections()["Options of every engine"]).items()
    }
    fields = {f.name: f.default for f in dataclasses.fields(Engine)}
    del fields["alias"]
    assert defaults == fields


def test_every_search_engine_is_listed() -> None:
    table = sections()["Who can be notified"]
    rows = re.findall(r"^\| ([A-Z][^|]+?) \|", table, re.MULTILINE)
    named = {name for row in rows for name in row.split(", ")}
    assert {*retired.RETIRED} < named
    assert {"Google", "Bing", "Yahoo", "Ask", "Yandex", "MSN", "Live Search"} < named


def test_the_endpoints_of_seznam_and_naver_can_be_used() -> None:
    text = sections()["IndexNow"].partition("### Seznam and Naver")[2]
    rows = re.findall(r"^\| (\w+) \| `(https://\S+)` \|$", text, re.MULTILINE)
    assert [name for name, _ in rows] == ["Seznam", "Naver"]
    assert rows[0][1] in indexnow.FALLBACKS
    for name, endpoint in rows:
        engine = indexnow.IndexNow(
            alias="it", key="0123456789abcdef", endpoint=endpoint
        )
        assert name.lower() in endpoint
        assert not retired.sentence(endpoint)
        assert engine._endpoints() == [endpoint], "no other is asked instead"


def test_the_example_of_an_engine_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / "adding-engines.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "engine_of_the_recipe.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    example: Any = importlib.import_module("engine_of_the_recipe").Example
    batch = Batch(origin="https://a.example", urls=["https://a.example/1", "…/2"])
    with FakeServer() as server:
        engine = example(alias="it", token="secret-token", endpoint=server.origin)
        assert asking.submit(engine, batch).outcome is Outcome.ACCEPTED
        assert server.requests[0].body == "https://a.example/1\n…/2".encode()
        for fault, outcome in [
            (throttle("9"), Outcome.THROTTLED),
            (reply(400, "secret-token"), Outcome.REJECTED),
            (reply(500), Outcome.UNAVAILABLE),
            (Cut("answer"), Outcome.UNAVAILABLE),
        ]:
            server.fault = fault
            answer = asking.submit(engine, batch)
            assert answer.outcome is outcome
            assert "secret-token" not in f"{answer} {engine!r}"


def test_the_paths_in_the_recipe_exist() -> None:
    text = (ROOT / "docs" / "adding-engines.md").read_text()
    for path in re.findall(r"`((?:docs|tests)/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path
