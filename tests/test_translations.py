"""The German and French catalogues: complete, compiled, and used."""

from __future__ import annotations

import ast
import gettext
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils.translation.template import templatize

import django_sitemaps_plus
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, run_command

PACKAGE = Path(django_sitemaps_plus.__file__).parent
LANGUAGES = ("de", "fr")
#: What translates, and where its arguments have context, text and plural.
CALLS = {
    "_": (None, 0, None),
    "gettext": (None, 0, None),
    "gettext_lazy": (None, 0, None),
    "ngettext": (None, 0, 1),
    "ngettext_lazy": (None, 0, 1),
    "pgettext": (0, 1, None),
    "pgettext_lazy": (0, 1, None),
    "npgettext": (0, 1, 2),
}
#: Context, text, plural: as far as they are there.
Message = tuple[str, str, str]
_CALL = re.compile(r"\bn?p?gettext\(.*?\)(?= )|_\(.*?\)(?= )")
_PLACEHOLDER = re.compile(r"%(?:\(\w+\))?[sd]|\{\w*\}")


@cache
def messages() -> set[Message]:
    """Return every text of the package that can be translated."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        found |= set(messages_in(path.read_text()))
    for path in (PACKAGE / "templates").rglob("*.*"):
        # What makemessages hands on to xgettext; each of its calls is complete.
        calls = templatize(path.read_text(), origin=str(path)) + " "
        for call in _CALL.findall(calls):
            found |= set(messages_in(call))
    return found


def messages_in(source: str) -> Iterator[Message]:
    for node in ast.walk(ast.parse(source)):
        name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
        if name in CALLS and isinstance(node, ast.Call):
            yield _message(node, CALLS[name])


def _message(call: ast.Call, places: tuple[int | None, ...]) -> Message:
    parts = []
    for place in places:
        argument = None if place is None else call.args[place]
        assert argument is None or isinstance(argument, ast.Constant), ast.dump(call)
        parts.append("" if argument is None else str(argument.value))
    context, text, plural = parts
    return context, text, plural


def catalogue(language: str) -> dict[Any, str]:
    """Return what the compiled file has: text by id, or by id and number."""
    path = PACKAGE / "locale" / language / "LC_MESSAGES" / "django.mo"
    with path.open("rb") as file:
        read: Any = gettext.GNUTranslations(file)
    found: dict[Any, str] = read._catalog
    return found


def entries(language: str) -> str:
    path = PACKAGE / "locale" / language / "LC_MESSAGES" / "django.po"
    return path.read_text(encoding="utf-8")


def id_of(message: Message) -> str:
    context, text, _ = message
    return f"{context}\x04{text}" if context else text


def test_the_texts_are_found() -> None:
    found = messages()
    assert len(found) > 80
    assert ("", "Site map", "") in found
    assert ("", "set a lower limit on the sitemap class", "") in found
    assert ("frequency", "Changes:", "") in found
    plural = ("", "%(count)s page", "%(count)s pages")
    assert plural in found
    assert any(text.startswith("Part %(part)s of") for _, text, _ in found)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_lacks_a_translation(language: str) -> None:
    known = catalogue(language)
    missing = []
    for message in messages():
        ids = [(id_of(message), n) for n in (0, 1)] if message[2] else [id_of(message)]
        missing += [one for one in ids if not known.get(one)]
    assert missing == [], "see docs/translations.md"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_has_the_placeholders_of_its_text(language: str) -> None:
    known = catalogue(language)
    for message in messages():
        _, text, plural = message
        allowed = {tuple(sorted(_PLACEHOLDER.findall(form))) for form in (text, plural)}
        forms = [(id_of(message), n) for n in (0, 1)] if plural else [id_of(message)]
        for form in forms:
            assert tuple(sorted(_PLACEHOLDER.findall(known[form]))) in allowed, form


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_compiled_file_is_that_of_the_source(language: str) -> None:
    text = entries(language)
    assert "#, fuzzy" not in text
    known = catalogue(language)
    parts = re.findall(r'^msgstr(?:\[\d\])? (".*"(?:\n".*")*)', text, re.MULTILINE)
    translated = {
        "".join(ast.literal_eval(line) for line in part.split("\n")) for part in parts
    }
    assert {value for key, value in known.items() if key} == {
        text for text in translated if not text.startswith("Project-Id-Version")
    }


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "words"),
    [("de", ["Abschnitt", "Seiten"]), ("fr", ["Section", "à jour"])],
)
def test_the_admin_speaks_it(
    admin_client: Client, settings: Any, register: Any, language: str, words: list[str]
) -> None:
    settings.LANGUAGE_CODE = language
    register("article", ArticleSitemap)
    articles(2)
    assert run_command("build_sitemaps")[2] == 0
    text = admin_client.get("/admin/sitemaps_plus/page/").content.decode()
    for word in words:
        assert word in text
    assert "not built yet" not in text


@pytest.mark.django_db
def test_the_report_speaks_it(settings: Any, register: Any) -> None:
    settings.LANGUAGE_CODE = "de"
    register("article", ArticleSitemap)
    articles(2)
    run_command("build_sitemaps")
    out, _, code = run_command("sitemap_report")
    assert code == 0
    assert "WAS SICH GEÄNDERT HAT" in out
    assert "1 Seite, 2 Einträge" in out


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "title", "fix"),
    [
        ("de", "Abschnitte mit Seiten, die nicht", "geben Sie ein: manage.py build_"),
        ("fr", "sections dont des pages", "exécutez manage.py build_sitemaps"),
    ],
)
def test_findings_are_translated_for_people_and_english_for_programs(
    admin_client: Client,
    settings: Any,
    register: Any,
    language: str,
    title: str,
    fix: str,
) -> None:
    settings.LANGUAGE_CODE = language
    register("article", ArticleSitemap)
    articles(2)
    out, _, _ = run_command("check_sitemaps", "--format", "json")
    found = json.loads(out)["audit"]["findings"]
    assert [one["fix"] for one in found] == ["run manage.py build_sitemaps"]
    for form in ("github", "table"):
        out, _, _ = run_command("check_sitemaps", "--format", form)
        assert "Next: run manage.py build_sitemaps." in out
    text = admin_client.get("/admin/sitemaps_plus/").content.decode()
    assert title in text
    assert fix in text
    assert title in " ".join(run_command("sitemap_report")[0].split())
