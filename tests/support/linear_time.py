"""
What others send is read in linear time: twice the text, twice the processor time.

What a thread reads for a minute stops all others of its process; no timeout ends it.
"""

from __future__ import annotations

import ast
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import django_sitemaps_plus

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
    *("errors ", "0 ", "no urls ", "errors: ", "errors: 0 ", "error=0a", "error <a"),
    "</a",
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
        size, before = FIRST, 0.0
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


#: Characters to look at each piece: patterns have many.
_LOOK = 2_048
#: What opens something in a text, and what closes it.
_CLOSES = {"<": ">", "[": "]", "{": "}", "(": ")", '"': '"', "'": "'"}
#: Functions that look for a pattern at one place only.
_AT_ONE_PLACE = {"match", "fullmatch"}


def patterns_are_linear(folder: Path, modules: Iterable[str]) -> None:
    """Fail where a pattern in modules of a folder takes longer than a length says."""
    wanted, found = set(modules), 0
    for path in _own(folder):
        for pattern, method in _patterns_in(path) if path.stem in wanted else ():
            found += 1
            for piece in pieces_of(pattern):
                reads = _reading(pattern, method)
                if spent(reads, piece * (_LOOK // len(piece))) > 0.005:
                    takes_twice_as_long(reads, (piece,), 65_536)
    assert found


@cache
def _whole() -> str:
    package = Path(django_sitemaps_plus.__file__).parent
    return "".join(one.read_text() for one in package.rglob("*.py"))


def _patterns_in(path: Path) -> Iterator[tuple[re.Pattern[Any], str]]:
    """Yield the patterns of a module, and the function that looks for each."""
    package = Path(django_sitemaps_plus.__file__).parent
    parts = path.relative_to(package.parent).with_suffix("").parts
    module = import_module(".".join(parts).removesuffix(".__init__"))
    own, whole = path.read_text(), _whole()
    for name, value in vars(module).items():
        if isinstance(value, re.Pattern):
            source = own if name.startswith("_") else whole
            used = _READS.intersection(re.findall(rf"\b{name}\.(\w+)", source))
            is_at_one = used and used <= _AT_ONE_PLACE
            yield value, min(used) if is_at_one else "search"
    for inner in ast.walk(ast.parse(own)):
        if isinstance(inner, ast.FunctionDef):
            yield from _patterns_within(inner)


def _patterns_within(function: ast.FunctionDef) -> Iterator[tuple[Any, str]]:
    """Yield the patterns in a function, with a name for what is filled in."""
    for node in ast.walk(function):
        match node:
            case ast.Call(ast.Attribute(ast.Name("re"), used), [pattern, *_]):
                parts = getattr(pattern, "values", [pattern])
                some = [getattr(one, "value", "") for one in parts]
                texts = [one if isinstance(one, str) else "name" for one in some]
                if used != "escape" and any(isinstance(one, str) for one in some):
                    yield re.compile("".join(texts)), used


def _reading(pattern: re.Pattern[Any], method: str) -> Reads:
    """Return what looks for a pattern wherever its function does."""
    is_text = isinstance(pattern.pattern, str)

    def reads(text: str) -> None:
        given = text if is_text else text.encode("latin-1", "replace")
        if method in _AT_ONE_PLACE:
            getattr(pattern, method)(given)
        for _ in pattern.finditer(given) if method not in _AT_ONE_PLACE else ():
            pass

    return reads


def pieces_of(pattern: re.Pattern[Any]) -> list[str]:
    """Return what a pattern names: alone, opened, closed, and opened and not closed."""
    parsed = re._parser.parse(pattern.pattern, pattern.flags)  # type: ignore[attr-defined]
    words = {*" a1\n", *_literals(parsed)}
    opening = [one for one in _CLOSES if one in words]
    found = {*words, *(f"{word} " for word in words)}
    found |= {f"{one}{word}" for one in opening for word in words}
    closed = {f"{one}{word}{_CLOSES[one]}" for one in opening for word in words}
    return sorted(found | closed)


def _literals(part: Any) -> Iterator[str]:
    """Yield the texts within a pattern, and the characters of its classes."""
    word = ""
    for one in part:
        kind = str(one[0]) if isinstance(one, tuple) and one else ""
        if kind == "LITERAL":
            word += chr(one[1])
            yield word[-1]
            continue
        if word:
            yield word
        word = ""
        if kind == "RANGE":
            yield from (chr(end) for end in one[1])
        elif hasattr(one, "__getitem__"):
            yield from _literals(one)
    if word:
        yield word


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
