"""Read what the webmaster tools of search engines answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from django_sitemaps_plus.engines.base import Answer, CheckResult, Outcome, Refused
from django_sitemaps_plus.engines.http import Response

_Part = TypeVar("_Part")


def unless_refused(response: Response, answer: Answer) -> Response:
    """Return the answer to a question; raise ``Refused`` if it is none."""
    if answer.outcome != Outcome.ACCEPTED:
        # The message may say what to check.
        raise Refused(answer, "" if ": " in answer.message else "Try again later.")
    return response


def of_account(
    name: str, site: str, verified: Mapping[str, object], option: str
) -> CheckResult:
    """
    Return whether an account has a site, and may submit for it.

    ``verified`` says of each of its sites whether it is; ``option`` names the site.
    """
    if verified.get(site):
        return CheckResult.good(f"{site} is verified at {name}.")
    if site in verified:
        return CheckResult.bad(f"{site} is not verified at {name}.", "Verify it there.")
    seen = ", ".join(sorted(verified)[:20]) or "none"
    return CheckResult.bad(
        f"The account does not have the site {site} at {name}, but {seen}.",
        f"Add it there, or set {option!r} to one of these, letter for letter.",
    )


def as_text(value: object) -> str | None:
    """Return a text; None for anything else."""
    return value if isinstance(value, str) else None


def parts_of(value: object, kind: type[_Part]) -> list[_Part]:
    """Return the items of a list that are of a kind; empty if it is not a list."""
    parts = value if isinstance(value, list) else []
    return [part for part in parts if isinstance(part, kind)]


def as_count(value: object) -> int | None:
    """Return a number that is not negative, which may be written as a string."""
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,18}", str(value)):
        return None
    return int(str(value))
