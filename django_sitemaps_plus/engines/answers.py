"""Read answers: statuses where there is no more, JSON of which nothing is certain."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from .base import Outcome
from .http import Response


def of_status(
    status: int,
    what: str,
    *,
    missing: str,
    option: str,
    rejected: Collection[int] = (400, 413, 422),
) -> tuple[Outcome, str]:
    """
    Return what a status means where any 2xx is a success, for a text after the name.

    ``what`` was sent; ``missing`` says that nothing takes it at the address, which
    ``option`` has.
    """
    if 200 <= status < 300:
        return Outcome.ACCEPTED, f"accepted {what}."
    if status == 429:
        return Outcome.THROTTLED, "asks for fewer requests (429)."
    if status in rejected:
        return Outcome.REJECTED, f"rejected {what} ({status})."
    if 300 <= status < 400:
        problem = f"redirects ({status}): set {option!r} to the new address."
    elif status in (404, 405, 410):
        problem = f"{missing} at this address ({status}): check {option!r}."
    elif status >= 500:
        problem = f"has an internal error ({status})."
    else:
        problem = f"refuses the request ({status})."
    return Outcome.UNAVAILABLE, problem


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
