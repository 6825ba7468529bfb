"""
Read answers: what a status means, and JSON that may hold anything.

A status alone proves nothing: firewalls, logins and parked domains answer 200, and
proxies answer 400. So ``explained()`` believes a success, or a refusal for good, only
with the body that the protocol promises.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

from .base import Outcome
from .http import Response

#: What a success may have besides nothing: JSON, any text, or also a web page.
Takes: TypeAlias = Literal["JSON", "text", "page"]

#: Names under which JSON says whether it succeeded, or has a status of its own.
_SUCCESSES, _CODES = ("success", "ok", "result", "accepted", "d"), ("code", "status")
#: The HTTP statuses that say that something failed.
_REFUSED = re.compile("[45][0-9]{2}")
#: Values that say that there is no success, or no error.
_FALSE = frozenset(["", "0", "no", "none", "null", "nil", "false"])
_NOTHING = _FALSE | {"ok", "success"}
#: What can be counted, so that a text may say that there is none of it.
_COUNTED = (
    r"(?:\berr\b|err(?:or|s\b|no|code|msg)|fail|(?<![a-z])fault|exception|invalid|refused"
    r"|rejected|denied|blocked|forbidden|unauthor)\w{0,20}+"
)
#: What names an error in a text, and in a name within JSON or XML.
_ERROR = re.compile(
    rf"{_COUNTED}|not authori|authentication|credential|not allowed|not found"
    r"|unavailable|login|log in|no permission|\bexpired|throttled|too many requests"
)
_ERROR_NAME = re.compile(r"\berr|error|fail|\bfault|exception")
#: "no errors", "0 URLs rejected"
_NONE_OF = re.compile(
    rf"(?<![\w.,-])(?:no|0|zero|without)\s++(?:(?:any|urls?|was|were)\s++){{0,2}}+{_COUNTED}"
)
#: Between a name and its value, in "errors: 0", in XML and in XML-RPC. It has an end:
#: else each of many names would read all that follow.
_IS = r"[\"']?+(?:\s++|[:=>]|<\w[^<>]{0,99}+>){1,9}+"
#: "errors: []", "error=none, …", "errors: 0 accepted: 5", and the same of no success.
_IS_NOTHING = re.compile(
    rf"{_COUNTED}{_IS}"
    r"(?:[\"']?(?:0|no|none|null|nil|false)[\"']?|\"\"|''|\[\s*+\]|\{\s*+\})"
    r"(?=[^\S\n]*+(?:$|[\n,;!)\]}<|&]|\.(?!\w)|[\w-]++[\"']?\s*+[:=]))"
)
_NO_SUCCESS = re.compile(rf"\bsuccess(?:ful)?{_IS}[\"']?(?:0|no|false)\b")
#: What names nothing: closing tags, and URLs with whatever is in them.
_UNREAD = re.compile(r"</[^<>]*+>|https?://[^\s<>\"'\\]*+")
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
    takes: Takes = "text",
) -> tuple[Outcome, str]:
    """
    Return what a response means by its status, and the sentence that says it.

    ``what`` was sent to ``name``, at the address that ``option`` has, and proved by the
    option ``proof``. ``code`` is what the engine itself calls an error. ``promised`` is
    whether the body is what the protocol promises with this status. None if it promises
    none: then a success may have what ``takes`` says, and nothing that names an error.
    """
    status = response.status
    shown = f"{status} {code}".strip()
    if response.is_success or (status in rejected and status != _TOO_LARGE):
        doubt = _doubt(response, shown, option, promised, takes)
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
    elif status == 206:
        problem = f"answers with a part ({shown}): check {option!r}."
    elif status >= 500:
        problem = f"has an internal error ({shown})."
    else:
        problem = f"refuses the request ({shown})."
    return Outcome.UNAVAILABLE, f"{name} {problem}"


def _doubt(
    response: Response, shown: str, option: str, promised: bool | None, takes: Takes
) -> str:
    """Return why an answer is not the engine's word; empty if it may be."""
    if response.flaw:
        return f"answers ({shown}), but not to the end. {response.flaw}"
    is_open = promised is None and response.is_success
    if response.is_login:
        problem = "with a login page"
    elif response.is_html and takes != "page":
        problem = "with a web page"
    elif not response.is_readable:
        problem = "with something that is not text"
    elif promised is False or (is_open and not _is_taken(response, takes)):
        problem = "not as its protocol says"
    elif is_open and _names_error(response):
        problem = "with an error"
    else:
        return ""
    return f"answers {problem} ({shown}): check {option!r}."


def _is_taken(response: Response, takes: Takes) -> bool:
    """Return whether a body is nothing, JSON or, unless only that is taken, a text."""
    text = response.text.strip()
    must_be = bool(text) if takes == "JSON" else text.startswith(("{", "["))
    return not must_be or response.json is not None


def _names_error(response: Response) -> bool:
    """Return whether a text, or what JSON has at its top, names an error."""
    if response.is_html:
        return False  # where a web page is taken
    said = response.json
    if isinstance(said, str):
        return _has_error(said)
    if not isinstance(said, (dict, list)):
        return said is False or _has_error(response.text)
    # What is deeper may repeat what was sent.
    top = said if isinstance(said, list) else [said, *said.values()]
    return any(_is_error(one) for one in top if isinstance(one, dict)) or (
        isinstance(said, list) and any(_has_error(one) for one in said)
    )


def _is_error(said: Mapping[str, object]) -> bool:
    """Return whether an object within JSON says of itself that it is an error."""
    return (
        any(_is_nothing(said.get(name, True), _FALSE) for name in _SUCCESSES[:2])
        or any(str(said.get(name)).lower() == "false" for name in _SUCCESSES[2:])
        or any(_REFUSED.fullmatch(str(said.get(name))) for name in _CODES)
        or any(_is_named(name, value) for name, value in said.items())
    )


def _is_named(name: str, value: object) -> bool:
    """Return whether a value within JSON, or its name, names an error."""
    is_meant = _ERROR_NAME.search(name.lower()) and not _is_nothing(value, _NOTHING)
    return bool(is_meant) or _has_error(value)


def _is_nothing(value: object, words: Collection[str]) -> bool:
    """Return whether a value within JSON says that there is none, or of none."""
    return value.strip().lower() in words if isinstance(value, str) else not value


def _has_error(said: object) -> bool:
    """Return whether a text names an error; that there is none names none."""
    if not isinstance(said, str):
        return False
    text = _UNREAD.sub("", said.lower())
    if _NO_SUCCESS.search(text):
        return True
    return bool(_ERROR.search(_IS_NOTHING.sub(" ", _NONE_OF.sub("none", text))))
