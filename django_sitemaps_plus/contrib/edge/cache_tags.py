"""The headers of ``CACHE_TAGS``: an answer's document, and a tag that all have."""

from __future__ import annotations

from django_sitemaps_plus.serving.tags import document_at, tag_of

from .conf import TAG_HEADERS, own_settings

#: What all answers have: to be purged when settings have changed.
EVERY = "sitemaps"


def cache_tags(path: str, site: str = "") -> dict[str, str]:
    """Return the headers of ``CACHE_TAGS`` for the document at a path."""
    tags = tag_of(document_at(path), site), tag_of(EVERY, site)
    return {name: TAG_HEADERS[name].join(tags) for name in own_settings().CACHE_TAGS}
