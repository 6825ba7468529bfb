"""
What every command does: set Django up, print its facts and a table, and exit.

The exit code says whether the outputs were right, never whether they were fast.
"""

from __future__ import annotations

import argparse
import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import django
from django.db import connection


def parser(description: str | None, *, rounds: int, rows: int | None = None) -> Any:
    """Return a parser with the options of all commands."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument(
        "--database",
        default="sqlite",
        help="sqlite (the default), sqlite:///FILE, postgres://USER@HOST:PORT/NAME "
        "or mysql://USER@HOST:PORT/NAME; created and filled if need be",
    )
    made.add_argument(
        "--rounds", type=int, default=rounds, help="repetitions (default: %(default)s)"
    )
    if rows is not None:
        made.add_argument(
            "--rows", type=int, default=rows, help="rows (default: %(default)s)"
        )
    return made


def start(parser: argparse.ArgumentParser, *sections: str, engine: int = 0) -> Any:
    """
    Read the options, set Django up with them, and return them.

    Only the ``sections`` are registered; ``engine`` is the port of a listener. The
    processes that this one starts have the same.
    """
    options = parser.parse_args()
    os.environ["BENCHMARK_DATABASE"] = options.database
    if sections:
        os.environ["BENCHMARK_SECTIONS"] = " ".join(sections)
    if engine:
        os.environ["BENCHMARK_ENGINE"] = str(engine)
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
    django.setup()
    return options


def facts() -> str:
    """Return what the numbers depend on besides the code."""
    try:
        gzip = f"isal {version('isal')}"
    except PackageNotFoundError:
        gzip = "zlib"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return (
        f"Python {platform.python_version()}, Django {django.get_version()}, "
        f"{connection.display_name} {database_version()}, "
        f"{cores or os.cpu_count()} cores, {gzip}"
    )


def database_version() -> str:
    """Return the database's version."""
    numbers = connection.get_database_version()
    return ".".join(map(str, numbers))


def shown(ratio: float) -> str:
    """Return a ratio with three digits that mean something."""
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


@dataclass
class Report:
    """The table of one command."""

    title: str
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def at_least(self, what: str, ratio: float, how: str, *, target: float) -> None:
        """Add a number that should be ``target`` or more."""
        verdict = "PASS" if ratio >= target else "MISS"
        self.rows.append((what, f"{shown(ratio)} ({how})", f"≥ {target:g}", verdict))

    def at_most(self, what: str, ratio: float, how: str, *, target: float) -> None:
        """Add a number that should be ``target`` or less."""
        verdict = "PASS" if ratio <= target else "MISS"
        self.rows.append((what, f"{shown(ratio)} ({how})", f"≤ {target:g}", verdict))

    def note(self, what: str, value: str) -> None:
        """Add a number without a target."""
        self.rows.append((what, value, "", ""))

    def check(self, what: str, differences: list[str]) -> None:
        """Add whether outputs are right; the command fails if not."""
        self.differences += differences
        verdict = "FAIL" if differences else "PASS"
        self.rows.append((what, f"{len(differences)} differences", "0", verdict))

    def finish(self) -> int:
        """Print the table, and return the exit code: 1 if any output differed."""
        print(f"\n## {self.title}\n\n{facts()}\n")
        print("| what | measured | target | |\n|---|---|---|---|")
        for row in self.rows:
            print(f"| {' | '.join(row)} |")
        for difference in self.differences[:20]:
            print(f"DIFFERENT: {difference}")
        return 1 if self.differences else 0
