"""
Google's engines: what they have in common, which is the account.

Access tokens come from google-auth (the extra "google"), over our transport.
"""

from __future__ import annotations

import json
import os
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import http
from .addresses import check_url
from .base import REDACTED, CheckResult, Engine, secret
from .errors import MissingExtra, NoToken, OptionError, TransportError

#: google-auth, or None if the extra "google" is not installed.
_auth: Any
_exceptions: Any
_users: Any
_services: Any
try:
    import google.auth as _auth
    from google.auth import exceptions as _exceptions
    from google.oauth2 import credentials as _users
    from google.oauth2 import service_account as _services
except ImportError:
    _auth = None

#: The scope for submitting sitemaps, and for reading their status.
SCOPE = "https://www.googleapis.com/auth/webmasters"
#: The scope of the Indexing API.
INDEXING_SCOPE = "https://www.googleapis.com/auth/indexing"

#: How to install google-auth.
INSTALL = (
    "needs a package that is not installed: pip install 'django-sitemaps-plus[google]'."
)

Credentials = str | os.PathLike[str] | Mapping[str, Any] | None

#: Where machines in Google's cloud get their credentials. It speaks plain http, over
#: the link between a machine and its host.
#: https://cloud.google.com/compute/docs/metadata/querying-metadata
_METADATA = ("metadata.google.internal", "169.254.169.254")

_MALFORMED = "The credentials are malformed: use the JSON file as Google issued it."
#: A JWT, an access token, a refresh token, as Google writes them.
_TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+(\.[\w-]+)?|ya29\.[\w.-]+|\b1//[\w-]{16,}")
_SECRET = ("private_key", "private_key_id", "client_secret", "refresh_token")


def is_installed() -> bool:
    """Return whether google-auth is installed."""
    return _auth is not None


class Tokens:
    """The access token of one engine, reused until it expires."""

    def __init__(self, scope: str = SCOPE) -> None:
        self._scopes = [scope]
        self._credentials: Any = None
        self._info: Mapping[str, Any] = {}

    def headers(
        self,
        credentials: Credentials,
        endpoint: str | None,
        *,
        timeout: float,
        renew: bool = False,
    ) -> dict[str, str]:
        """
        Return the headers of a request; with ``renew``, for a new token.

        Raises:
            NoToken: There is no token.
        """
        self.load(credentials, endpoint, timeout=timeout)
        with _explained():
            if renew or not self._credentials.valid:
                self._credentials.refresh(_Fetch(timeout))
        headers: dict[str, str] = {}
        # The token and, if the credentials name one, the project to charge.
        self._credentials.apply(headers)
        return headers

    def load(
        self, credentials: Credentials, endpoint: str | None, *, timeout: float
    ) -> None:
        """
        Read the credentials once, without asking anybody if they are given.

        Raises:
            NoToken: They cannot be read, or are malformed.
        """
        if self._credentials is None:
            with _explained():
                self._credentials = self._load(credentials, endpoint, timeout)

    def secrets(self, credentials: Credentials) -> Iterator[str]:
        """Yield the values that must not be shown."""
        given = credentials if isinstance(credentials, Mapping) else {}
        for info in (given, self._info):
            for name in _SECRET:
                yield from _lines(info.get(name))
        for name in ("token", *_SECRET):
            yield from _lines(getattr(self._credentials, name, None))

    def _load(
        self, credentials: Credentials, endpoint: str | None, timeout: float
    ) -> Any:
        """Return credentials of google-auth."""
        if credentials is None:
            return _auth.default(scopes=self._scopes, request=_Fetch(timeout))[0]
        info = _read(credentials)
        self._info = info
        if endpoint is not None:
            info["token_uri"] = endpoint
        kind = info.get("type")
        if kind == "service_account":
            account = _services.Credentials
            return account.from_service_account_info(info, scopes=self._scopes)
        if kind == "authorized_user":
            users = _users.Credentials
            user = users.from_authorized_user_info(info, scopes=self._scopes)
            # google-auth ignores the URL in the file.
            uri = info.get("token_uri")
            return user.with_token_uri(uri) if uri else user
        msg = "The 'type' of the credentials is not 'service_account' or "
        raise NoToken(f"{msg}'authorized_user'.")


