"""
Google's token endpoint and Search Console API, as strict as the real ones.

It verifies the signature of the JWT, accepts a token for an hour, knows the account's
permission for each property, and reads submitted sitemaps from the site under test.

    python -m tests.support.fakes.google --port 9002 --site http://127.0.0.1:8000 \
        --credentials /tmp/google.json
"""

from __future__ import annotations

import argparse
import base64
import binascii
import gzip
import json
import time
import urllib.parse
import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from lxml import etree

from tests.support.fakes.faults import Reply
from tests.support.fakes.server import FakeServer, Request
from tests.support.fakes.shown import show

ACCOUNT = "sitemaps@project.iam.gserviceaccount.com"
USER = {"client_id": "client.apps.googleusercontent.com"}
SCOPE = "https://www.googleapis.com/auth/webmasters"
#: The audience that google-auth writes, for any token endpoint.
AUDIENCE = "https://oauth2.googleapis.com/token"
CLIENT_SECRET = "GOCSPX-secret-of-the-client"
REFRESH_TOKEN = "1//refresh-token-of-the-user"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ROOT = "/webmasters/v3"
_XML = etree.XMLParser(resolve_entities=False, no_network=True)


@lru_cache(maxsize=1)
def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class FakeGoogle(FakeServer):
    """
    ``endpoint`` and ``credentials`` (``user_credentials``) are options of the engine.

    ``properties`` maps each property to the account's permission. ``submitted`` lists
    the sitemaps in order, ``sitemaps`` their status by property and URL, and ``calls``
    the requests to the API. ``grants`` counts the tokens that were issued.
    """

    #: Where the API is, and the scope of its tokens.
    root = _ROOT
    scope = SCOPE

    def __init__(
        self, properties: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.properties = dict(properties or {"https://www.example.com/": "siteOwner"})
        self.sitemaps: dict[tuple[str, str], dict[str, Any]] = {}
        self.submitted: list[str] = []
        self.grants = 0
        #: Pages with impressions, most clicks first; they have been shown each day.
        self.shown: list[str] = []
        #: Whether no tokens are issued, as for a deleted key.
        self.is_revoked = False
        self._tokens: dict[str, float] = {}

    @property
    def endpoint(self) -> str:
        return f"{self.origin}{self.root}"

    @property
    def token_endpoint(self) -> str:
        return f"{self.origin}/token"

    @property
    def calls(self) -> list[Request]:
        return [r for r in self.requests if r.route.startswith(self.root)]

    @property
    def credentials(self) -> dict[str, str]:
        """The JSON file of a service account."""
        pem = _key().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return {
            "type": "service_account",
            "private_key_id": "0123456789abcdef0123456789abcdef01234567",
            "private_key": pem.decode(),
            "client_email": ACCOUNT,
            "client_id": "100000000000000000001",
            "token_uri": self.token_endpoint,
        }

    @property
    def user_credentials(self) -> dict[str, str]:
        """The JSON file of an authorized user."""
        return {
            "type": "authorized_user",
            **USER,
            "client_secret": CLIENT_SECRET,
            "refresh_token": REFRESH_TOKEN,
            "token_uri": self.token_endpoint,
        }

    def trust(self, token: str) -> None:
        """Accept a token that another server issued."""
        with self.lock:
            self._tokens[token] = time.monotonic() + 3600

    def expire_tokens(self) -> None:
        """Expire all tokens."""
        with self.lock:
            self._tokens.clear()

    def answer(self, request: Request) -> Reply:
        if request.route == "/token":
            return self._grant(request)
        if not request.route.startswith(f"{self.root}/"):
            return Reply(status=404, body=b"<html>Not Found</html>")
        if not self.has_token(request):
            return _error(401, "Invalid Credentials", "authError")
        return self._call(request)

    def has_token(self, request: Request) -> bool:
        """Return whether a request has a token that has not expired."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        with self.lock:
            is_valid = self._tokens.get(token, 0) > time.monotonic()
        return kind == "Bearer" and is_valid

    # The token

    def _grant(self, request: Request) -> Reply:
        kind = request.headers.get("content-type", "").partition(";")[0]
        if request.method != "POST" or kind != "application/x-www-form-urlencoded":
            return as_json(400, {"error": "invalid_request"})
        form = dict(urllib.parse.parse_qsl(request.body.decode()))
        if self.is_revoked:
            problem = "Invalid grant: account not found"
        elif form.get("grant_type") == _GRANT:
            claim = form.get("assertion", "")
            problem = _jwt_problem(claim, self.token_endpoint, self.scope)
        elif form.get("grant_type") == "refresh_token":
            secrets = {"client_secret": CLIENT_SECRET, "refresh_token": REFRESH_TOKEN}
            is_right = {**USER, **secrets}.items() <= form.items()
            problem = "" if is_right else "Token has been expired or revoked."
        else:
            return as_json(400, {"error": "unsupported_grant_type"})
        if problem:
            refusal = {"error": "invalid_grant", "error_description": problem}
            return as_json(400, refusal)
        token = f"ya29.c.{uuid.uuid4().hex}"
        with self.lock:
            self._tokens[token] = time.monotonic() + 3600
            self.grants += 1
        given = {"access_token": token, "expires_in": 3599, "token_type": "Bearer"}
        return as_json(200, given)

    # The API

    def _call(self, request: Request) -> Reply:
        # Decoded after splitting, so that slashes that were not encoded are an error.
        parts = request.route.removeprefix(f"{_ROOT}/").split("/")
        names = [urllib.parse.unquote(part) for part in parts]
        match request.method, names:
            case "GET", ["sites"]:
                known = self.properties.items()
                entries = [{"siteUrl": o, "permissionLevel": may} for o, may in known]
                return as_json(200, {"siteEntry": entries})
            case "PUT", ["sites", site, "sitemaps", feed]:
                return self._submit(site, feed)
            case "GET", ["sites", site, "sitemaps", feed]:
                return self._get(site, feed)
            case "POST", ["sites", site, "searchAnalytics", "query"]:
                return self._query(site, request)
            case _:
                return Reply(status=404, body=b"<html>Not Found</html>")

    def _may(self, site: str) -> bool:
        return self.properties.get(site) in ("siteOwner", "siteFullUser")

    def _submit(self, site: str, feed: str) -> Reply:
        if not self._may(site) or not covers(site, feed):
            return _forbidden(site)
        counts = {"isPending": True, "warnings": "0", "errors": "0"}
        known = {"path": feed, "lastSubmitted": _now(), **counts}
        with self.lock:
            self.sitemaps[site, feed] = known
            self.submitted.append(feed)
        self.run(lambda: self._read(feed, known))
        return Reply(status=204)

    def _get(self, site: str, feed: str) -> Reply:
        if site not in self.properties:
            return _forbidden(site)
        if (site, feed) not in self.sitemaps:
            return _error(404, "Sitemap not found", "notFound")
        self.settle()
        return as_json(200, self.sitemaps[site, feed])

    def _query(self, site: str, request: Request) -> Reply:
        """Answer which pages were shown, to whoever may see the property."""
        if self.properties.get(site, "siteUnverifiedUser") == "siteUnverifiedUser":
            return _forbidden(site)
        try:
            asked = json.loads(request.body)
            start, end = (
                date.fromisoformat(asked.pop(name)) for name in ("startDate", "endDate")
            )
            dimensions, most = asked.pop("dimensions"), asked.pop("rowLimit")
        except (ValueError, KeyError, TypeError):
            return _error(400, "Request contains an invalid argument.", "badRequest")
        is_valid = start <= end and dimensions == ["page"] and 1 <= most <= 25_000
        if asked or not is_valid:
            return _error(400, "Request contains an invalid argument.", "badRequest")
        facts = {"clicks": 0.0, "impressions": 3.0, "ctr": 0.0, "position": 8.5}
        rows = [{"keys": [url], **facts} for url in self.shown if covers(site, url)]
        said = {"rows": rows[:most]} if rows else {}
        return as_json(200, {**said, "responseAggregationType": "byPage"})

    def _read(self, feed: str, known: dict[str, Any]) -> None:
        """Fetch a sitemap and count its entries."""
        status, body = self.fetch(feed)
        try:
            data = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
            root = etree.fromstring(data, _XML) if status == 200 else None
        except (etree.XMLSyntaxError, OSError, EOFError):
            root = None
        known["lastDownloaded"] = _now()
        known["isPending"] = False
        if root is None:
            known["errors"] = "1"
            return
        known["isSitemapsIndex"] = str(root.tag).endswith("sitemapindex")
        known["type"] = "sitemap"
        known["contents"] = [{"type": "WEB", "submitted": str(len(root))}]


def covers(site: str, feed: str) -> bool:
    if site.startswith("sc-domain:"):
        domain = site.removeprefix("sc-domain:")
        host = urllib.parse.urlsplit(feed).hostname or ""
        return host == domain or host.endswith(f".{domain}")
    return feed.startswith(site)


def _jwt_problem(assertion: str, endpoint: str, scope: str) -> str:
    """Return what is wrong with a signed claim (RFC 7523); empty if nothing is."""
    try:
        head, payload, signature = assertion.split(".")
        header, claims = json.loads(_decoded(head)), json.loads(_decoded(payload))
        _key().public_key().verify(
            _decoded(signature),
            f"{head}.{payload}".encode(),
            padding.PKCS1v15(),
            hashes.SHA256(),
        )
    except InvalidSignature:
        return "Invalid JWT Signature."
    except (ValueError, binascii.Error):
        return "Bad Request"
    now = time.time()
    if header.get("alg") != "RS256" or claims.get("iss") != ACCOUNT:
        return "Invalid JWT"
    if claims.get("aud") not in (endpoint, AUDIENCE):
        return "Invalid JWT: wrong audience"
    if scope not in claims.get("scope", "").split():
        return "Invalid JWT: no scope"
    is_now = claims["iat"] <= now + 60 and now < claims["exp"] <= claims["iat"] + 3600
    return "" if is_now else "Invalid JWT: Token must be a short-lived token"


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_json(status: int, value: object) -> Reply:
    kind = {"Content-Type": "application/json; charset=UTF-8"}
    return Reply(status=status, body=json.dumps(value).encode(), headers=kind)


def _error(status: int, message: str, reason: str) -> Reply:
    """Return an error as the API writes it."""
    detail = {"message": message, "domain": "global", "reason": reason}
    error = {"code": status, "message": message, "errors": [detail]}
    return as_json(status, {"error": error})


def _forbidden(site: str) -> Reply:
    message = (
        f"User does not have sufficient permission for site '{site}'. See also: "
        "https://support.google.com/webmasters/answer/2451999."
    )
    return _error(403, message, "forbidden")


def main() -> None:
    parser = argparse.ArgumentParser(description="A Search Console on loopback.")
    parser.add_argument("--port", type=int, default=9002)
    parser.add_argument("--site", default="http://127.0.0.1:8000")
    parser.add_argument("--property", help="the default is the site with a slash")
    parser.add_argument("--credentials", type=Path, help="where to write a JSON file")
    given = parser.parse_args()
    properties = {given.property or f"{given.site}/": "siteOwner"}
    with FakeGoogle(properties, port=given.port, site=given.site) as google:
        if given.credentials:
            given.credentials.touch(mode=0o600)
            given.credentials.write_text(json.dumps(google.credentials))
        start = f"Search Console at {google.endpoint}, for {', '.join(properties)}"
        show(start, google.submitted, lambda feed: f"submitted: {feed}")


if __name__ == "__main__":
    main()
