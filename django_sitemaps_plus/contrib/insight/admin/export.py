"""What a list shows as CSV, for a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.text import capfirst
from django.utils.translation import gettext

from django_sitemaps_plus.protocol.dates import moment
from django_sitemaps_plus.protocol.markup import cell

#: Rows of a file at most, and of one query.
MOST, _ROWS = 100_000, 2_000

#: What stands in a file, by the headings of its columns.
Columns = Mapping[Any, Callable[[Any], Any]]


def csv_of(name: str, rows: QuerySet[Any], columns: Columns) -> HttpResponse:
    """Return some rows as a file, the newest first, and say so if it is not all."""
    response = HttpResponse(
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
    )
    # By this mark spreadsheets see that it is UTF-8.
    response.write("\ufeff")
    writer = csv.writer(response)
    writer.writerow(capfirst(str(heading)) for heading in columns)
    for number, row in enumerate(_newest_first(rows)):
        if number == MOST:
            text = gettext("There are more rows: choose filters to export the rest.")
            writer.writerow([text])
            break
        writer.writerow(cell(value(row)) for value in columns.values())
    return response


def _newest_first(rows: QuerySet[Any]) -> Iterator[Any]:
    """Yield rows by a query for some at a time: ``iterator()`` would copy them all."""
    rows = some = rows.order_by("-pk")
    while read := list(some[:_ROWS]):
        yield from read
        some = rows.filter(pk__lt=read[-1].pk)


def time_of(seconds: float | None) -> str:
    """Return a time as a spreadsheet reads it, in UTC; empty for none."""
    return f"{moment(seconds):%Y-%m-%d %H:%M:%S}" if seconds else ""
