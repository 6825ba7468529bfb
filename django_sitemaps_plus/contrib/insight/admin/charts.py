"""
Small charts as inline SVG: numbers become rectangles, and nothing needs a script.

Positions are texts, because templates write numbers as the language does. Colours come
from classes of the stylesheet. Beside each chart its numbers stand in a table.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import formats

from . import display

#: The size of a chart in the units of its own.
_WIDTH, _HEIGHT = 320, 120
#: What the labels below, and beside horizontal bars, take of it.
_LABELS, _NAMES, _NUMBERS = 18, 120, 58
#: Of how many times the usual day a day is cut, and how many days are at most.
_FAR, _CUT = 4, 2
#: The height of a horizontal bar with its space, and of the bar alone.
_LINE, _BAR = 20, 13


@dataclass
class Chart:
    """A chart with its numbers: rows of texts below the ``columns``."""

    title: str
    #: What it shows in a sentence, for those who do not see it.
    summary: str
    columns: Sequence[Any]
    #: What its colours mean, by the class.
    legend: Sequence[tuple[str, Any]] = ()
    height: int = _HEIGHT
    rects: list[dict[str, str]] = field(default_factory=list)
    labels: list[dict[str, str]] = field(default_factory=list)
    rows: list[Sequence[str]] = field(default_factory=list)

    @property
    def box(self) -> str:
        """The viewBox."""
        return f"0 0 {_WIDTH} {self.height}"

    def bar(self, at: dict[str, float], kind: str, title: str = "") -> None:
        """
        Add a bar, or a part of one.

        ``kind`` is the class that colours it, and ``title`` what hovering shows.
        """
        texts = {name: _text(value) for name, value in at.items()}
        self.rects.append({**texts, "kind": kind, "title": title})

    def label(self, x: float, y: float, anchor: str, text: str) -> None:
        """Add a text; ``anchor`` is where it starts, ends or has its middle."""
        at = {"x": _text(x), "y": _text(y)}
        self.labels.append({**at, "anchor": anchor, "text": text})


def by_day(chart: Chart, days: Mapping[dt.date, Sequence[int | None]]) -> Chart:
    """
    Draw a bar for each day, of parts that stand on each other.

    ``days`` has the numbers of each part of ``chart.legend``; None where nothing is
    known.
    """
    most = _highest([sum(value or 0 for value in parts) for parts in days.values()])
    step = _WIDTH / len(days)
    room = _HEIGHT - _LABELS - 12
    for index, (day, parts) in enumerate(days.items()):
        below = 0.0
        said = formats.date_format(day, "SHORT_DATE_FORMAT")
        total = sum(value or 0 for value in parts)
        for (kind, word), value in zip(chart.legend, parts, strict=True):
            if not value:
                continue
            # What is not nothing can be seen.
            height = max(1.0, value / max(most, total) * room)
            below += height
            x, y = index * step + step * 0.1, _HEIGHT - _LABELS - below
            at = {"x": x, "y": y, "width": step * 0.8, "height": height}
            chart.bar(at, kind, f"{said}: {display.number(value)} {word}")
        if total > most:
            # The gap shows that the bar is cut.
            y = (_HEIGHT - _LABELS + 12) / 2
            at = {"x": index * step, "y": y, "width": step, "height": 4}
            chart.bar(at, "sitemaps-cut")
            is_late = index >= len(days) / 2
            x = (index + 1) * step if is_late else max(index * step, _NUMBERS)
            chart.label(x, 9, "end" if is_late else "start", display.number(total))
        if any(value is not None for value in parts):
            chart.rows.append((said, *(display.number(value or 0) for value in parts)))
    chart.rows.reverse()
    first, last = (
        formats.date_format(day, "MONTH_DAY_FORMAT") for day in (min(days), max(days))
    )
    chart.label(0, _HEIGHT - 4, "start", first)
    chart.label(_WIDTH, _HEIGHT - 4, "end", last)
    chart.label(0, 9, "start", display.number(most))
    return chart


def _highest(totals: Sequence[int]) -> int:
    """Return what the highest bar stands for: a day or two far above all are cut."""
    some = sorted(filter(None, totals)) or [0]
    usual = [one for one in some if one <= _FAR * some[(len(some) - 1) // 2]]
    return usual[-1] if len(some) - len(usual) <= _CUT else some[-1]


def by_name(chart: Chart, names: Mapping[str, Sequence[int]]) -> Chart:
    """Draw a horizontal bar for each name, of parts that stand beside each other."""
    most = max((sum(parts) for parts in names.values()), default=0) or 1
    room = _WIDTH - _NAMES - _NUMBERS
    for index, (name, parts) in enumerate(names.items()):
        y, x = index * _LINE, float(_NAMES)
        for (kind, word), value in zip(chart.legend, parts, strict=True):
            if value:
                width = max(1.0, value / most * room)
                top = y + (_LINE - _BAR) / 2
                at = {"x": x, "y": top, "width": width, "height": _BAR}
                chart.bar(at, kind, f"{name}: {display.number(value)} {word}")
                x += width
        middle = y + _LINE / 2 + 4
        chart.label(_NAMES - 6, middle, "end", _short(name))
        chart.label(x + 5, middle, "start", display.number(sum(parts)))
        chart.rows.append((name, *map(display.number, parts)))
    chart.height = max(1, len(names)) * _LINE
    return chart


def _short(name: str) -> str:
    return name if len(name) <= 18 else f"{name[:17]}…"


def _text(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
