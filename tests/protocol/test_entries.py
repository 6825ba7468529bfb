"""Entries are plain values."""

from __future__ import annotations

import dataclasses

import pytest

from django_sitemaps_plus.protocol import entries
from django_sitemaps_plus.protocol.entries import Image, Url

KINDS = [kind for kind in vars(entries).values() if dataclasses.is_dataclass(kind)]


def test_equal_entries_are_one_in_a_set() -> None:
    assert {Url("/a", images=(Image("/b"),)), Url("/a", images=(Image("/b"),))} == {
        Url(loc="/a", images=(Image(loc="/b"),))
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_entry_cannot_be_changed_nor_given_an_unknown_field(kind: type) -> None:
    required = {
        field.name: "/"
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING
    }
    entry = kind(**required)

    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(entry, next(iter(required)), "/other")
    with pytest.raises(TypeError, match="lastmodd"):
        kind(**required, lastmodd="2026")


def test_nothing_is_invented() -> None:
    assert all(not getattr(Url("/"), name) for name in Url.__slots__ if name != "loc")
