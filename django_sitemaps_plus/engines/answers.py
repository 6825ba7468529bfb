"""Read the JSON of answers, of which nothing is certain."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .http import Response


def json_object(response: Response) -> dict[str, Any] | None:
    """Return the JSON object in a body; None if there is none."""
    try:
        said = json.loads(response.body)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def as_mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the objects of a list; empty if it is none."""
    parts = value if isinstance(value, list) else []
    return [part for part in parts if isinstance(part, dict)]


def as_texts(value: object) -> list[str]:
    """Return the texts of a list; empty if it is none."""
    parts = value if isinstance(value, list) else []
    return [part for part in parts if isinstance(part, str)]


def as_count(value: object) -> int | None:
    """Return a number that is not negative, which may be written as a string."""
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,18}", str(value)):
        return None
    return int(str(value))


def as_text(value: object) -> str | None:
    """Return a text; None for anything else."""
    return value if isinstance(value, str) else None
