"""
Google's engines: what they have in common, which is the account.

Access tokens come from google-auth (the extra "google"), over our transport.
"""

from __future__ import annotations

import json
import os
import re
import urllib.parse
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from django_sitemaps_plus.engines import http
from django_sitemaps_plus.engines.addresses import check_url
from django_sitemaps_plus.engines.base import (
    CheckResult,
    Engine,
    MissingExtra,
    NoToken,
    OptionError,
    Outcome,
    TransportError,
    secret_option,
)
from django_sitemaps_plus.engines.http import explained

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

#: How to install google-auth.
_INSTALL = (
    "needs a package that is not installed: pip install 'django-sitemaps-plus[google]'."
)

Credentials = str | os.PathLike[str] | Mapping[str, Any] | None

#: Where machines in Google's cloud get their credentials. It speaks plain http, over
#: the link between a machine and its host.
#: https://cloud.google.com/compute/docs/metadata/querying-metadata
_METADATA = ("metadata.google.internal", "169.254.169.254")

_MALFORMED = "The credentials are malformed: use the JSON file as Google issued it."
#: A JWT, an access token, a refresh token, as Google writes them.
_TOKEN = re.compile(r"eyJ[\w-]+(?:\.[\w-]+)*|ya29\.[\w.-]+|\b1//[\w-]{16,}")
_SECRET = ("private_key", "private_key_id", "client_secret", "refresh_token")

#: What the body of an error has in it, by what is wrong.
_TOO_MANY = ("quotaExceeded", "rateLimitExceeded", "userRateLimitExceeded")
_SERVICE_OFF = ("accessNotConfigured", "SERVICE_DISABLED")
_NO_SCOPE = ("insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT")


def is_installed() -> bool:
    """Return whether google-auth is installed."""
    return _auth is not None


