"""
Related objects that were saved: did anything change that entries read?

What they had in the fields that matter is remembered, so that a save of something else
rebuilds nothing, and nothing has to be read before the save. It stands for what pages
have read: a build that reads something else has it forgotten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model, QuerySet

from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.sitemaps.keys import Key, plain
from django_sitemaps_plus.sitemaps.sections import SectionSource, database_of

from .dependencies import Dependency, dependencies
from .models import RelatedState
from .queries import related_states

#: Rows that depend on one object above which all pages are compared.
MOST_ROWS = 1_000
#: Objects of which a section remembers what they had. Every build looks at them.
MOST_STATES = 500


def rows_concerned(section: SectionSource, label: str, pk: str) -> list[str] | None:
    """
    Return the keys, as text, of the rows that a related object's save may concern.

    None stands for any row. Notes what the object has now: to be called in the
    transaction in which the rows' pages are marked.
    """
    found = _related(section, label)
    if found is None or section.key is None:
        # Another version of the code depends on it.
        return []
    model, related = found
    states = related_states().filter(section=section.name, model=label, key=pk)
    # Locked before the row is read: whoever reads later writes later.
    former = states.select_for_update().first()
    now = next(iter(_states_of(section, model, related, [pk]).values()), None)
    if now is None or (former is not None and former.state == now):
        return []
    if former is None:
        row = RelatedState(section=section.name, model=label, key=pk, state=now)
        related_states().bulk_create([row], ignore_conflicts=True)
    else:
        states.update(state=now)
    if related.link is None:
        return _dependent_rows(section, section.key, related, pk)
    # The row to which it belongs now was recorded with the save.
    return [] if former is None or not former.state else [former.state]


def verify_states(section: SectionSource) -> None:
    """
    Forget what related objects had where they have something else now.

    For whoever builds a page, before and after its rows are read: then the page shows
    what is remembered. Objects changed by ``update()`` or SQL, of which nobody was
    told, would else be ignored when a save brings back what they had.
    """
    if not dependencies(section):
        return
    states = related_states().filter(section=section.name)
    known = list(states.order_by("-pk")[:MOST_STATES])
    if len(known) == MOST_STATES:
        states.filter(pk__lt=known[-1].pk).delete()
    for label in {row.model for row in known}:
        found = _related(section, label)
        own = [row for row in known if row.model == label]
        now = _states_of(section, *found, [row.key for row in own]) if found else {}
        wrong = [row for row in own if now.get(row.key) != row.state]
        if wrong:
            # To which row an object belongs is corrected: that row shows it.
            right = now if found and found[1].link else {}
            retrying(states.db, partial(_correct, states, wrong, right))


def _correct(
    states: QuerySet[RelatedState], wrong: Sequence[RelatedState], now: dict[str, str]
) -> None:
    """Write what objects have now, or forget them; unless somebody else just did."""
    with transaction.atomic(using=states.db):
        for row in wrong:
            same = states.filter(pk=row.pk, state=row.state)
            if row.key in now:
                same.update(state=now[row.key])
            else:
                same.delete()


def _related(
    section: SectionSource, label: str
) -> tuple[type[Model], Dependency] | None:
    """Return the model on which the section depends, of which ``label`` is a kind."""
    try:
        saved = apps.get_model(label)
    except (LookupError, ValueError):
        # ValueError: it is no label.
        return None
    for model, related in dependencies(section).items():
        if issubclass(saved, model) or issubclass(model, saved):
            return model, related
    return None


def _states_of(
    section: SectionSource, model: type[Model], related: Dependency, pks: Sequence[str]
) -> dict[str, str]:
    """Return digests of the fields that matter, as far as there are such rows."""
    rows = model._base_manager.using(database_of(section.sitemap.items()))
    names = [related.link] if related.link else sorted(related.fields)
    try:
        found = list(plain(rows.filter(pk__in=pks)).values_list("pk", *names))
    except (ValueError, ValidationError):
        return {}
    return {str(pk): _state(section, related, tuple(rest)) for pk, *rest in found}


def _state(section: SectionSource, related: Dependency, row: tuple[Any, ...]) -> str:
    if related.link:
        key, pk = section.key, row[0]
        value = None if key is None or pk is None else key.of_pk(pk)
        return key.dumps(value) if key and value else ""
    return hashlib.blake2b(repr(row).encode(), digest_size=16).hexdigest()


def _dependent_rows(
    section: SectionSource, key: Key, related: Dependency, pk: str
) -> list[str] | None:
    """Return the keys of the rows that refer to an object; None if they are many."""
    if related.path is None:
        return None
    # Not of the items alone: they may be listed only until the page is built again.
    rows = key.model._base_manager.using(database_of(section.sitemap.items()))
    found = key.values(rows.filter(**{related.path: pk})).order_by()
    keys = {key.dumps(value) for value in found[: MOST_ROWS + 1]}
    return None if len(keys) > MOST_ROWS else sorted(keys)
