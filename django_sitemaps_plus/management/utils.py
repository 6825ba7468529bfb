"""What the commands share: exit codes, errors, progress, a polite end."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from django_sitemaps_plus.db import tables_are_missing, tables_exist
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.pagination.deploys import as_command
from django_sitemaps_plus.pagination.queries import ledger
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import (
    Site,
    SiteAddress,
    address_advice,
    known_sites,
    working_for,
)
from django_sitemaps_plus.sitemaps.tenants import Tenant

#: The exit code of what cannot be done; what failed has that of ``CommandError``, 1.
MISUSED = 2


def misused(text: str) -> CommandError:
    """Return the error of what cannot be done as it was asked for: it ends with 2."""
    return CommandError(text, returncode=MISUSED)


#: Seconds between two lines of progress.
LINE_EVERY = 2.0


class SitemapsCommand(BaseCommand):
    """
    A command that ends with 0, with 1 and one sentence, or with 2 if misused.

    With ``--verbosity 0`` it prints errors only, and JSON where that is asked for.
    """

    #: Whether to print nothing but errors.
    is_quiet = False
    #: Whether somebody has stopped it: it works for no other site either.
    is_stopped = False

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        """Add the option that all commands have."""
        parser = super().create_parser(*args, **kwargs)
        parser.add_argument(
            "--site",
            default="",
            help="where several sites share a database: the number or domain of a Site "
            "of the sites framework, or the name of one of SITES",
        )
        return parser

    def run_from_argv(self, argv: list[str]) -> None:
        """Run as a command; Ctrl+C ends it without a traceback."""
        try:
            super().run_from_argv(argv)
        except KeyboardInterrupt:
            raise SystemExit(128 + signal.SIGINT) from None

    def handle(self, *, site: str, **options: Any) -> None:
        """Do the work for a site, or for each that this process has; end as it went."""
        self.is_quiet = options["verbosity"] == 0
        with _sentences(), _polite_stop(), as_command():
            sites = _sites(self, site, options)
            problems = [self._run_for(one, len(sites) > 1, options) for one in sites]
        if any(problems):
            raise CommandError("\n".join(filter(None, problems)))

    def _run_for(self, site: Site, is_one_of_many: bool, options: Any) -> str:
        with working_for(site):
            if not is_one_of_many:
                return self.run(**options)
            self.say(f"Site {site.label!r}:")
            if site.tenant and site.base_url is None:
                # Nobody reaches this tenant: there is nothing to do for it.
                self.say(f"Skipped. {_unknown_address()}")
                return ""
            try:
                with _sentences():
                    problem = self.run(**options)
            except CommandError as error:
                if error.returncode == MISUSED or self.is_stopped:
                    raise
                # The others are worked for.
                problem = str(error)
            # Which of them is wrong, an exit code does not say.
            return f"Site {site.label}: {problem}" if problem else problem

    def chosen(self, sites: list[Site], options: Mapping[str, Any]) -> list[Site]:
        """Return the sites to work for, of all of this process."""
        return sites

    def run(self, *args: Any, **options: Any) -> str:
        """Do the work; return what is wrong in the end, or an empty text."""
        raise NotImplementedError

    def site_address(self) -> SiteAddress:
        """Return the site's address; ``CommandError`` if it is not configured."""
        site = Site.current().address()
        if site is None:
            raise misused(_unknown_address())
        return site

    def missing_tables(self) -> str:
        """Return what to say if there are no tables, as a sentence; else ""."""
        return "" if tables_exist(ledger()) else tenants.tables_missing(ledger())

    def say(self, text: str, *, is_error: bool = False) -> None:
        """Print what was done or found; if only errors are wanted, only those."""
        if not self.is_quiet:
            self.stdout.write(text)
        elif is_error:
            self.complain(text)

    def warn(self, text: str) -> None:
        """Print a warning."""
        if not self.is_quiet:
            self.stderr.write(text, style_func=self.style.WARNING)

    def complain(self, text: str) -> None:
        """Print an error."""
        self.stderr.write(text, style_func=self.style.ERROR)

    def print_json(self, **document: Any) -> None:
        """Print one JSON object."""
        text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
        self.stdout.write(text)

    def progress(self, text: str) -> Callable[..., None]:
        """Return what prints a line of progress, at most every other second."""
        last = time.monotonic()

        def write(*values: Any) -> None:
            nonlocal last
            if not self.is_quiet and time.monotonic() - last >= LINE_EVERY:
                last = time.monotonic()
                self.stderr.write(text.format(*values), style_func=str)

        return write


@contextmanager
def _sentences() -> Iterator[None]:
    """Turn what a project or its database does wrong into a ``CommandError``."""
    try:
        yield
    except SitemapsPlusError as error:
        raise CommandError(str(error)) from error
    except DatabaseError as error:
        text = f"The database failed: {error}"
        if tables_are_missing(ledger()):
            text = tenants.tables_missing(ledger())
        raise CommandError(text) from error


@contextmanager
def _polite_stop() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl+C does, so that it gives its claims back."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        # Called by a process that has its own way to end.
        yield
        return
    signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _stop(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def _sites(
    command: SitemapsCommand, named: str, options: Mapping[str, Any]
) -> list[Site]:
    """Return the sites to work for; raises ``CommandError`` if that is not clear."""
    if named:
        try:
            return [Site.called(named)]
        except LookupError as error:
            raise misused(f"--site: {error}") from error
    sites = Site.of_process()
    if tenants.configured() and tenants.current_tenant_key() not in tenants.all_keys():
        # As django-tenants' public schema, which has no tables of this package.
        return _sites_of_tenants(sites[0])
    if Site.default().is_chosen_by_request and not sites:
        raise misused(
            "Each request decides which Site it is for, and a command has none: say "
            "--site, or set SITE_ID, or SITEMAPS_PLUS['BASE_URL'] for a single site. "
            f"{known_sites()}"
        )
    sites = command.chosen(sites, options)
    if len(sites) > 1 and options.get("format") == "json":
        raise misused(f"--format json prints one object: say --site. {known_sites()}")
    names = [*options.get("sections", ()), *options.get("section", ())]
    return [site for site in sites if _has_sections(site, names)] or sites[:1]


def _has_sections(site: Site, names: Iterable[str]) -> bool:
    with working_for(site):
        return set(names) <= set(registry.sources())


def _sites_of_tenants(site: Site) -> list[Site]:
    """Return the site of each tenant; raises ``CommandError`` if there is none."""
    found = [replace(site, tenant=Tenant(key)) for key in tenants.all_keys()]
    if not found:
        raise CommandError(
            "No tenant has the tables of django_sitemaps_plus: run 'manage.py "
            "migrate_schemas', or migrate the database of each tenant."
        )
    return found


def _unknown_address() -> str:
    return f"The site's address is not known outside of a request. {address_advice()}"


def named_sections(names: Iterable[str]) -> list[str]:
    """Return the sections that are named; raises ``CommandError`` if one is not."""
    return known_only(names, list(registry.sources()), "section")


def known_only(names: Iterable[str], known: Sequence[str], what: str) -> list[str]:
    """Return names, each once; raises ``CommandError`` if one is not known."""
    named = list(dict.fromkeys(names))
    for name in named:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            there_are = f"There are: {', '.join(known) or 'none'}."
            hint = f"Did you mean {close[0]!r}?" if close else there_are
            raise misused(f"There is no {what} {name!r}. {hint}")
    return named


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number and what it counts: "1 page", "2 pages"."""
    return f"1 {one}" if number == 1 else f"{number:,} {many or one + 's'}"