@dataclass(frozen=True, kw_only=True)
class GoogleEngine(Engine):
    """An engine whose requests have an access token of Google's."""

    #: The path of a JSON file, or its contents, for a service account or an authorized
    #: user. None: Google's application default credentials.
    credentials: Credentials = secret(default=None)
    #: The URL of the API.
    endpoint: str
    #: The URL that issues tokens. None: the one in the credentials.
    token_endpoint: str | None = None

    _tokens: Tokens = field(
        default_factory=Tokens, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
            MissingExtra: google-auth is not installed.
        """
        super().__post_init__()
        if not is_installed():
            raise MissingExtra("BACKEND", INSTALL)
        given: object = self.credentials
        if not (given is None or isinstance(given, (str, os.PathLike, Mapping))):
            problem = "is neither the path of a JSON file nor a dict of its contents."
            raise OptionError("credentials", problem)
        check_url("endpoint", self.endpoint)
        if self.token_endpoint is not None:
            check_url("token_endpoint", self.token_endpoint)

    def check_machine(self) -> list[CheckResult]:
        """Check that the credentials can be read, if they are given."""
        if self.credentials is None:
            return []  # the machine's own: finding them asks Google
        endpoint, timeout = self.token_endpoint, self.timeout
        try:
            self._tokens.load(self.credentials, endpoint, timeout=timeout)
        except NoToken as error:
            fix = "Set 'credentials' to the path of the JSON file that Google issued."
            return [self._finding(str(error), fix)]
        return []

    def redact(self, text: str) -> str:
        """Return a text without secrets of the credentials and without tokens."""
        return _TOKEN.sub(REDACTED, super().redact(text))

    def _ask(
        self, method: str, path: str, document: Mapping[str, str] | None = None
    ) -> http.Response:
        """
        Send a request with a token; if that is refused, with a new one once.

        Raises:
            NoToken: There is no token.
            TransportError: There is no answer.
        """
        body = None if document is None else json.dumps(document).encode()
        for renew in (False, True):
            headers = self._headers(renew=renew)
            if body is not None:
                headers["Content-Type"] = "application/json"
            url = f"{self.endpoint.rstrip('/')}{path}"
            response = http.send(
                method, url, headers=headers, body=body, timeout=self.timeout
            )
            if response.status != 401:
                break
        return response

    def _headers(self, *, renew: bool = False) -> dict[str, str]:
        """Return the headers with a token; raises ``NoToken`` if there is none."""
        return self._tokens.headers(
            self.credentials, self.token_endpoint, timeout=self.timeout, renew=renew
        )

    def _secrets(self) -> Iterable[str]:
        return self._tokens.secrets(self.credentials)


class _Fetch:
    """Send google-auth's requests: a ``google.auth.transport.Request``."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **kwargs: Any,
    ) -> _Fetched:
        # google-auth sets a short timeout to find out whether it runs at Google.
        seconds = self._timeout if timeout is None else min(timeout, self._timeout)
        data = body.encode() if isinstance(body, str) else body
        try:
            response = http.send(
                method,
                url,
                headers=headers,
                body=data,
                timeout=seconds,
                plain=urllib.parse.urlsplit(url).hostname in _METADATA,
            )
        except TransportError as error:
            raise _exceptions.TransportError(str(error)) from error
        if response.status == 429 or response.status >= 500:
            # google-auth would sleep and retry, but retries are up to the outbox.
            msg = f"The token endpoint is unavailable ({response.status})."
            raise _exceptions.TransportError(msg)
        return _Fetched(response)


class _Fetched:
    """An answer for google-auth: a ``google.auth.transport.Response``."""

    def __init__(self, response: http.Response) -> None:
        self.status = response.status
        self.headers = response.headers
        self.data = response.body


@contextmanager
def _explained() -> Iterator[None]:
    """Raise ``NoToken`` in place of google-auth's errors."""
    try:
        yield
    except _exceptions.GoogleAuthError as error:
        raise NoToken(_why(error)) from error
    except (ValueError, TypeError, KeyError) as error:
        raise NoToken(_MALFORMED) from error


def _read(credentials: str | os.PathLike[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of the JSON file."""
    if isinstance(credentials, Mapping):
        return dict(credentials)
    try:
        info = json.loads(Path(credentials).read_text())
    except OSError as error:
        reason = f"{error.strerror} (option 'credentials')."
        raise NoToken(f"Cannot read the credentials file: {reason}") from error
    except ValueError as error:
        msg = "The credentials file is not JSON (option 'credentials')."
        raise NoToken(msg) from error
    if not isinstance(info, dict):
        msg = "The credentials file is not a JSON object (option 'credentials')."
        raise NoToken(msg)
    return info


def _why(error: Exception) -> str:
    text = str(error.args[0]) if error.args else ""
    if isinstance(error, _exceptions.MalformedError):
        return _MALFORMED
    if isinstance(error, _exceptions.DefaultCredentialsError):
        return (
            "There are no default credentials: set the option 'credentials' to the "
            f"path of a JSON file, or set GOOGLE_APPLICATION_CREDENTIALS. {text}"
        )
    if isinstance(error, _exceptions.TransportError):
        return f"There is no access token. {text}"
    if "invalid_grant" in text:
        return (
            "Google issues no token for these credentials. The service account's key "
            "may have been deleted, or this machine's clock may be wrong. A user's "
            "refresh token expires when consent is withdrawn, and after seven days "
            f"while the app's consent screen is in testing. {text}"
        )
    return f"Google issues no token for these credentials. {text}"


def _lines(value: object) -> Iterator[str]:
    """Yield a secret, and its lines, which errors may quote."""
    if isinstance(value, str) and value:
        yield value
        yield from (line for line in value.splitlines() if len(line) >= 32)
