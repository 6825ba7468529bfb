"""The settings of this app."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

from django_sitemaps_plus.conf import (
    AppSettings,
    advice,
    app_settings,
    options_of,
    refusal,
    texts,
)

#: The headers that name cache tags, and what stands between two of them: Fastly's (and
#: that of most others), and the one of Cloudflare and CloudFront.
TAG_HEADERS = {"Surrogate-Key": " ", "Cache-Tag": ","}
#: The options of ``PUBLISH``, and their defaults.
_PUBLISH: dict[str, Any] = {"prefix": "", "gzip": "", "every": 600.0}


@dataclass(frozen=True, kw_only=True)
class Publish:
    """Where the sitemaps are published as files, and how: ``PUBLISH``."""

    #: The alias in ``STORAGES``.
    storage: str
    #: What names begin with; "{host}" in it is the site's host.
    prefix: str
    #: "encoding" (``.xml`` with Content-Encoding), "file" (``.xml.gz``) or "".
    gzip: Literal["", "encoding", "file"]
    #: Seconds between two looks for what changed.
    every: float


@dataclass(frozen=True, kw_only=True)
class Settings(AppSettings):
    """What the app reads of ``settings.SITEMAPS_PLUS``, checked."""

    #: The headers in which each answer names its tags, by which a cache drops it:
    #: "Surrogate-Key", "Cache-Tag". None by default: it takes a cache that reads them.
    CACHE_TAGS: list[str] = field(default_factory=list)

    #: Where the sitemaps are published as files, for a web server or a CDN:
    #: ``{"STORAGE": "sitemaps", "OPTIONS": {…}}``, with an alias of ``STORAGES``.
    PUBLISH: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse values that cannot work, naming setting and remedy."""
        super().__post_init__()
        for name in texts(self.CACHE_TAGS, "CACHE_TAGS"):
            if name not in TAG_HEADERS:
                problem = f"has {name!r}. {advice(name, TAG_HEADERS, 'headers')}"
                raise refusal(problem, "CACHE_TAGS")
        _publish(self.PUBLISH)

    @cached_property
    def publish(self) -> Publish | None:
        """What ``PUBLISH`` asks for, with the defaults of options; None if nothing."""
        return _publish(self.PUBLISH)


#: Returns the project's settings of this app.
own_settings = partial(app_settings, Settings)


def _is_prefix(text: str) -> bool:
    has_braces = not {"{", "}"}.isdisjoint(text.replace("{host}", ""))
    return not (text.startswith("/") or has_braces)


def _publish(given: Any) -> Publish | None:
    example = '{"STORAGE": "sitemaps"}'
    found = options_of(given, ("STORAGE", "OPTIONS"), "keys", example, "PUBLISH")
    if not found:
        return None
    alias, path = found.get("STORAGE"), ("PUBLISH", "OPTIONS")
    if not isinstance(alias, str) or not alias:
        raise refusal(f"needs an alias of STORAGES: {example}.", "PUBLISH")
    own = options_of(found.get("OPTIONS", {}), _PUBLISH, "options", "{}", *path)
    options = {**_PUBLISH, **own}
    prefix, every = options["prefix"], options["every"]
    is_number = isinstance(every, (int, float)) and not isinstance(every, bool)
    rules = {
        "prefix": (
            isinstance(prefix, str) and _is_prefix(prefix),
            "use text that does not begin with '/', and no braces but {host}, for "
            "example 'maps/'.",
        ),
        "gzip": (
            options["gzip"] in ("", "encoding", "file"),
            "use 'encoding' (.xml with Content-Encoding) or 'file' (.xml.gz).",
        ),
        "every": (is_number and 1 <= every < math.inf, "use seconds, at least 1."),
    }
    for option, (holds, remedy) in rules.items():
        if not holds:
            raise refusal(f"is {options[option]!r}; {remedy}", *path, option)
    return Publish(storage=alias, **options)
