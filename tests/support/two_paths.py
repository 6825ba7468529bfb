"""The row path and the object path, compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models import F
from django.db.models.signals import post_init
from django.test import Client

from django_sitemaps_plus import Sitemap
from django_sitemaps_plus.models import Section
from tests.support.helpers import body


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


def both(
    client: Client,
    register: Any,
    cls: type[Sitemap],
    *,
    all_may_be_bad: bool = False,
) -> bytes:
    """Return the page of a sitemap, after seeing that both paths give its bytes."""
    register("rows", cls)
    register("objects", by_object(cls))
    Section.objects.all().delete()
    rows = client.get("/sitemap-rows-1.xml")
    objects = client.get("/sitemap-objects-1.xml")
    # Where all rows are bad there is no page.
    expected = (200, 503) if all_may_be_bad else (200,)
    assert rows.status_code in expected, rows.content
    assert rows.status_code == objects.status_code
    assert rows.content == objects.content
    return body(rows)
