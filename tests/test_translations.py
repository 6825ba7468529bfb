"""The German and French catalogues: complete, compiled, and used."""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.utils.translation.template import templatize

import django_sitemaps_plus

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
    "npgettext_lazy": (0, 1, 2),
}
#: Context, text, plural: as far as they are there.
Message = tuple[str, str, str]
_CALL = re.compile(r"\bn?p?gettext\(.*?\)(?= )|_\(.*?\)(?= )")
_PLACEHOLDER = re.compile(r"%(?:\(\w+\))?[sd]|\{\w*\}")


#: The folders of the core and of the apps: each has a catalogue if it has texts.
FOLDERS = [
    PACKAGE,
    *(path.parent for path in sorted(PACKAGE.glob("contrib/*/apps.py"))),
]


def files(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield the files whose texts are in the catalogue of a folder."""
    for path in folder.rglob(pattern):
        if next(above for above in path.parents if above in FOLDERS) == folder:
            yield path


@cache
def messages(folder: Path) -> set[Message]:
    """Return every text of a folder that can be translated."""
    found = set()
    for path in files(folder, "*.py"):
        found |= set(messages_in(path.read_text()))
    for path in files(folder, "templates/**/*.*"):
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


def catalogue(folder: Path, language: str) -> dict[Any, str]:
    """Return what the compiled file has: text by id, or by id and number."""
    path = folder / "locale" / language / "LC_MESSAGES" / "django.mo"
    with path.open("rb") as file:
        read: Any = gettext.GNUTranslations(file)
    found: dict[Any, str] = read._catalog
    return found


catalogues = pytest.mark.parametrize(
    ("folder", "language"),
    [
        pytest.param(folder, language, id=f"{folder.name}-{language}")
        for folder in FOLDERS
        if (folder / "locale").is_dir()
        for language in LANGUAGES
    ],
)


def test_the_texts_are_found() -> None:
    found = messages(PACKAGE)
    assert len(found) > 80
    assert ("", "%(time)s ago", "") in found
    assert ("frequency", "Changes:", "") in found
    assert any(plural for _, _, plural in found)


def test_what_has_texts_has_catalogues() -> None:
    for folder in FOLDERS:
        assert bool(messages(folder)) == (folder / "locale").is_dir(), folder


@catalogues
def test_each_text_has_a_translation_with_its_placeholders(
    folder: Path, language: str
) -> None:
    known = catalogue(folder, language)
    missing, own = [], {""}
    for context, text, plural in messages(folder):
        name = f"{context}\x04{text}" if context else text
        own.add(name)
        allowed = {tuple(sorted(_PLACEHOLDER.findall(form))) for form in (text, plural)}
        for form in [(name, n) for n in (0, 1)] if plural else [name]:
            names = tuple(sorted(_PLACEHOLDER.findall(known.get(form, ""))))
            if not known.get(form) or names not in allowed:
                missing.append(form)
    assert missing == [], "see CONTRIBUTING.md, Translate"
    assert {key[0] if isinstance(key, tuple) else key for key in known} == own


@catalogues
def test_the_compiled_file_is_that_of_the_source(folder: Path, language: str) -> None:
    path = folder / "locale" / language / "LC_MESSAGES" / "django.po"
    text = path.read_text(encoding="utf-8")
    assert "#, fuzzy" not in text
    known = catalogue(folder, language)
    parts = re.findall(r'^msgstr(?:\[\d\])? (".*"(?:\n".*")*)', text, re.MULTILINE)
    translated = {
        "".join(ast.literal_eval(line) for line in part.split("\n")) for part in parts
    }
    assert {value for key, value in known.items() if key} == {
        text for text in translated if not text.startswith("Project-Id-Version")
    }
