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


@dataclass(frozen=True)
class Rect:
    """A bar, or a part of one."""

    x: str
    y: str
    width: str
    height: str
    #: The class that colours it.
    kind: str
    #: What hovering shows.
    title: str


@dataclass(frozen=True)
class Label:
    """A text in a chart; ``anchor`` is where it starts, ends or has its middle."""

    x: str
    y: str
    anchor: str
    text: str


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
    rects: list[Rect] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    rows: list[Sequence[str]] = field(default_factory=list)

    @property
    def box(self) -> str:
        """The viewBox."""
        return f"0 0 {_WIDTH} {self.height}"


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
            chart.rects.append(
                Rect(
                    _text(index * step + step * 0.1),
                    _text(_HEIGHT - _LABELS - below - height),
                    _text(step * 0.8),
                    _text(height),
                    kind,
                    f"{said}: {display.number(value)} {word}",
                )
            )
            below += height
        if total > most:
            chart.rects.append(_break(index * step, step))
            is_late = index >= len(days) / 2
            at = (index + 1) * step if is_late else max(index * step, _NUMBERS)
            label = _text(at), "9", "end" if is_late else "start"
            chart.labels.append(Label(*label, display.number(total)))
        if any(value is not None for value in parts):
            chart.rows.append((said, *(display.number(value or 0) for value in parts)))
    chart.rows.reverse()
    first, last = (
        formats.date_format(day, "MONTH_DAY_FORMAT") for day in (min(days), max(days))
    )
    bottom = _text(_HEIGHT - 4)
    chart.labels += [
        Label("0", bottom, "start", first),
        Label(_text(_WIDTH), bottom, "end", last),
        Label("0", "9", "start", display.number(most)),
    ]
    return chart


def _highest(totals: Sequence[int]) -> int:
    """Return what the highest bar stands for: a day or two far above all are cut."""
    some = sorted(filter(None, totals)) or [0]
    usual = [one for one in some if one <= _FAR * some[(len(some) - 1) // 2]]
    return usual[-1] if len(some) - len(usual) <= _CUT else some[-1]


def _break(x: float, width: float) -> Rect:
    """Return the gap that shows that a bar is cut."""
    middle = _text((_HEIGHT - _LABELS + 12) / 2)
    return Rect(_text(x), middle, _text(width), "4", "sitemaps-cut", "")


def by_name(chart: Chart, names: Mapping[str, Sequence[int]]) -> Chart:
    """Draw a horizontal bar for each name, of parts that stand beside each other."""
    most = max((sum(parts) for parts in names.values()), default=0) or 1
    room = _WIDTH - _NAMES - _NUMBERS
    for index, (name, parts) in enumerate(names.items()):
        y, x = index * _LINE, float(_NAMES)
        for (kind, word), value in zip(chart.legend, parts, strict=True):
            if value:
                width = max(1.0, value / most * room)
                title = f"{name}: {display.number(value)} {word}"
                top = _text(y + (_LINE - _BAR) / 2)
                chart.rects.append(
                    Rect(_text(x), top, _text(width), str(_BAR), kind, title)
                )
                x += width
        middle = _text(y + _LINE / 2 + 4)
        chart.labels += [
            Label(_text(_NAMES - 6), middle, "end", _short(name)),
            Label(_text(x + 5), middle, "start", display.number(sum(parts))),
        ]
        numbers = [display.number(value) for value in parts]
        chart.rows.append((name, *numbers))
    chart.height = max(1, len(names)) * _LINE
    return chart


def _short(name: str) -> str:
    return name if len(name) <= 18 else f"{name[:17]}…"


def _text(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
