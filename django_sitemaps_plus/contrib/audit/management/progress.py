"""How far a command is: a bar where rich is installed, plain lines otherwise."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django_sitemaps_plus.contrib.audit.asking import Progress
from django_sitemaps_plus.management.utils import SitemapsCommand

#: rich's bars, or plain lines where the extra "cli" is not installed.
_rich: Any
try:
    from rich import console as _console
    from rich import progress as _rich
except ImportError:
    _rich = None


@contextmanager
def progress(command: SitemapsCommand, label: str, text: str) -> Iterator[Progress]:
    """
    Give what shows on stderr how far one is: with the rate and the remaining time.

    ``text`` is the plain line, with two places for numbers.
    """
    if _rich is None or command.is_quiet or not command.stderr.isatty():
        yield _lines(command, text)
        return
    columns = (
        _rich.TextColumn("{task.description}"),
        _rich.BarColumn(),
        _rich.MofNCompleteColumn(),
        _rich.TextColumn("{task.fields[rate]}"),
        _rich.TimeRemainingColumn(),
    )
    console = _console.Console(stderr=True)
    with _rich.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=None, rate="")
        started = time.monotonic()

        def show(done: int, total: int) -> None:
            rate = per_second(done, time.monotonic() - started)
            bar.update(task, completed=done, total=total, rate=rate)

        yield show


def _lines(command: SitemapsCommand, text: str) -> Progress:
    """Return what prints plain lines: after some seconds also rate and rest."""
    write = command.progress("{}")
    started = time.monotonic()

    def show(done: int, total: int) -> None:
        seconds = time.monotonic() - started
        line = text.format(done, total)
        if seconds >= 1 and 0 < done < total:
            rest = remaining(seconds / done * (total - done))
            line += f", {per_second(done, seconds)}, {rest} left"
        write(line)

    return show


def per_second(done: int, seconds: float) -> str:
    """Return a rate in words: "12.5 a second"."""
    return f"{done / max(seconds, 0.001):,.1f} a second"


def remaining(seconds: float) -> str:
    """Return a duration in words: "1 h 5 min", "3 min 20 s", "8 s"."""
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"
