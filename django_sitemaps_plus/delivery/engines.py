"""
The engines of the settings, created once for as long as the settings stay.

Messages name what they refuse by its path in the settings. They never show the value of
an option, which may be a secret.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from django.conf import settings as django_settings
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from django_sitemaps_plus.conf import NAME, get_settings, options_of, refusal
from django_sitemaps_plus.engines import retired
from django_sitemaps_plus.engines.base import REDACTED, Engine, MissingExtra
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.site import SiteAddress

#: The most characters of an alias, for the tables.
_MAX_ALIAS = 100

_KEYS = ("BACKEND", "OPTIONS")


@lru_cache(maxsize=1)
def engines() -> Mapping[str, Engine]:
    """
    Return the engines by alias, in the order of the settings.

    Raises ``ConfigurationError`` for an engine that cannot be used.
    """
    return MappingProxyType({alias: make(alias) for alias in get_settings().ENGINES})


def backend(alias: str) -> type[Engine]:
    """
    Return the class of an engine.

    Raises ``ConfigurationError`` if its entry in the settings names none.
    """
    here = "ENGINES", alias
    if not 0 < len(str(alias)) <= _MAX_ALIAS:
        raise refusal(f"needs a name of 1 to {_MAX_ALIAS} characters.", *here)
    example = '{"BACKEND": "dotted.path", "OPTIONS": {…}}'
    entry = options_of(get_settings().ENGINES[alias], _KEYS, "keys", example, *here)
    if "BACKEND" not in entry:
        raise refusal(f"needs a 'BACKEND', for example {example}.", *here)
    path = entry["BACKEND"]
    try:
        engine = import_string(path)
    except (ImportError, AttributeError, TypeError) as error:
        problem = f"is {path!r}, which cannot be imported: {error}"
        raise refusal(problem, *here, "BACKEND") from error
    if not (isinstance(engine, type) and issubclass(engine, Engine)):
        base = f"{Engine.__module__}.Engine"
        problem = f"is {path!r}, which is not a subclass of {base}."
        raise refusal(problem, *here, "BACKEND")
    return engine


def make(alias: str) -> Engine:
    """
    Create an engine with its options.

    Raises ``ConfigurationError`` for an option that is unknown, missing or refused.
    """
    engine, here = backend(alias), ("ENGINES", alias, "OPTIONS")
    declared = {f.name: f for f in dataclasses.fields(engine) if f.init}
    del declared["alias"]
    given = get_settings().ENGINES[alias].get("OPTIONS", {})
    options = options_of(given, declared, "options", "{…}", *here)
    for name, option in declared.items():
        defaults = {option.default, option.default_factory}
        if defaults == {dataclasses.MISSING} and name not in options:
            raise refusal(f"is missing; {engine.name} needs it.", *here, name)
    try:
        return engine(alias=alias, **options)
    except (ValueError, TypeError) as error:
        path, problem = _explained(engine, options, error)
    # Not from within: a traceback would lead to the options.
    raise refusal(problem, "ENGINES", alias, *path)


def retired_addresses(engine: Engine) -> Iterator[tuple[str, str]]:
    """Yield options with an address that no longer works, and what to use instead."""
    for option in dataclasses.fields(engine):
        value = getattr(engine, option.name)
        if isinstance(value, str) and not option.metadata.get("secret"):
            sentence = retired.sentence(value)
            if sentence:
                yield option.name, sentence


def files_of(host: str) -> Mapping[str, str]:
    """Return the files that a host must serve at its root: contents by name."""
    files: dict[str, str] = {}
    for engine in engines().values():
        files.update(engine.files(host))
    return files


@lru_cache(maxsize=1)
def known_files() -> frozenset[str]:
    """
    Return the names of such files of all hosts in the settings.

    Without a query, since every URL that nothing else matches asks for them. Empty
    while an engine cannot be used, so that other URLs still resolve.
    """
    try:
        settings = get_settings()
        named = [site["BASE_URL"] for site in settings.SITES.values()]
        given = [url for url in (settings.BASE_URL, *named) if url]
        hosts = [SiteAddress.parse(url).origin.host for url in given]
        # Of a pattern of hosts it is enough to know the files that all of them have,
        # and those of the hosts that engines name.
        hosts += [host.lstrip(".") for host in django_settings.ALLOWED_HOSTS]
        hosts += [host for engine in engines().values() for host in engine.hosts()]
        return frozenset(name for host in hosts for name in files_of(host))
    except ConfigurationError:
        return frozenset()


def _explained(
    engine: type[Engine], options: Mapping[Any, Any], error: Exception
) -> tuple[tuple[str, ...], str]:
    """Return the path of what an engine refuses, and why, without secrets."""
    hidden = [f.name for f in dataclasses.fields(engine) if f.metadata.get("secret")]
    secrets = [options.get(name) for name in hidden]
    option = getattr(error, "option", None)
    if not option:
        return ("OPTIONS",), f"cannot be used: {_without(str(error), secrets)}"
    # The problem of an OptionError is the end of a sentence.
    problem = _without(getattr(error, "problem", str(error)), secrets)
    is_missing = isinstance(error, MissingExtra)
    return (option,) if is_missing else ("OPTIONS", option), problem


def _without(text: str, secrets: list[Any]) -> str:
    """Return a text without the values of secret options."""
    for value in secrets:
        parts = value.values() if isinstance(value, Mapping) else value
        for part in parts if isinstance(parts, (list, tuple)) else [parts]:
            if part:
                text = text.replace(str(part), REDACTED)
    return text


def _forget(*, setting: str, **kwargs: Any) -> None:
    """Create the engines again after a test has overridden the settings."""
    if setting == NAME:
        engines.cache_clear()
    if setting in (NAME, "ALLOWED_HOSTS"):
        known_files.cache_clear()


setting_changed.connect(_forget, dispatch_uid="django_sitemaps_plus.delivery.engines")
