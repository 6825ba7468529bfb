"""One text at all URLs, and pages that browsers do not show as such."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from django_sitemaps_plus.contrib.audit.kinds import _, error, warning
from django_sitemaps_plus.protocol.errors import excerpt

from . import CHARSET, Answered, Problem, Visit, rule

SAME_TEXT = error(
    "A114",
    _("URLs that all have the same text"),
    _(
        "let visitors without cookies read the pages: a consent wall, an error or "
        "a message of the host stands in their place"
    ),
)
SAME_SHELL = warning(
    "A115",
    _("URLs that have a text of their own only where scripts run"),
    _("let the server write the text, or see in Search Console that Google has it"),
)
NOT_SHOWN = error(
    "A116",
    _("web pages that are not sent as web pages"),
    _("send them as text/html, and without Content-Disposition: attachment"),
)
WRONG_CHARSET = error(
    "A117",
    _("web pages in another charset than they say"),
    _("let the Content-Type header and <meta charset> name what the bytes are"),
)

_PAGES: Final = (b"<!doctype html", b"<html")
_BOMS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
#: Numbers of requests and times, which error pages have.
_CHANGING: Final = re.compile(
    r"\b(?=\w*\d)[\da-f]{2,}(?:[:-][\da-f]{2,})+|\b[\da-f]{12,}", re.I
)
#: Texts that are remembered, pages that are a pattern, and words of a mere shell.
_MOST, _FEW, _SHELL = 1_000, 3, 5
_LOADING: Final = ("javascript", "loading")


class _Texts:
    """How many pages sections have, and how many of them have which text."""

    def __init__(self, visit: Visit) -> None:
        self.pages = Counter[str]()
        self.counts: dict[int, Counter[str]] = {}
        self.first: dict[int, Problem] = {}


@rule(Answered)
def remember(seen: Answered) -> Iterator[Problem]:
    """Remember the text of a page."""
    if seen.is_whole and not seen.is_empty:
        texts, (page, body, _) = seen.visit.kept(_Texts), seen.reading
        text = page.start or (
            body.decode("utf-8", "replace") if len(body) < 2_000 else ""
        )
        text = " ".join(_CHANGING.sub("", text).split())
        key = hash((*page.titles.values(), text, page.words) if text else body)
        if key not in texts.first and len(texts.first) < _MOST:
            is_loading = any(one in text.lower() for one in _LOADING)
            is_shell = page.words < _SHELL or is_loading
            found = SAME_SHELL if page.has_script and is_shell else SAME_TEXT
            texts.first[key] = seen.problem(found, excerpt(text))
        texts.pages[seen.section] += 1
        if key in texts.first:
            texts.counts.setdefault(key, Counter())[seen.section] += 1
    yield from ()


@rule(Visit)
def one_text(visit: Visit) -> Iterator[Problem]:
    """Find the text that most pages of a section have."""
    texts = visit.kept(_Texts)
    for key, counts in texts.counts.items():
        most = [n for name, n in counts.items() if 2 * n > texts.pages[name]]
        if sum(most) >= _FEW:
            first = texts.first[key]
            text = f"{sum(most):,} URLs have the same text: {first.text}"
            yield first._replace(text=text)


@rule(Answered)
def shown(seen: Answered) -> Iterator[Problem]:
    """Find web pages that are sent as files, or in another charset."""
    if not seen.is_whole:
        return
    body, kind = seen.reading.body, seen.answer.media_type or "text/html"
    how = seen.answer.headers.get("content-disposition", "").strip().lower()
    is_page = body.lstrip()[:15].lower().startswith(_PAGES)
    if is_page and "html" not in kind and "xml" not in kind:
        yield Problem(NOT_SHOWN, f"is HTML, and its Content-Type is {kind}")
    elif "html" in kind and how.startswith("attachment"):
        text = "is to be saved: its Content-Disposition is attachment"
        yield Problem(NOT_SHOWN, text)
    if "html" in kind and (name := _contradicted(body, kind)):
        yield Problem(WRONG_CHARSET, f"says that it is {name}, and is not")


def _contradicted(body: bytes, kind: str) -> str:
    """Return the charset that a page names, if its bytes contradict it."""
    head = body[:1_024].decode("latin-1").lower()
    said = CHARSET.search(kind) or CHARSET.search(head)
    if said is None or body.startswith(_BOMS) or body.isascii():
        return ""
    with suppress(LookupError):
        is_utf_8 = codecs.lookup(said[1]).name == "utf-8"
        # Its end may be missing.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(body)
        strange = {one for one in text if not one.isascii()}
        # One wrong byte is no charset.
        if strange == {"\ufffd"} if is_utf_8 else "\ufffd" not in strange:
            return said[1]
    return ""
