"""
Check what engines fetch of a site: its key file for IndexNow, and its robots.txt.

https://www.indexnow.org/documentation: a UTF-8 text file that contains the key. An
engine that once found a wrong file may distrust the key for good, so the file is
checked before the key is used: fetched once, without redirects, and compared exactly.

https://www.rfc-editor.org/rfc/rfc9309#section-2.3: the robots.txt that the site serves,
with this package or without it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from django_sitemaps_plus.protocol.limits import MAX_ROBOTS_BYTES
from django_sitemaps_plus.protocol.robots import closed, read, shut_out

from . import http
from .base import CheckResult, TransportError

#: https://www.indexnow.org/documentation: 8 to 128 of a-z, A-Z, 0-9 and "-".
KEY = re.compile(r"[A-Za-z0-9-]{8,128}")
#: Seconds to fetch a key file, or robots.txt with it.
TIMEOUT = 5.0
_BOM = b"\xef\xbb\xbf"

#: nginx's page of a 400, where Django was not asked.
_OF_WEB_SERVER = re.compile(r"<title>(400 [^<>]{1,200}+)</title>")
_INCLUDE = 'include("django_sitemaps_plus.urls") at the root of the URLconf'


def check_key_file(
    url: str, key: str, *, old_keys: Sequence[str], force: bool
) -> CheckResult:
    """Fetch a key file and compare it with the key; ``force`` allows any address."""
    try:
        response = http.send("GET", url, timeout=TIMEOUT, plain=True, public=not force)
    except TransportError as error:
        return _unreachable("The key file", error)
    if response.status != 200:
        return _refused(response)
    if response.flaw:
        fix = "Serve a short file with the key and nothing else."
        return CheckResult.bad(f"The key file is incomplete. {response.flaw}", fix)
    if response.body != key.encode():
        return _different(response, key, old_keys)
    return CheckResult.good(f"The key file is at {url}.")


def _refused(response: http.Response) -> CheckResult:
    status = response.status
    if 300 <= status < 400:
        where = response.headers.get("location", "nowhere")[:200]
        problem = f"The key file redirects ({status}) to {where}."
        fix = (
            "Set BASE_URL to an address that does not redirect, or exclude the key "
            "file from the redirect."
        )
    elif status in (404, 410):
        problem = f"The key file was not found ({status})."
        fix = f"Add {_INCLUDE}, and make the web server pass .txt files to Django."
    elif status == 400 and (page := _OF_WEB_SERVER.search(response.text[:2_000])):
        problem = f"The web server refuses the request for the key file: {page[1]}."
        fix = "Let it be fetched without a certificate, and by its public address."
    elif status == 400:
        problem = "The site refuses the request for the key file (400)."
        fix = (
            "Add the Host that Django is asked for to ALLOWED_HOSTS: that of BASE_URL, "
            "or the one that a front end sends."
        )
    elif status in (401, 403, 407, 429):
        problem = f"Access to the key file is denied ({status})."
        fix = "Make it public: no login, firewall or challenge may come first."
    elif status >= 500:
        problem = f"The site fails to serve the key file ({status})."
        fix = "Check the site's log."
    else:
        problem, fix = f"The key file has status {status}.", "It must be 200."
    return CheckResult.bad(problem, fix)


def _different(
    response: http.Response, key: str, old_keys: Sequence[str]
) -> CheckResult:
    """Say how a file differs from the key."""
    text = response.text.strip()
    if response.is_html:
        problem = "There is a web page instead of the key file."
        fix = f"Add {_INCLUDE}, above the pattern that matches every path."
    elif response.headers.get("content-encoding", "identity") != "identity":
        problem = "The key file is compressed, although the request did not allow it."
        fix = "Serve it uncompressed."
    elif not text:
        problem, fix = "The key file is empty.", f"Add {_INCLUDE}."
    elif response.body.removeprefix(_BOM).decode("utf-8", "replace").strip() == key:
        problem = (
            "The key file contains more than the key: a newline, a space or a byte "
            "order mark. Some engines accept that, but Bing has refused it."
        )
        fix = "Write the key alone: printf %s KEY > KEY.txt."
    elif text in old_keys:
        problem = "The key file contains an old key."
        fix = "Clear the site's cache and restart its processes."
    elif KEY.fullmatch(text):
        problem = "The key file contains another key."
        fix = "Use the same 'key' in every process, and restart them."
    else:
        problem, fix = "The key file contains something else.", f"Add {_INCLUDE}."
    return CheckResult.bad(problem, fix)


#: Engines do not know which of them says where the site is.
_ADDRESS = "the site's address (BASE_URL, or the tenant's domain)"


#: What to do where the site itself gives no answer, by the stage that failed.
_FIXES = {
    "private": f"Set {_ADDRESS} to the public one, or use --force.",
    "name": f"Correct {_ADDRESS}, or the DNS records of its host.",
    "tls": "Give the server a certificate that is valid for this name today, and let "
    "it send the whole chain.",
}


def _unreachable(what: str, error: TransportError) -> CheckResult:
    """Say that the site itself gives no answer at its address, and what to do."""
    fix = "Make the site reachable from this machine at its address."
    text = f"{what} cannot be fetched. {error}"
    return CheckResult.bad(text, _FIXES.get(error.stage, fix))


def check_live_robots(
    origin: str, *, timeout: float, private: bool = False
) -> CheckResult:
    """
    Fetch a site's robots.txt and check that it allows crawling.

    ``private`` allows private addresses. Redirects are not followed, and pass.
    """
    try:
        response = http.send(
            "GET",
            f"{origin}/robots.txt",
            timeout=timeout,
            limit=MAX_ROBOTS_BYTES,
            plain=True,
            public=not private,
        )
    except TransportError as error:
        return _unreachable("robots.txt", error)
    if response.status >= 500:
        return CheckResult.bad(
            f"robots.txt fails with status {response.status}, so crawlers stay "
            "away from the whole site.",
            "Check the site's log.",
        )
    if response.status == 200 and closed(groups := read(response.text)):
        problem = f"The site's live robots.txt blocks {shut_out(groups)}."
        return CheckResult.bad(problem, "Allow crawling in it, or use --force.")
    return CheckResult.good("The site's live robots.txt allows crawling.")
