"""
Read answers: what a status means, and JSON that may hold anything.

A status alone proves nothing: firewalls, logins and parked domains answer 200, and
proxies answer 400. So ``explained()`` believes a success, or a refusal for good, only
with the body that the protocol promises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from .base import CheckResult, Outcome
from .http import Response

Part = TypeVar("Part")

#: Names under which JSON says that something failed, whatever the status.
_ERRORS = ("error", "errors", "Error", "error_code", "ErrorCode")
#: Names under which JSON has a word or a status of its own, and words for a failure.
_CODES, _FAILED = ("code", "status"), ("error", "fail", "failed", "failure")
#: Too large: it may come from a proxy, whose page is as good as the engine's own.
_TOO_LARGE = 413


def explained(
    response: Response,
    name: str,
    what: str,
    *,
    code: str = "",
    option: str = "endpoint",
    proof: str = "",
    rejected: Collection[int] = (400, _TOO_LARGE, 422),
    promised: bool | None = None,
    pages: bool = False,
) -> tuple[Outcome, str]:
    """
    Return what a response means by its status, and the sentence that says it.

    ``what`` was sent to ``name``, at the address that ``option`` has, and proved by the
    option ``proof``. ``code`` is what the engine itself calls an error. ``promised`` is
    whether the body is what the protocol promises with this status, None if it promises
    none, and ``pages`` whether that may be a web page.
    """
    status = response.status
    shown = f"{status} {code}".strip()
    if response.is_success or (status in rejected and status != _TOO_LARGE):
        doubt = _doubt(response, shown, option, promised=promised, pages=pages)
        if doubt:
            return Outcome.UNAVAILABLE, f"{name} {doubt}"
    if response.is_success:
        return Outcome.ACCEPTED, f"{name} accepted {what}."
    if status == 429:
        return Outcome.THROTTLED, f"{name} asks for fewer requests ({shown})."
    if status in rejected:
        return Outcome.REJECTED, f"{name} rejects {what} ({shown})."
    if status in (401, 403) and proof and response.is_html:
        problem = (
            f"answers with a web page ({shown}), perhaps a firewall's: check "
            f"{option!r} and {proof!r}."
        )
    elif status in (401, 403) and proof:
        problem = f"rejects the {proof} ({shown}): check {proof!r}."
    elif 300 <= status < 400:
        problem = f"answers with a redirect ({shown}): check {option!r}."
    elif status in (404, 405, 410):
        problem = f"does not take {what} at this address ({shown}): check {option!r}."
    elif status >= 500:
        problem = f"has an internal error ({shown})."
    else:
        problem = f"refuses the request ({shown})."
    return Outcome.UNAVAILABLE, f"{name} {problem}"


def _doubt(
    response: Response, shown: str, option: str, *, promised: bool | None, pages: bool
) -> str:
    """Return why an answer is not the engine's word; empty if it may be."""
    if response.flaw:
        return f"answers ({shown}), but not to the end. {response.flaw}"
    if promised is None:
        promised = not response.is_success or not _denies(response)
    if response.is_login:
        problem = "with a login page"
    elif response.is_html and not pages:
        problem = "with a web page"
    elif not promised:
        problem = "not as its protocol says"
    else:
        return ""
    return f"answers {problem} ({shown}): check {option!r}."


def _denies(response: Response) -> bool:
    """Return whether a JSON object says that something failed, or is cut off."""
    said = _json(response)
    if not isinstance(said, dict):
        return said is None and response.body.lstrip().startswith(b"{")
    codes = [said.get(name) for name in _CODES]
    return (
        any(said.get(name) for name in _ERRORS)
        or not all(said.get(name, True) for name in ("success", "ok"))
        or any(one in _FAILED or 400 <= (as_count(one) or 0) < 600 for one in codes)
    )


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


def json_object(response: Response) -> dict[str, Any]:
    """Return the JSON object in a body; empty if there is none."""
    said = _json(response)
    return said if isinstance(said, dict) else {}


def _json(response: Response) -> object:
    """Return what a body says as JSON; None if it is none."""
    try:
        said: object = json.loads(response.body)
    except (ValueError, RecursionError):
        return None
    return said


def parts_of(value: object, kind: type[Part]) -> list[Part]:
    """Return the items of a list that are of a kind; empty if it is not a list."""
    parts = value if isinstance(value, list) else []
    return [part for part in parts if isinstance(part, kind)]


def as_count(value: object) -> int | None:
    """Return a number that is not negative, which may be written as a string."""
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,18}", str(value)):
        return None
    return int(str(value))


def as_text(value: object) -> str | None:
    """Return a text; None for anything else."""
    return value if isinstance(value, str) else None