@dataclass(frozen=True, kw_only=True)
class GoogleEngine(Engine):
    """An engine whose requests have an access token of Google's."""

    #: The API's own name, and the scope of its tokens.
    api: ClassVar[str]
    scope: ClassVar[str]

    #: The path of a JSON file, or its contents, for a service account or an authorized
    #: user. None: Google's application default credentials.
    credentials: Credentials = secret_option(default=None)
    #: The URL of the API.
    endpoint: str
    #: The URL that issues tokens. None: the one in the credentials.
    token_endpoint: str | None = None

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
            MissingExtra: google-auth is not installed.
        """
        super().__post_init__()
        if not is_installed():
            raise MissingExtra("BACKEND", _INSTALL)
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
        try:
            _ = self._account
        except NoToken as error:
            fix = "Set 'credentials' to the path of the JSON file that Google issued."
            return [CheckResult.bad(str(error), fix)]
        return []

    def redact(self, text: str) -> str:
        """Return a text without secrets of the credentials and without tokens."""
        return _TOKEN.sub(self.REDACTED, super().redact(text))

    def _ask(
        self,
        method: str,
        path: str,
        document: object = None,
        *,
        root: str = "",
        **options: Any,
    ) -> http.Response:
        """
        Send a request with a token; if that is refused, with a new one once.

        ``root`` is where another API is, ``options`` are further ones of
        ``http.send()``.

        Raises:
            NoToken: There is no token.
            TransportError: There is no answer.
        """
        url = f"{(root or self.endpoint).rstrip('/')}{path}"
        for renew in (False, True):
            response = http.send(
                method,
                url,
                headers=self._headers(renew=renew),
                document=document,
                **{"timeout": self.timeout, **options},
            )
            if response.status != 401:
                break
        return response

    def _headers(self, *, renew: bool = False) -> dict[str, str]:
        """
        Return the headers of a request, with a token that is reused until it expires.

        With ``renew`` a new one. Raises ``NoToken`` if there is none.
        """
        account = self._account
        with _as_no_token("The token endpoint's answer is not a token."):
            if renew or not account.valid:
                account.refresh(partial(_fetch, self.timeout))
        headers: dict[str, str] = {}
        # The token and, if the credentials name one, the project to charge.
        account.apply(headers)
        return headers

    @cached_property
    def _account(self) -> Any:
        """
        The credentials, as google-auth has them; it asks nobody if they are given.

        Raises:
            NoToken: They cannot be read, or are malformed.
        """
        scopes = [self.scope]
        with _as_no_token():
            if self.credentials is None:
                request = partial(_fetch, self.timeout)
                return _auth.default(scopes=scopes, request=request)[0]
            info = self._info
            kind = info.get("type")
            if kind == "service_account":
                account = _services.Credentials
                return account.from_service_account_info(info, scopes=scopes)
            if kind == "authorized_user":
                users = _users.Credentials
                user = users.from_authorized_user_info(info, scopes=scopes)
                # google-auth ignores the URL in the file.
                uri = info.get("token_uri")
                return user.with_token_uri(uri) if uri else user
        msg = "The 'type' of the credentials is not 'service_account' or "
        raise NoToken(f"{msg}'authorized_user'.")

    @cached_property
    def _info(self) -> Mapping[str, Any]:
        """What the JSON file says."""
        info = _read(self.credentials)
        given = self.token_endpoint
        return info if given is None else {**info, "token_uri": given}

    def _secrets(self) -> Iterator[str]:
        """Yield the values that must not be shown, of what was read so far."""
        state = vars(self)
        given = self.credentials if isinstance(self.credentials, Mapping) else {}
        for info in (given, state.get("_info", {})):
            for name in _SECRET:
                yield from _lines(info.get(name))
        for name in ("token", *_SECRET):
            yield from _lines(getattr(state.get("_account"), name, None))

    # Answers

    def _explain(
        self, response: http.Response, what: str, *, promised: bool
    ) -> tuple[Outcome, str]:
        """
        Return what a response means, and what to do if somebody has to act.

        ``promised`` is whether a success has the body of one.
        """
        status, text = response.status, response.text
        if status == 403 and _has(text, _TOO_MANY):
            return Outcome.THROTTLED, "Google asks for fewer requests (403)."
        if status == 401:
            problem = "Google rejects the access token of these credentials (401)."
        elif status == 403 and _has(text, _SERVICE_OFF):
            enable = "enable it in the account's Cloud project."
            problem = f"The {self.api} is not enabled (403): {enable}"
        elif status == 403 and _has(text, _NO_SCOPE):
            problem = f"The token lacks the scope {self.scope} (403)."
        elif status == 403:
            problem = self._denied(response)
        else:
            if not response.is_success:
                promised = "error" in response.json_object
            return explained(response, "Google", what, promised=promised)
        return Outcome.UNAVAILABLE, problem

    @abstractmethod
    def _denied(self, response: http.Response) -> str:
        """Return what a 403 means that is about the site."""


def _fetch(
    most: float,
    url: str,
    method: str = "GET",
    body: bytes | str | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float | None = None,
    **kwargs: Any,
) -> SimpleNamespace:
    """
    Send google-auth's requests within ``most`` seconds.

    With these it is a ``google.auth.transport.Request``.
    """
    # google-auth sets a short timeout to find out whether it runs at Google.
    seconds = most if timeout is None else min(timeout, most)
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
    if response.status == 429 or response.status >= 500 or response.is_html:
        # google-auth would sleep and retry, but retries are up to the outbox.
        page = ": it answers with a web page" if response.is_html else ""
        msg = f"The token endpoint is unavailable ({response.status}){page}."
        raise _exceptions.TransportError(msg)
    # A google.auth.transport.Response.
    return SimpleNamespace(
        status=response.status, headers=response.headers, data=response.body
    )


@contextmanager
def _as_no_token(problem: str = _MALFORMED) -> Iterator[None]:
    """Raise ``NoToken`` in place of google-auth's errors, and of those of Python."""
    try:
        yield
    except _exceptions.GoogleAuthError as error:
        passes = isinstance(error, _exceptions.TransportError) or error.retryable
        raise NoToken(_why(error), may_pass=passes) from error
    except (ValueError, TypeError, KeyError) as error:
        raise NoToken(problem) from error


def _read(credentials: Any) -> dict[str, Any]:
    """Return the contents of the JSON file."""
    if isinstance(credentials, Mapping):
        return dict(credentials)
    try:
        info = json.loads(Path(credentials).read_text("utf-8"))
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
        return f"Google could not be asked for an access token: {text}"
    if "invalid_grant" in text:
        return (
            "Google issues no token for these credentials. The service account's key "
            "may have been deleted, or this machine's clock may be wrong. A user's "
            "refresh token expires when consent is withdrawn, and after seven days "
            f"while the app's consent screen is in testing. {text}"
        )
    return f"Google issues no token for these credentials. {text}"


def _has(text: str, words: Iterable[str]) -> bool:
    return any(word in text for word in words)


def _lines(value: object) -> Iterator[str]:
    """Yield a secret, and its lines, which errors may quote."""
    if isinstance(value, str) and value:
        yield value
        yield from (line for line in value.splitlines() if len(line) >= 32)
