"""Methods that are read as columns give what they give when they are called."""

from __future__ import annotations

import datetime as dt
import importlib
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps.sections import live_source, source_of
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE
from tests.conftest import COSTLY
from tests.support.factories import FIRST, ArticleFactory
from tests.testapp.models import Tag

pytestmark = pytest.mark.django_db

DRAWS = 120 if COSTLY else 40
TEXTS = [
    *("one", "two-2", "", "no slug", "a/b", "%20", "ä?#", "x" * 199, "007", "..", "&")
]
#: What may stand in place of a column of the item ``o``: inside of the grammar.
COLUMNS = [
    *("o.pk", "o.id", "o.name", "o.article_id", "o.article.slug", "o.article.title"),
    *("o.article.pk", "o.article.day", "o.article.updated", "o.article.weight"),
    *("o.article.live", "o.article.category_id", "o.shown", "o.helped()", "o.deep()"),
]
OUTSIDE = [
    *("o.article.category.slug", "o.name[:2]", "o.name or 'x'", "o.name.upper()"),
    *("f'{o.name}'", "o.article.photo", "o.nothing", "o.helped", "o.shown()"),
    *("str(o.name)", "o.article.get_absolute_url", "o", "o.article", "-o.pk"),
]
DATES = ["o.article.updated", "o.article.day", "o.when()", "None", "'2026-01-02'"]
PATTERNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("article", "word", "style", "one:page", "none"), ("slug",)),
    "by-number": ("pk",),
    "in-category": ("category", "slug"),
    "tag": ("category", "name"),
    "year": ("year", "slug"),
    "uuid": ("id",),
    "positional": (),
}


@pytest.fixture(autouse=True)
def urls(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.support.pattern_urls"


def column(draw: random.Random) -> str:
    """Return what gives a value of the item."""
    if draw.random() < 0.05:
        return draw.choice(OUTSIDE)
    return draw.choice(COLUMNS)


def parameter(draw: random.Random) -> str:
    found = column(draw)
    kind = draw.random()
    if kind < 0.1:
        return draw.choice(["'text'", "5", "'no slug'"])
    return f"str({found})" if kind < 0.25 and found[-1] != ")" else found


def location(draw: random.Random) -> list[str]:
    """Return the lines of a method that gives the URL of ``o``."""
    if draw.random() < 0.15:
        return [f"return {column(draw)}"]
    name, params = draw.choice(list(PATTERNS.items()))
    values = [parameter(draw) for _ in params or "ab"]
    if params and draw.random() < 0.6:
        pairs = zip(params, values, strict=True)
        given = f"kwargs={{{', '.join(f'{key!r}: {one}' for key, one in pairs)}}}"
    else:
        given = f"args=[{', '.join(values)}]"
    function = draw.choice(["reverse", "reverse", "reverse_lazy"])
    lines = [f"return {function}({name!r}, {given})"]
    if draw.random() < 0.2:
        lines = [lines[0].replace("return", "url ="), "return url"]
    if draw.random() < 0.2:
        lines.insert(0, f"from django.urls import {function}")
    if draw.random() < 0.05:
        lines.insert(0, draw.choice(["if not o.pk: return '/x/'", "reverse('none')"]))
    return lines


def method(name: str, args: str, lines: list[str]) -> str:
    text = "".join(f"        {line}\n" for line in lines)
    return f"    def {name}({args}):\n{text}\n"


def module(draw: random.Random) -> str:
    """Return the source of a model, a proxy of tags, and of a sitemap of it."""
    # No circle: helped() and shown read columns only.
    helped, shown = (f"return self.{draw.choice(['name', 'pk'])}" for _ in "ab")
    when = draw.choice(["updated", "day"])
    text = (
        "from django.apps.registry import Apps\n"
        "from django.urls import reverse, reverse_lazy\n"
        "from django_sitemaps_plus import Sitemap\n"
        "from tests.testapp.models import Tag\n\n"
        "class Made(Tag):\n"
        "    class Meta:\n        proxy = True\n        app_label = 'testapp'\n"
        "        apps = Apps()\n\n"
    )
    text += method("helped", "self", [helped])
    text += "    @property\n" + method("shown", "self", ["'''Shown.'''", shown])
    text += method("deep", "self", ["return self.article.slug"])
    text += method("when", "self", [f"at = self.article.{when}", "return at"])
    url = [re.sub(r"\bo\.", "self.", line) for line in location(draw)]
    text += method("get_absolute_url", "self", url)
    text += "class Own(Sitemap):\n    model = Made\n\n"
    if draw.random() < 0.5:
        text += method("location", "self, o", location(draw))
    if draw.random() < 0.7:
        text += method("lastmod", "self, o", [f"return {draw.choice(DATES)}"])
    if draw.random() < 0.4:
        value = draw.choice(["o.article.weight", "0.5", "None", "o.article.title"])
        text += method("priority", "self, o", [f"return {value}"])
    if draw.random() < 0.3:
        value = draw.choice(["o.name", "'weekly'", "'sometimes'", "o.article.title"])
        text += method("changefreq", "self, o", [f"return {value}"])
    return text


def rows(draw: random.Random) -> None:
    for text in TEXTS:
        article = ArticleFactory(
            slug=text,
            title=draw.choice([*TEXTS, "daily"]),
            updated=draw.choice([None, FIRST, FIRST + dt.timedelta(microseconds=9)]),
            day=draw.choice([None, dt.date(987, 6, 5), dt.date(2026, 1, 1)]),
            weight=draw.choice([None, 0.25, 7.0, 1.0]),
            live=draw.choice([True, False]),
        )
        Tag.objects.create(article=article, name=draw.choice([*TEXTS, "daily"])[:50])


def entries(sitemap: Any, *, is_live: bool) -> tuple[Any, bool]:
    """Return the texts of a sitemap, which rows are bad, and how it was read."""
    make = live_source if is_live else source_of
    with PLACEHOLDER_SITE.rendering():
        reader = Reader(make("made", sitemap), PLACEHOLDER_SITE)
        batches = reader.by_position(1) if is_live else reader.by_key(None, None, 99)
        texts = [one for _, some in reader.texts(batches) for one in some.each()]
        bad = [(one.label, one.is_outside) for one in reader.tally.bad]
        omitted = sorted(str(one.label) for one in reader.tally.omitted.values())
        return (texts, bad, omitted), bool(reader.read_as.expressions)


def test_both_ways_give_the_same_texts_and_bad_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = time.time_ns() % 10**9
    draw = random.Random(seed)  # noqa: S311 (no secret)
    rows(draw)
    monkeypatch.syspath_prepend(tmp_path)
    read = bad = 0
    for number in range(DRAWS):
        text = module(draw)
        name = f"made_{seed}_{number}"
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        made = importlib.import_module(name)
        called = type("Called", (made.Own,), {"read_columns": False})
        for is_live in (False, True):
            found, is_read = entries(made.Own(), is_live=is_live)
            expected, is_called = entries(called(), is_live=is_live)
            assert found == expected, f"seed {seed}:\n{text}"
            assert not is_called
        read += is_read
        bad += bool(found[1])
    assert read >= DRAWS / 2, f"{read} of {DRAWS}, seed {seed}"
    assert bad >= DRAWS / 10
