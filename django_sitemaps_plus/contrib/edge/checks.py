"""System checks of this app: what is published and purged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage
from django.core.files.storage import FileSystemStorage, storages

from django_sitemaps_plus.checks.messages import check, message, without_address
from django_sitemaps_plus.conf import advice, get_settings
from django_sitemaps_plus.exceptions import describe
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.site import Site

from . import documents
from .conf import own_settings
from .storages import takes_headers


@check()
def check_publish(**kwargs: Any) -> Iterator[CheckMessage]:
    """E080 to E084 and W081: files that cannot be published where ``PUBLISH`` says."""
    options = own_settings().publish
    if options is None:
        return
    given = "SITEMAPS_PLUS['PUBLISH']"
    text = f"{given} is set, but the site's address is not. Files need whole URLs."
    yield from without_address("E080", text)
    is_shared = len(get_settings().SITES) > 0 or Site.default().is_chosen_by_request
    if (is_shared or tenants.configured()) and "{host}" not in options.prefix:
        text = f"{given}: the files of several sites would have the same names."
        hint = 'Write "OPTIONS": {"prefix": "{host}/"}.'
        yield message("E081", text, hint)
    try:
        storage = storages[options.storage]
    except Exception as error:  # a backend raises whatever it likes
        known = django_settings.STORAGES
        is_unknown = options.storage not in known
        problem = "STORAGES has no such alias." if is_unknown else describe(error)
        yield message(
            "E082",
            f"{given}: the storage {options.storage!r} cannot be used: {problem}",
            advice(options.storage, known, "aliases of STORAGES")
            if is_unknown
            else f"Correct STORAGES[{options.storage!r}], or install what it needs.",
        )
        return
    if options.gzip == "encoding" and not takes_headers(storage):
        yield message(
            "E083",
            f"{given}: {type(storage).__name__} cannot store Content-Encoding with "
            "each file, so readers would take gzipped files for XML.",
            'Set "gzip" to "file" (.xml.gz), or leave it out.',
        )
    for option in ("file_overwrite", "overwrite_files"):
        if not getattr(storage, option, True):
            yield message(
                "E084",
                f"{given}: the storage {options.storage!r} does not replace files of "
                "the same name.",
                f"Add to its OPTIONS in STORAGES: {option!r}: True.",
            )
    media = os.path.abspath(django_settings.MEDIA_ROOT)
    if isinstance(storage, FileSystemStorage) and storage.path("") == media:
        yield message(
            "W081",
            f"{given}: the storage {options.storage!r} publishes into MEDIA_ROOT "
            f"({media}), among the files that people upload.",
            f"Write STORAGES[{options.storage!r}] with "
            '"OPTIONS": {"location": "/srv/sitemaps"}.',
        )


@check()
def check_cache_tags(**kwargs: Any) -> Iterator[CheckMessage]:
    """W080: answers have tags, and no cache is purged by them."""
    if own_settings().CACHE_TAGS and not documents.are_wanted():
        yield message(
            "W080",
            "SITEMAPS_PLUS['CACHE_TAGS'] is set, but nothing receives "
            "documents_changed, so no cache is purged when a sitemap changes.",
            "Import the module with your receiver in ready() of an AppConfig, or "
            "silence this check if something else purges the cache.",
        )
