"""``manage.py check_sitemaps``: how the sections stand, and what would be better."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from textwrap import indent
from typing import Any

from django.core.checks import ERROR, CheckMessage, run_checks

from django_sitemaps_plus.audit import suggestions
from django_sitemaps_plus.audit.suggestions import Progress, Suggestion
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.management.utils import SitemapsCommand, counted
from django_sitemaps_plus.pagination.queries import pages
from django_sitemaps_plus.publishing import status
from django_sitemaps_plus.publishing.status import SectionState
from django_sitemaps_plus.sitemaps import sections as declared_sections
from django_sitemaps_plus.sitemaps.registry import registry

#: rich's bars, or plain lines where the extra "cli" is not installed.
_rich: Any
try:
    from rich import console as _console
    from rich import progress as _rich
except ImportError:
    _rich = None


class Command(SitemapsCommand):
    """Say how each section stands, or suggest what puts it on the row path."""

    help = (
        "Run this app's system checks, and say of all sections, or of those named, "
        "how they are paged and read, how many pages they have, and what to do next. "
        "Nothing is changed. Ends with 0 when done, 1 if a check or a page is in error "
        "or the database fails, 2 if misused."
    )
    # Only this app's are run, and printed, by run().
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "sections",
            nargs="*",
            metavar="SECTION",
            help="the sections to check; all if none is named",
        )
        parser.add_argument(
            "--suggest",
            action="store_true",
            help="look for the Route and the expressions that give what the methods of "
            "a section give, compare them on every row, and print what holds; no "
            "checks are run",
        )
        parser.add_argument(
            "--format",
            choices=["text", "json"],
            default="text",
            help="what to print: sentences, or one JSON object",
        )

    def run(
        self,
        *,
        sections: list[str],
        suggest: bool,
        format: str,  # noqa: A002 (the option's name)
        **options: Any,
    ) -> str:
        """Check each section; errors at the end."""
        names = utils.sections(sections) or list(registry.sources())
        work = self._suggest if suggest else self._report
        failed = work(names, as_json=format == "json")
        return f"In error: {', '.join(failed)}." if failed else ""

    # How they stand

    def _report(self, names: list[str], *, as_json: bool) -> list[str]:
        """Print how the sections stand; returns what is in error."""
        messages = [
            message
            for message in run_checks(tags=["sitemaps_plus"], databases=[pages().db])
            if not message.is_silenced()
        ]
        states = [status.state(name) for name in names]
        if as_json:
            self.print_json(
                checks=list(map(_check_as_dict, messages)),
                sections=list(map(asdict, states)),
            )
        else:
            for message in messages:
                self.stdout.write(str(message))
            for state in states:
                self._print_state(state)
            if not names:
                self.stdout.write(_NOTHING)
        failed = [str(message.id) for message in messages if message.level >= ERROR]
        return failed + [state.name for state in states if state.errors]

    def _print_state(self, state: SectionState) -> None:
        lines = [f"Section {state.name!r}:"]
        if state.key:
            lines.append(f"  Paged by key ({', '.join(state.key)}).")
        elif state.by_position:
            lines.append(f"  Paged by position: {state.by_position}.")
        if state.object_path:
            lines.append(f"  On the object path: {state.object_path}.")
        elif state.key:
            lines.append("  On the row path: it declares no method.")
        if state.key:
            lines.append(f"  {_ledger(state)}")
        lines += [f"  Row {key} is left out: {why}" for key, why in state.problems]
        lines += [f"  In error: {error}" for error in state.errors]
        lines.append(f"  Next: {state.next or 'nothing to do'}")
        self.stdout.write("\n".join(lines))

    # What would be better

    def _suggest(self, names: list[str], *, as_json: bool) -> list[str]:
        """Suggest what puts sections on the row path; returns those that failed."""
        found: list[Suggestion] = []
        failed = []
        for name in names:
            try:
                source = declared_sections.source(name)
            except (SitemapsPlusError, TypeError) as error:
                # The other sections are none the worse for it.
                self.stderr.write(self.style.ERROR(f"Section {name!r}: {error}"))
                failed.append(name)
                continue
            with self._progress(name) as progress:
                found.append(suggestions.suggest(source, progress))
            if not as_json:
                self._print_suggestion(found[-1])
        if as_json:
            self.print_json(sections=list(map(_suggestion_as_dict, found)))
        elif not names:
            self.stdout.write(_NOTHING)
        return failed

    def _print_suggestion(self, found: Suggestion) -> None:
        start = f"Section {found.name!r}"
        if not found.reason:
            self.stdout.write(f"{start} is on the row path already.")
            return
        where = f"{start} is on the object path, because {found.reason}"
        refused = [
            f"  {name}: {why.rstrip('.')}." for name, why in found.refused.items()
        ]
        if not found.proved:
            lines = [f"{where}. Nothing can be suggested:", *refused]
        else:
            lines = [
                f"{where}. {_promise(found)}",
                "",
                indent(found.code, "    "),
                f"Proved on {counted(found.rows, 'row')}.",
                *(f"  {note}" for note in found.notes),
            ]
            if refused:
                lines += ["It stays on the object path:", *refused]
        self.stdout.write("\n".join(lines))

    @contextmanager
    def _progress(self, name: str) -> Iterator[Progress]:
        """Give what shows how far one is, on stderr: a bar, or lines without rich."""
        if _rich is None or not self.stderr.isatty():
            yield self.progress(f"Section {name!r}: {{:,}} of {{:,}} rows compared")
            return
        console = _console.Console(stderr=True)
        with _rich.Progress(console=console, transient=True) as bar:
            task = bar.add_task(f"Section {name!r}", total=None)
            yield lambda rows, total: bar.update(task, completed=rows, total=total)


_NOTHING = (
    "Nothing to check: no sitemap is registered. Add @register to a Sitemap class in "
    "an app's sitemaps.py."
)


def _ledger(state: SectionState) -> str:
    if state.filled is None:
        return "The tables are missing."
    pages = counted(state.pages, "page")
    if not state.filled:
        so_far = f": {pages} so far" if state.pages else ""
        return f"The page boundaries are yet to be found{so_far}."
    built = "built" if state.pages == 1 else "all built"
    if state.unbuilt == state.pages:
        built = "not built yet"
    elif state.unbuilt:
        built = f"{state.pages - state.unbuilt:,} of them built"
    entries = counted(state.entries, "entry", "entries")
    return f"{pages}, {built}, with {entries} and {counted(state.bad, 'bad row')}."


def _promise(found: Suggestion) -> str:
    if found.gets_there:
        return "This puts it on the row path:"
    return "This does without some of its methods:"


def _check_as_dict(message: CheckMessage) -> dict[str, Any]:
    return {
        "id": message.id,
        "level": message.level,
        "message": message.msg,
        "hint": message.hint,
    }


def _suggestion_as_dict(found: Suggestion) -> dict[str, Any]:
    return {
        "name": found.name,
        "object_path": found.reason,
        "rows": found.rows,
        "proved": {name: claim.code for name, claim in found.proved.items()},
        "refused": found.refused,
        "gets_to_row_path": found.gets_there,
        "code": found.code,
        "notes": found.notes,
    }
