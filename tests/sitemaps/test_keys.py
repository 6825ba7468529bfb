"""Keys are stored as text, and only ever compared by the rows' own database."""

from __future__ import annotations

import datetime as dt
import json
import random
import uuid
from typing import Any

import pytest
from django.apps.registry import Apps
from django.db import models
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.sitemaps.keys import Key, key_of
from tests.support.ledger_kinds import KINDS, Kind
from tests.testapp.models import Article, ByPair, Note, Story


@pytest.mark.usefixtures("ledger_tables")
@pytest.mark.django_db(databases=["default", "other"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
@pytest.mark.costly
def test_bounds_cut_where_the_database_sorts(kind: Kind) -> None:
    ordered = kind.universe(random.Random(7))  # noqa: S311 (nothing secret)
    named = [dict(zip(kind.columns, row, strict=True)) for row in ordered]
    kind.insert([{**row, "slug": f"r{rank}-0"} for rank, row in enumerate(named)])
    key = key_of(kind.all(), kind.page_by)

    def found(rows: models.QuerySet[Any]) -> list[tuple[Any, ...]]:
        return list(rows.order_by(*kind.columns).values_list(*kind.columns))

    step = max(1, len(ordered) // 12)
    for rank in [*range(0, len(ordered), step), len(ordered) - 1]:
        text = key.dumps(ordered[rank])
        assert all(isinstance(part, str) for part in json.loads(text))
        bound = key.loads(text)
        assert bound == ordered[rank]
        assert found(key.where(kind.all(), "lt", bound)) == ordered[:rank]
        assert found(key.where(kind.all(), "gte", bound)) == ordered[rank:]
        assert found(key.where(kind.all(), "gt", bound)) == ordered[rank + 1 :]
    assert found(kind.all().filter(key.among(ordered[::step]))) == ordered[::step]
    # A bound is still one when its row is deleted.
    middle = len(ordered) // 2
    kind.all().filter(**named[middle]).delete()
    rows = key.where(kind.all(), "gte", ordered[middle])
    rows = key.where(rows, "lt", ordered[-1]).order_by(*key.names)
    assert list(rows.values_list(*kind.columns)) == ordered[middle + 1 : -1]


# Compared by the database


# Stored as text

_ADDRESS = models.GenericIPAddressField()

VALUES: dict[type[models.Field[Any, Any]], st.SearchStrategy[Any]] = {
    models.BigIntegerField: st.integers(-(2**63), 2**63 - 1),
    models.TextField: st.text(st.characters(exclude_categories=["Cs"])),
    models.UUIDField: st.uuids(),
    models.DateField: st.dates(),
    models.TimeField: st.times(),
    models.DateTimeField: st.datetimes(timezones=st.just(dt.UTC)),
    models.DurationField: st.timedeltas(),
    models.FloatField: st.floats(allow_nan=False, allow_infinity=False),
    models.BooleanField: st.booleans(),
    models.BinaryField: st.binary(),
    models.GenericIPAddressField: st.ip_addresses().map(str).map(_ADDRESS.to_python),
}


@pytest.mark.parametrize("field", VALUES, ids=lambda field: str(field.__name__))
@pytest.mark.costly
def test_any_value_comes_back_as_it_was(field: type[models.Field[Any, Any]]) -> None:
    column = field()
    column.set_attributes_from_name("column")
    key = Key(model=Article, fields=(column,))

    @given(VALUES[field])
    def comes_back(value: Any) -> None:
        assert key.loads(key.dumps((value,))) == (value,)

    comes_back()


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers())
def test_parts_of_a_key_never_run_together(code: str, shop: int) -> None:
    key = key_of(ByPair.objects.all(), "pk")
    assert key.loads(key.dumps((shop, code))) == (shop, code)
    assert key.dumps((3, "ä")) == '["3", "ä"]', "short and readable"


def test_a_key_is_taken_from_an_instance() -> None:
    assert key_of(Note.objects.all(), "number").of(Note(number=4)) == (4,)
    assert key_of(ByPair.objects.all(), "pk").of(ByPair(shop=1, code="x")) == (1, "x")
    assert key_of(Story.objects.all(), "pk").of(Story(article_ptr_id=9)) == (9,)


# What bounds depend on


def model(name: str, **fields: models.Field[Any, Any]) -> type[models.Model]:
    meta = type("Meta", (), {"app_label": "keys", "apps": Apps()})
    return type(name, (models.Model,), {"__module__": __name__, "Meta": meta, **fields})


def signature(made: type[models.Model], page_by: str = "pk") -> str:
    return key_of(models.QuerySet(made), page_by).signature


def test_another_column_type_or_collation_voids_the_bounds() -> None:
    text = {"primary_key": True, "max_length": 9}
    made = [
        model("Item", id=models.BigAutoField(primary_key=True)),
        model("Item", id=models.UUIDField(primary_key=True, default=uuid.uuid4)),
        *(
            model("Item", code=models.CharField(**text, db_collation=collation))
            for collation in (None, "C", "POSIX")
        ),
        model("Other", id=models.BigAutoField(primary_key=True)),
    ]
    signatures = [signature(item) for item in made]
    assert len(set(signatures)) == len(signatures)
    assert signature(Note) != signature(Note, "number")
    assert signature(Note) == signature(Note, "id")
    # Moving to BigAutoField leaves the order of the keys, so the bounds hold.
    assert signature(model("Item", id=models.AutoField(primary_key=True))) in signatures


@pytest.mark.django_db
def test_a_key_of_many_long_columns_fits_the_ledger() -> None:
    parts = [f"a_column_with_quite_a_long_name_that_ends_in_{end}" for end in "abcdef"]

    def wide(name: str) -> str:
        columns = {part: models.IntegerField() for part in parts}
        pk = models.CompositePrimaryKey(*parts)
        return signature(model(name, pk=pk, **columns))

    section = Section.objects.create(name="wide", key=wide("Wide"))
    section.refresh_from_db()
    assert section.key == wide("Wide")
    assert section.key != wide("Wider")


# What cannot page


LOOSE = model("Loose", code=models.IntegerField(unique=True, null=True))


@pytest.mark.parametrize(
    ("queryset", "page_by", "message"),
    [
        (Article.objects.all(), "slug", "may repeat or be NULL"),
        (Article.objects.all(), "tags", r"no such column\..* paged by: id\.$"),
        (Note.objects.all(), "numbr", r"paged by: id, number\.$"),
        (models.QuerySet(LOOSE), "code", "may repeat or be NULL"),
    ],
)
def test_a_column_that_cannot_page_is_refused(
    queryset: Any, page_by: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        key_of(queryset, page_by)
