"""Sections that are read from a database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.tenants.blog.models import Post
from tests.tenants.blog.sitemaps import PostSitemap


class _Asking(dict[str, Any]):
    """A section for each post."""

    def keys(self) -> Iterator[str]:  # type: ignore[override]
        return iter(Post.objects.values_list("slug", flat=True))

    def __getitem__(self, name: str) -> Any:
        return PostSitemap


SITEMAPS = _Asking()
