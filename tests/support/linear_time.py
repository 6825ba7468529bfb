"""
What others send is read in linear time: twice the text, twice the processor time.

What a thread reads for a minute stops all others of its process; no timeout ends it.
"""

from __future__ import annotations

import ast
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

#: Characters to begin with, and at most: what is read of a page, of headers together.
FIRST, PAGE, HEADERS = 8, 1_000_000, 200_000
#: The most seconds for the largest text: some microseconds for each character.
MOST = 10.0

#: Reads a text of others.
Reads = Callable[[str], object]


TAGS = (
    *("<a ", "<!--", "<!-- x -->\n", "<", "</", "<!", "<?", "<![", '<a b="', "<a b='"),
    *("<input ", "<input type=", "<script>", "</script", "<title>a</title>", "<h1>a"),
    *("<p>a", "&#", "&#9", "&amp;", "&a", '"', "<title>", "<textarea></text", "<a/"),
    *("<template>", "<input type=password>", "<link rel=canonical href=/b/>"),
)
JSON = ("[", '{"a":', '"', "1", "\\u", '{"a":1,', "-", '["a",', "e1", " ")
WORDS = (
    *(" ", "a ", "-", "404 ", "404 error ", "error  ", "not found ", "the page ", "|"),
    *(
        "errors ",
        "0 ",
        "no urls ",
        "errors: ",
        "errors: 0 ",
        "error=0a",
        "error <a",
        "</a",
    ),
    *(" - ", ": ", "page 's ", "oops", "page not", "\u0300\u0316", "’"),
)
HEADER = (
    *("<", "<a>", "<a>;", '<a>;"', "<a>; rel=", "<a>; rel=a ", "a,", " ", "a: ", '"'),
    *("rel ", "<a>; rel = ", "canonical ", "max-age=", "1", "0.", "mon", ";", "url="),
    *("unavailable_after: 1,", "noindex,", "//a\u0300\u0316", "../", "charset ", "-1:"),
)


def spent(reads: Reads, text: str) -> float:
    """Return the seconds of processor time that a reader takes; stop a slow one."""

    def stop(number: int, frame: object) -> None:
        raise AssertionError(f"{len(text):,} characters of {text[:20]!r} take too long")

    former = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 2 * MOST)
    started = time.thread_time()
    try:
        reads(text)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)
    return time.thread_time() - started


def takes_twice_as_long(reads: Reads, pieces: tuple[str, ...], most: int) -> None:
    """Fail where a reader takes longer for repeated pieces than their length says."""
    for piece in pieces:
        size, before = FIRST, 1.0
        while size <= most:
            text = piece * (size // len(piece))
            now = spent(reads, text)
            # Too little time says nothing, and once a machine may hesitate.
            if now > 0.05 and now > 2.5 * before:
                half = text[: len(text) // 2]
                before = max(spent(reads, half) for _ in range(3))
                now = min(spent(reads, text) for _ in range(3))
            said = f"{size:,} characters of {piece!r} take {now:.3f} s"
            assert now < MOST, said
            assert now < 0.05 or now < 2.5 * before, f"{said}, half {before:.3f} s"
            if now > 0.05 and before > 0.02:  # long enough to tell
                assert now * most / size < MOST, said
                break
            size, before = 2 * size, now


_MODULES = {"re", "json", "expat", "html", "ElementTree"}
_READS = {"compile", "search", "match", "fullmatch", "sub", "split", "findall"}
_READS |= {"finditer", "loads", "ParserCreate", "HTMLParser", "unescape", "fromstring"}


def readers_in(folder: Path) -> set[str]:
    """Return the modules of the core, or of an app, that have patterns or parsers."""
    return {
        path.stem
        for path in _own(folder)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in _MODULES
        and node.attr in _READS
    }


def _own(folder: Path) -> Iterator[Path]:
    """Yield the modules of a folder, without those of apps below it."""
    apps = {path.parent for path in folder.glob("contrib/*/apps.py")}
    for path in folder.rglob("*.py"):
        if not apps.intersection(path.parents):
            yield path
