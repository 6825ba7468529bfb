"""
What is wrong with a key file: fetched once, without redirect, and compared exactly.

https://www.indexnow.org/documentation: a UTF-8 text file with the key in it. Engines
remember a file that they found wrong, so it is looked at before they are told of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import http
from .base import CheckResult
from .errors import TransportError

_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")
_BOM = b"\xef\xbb\xbf"

_INCLUDE = 'include("django_sitemaps_plus.urls") at the root of the URLconf'


def look(
    url: str, key: str, *, former: Sequence[str], timeout: float, force: bool
) -> CheckResult:
    """Fetch a key file and say in a sentence what it is, and what to do about it."""
    try:
        response = http.send(
            "GET", url, timeout=timeout, total=timeout, plain=True, public=not force
        )
    except TransportError as error:
        return _bad(f"The key file cannot be fetched. {error}", _fix_of(error))
    if response.status != 200:
        return _refused(response)
    if response.flaw:
        return _bad(
            f"The key file does not come whole. {response.flaw}",
            "Serve the key and nothing else, as one short file.",
        )
    if response.body != key.encode():
        return _different(response, key, former)
    return CheckResult(is_good=True, text=f"The key file is at {url}.")


def _refused(response: http.Response) -> CheckResult:
    status = response.status
    if 300 <= status < 400:
        where = response.headers.get("location", "nowhere")[:200]
        return _bad(
            f"The key file is not there itself: it redirects ({status}) to {where}.",
            "Set BASE_URL to the address that needs no redirect, or exempt the key "
            "file from it.",
        )
    if status in (404, 410):
        return _bad(
            f"The key file is not found ({status}).",
            f"Add {_INCLUDE}, and let the web server hand .txt files on to Django.",
        )
    if status in (401, 403, 407, 429):
        return _bad(
            f"The key file may not be read ({status}).",
            "Let everybody read it: no login, no firewall, no challenge in front.",
        )
    if status >= 500:
        return _bad(
            f"The site has an error where its key file is ({status}).",
            "Look into the log of the site.",
        )
    return _bad(f"The key file's status is {status}.", "It must be 200.")


def _different(response: http.Response, key: str, former: Sequence[str]) -> CheckResult:
    """Say how a file differs from the key that it should be."""
    body = response.body
    text = response.text.strip()
    if response.is_html:
        return _bad(
            "There is a web page in place of the key file.",
            f"Add {_INCLUDE}, above what answers every path.",
        )
    if response.headers.get("content-encoding", "identity") != "identity":
        return _bad(
            "The key file is compressed, though nobody asked for it.",
            "Serve it as it is.",
        )
    if not text:
        return _bad("The key file is empty.", f"Add {_INCLUDE}.")
    if body.removeprefix(_BOM).decode("utf-8", "replace").strip() == key:
        return _bad(
            "The key file has more in it than the key: a line end, a space or a byte "
            "order mark. Some engines take that, Bing has refused it.",
            "Write the file without it: printf %s KEY > KEY.txt.",
        )
    if text in former:
        return _bad(
            "The key file has a former key in it.",
            "Empty the cache in front of the site, and restart its processes.",
        )
    if _KEY.fullmatch(text):
        return _bad(
            "The key file has another key in it.",
            "Give every process the same 'key', and restart them.",
        )
    return _bad("The key file has something else in it.", f"Add {_INCLUDE}.")


def _fix_of(error: TransportError) -> str:
    if error.stage == "name":
        return (
            "Set BASE_URL to the public address. From inside of the site's own "
            "network, --force allows private addresses."
        )
    if error.stage == "tls":
        return "Renew the certificate, or let the server send its whole chain."
    return "Let the site be reached from here under the address that BASE_URL has."


def _bad(text: str, fix: str) -> CheckResult:
    return CheckResult(is_good=False, text=text, fix=fix)
