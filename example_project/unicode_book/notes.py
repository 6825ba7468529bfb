"""The notes as they are written in ``notes.json``, in two languages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("notes.json")


@dataclass(frozen=True)
class NoteText:
    """A note; ``characters`` are those that it is about."""

    slug: str
    characters: str
    title: dict[str, str]
    body: dict[str, list[str]]

    @property
    def columns(self) -> dict[str, str]:
        """Its columns in the database."""
        titles = {f"title_{language}": text for language, text in self.title.items()}
        bodies = {
            f"body_{language}": "\n\n".join(paragraphs)
            for language, paragraphs in self.body.items()
        }
        return {"slug": self.slug, **titles, **bodies}


def read_notes() -> list[NoteText]:
    """Return all notes, in the order of the book."""
    return [NoteText(**note) for note in json.loads(FILE.read_text("utf-8"))]
