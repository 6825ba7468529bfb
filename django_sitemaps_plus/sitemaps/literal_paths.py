"""
Literal paths with placeholders, ``/p/{slug}/``: of URLs that Django does not serve.

The syntax is that of ``str.format()``, with names only. A path becomes a ``Form``, as
URL patterns do, so its values are checked and encoded like those of ``/p/<str:slug>/``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from string import Formatter
from typing import Any, NoReturn

from django.conf import settings as django_settings
from django.utils.translation import get_language

from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.locations import refuse_ambiguous

from .url_patterns import Form, Param, split_template

#: The placeholder that stands for the entry's language, unless a value is given.
_LANGUAGE = "language"
#: What each value must be, as with ``<str:name>`` in a URL pattern.
_VALUE = "([^/]+)"
_ENCODED = re.compile("%[0-9A-Fa-f]{2}")


class PathForm(Form):
    """A path. No value is empty, even where the pattern could share out another."""

    def url(self, given: Mapping[str, Any]) -> str | None:
        """Return the URL, or None if a value is empty or has a slash."""
        return None if self.rules_out(given) else super().url(given)

    def rules_out(self, constants: Mapping[str, Any]) -> bool:
        """Return whether one of these values is empty or has a slash."""
        return any(not text or "/" in text for text in map(str, constants.values()))


def is_literal(viewname: str) -> bool:
    """Return whether the first argument of a ``Route`` is a path, and not a name."""
    return viewname.startswith("/")


def form_of_path(path: str, given: tuple[Param, ...]) -> PathForm:
    """
    Return the form of a path for the active language, its values in this order.

    Raises ``ValueError`` for a path that is not one, and where its placeholders are
    not those for which values are given.
    """
    language = get_language() or django_settings.LANGUAGE_CODE
    return _form(path, given, language)


@lru_cache(maxsize=1024)
def _form(path: str, given: tuple[Param, ...], language: str) -> PathForm:
    fields = _fields(path)
    _compare({name for _, name in fields if name}, given)
    template, regex = "", "^"
    for literal, name in fields:
        if name == _LANGUAGE and name not in given:
            literal, name = literal + language, ""
        template += literal.replace("%", "%%") + (f"%({name})s" if name else "")
        regex += re.escape(literal) + (_VALUE if name else "")
    return PathForm(template, rf"{regex}\Z", tuple(map(str, given)), (), {})


def follows_language(path: str, given: tuple[Param, ...]) -> bool:
    """Return whether a valid path has the entry's language in it."""
    return _LANGUAGE not in given and any(
        name == _LANGUAGE for _, name in _fields(path)
    )


def values_of(path: str, given: tuple[Param, ...], url: str) -> dict[Param, str]:
    """Return the values in a URL's path, decoded; empty if it is not of that path."""
    form = form_of_path(path, given)
    match = form.search(url)
    if match is None:
        return {}
    _, names = split_template(form)
    return dict(zip(names, match.groups(), strict=True))


def _fields(path: str) -> list[tuple[str, str]]:
    """Return the texts and the placeholder behind each, empty behind the last one."""
    if path.startswith("//"):
        _refuse("a path that begins with '//' is on another host", "Write one '/'")
    try:
        parsed = [*Formatter().parse(path)]
    except ValueError as error:
        hint = "Write placeholders as {slug}, and a brace itself twice"
        _refuse(f"the braces do not match ({error})", hint)
    fields = []
    for literal, name, spec, conversion in parsed:
        if name is not None and (spec or conversion or not name.isidentifier()):
            shown = f"{{{name}{f'!{conversion}' if conversion else ''}"
            shown += f":{spec}}}" if spec else "}"
            hint = (
                "Write a name alone, as {slug}, and format its value in an expression"
            )
            _refuse(f"{shown!r} is not the name of a value", hint)
        fields.append((literal, name or ""))
    text = "x".join(literal for literal, _ in fields)
    if mark := next((mark for mark in "?#" if mark in text), ""):
        hint = "For another URL use an expression such as Concat(), or a method"
        _refuse(f"{mark!r} is not part of a path", hint)
    if found := _ENCODED.search(text):
        _refuse(f"{found[0]!r} would be encoded twice", "Write the character itself")
    try:
        refuse_ambiguous(text)
    except LocationError as error:
        _refuse(str(error), "Write the path without that")
    return fields


def _compare(names: set[str], given: tuple[Param, ...]) -> None:
    """Refuse values without a placeholder, and placeholders without a value."""
    for param in given:
        if isinstance(param, int):
            _refuse("the values of a path have names", 'Write slug=F("slug")')
        if param not in names:
            listed = ", ".join(f"{{{name}}}" for name in sorted(names)) or "none"
            hint = f"Write {{{param}}} into the path, or remove {param}"
            _refuse(f"there is no placeholder for {param} (there is {listed})", hint)
    for name in sorted(names.difference(map(str, given), {_LANGUAGE})):
        hint = f'Name the column, for example {name}=F("{name}")'
        _refuse(f"the placeholder {{{name}}} has no value", hint)


def _refuse(problem: str, hint: str) -> NoReturn:
    raise ValueError(f"{problem}. {hint}.")
