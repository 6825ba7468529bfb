"""Google's access tokens: by google-auth (the extra "google"), over our transport."""

from __future__ import annotations

import json
import os
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import http
from .errors import EngineError, TransportError

#: google-auth, or None where the extra "google" is not installed.
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

#: The scope that may submit; it may read, too.
SCOPE = "https://www.googleapis.com/auth/webmasters"

#: What to type where google-auth is missing.
INSTALL = (
    "needs a package that is not installed: pip install 'django-sitemaps-plus[google]'."
)

Credentials = str | os.PathLike[str] | Mapping[str, Any] | None

#: Where hosts of Google's get the credentials of their own account, by plain http:
#: the link between a machine and its host.
#: https://cloud.google.com/compute/docs/metadata/querying-metadata
_METADATA = ("metadata.google.internal", "169.254.169.254")

_SECRET = ("private_key", "private_key_id", "client_secret", "refresh_token")


class NoToken(EngineError):
    """There is no access token; the message says why."""


def is_installed() -> bool:
    """Tell whether google-auth is there."""
    return _auth is not None


class Tokens:
    """The tokens of one engine: read and asked for once, then kept until they end."""

    def __init__(self) -> None:
        self._made: Any = None
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
        Return the headers of a request; ``renew`` if the last token was refused.

        Raises:
            NoToken: There is none to be had.
        """
        try:
            if self._made is None:
                self._made = self._load(credentials, endpoint, timeout)
            if renew or not self._made.valid:
                self._made.refresh(_Fetch(timeout))
        except _exceptions.GoogleAuthError as error:
            raise NoToken(_why(error)) from error
        except (ValueError, TypeError, KeyError) as error:
            msg = "The credentials cannot be used: they are not as Google wrote them."
            raise NoToken(msg) from error
        headers: dict[str, str] = {}
        # The token, and the project that is to be charged if the credentials name one.
        self._made.apply(headers)
        return headers

    def secrets(self, credentials: Credentials) -> Iterator[str]:
        """Yield what no text may show."""
        given = credentials if isinstance(credentials, Mapping) else {}
        for info in (given, self._info):
            for name in _SECRET:
                yield from _lines(info.get(name))
        for name in ("token", *_SECRET):
            yield from _lines(getattr(self._made, name, None))

    def _load(
        self, credentials: Credentials, endpoint: str | None, timeout: float
    ) -> Any:
        """Return the credentials of google-auth."""
        if credentials is None:
            return _auth.default(scopes=[SCOPE], request=_Fetch(timeout))[0]
        info = _read(credentials)
        self._info = info
        if endpoint is not None:
            info["token_uri"] = endpoint
        kind = info.get("type")
        if kind == "service_account":
            return _services.Credentials.from_service_account_info(info, scopes=[SCOPE])
        if kind == "authorized_user":
            made = _users.Credentials.from_authorized_user_info(info, scopes=[SCOPE])
            # google-auth takes Google's address here, whatever the file says.
            uri = info.get("token_uri")
            return made.with_token_uri(uri) if uri else made
        msg = (
            "The credentials are neither of a service account nor of an authorised "
            "user: their 'type' must be 'service_account' or 'authorized_user'."
        )
        raise NoToken(msg)


class _Fetch:
    """Do the requests of google-auth: ``google.auth.transport.Request``."""

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
        # google-auth is short with machines that may not be Google's.
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
            # google-auth would sleep and try again; that is the outbox's business.
            msg = f"The token endpoint is not available ({response.status})."
            raise _exceptions.TransportError(msg)
        return _Fetched(response)


class _Fetched:
    """An answer as google-auth wants it: ``google.auth.transport.Response``."""

    def __init__(self, response: http.Response) -> None:
        self.status = response.status
        self.headers = response.headers
        self.data = response.body


def _read(credentials: str | os.PathLike[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Return what the JSON file says."""
    if isinstance(credentials, Mapping):
        return dict(credentials)
    try:
        info = json.loads(Path(credentials).read_text())
    except OSError as error:
        msg = f"The file of 'credentials' cannot be read: {error.strerror}."
        raise NoToken(msg) from error
    except ValueError as error:
        raise NoToken("The file of 'credentials' is no JSON.") from error
    if not isinstance(info, dict):
        raise NoToken("The file of 'credentials' is no JSON object.")
    return info


def _why(error: Exception) -> str:
    text = str(error.args[0]) if error.args else ""
    if isinstance(error, _exceptions.MalformedError):
        return "The credentials cannot be used: they are not as Google wrote them."
    if isinstance(error, _exceptions.DefaultCredentialsError):
        return (
            "There are no default credentials here: give the path of a JSON file as "
            f"'credentials', or set GOOGLE_APPLICATION_CREDENTIALS. {text}"
        )
    if isinstance(error, _exceptions.TransportError):
        return f"There is no token. {text}"
    if "invalid_grant" in text:
        return (
            "Google gives no token for these credentials. The key of a service account "
            "may have been deleted, or the clock of this host is wrong; the refresh "
            "token of a user ends with the consent, and after seven days while the "
            f"consent screen of the app is in testing. {text}"
        )
    return f"Google gives no token for these credentials. {text}"


def _lines(value: object) -> Iterator[str]:
    """Yield a secret, and the lines of it that errors may quote."""
    if isinstance(value, str) and value:
        yield value
        yield from (line for line in value.splitlines() if len(line) >= 32)
