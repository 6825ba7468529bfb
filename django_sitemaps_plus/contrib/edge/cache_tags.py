"""The headers of ``CACHE_TAGS``: an answer's document, and a tag that all have."""

from __future__ import annotations

from django_sitemaps_plus.serving.documents import cache_tag, document_at

from .conf import TAG_HEADERS, own_settings

#: What all answers have: to be purged when settings have changed.
_EVERY = "sitemaps"


def cache_tags(path: str, site: str = "") -> dict[str, str]:
    """Return the headers of ``CACHE_TAGS`` for the document at a path."""
    names = own_settings().CACHE_TAGS
    if not names:
        return {}
    tags = cache_tag(document_at(path), site), cache_tag(_EVERY, site)
    return {name: TAG_HEADERS[name].join(tags) for name in names}
