"""
What every command does: set Django up, print its facts and a table, and exit.

The exit code says whether the outputs were right, never whether they were fast.
"""

from __future__ import annotations

import argparse
import atexit
import os
import platform
import shutil
import tempfile
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import django
from django.db import connection


def parser(description: str | None, *, rounds: int, rows: int | None = None) -> Any:
    """Return a parser of the options that all commands have."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument(
        "--database",
        default="sqlite",
        help="sqlite (the default), sqlite:///FILE, postgres://USER@HOST:PORT/NAME "
        "or mysql://USER@HOST:PORT/NAME; it is made and filled if need be",
    )
    made.add_argument(
        "--rounds", type=int, default=rounds, help="repetitions (default: %(default)s)"
    )
    if rows is not None:
        made.add_argument(
            "--rows", type=int, default=rows, help="rows (default: %(default)s)"
        )
    return made


def start(parser: argparse.ArgumentParser, argv: list[str] | None = None) -> Any:
    """Read the options, set Django up with them, and return them."""
    options = parser.parse_args(argv)
    kept = tempfile.mkdtemp(prefix="sitemaps-plus-benchmark-")
    atexit.register(shutil.rmtree, kept, ignore_errors=True)
    os.environ["BENCHMARK_DATABASE"] = options.database
    os.environ["BENCHMARK_KEPT"] = kept
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
    django.setup()
    return options


def facts() -> str:
    """Return what the numbers depend on beside the code."""
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
        """Add a ratio that ought to be ``target`` or more."""
        verdict = "PASS" if ratio >= target else "MISS"
        self.rows.append((what, f"{shown(ratio)} ({how})", f"≥ {target:g}", verdict))

    def at_most(self, what: str, ratio: float, how: str, *, target: float) -> None:
        """Add a ratio that ought to be ``target`` or less."""
        verdict = "PASS" if ratio <= target else "MISS"
        self.rows.append((what, f"{shown(ratio)} ({how})", f"≤ {target:g}", verdict))

    def note(self, what: str, value: str) -> None:
        """Add something that is only told."""
        self.rows.append((what, value, "", ""))

    def check(self, what: str, differences: list[str]) -> None:
        """Add whether two outputs were the same; others make the command fail."""
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
