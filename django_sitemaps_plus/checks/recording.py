"""Checks of what is recorded of a project's changes, and of what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage
from django.core.exceptions import FieldError
from django.db import NotSupportedError, connections, router
from django.db.models import Model, deletion

from django_sitemaps_plus.changes import receivers
from django_sitemaps_plus.changes.dependencies import Dependencies, dependencies
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import aliases_of, clock_sql
from django_sitemaps_plus.exceptions import ConfigurationError, RouteError
from django_sitemaps_plus.pagination.queries import ledger
from django_sitemaps_plus.sitemaps.keys import Key
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site

from .messages import check, message

#: What the database itself does when a foreign key's target is deleted (Django 6.1).
_IN_DATABASE: Any = getattr(deletion, "DatabaseOnDelete", ())
_DB_CASCADE: Any = getattr(deletion, "DB_CASCADE", None)


@check()
def check_vendor(**kwargs: Any) -> Iterator[CheckMessage]:
    """E003: a database that this package does not know."""
    using = ledger()
    try:
        clock_sql(connections[using].vendor)
    except NotSupportedError as error:
        yield message(
            "E003",
            f"The tables of django_sitemaps_plus are in the database {using!r}, and "
            f"{error}.",
            "Have a router choose a SQLite, PostgreSQL, MySQL or MariaDB database for "
            "the app 'sitemaps_plus'.",
        )


@check()
def check_contention(**kwargs: Any) -> Iterator[CheckMessage]:
    """W024, where a worker is one more process that writes."""
    yield from _check_contention(has_worker=True)


@check(deploy=True)
def check_contention_deployed(**kwargs: Any) -> Iterator[CheckMessage]:
    """W024, where somebody checks a deployment."""
    yield from _check_contention(has_worker=False)


def _check_contention(*, has_worker: bool) -> Iterator[CheckMessage]:
    if isinstance(get_settings().BACKGROUND, bool) == has_worker:
        return
    for alias in sorted(receivers.contended()):
        yield message(
            "W024",
            f"The database {alias!r} is SQLite, and its transactions take the lock "
            "late. While another process writes, deleting listed objects may fail "
            'at once with "database is locked", whatever the timeout. Changes of '
            "many-to-many relations are not recorded: the next comparison finds them.",
            f"Add 'transaction_mode': 'IMMEDIATE' to DATABASES[{alias!r}]['OPTIONS'].",
        )


def check_database(source: SectionSource, key: Key) -> Iterator[CheckMessage]:
    """W023: ``using()`` of a database in which Django does not write the rows."""
    read = source.sitemap.items()._db
    written = router.db_for_write(key.model)
    if read is not None and read not in aliases_of(written):
        yield message(
            "W023",
            f"Section {source.name!r} reads its rows from the database {read!r}, but "
            f"Django writes them to {written!r}. A replica may lag behind a change, "
            "and saves elsewhere are not recorded.",
            f"Remove .using({read!r}) from items(), or silence this check if the "
            f"objects are saved with using={read!r}.",
        )


def check_recording(source: SectionSource) -> Iterator[CheckMessage]:
    """W020 and W021: changes for which no signal is sent."""
    try:
        found = dependencies(source)
    except (ConfigurationError, FieldError, RouteError):
        return  # E007 or E008 says so
    reason = receivers.unwatched.get((Site.current().name, source.name))
    if reason is not None:
        yield message(
            "W020",
            f"Changes of section {source.name!r} are not recorded: its models were "
            f"not known at startup ({reason}).",
            "Let items() return a queryset without asking the database.",
        )
        return
    if not getattr(source.sitemap, "record_deletes", True):
        return
    is_any_field_read, own = bool(source.object_path), source.paged_by.model
    for model, field in _silent_foreign_keys(own, found, is_any_field_read):
        yield message(
            "W021",
            f"{model._meta.label}.{field.name} lets the database delete or change "
            f"rows of section {source.name!r} when its target is deleted. Django "
            "sends no signal, so the change shows when the page is next compared.",
            "Use on_delete=CASCADE or SET_NULL, or call touch() after such deletes.",
        )


def _silent_foreign_keys(
    own: type[Model], found: Dependencies, is_any_field_read: bool
) -> Iterator[tuple[type[Model], Any]]:
    """Yield foreign keys whose targets are deleted without a signal for the rows."""
    heard = {model for model, related in found.items() if related.deletes_matter}
    chain = {known.model for known in own._meta.concrete_fields}
    for model in sorted({*chain, *found}, key=lambda known: known._meta.label):
        for field in model._meta.local_concrete_fields:
            relation: Any = field.remote_field
            on_delete = getattr(relation, "on_delete", None)
            if not isinstance(on_delete, _IN_DATABASE) or relation.model in heard:
                continue
            if relation.parent_link:
                continue  # a parent's delete is the row's own
            if on_delete is _DB_CASCADE or is_any_field_read:
                yield model, field
