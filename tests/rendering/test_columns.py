"""What is made in bulk is what row by row gives, whatever is in the columns."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F
from hypothesis import example, given
from hypothesis import strategies as st

from django_sitemaps_plus import Route
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.rendering.columns import (
    Batch,
    Constant,
    Lastmods,
    Tally,
    TextLocations,
)
from django_sitemaps_plus.rendering.serializer import Serializer

ORIGIN = Origin(scheme="https", host="www.example.com")

paths = st.text("abc%/&'-.~é ", max_size=12).map(lambda text: f"/{text}")
stamps = st.datetimes().map(str)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Draw a batch of stamps as databases write them, with constants or without."""
    length = draw(st.integers(1, 5))

    def column(values: st.SearchStrategy[Any]) -> Any:
        if draw(st.booleans()):
            return Constant(draw(values), length)
        return draw(st.lists(values, min_size=length, max_size=length))

    trimmed = st.one_of(stamps, stamps.map(lambda text: text[:19] + ".5"))
    return Batch(
        labels=list(range(length)),
        locations={None: TextLocations(column(paths))},
        lastmods=Lastmods(column(st.one_of(trimmed, st.none())), form="stamp"),
        changefreqs=column(st.sampled_from(["daily", "weekly", None])),
        priorities=column(st.sampled_from([0, 0.5, Decimal("0.50"), None])),
    )


@given(batch=batches())
@example(
    batch=Batch(
        labels=[1, 2],
        locations={None: TextLocations(["/100%25/", "/%25s/"])},
        lastmods=Lastmods(["2024-01-02 03:04:05.6", "2024-01-02 03:04:05"], "stamp"),
        changefreqs=Constant("daily", 2),
        priorities=Constant(0.5, 2),
    )
)
def test_bulk_gives_what_row_by_row_gives(batch: Batch) -> None:
    # A batch in which a row has failed is made row by row.
    failed = replace(batch, faults={len(batch.labels) - 1: "failed"})
    serializer = Serializer(origin=ORIGIN, zone=dt.UTC)
    bulk, slow = Tally(), Tally()
    made = serializer.items(batch, bulk)
    expected = serializer.items(failed, slow).each()
    each = made.each()
    assert each[:-1] == expected[:-1]
    assert "".join(text for text in each if text is not None) == made.whole
    assert len([text for text in each if text is not None]) == made.good
    assert [row.label for row in bulk.bad] == [
        str(label)
        for label, text in zip(batch.labels, each, strict=True)
        if text is None
    ]


def test_a_stamp_of_another_shape_is_left_to_be_read_one_by_one() -> None:
    lastmods = Lastmods(["2024-01-02 03:04:05+02", "2024-01-02 03:04:05"], "stamp")
    assert lastmods.bulk() is None
    assert Lastmods(["2024-01-02 03:04:05.1234567"], "stamp").bulk() is None


def test_datetimes_are_formatted_in_utc_only() -> None:
    moment = dt.datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC)
    assert Lastmods([moment, moment]).bulk() == (
        ["2024-01-02T03:04:05", "2024-01-02T03:04:05"],
        "+00:00",
    )
    assert Lastmods([moment, moment.replace(tzinfo=None)]).bulk() is None
    assert Lastmods([moment, moment.date()]).bulk() is None


@pytest.mark.parametrize("alphabet", ["aé語🎉", "aé.", "aé=", "aé~!", "aé %"])
@given(data=st.data())
def test_a_column_is_encoded_as_each_of_its_values(
    alphabet: str, data: st.DataObject
) -> None:
    # Long enough for the lines of quoted-printable, which end after 76 characters.
    texts = st.text(alphabet, min_size=1, max_size=120)
    values = data.draw(st.lists(texts, min_size=1, max_size=4))
    route = Route("word", slug=F("slug")).compile()
    made = route.texts([values])
    assert made is not None
    first, last = route.pieces
    assert [f"{first}{text}{last}" for text in made[0]] == [
        route.exact([value]) for value in values
    ]
