"""
Make the tables agree with what this Python knows of Unicode.

Everything is compared before it is written: a row that did not change keeps its
``updated``, and running twice is running once. Each range of code points is one
transaction, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from .models import BLOCK_SIZE, Block, Character, Note, slug_of
from .notes import read_notes

RANGE = 16 * BLOCK_SIZE
LAST_CODE_POINT = sys.maxunicode

FACTS = (
    "slug",
    "name",
    "category",
    "bidirectional",
    "combining",
    "mirrored",
    "east_asian_width",
    "decomposition",
    "numeric",
    "uppercase",
    "lowercase",
    "titlecase",
)
"""The columns that come from Python, in the order that ``facts()`` gives them in."""


@dataclass
class Report:
    """How many rows were new, differed, were unknown to this Python, or were right."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    kept: int = 0

    def __iadd__(self, other: Report) -> Report:
        self.added += other.added
        self.changed += other.changed
        self.removed += other.removed
        self.kept += other.kept
        return self

    @property
    def total(self) -> int:
        """The rows that are there now."""
        return self.added + self.changed + self.kept


def facts(code_point: int) -> tuple[Any, ...] | None:
    """Return what Python knows of a character, or None if it has no name."""
    text = chr(code_point)
    name = unicodedata.name(text, None)
    if name is None:
        return None
    return (
        slug_of(code_point),
        name,
        unicodedata.category(text),
        unicodedata.bidirectional(text),
        unicodedata.combining(text),
        bool(unicodedata.mirrored(text)),
        unicodedata.east_asian_width(text),
        unicodedata.decomposition(text),
        unicodedata.numeric(text, None),
        text.upper(),
        text.lower(),
        text.title(),
    )


def load_characters(moment: datetime, last: int = LAST_CODE_POINT) -> Iterator[Report]:
    """
    Load the characters up to ``last``, and yield one report per range.

    ``moment`` is the ``updated`` of what is new or changed.
    """
    for first in range(0, last + 1, RANGE):
        yield _load_range(first, min(first + RANGE - 1, last), moment)


def _load_range(first: int, last: int, moment: datetime) -> Report:
    wanted = {
        code_point: known
        for code_point in range(first, last + 1)
        if (known := facts(code_point)) is not None
    }
    with transaction.atomic():
        stored = Character.objects.filter(code_point__range=(first, last))
        present = {row[0]: row[1:] for row in stored.values_list("pk", *FACTS)}
        added = [code for code in wanted if code not in present]
        changed = [
            code for code in wanted if present.get(code, wanted[code]) != wanted[code]
        ]
        removed = [code for code in present if code not in wanted]

        _load_blocks({*added, *changed, *removed}, moment)
        Character.objects.bulk_create(_row(c, wanted[c], moment) for c in added)
        Character.objects.bulk_update(
            [_row(c, wanted[c], moment) for c in changed], [*FACTS, "updated"]
        )
        stored.filter(pk__in=removed).delete()
        if removed:
            Block.objects.filter(
                first__range=(first, last), characters__isnull=True
            ).delete()
    return Report(
        added=len(added),
        changed=len(changed),
        removed=len(removed),
        kept=len(wanted) - len(added) - len(changed),
    )


def _row(code_point: int, known: tuple[Any, ...], moment: datetime) -> Character:
    return Character(
        code_point=code_point,
        block_id=code_point - code_point % BLOCK_SIZE,
        updated=moment,
        **dict(zip(FACTS, known, strict=True)),
    )


def _load_blocks(touched: set[int], moment: datetime) -> None:
    """Create or date the blocks of the characters that are new, changed or gone."""
    firsts = {code_point - code_point % BLOCK_SIZE for code_point in touched}
    Block.objects.bulk_create(
        (
            Block(first=first, slug=Block.slug_of(first), updated=moment)
            for first in sorted(firsts)
        ),
        update_conflicts=True,
        unique_fields=["first"],
        update_fields=["updated"],
    )


@transaction.atomic
def load_notes(moment: datetime) -> Report:
    """Make the notes in the database agree with those in ``notes.json``."""
    report = Report()
    texts = read_notes()
    for text in texts:
        columns = text.columns
        note = Note.objects.filter(slug=text.slug).first()
        if note is None:
            note = Note.objects.create(**columns, updated=moment)
            report.added += 1
        elif columns.items() <= vars(note).items():
            report.kept += 1
        else:
            Note.objects.filter(pk=note.pk).update(**columns, updated=moment)
            report.changed += 1
        about = [ord(character) for character in text.characters]
        note.characters.set(Character.objects.filter(pk__in=about))
    stale = Note.objects.exclude(slug__in=[text.slug for text in texts])
    report.removed = stale.count()
    stale.delete()
    return report
