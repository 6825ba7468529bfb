"""The row path and the object path, compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db.models import F
from django.db.models.signals import post_init
from django.test import Client

from django_sitemaps_plus import Sitemap
from django_sitemaps_plus.models import Section
from tests.support.helpers import ArticleSitemap


@contextmanager
def instances(model: type) -> Iterator[list[int]]:
    """Note which instances of ``model`` are created."""
    made: list[int] = []

    def note(instance: Any, **kwargs: Any) -> None:
        made.append(instance.pk)

    post_init.connect(note, sender=model)
    yield made
    post_init.disconnect(note, sender=model)


def by_object(cls: type[Sitemap]) -> type[Sitemap]:
    """Return the same sitemap, read object by object: its priority is a method."""
    declared: Any = getattr(cls, "priority", None)

    def priority(self: Any, item: Any) -> Any:
        return item.weight if isinstance(declared, F) else declared

    return type(f"{cls.__name__}Objects", (cls,), {"priority": priority})


@pytest.fixture
def page_of(client: Client, register: Any) -> Callable[..., Any]:
    """Ask for the first page of a section: a class, or articles with attributes."""

    def ask(base: type[Any] = ArticleSitemap, **declared: Any) -> Any:
        register("article", type("Section", (base,), declared))
        return client.get("/sitemap-article-1.xml")

    return ask


@pytest.fixture
def both(client: Client, register: Any) -> Callable[..., Any]:
    """The same after seeing that both paths give its bytes."""

    def ask(
        base: type[Any] = ArticleSitemap, *, may_fail: bool = False, **declared: Any
    ) -> Any:
        cls = type("Section", (base,), declared)
        register("rows", cls)
        register("objects", by_object(cls))
        Section.objects.all().delete()
        rows = client.get("/sitemap-rows-1.xml")
        objects = client.get("/sitemap-objects-1.xml")
        # Where all rows are bad there is no page.
        assert rows.status_code in ((200, 503) if may_fail else (200,)), rows.content
        assert rows.status_code == objects.status_code
        assert rows.content == objects.content
        return rows

    return ask
