"""
IndexNow: Bing (and who uses its index), Yandex, Seznam, Naver, Yep, Amazonbot.

https://www.indexnow.org/documentation. Whoever gets URLs hands them on to the others
(https://www.indexnow.org/faq), so one endpoint is told; the others stand in for it.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from . import http, keyfile, robots_check
from .addresses import Target, check_url
from .base import Answer, Batch, CheckResult, Engine, Outcome, secret
from .errors import OptionError, TransportError

#: Hands on to all who take part.
ENDPOINT = "https://api.indexnow.org/indexnow"
#: Who stands in, in this order. https://www.indexnow.org/searchengines.json
FALLBACKS = ("https://yandex.com/indexnow", "https://search.seznam.cz/indexnow")

#: https://www.indexnow.org/documentation: 8 to 128 of a-z, A-Z, 0-9 and "-".
_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")
_LOCATION = re.compile(r"/[!-~]*")

#: Seconds to wait where "too many requests" comes without ``Retry-After``: the time
#: for which the same URL should rest.
THROTTLED_FOR = 600.0
#: Seconds that fetching the key file takes at the least, as has been seen.
VALIDATED_IN = 120.0
#: The stages and the whole of the look at our own key file.
VERIFY_TIMEOUT = 5.0

#: Yandex's words for what is wrong with the request, not with one of its URLs.
#: https://yandex.com/support/webmaster/en/indexnow/reference
_NOT_THE_URLS = ("invalid key", "key must", "no host", "no key")

_NO_KEY = "`python manage.py ping_sitemaps --new-key` makes one."
_WAIT = "That is usual with a new key, and takes some minutes."
_SPAM = "potential spam"
_STICKY = (
    "refuses the key for this site (403 UserForbiddedToAccessSite), though the key "
    "file is right. It remembers for good that the file was once not there: make a "
    "new key with `python manage.py ping_sitemaps --new-key`, and move this one to "
    "'old_keys'."
)
_KEY_FILE_IS_GOOD = (
    "does not take the key (403), though the key file is right as seen from here. Look "
    "whether a firewall keeps crawlers from it."
)
_ACCEPTED = {
    200: "{name} has the URLs.",
    202: "{name} has the URLs, and will fetch the key file.",
}
_REJECTED = {
    400: "{name} cannot read the request (400).",
    413: "{name} finds the request too large (413).",
    422: "{name} takes URLs of the host only, and finds one of another (422).",
}


#: In the body of a 400 that is about the URLs and not about the request's form.
_NAMES_URLS = "urllist"


def make_key() -> str:
    """Return a new key: 32 lower-case hexadecimal digits."""
    return secrets.token_hex(16)


@dataclass(frozen=True, kw_only=True)
class IndexNow(Engine):
    """Told of single URLs: new, changed and gone ones."""

    name: ClassVar[str] = "IndexNow"
    takes_urls: ClassVar[bool] = True
    max_urls: ClassVar[int] = 10_000

    #: What proves that the site is ours, by a file that the site serves.
    key: str = secret(default="")
    #: Keys of single hosts, which come before ``key``.
    keys: Mapping[str, str] = secret(default_factory=dict)
    #: Former keys, whose files are still served.
    old_keys: Sequence[str] = secret(default=())
    #: The path of the key file; without it, ``/<key>.txt``.
    key_location: str | None = None
    #: Who is told.
    endpoint: str = ENDPOINT
    #: Who is told instead if the endpoint cannot, or will not. None: Yandex and
    #: Seznam if the endpoint is the protocol's own, nobody if it is another.
    fallbacks: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """
        Look at the options.

        Raises:
            OptionError: One of them is impossible.
        """
        super().__post_init__()
        self._check_keys()
        check_url("endpoint", self.endpoint)
        if isinstance(self.fallbacks, str):
            raise OptionError("fallbacks", "is one text; use a list of addresses.")
        for address in self.fallbacks or ():
            check_url("fallbacks", address)
        if self.key_location is not None:
            _check_location(self.key_location)

    def submit(self, batch: Batch) -> Answer:
        """
        Tell one endpoint, and the next one where that cannot or will not be told.

        Not where it answers that we are too fast: the next would be told of the same.
        """
        host = _host(batch.origin)
        if not self._key_of(host):
            text = f"There is no key for {host}. {_NO_KEY}"
            return self._answer(Outcome.UNAVAILABLE, text, is_unsent=True)
        outside = self._outside(batch)
        if outside:
            return outside
        first, *others = self._endpoints()
        answer, is_final = self._post(first, batch)
        told, is_unsent = [answer.message], answer.is_unsent
        for endpoint in others:
            if is_final:
                break
            following, is_final = self._post(endpoint, batch)
            told.append(following.message)
            is_unsent &= following.is_unsent
            if is_final:
                answer = following
        return self._answer(
            answer.outcome,
            " ".join(reversed(told)) if is_final else " ".join(told),
            status=answer.status,
            body=answer.excerpt,
            retry_after=answer.retry_after,
            is_divisible=answer.is_divisible,
            is_unsent=is_unsent,
        )

    def files(self, host: str) -> Mapping[str, str]:
        """Return the key files of a host, former ones too, by name."""
        present = self._key_of(_host_of(host))
        keys = dict.fromkeys(key for key in (present, *self.old_keys) if key)
        files = {f"{key}.txt": key for key in keys}
        location = (self.key_location or "").removeprefix("/")
        if location and "/" not in location and present:
            files[location] = present
        return files

    def hosts(self) -> Iterable[str]:
        """Return the hosts that have a key of their own."""
        return self.keys

    def proof(self, host: str) -> str:
        """Return what stands for a host's key and the place of its file, unreadably."""
        known = f"{self._key_of(_host_of(host))} {self.key_location or ''}"
        return hashlib.sha256(known.encode()).hexdigest()[:32]

    def verify(self, origin: str, *, force: bool = False) -> CheckResult:
        """
        Fetch the key file as engines will, and compare it with the key.

        Without ``force`` neither may be at a private address, nor may the site's
        robots.txt keep all crawlers out.
        """
        key = self._key_of(_host(origin))
        if not key:
            return self._finding(f"There is no key for {_host(origin)}.", _NO_KEY)
        found = keyfile.look(
            f"{origin}{self.key_location or f'/{key}.txt'}",
            key,
            former=self.old_keys,
            timeout=VERIFY_TIMEOUT,
            force=force,
        )
        if found.is_good and not force:
            seen = robots_check.look(origin, timeout=VERIFY_TIMEOUT)
            found = found if seen.is_good else seen
        if not found.is_good:
            return self._finding(found.text, found.fix)
        return CheckResult(is_good=True, text=self.redact(found.text))

    def _check_keys(self) -> None:
        if not self.key and not self.keys:
            raise OptionError("key", f"is missing. {_NO_KEY}")
        if not isinstance(self.keys, Mapping):
            raise OptionError("keys", "is no dict of hosts and their keys.")
        if isinstance(self.old_keys, str):
            raise OptionError("old_keys", "is one text; use a list of keys.")
        named: list[tuple[str, object]] = [("key", self.key)] if self.key else []
        named += [("keys", key) for key in self.keys.values()]
        named += [("old_keys", key) for key in self.old_keys]
        for option, key in named:
            if not isinstance(key, str) or not _KEY.fullmatch(key):
                problem = "has a key that is not 8 to 128 of a-z, A-Z, 0-9 and -."
                raise OptionError(option, f"{problem} {_NO_KEY}")

    def _key_of(self, host: str) -> str:
        for known, key in self.keys.items():
            if _host_of(known) == host:
                return key
        return self.key

    def _endpoints(self) -> list[str]:
        fallbacks = self.fallbacks
        if fallbacks is None:
            fallbacks = FALLBACKS if self.endpoint == ENDPOINT else ()
        return [self.endpoint, *fallbacks]

    def _outside(self, batch: Batch) -> Answer | None:
        """Refuse what a key file below the root does not speak for."""
        folder = (self.key_location or "/").rpartition("/")[0] + "/"
        if folder == "/":
            return None
        below = sum(_path(url).startswith(folder) for url in batch.urls)
        if below == len(batch.urls):
            return None
        return self._answer(
            Outcome.REJECTED,
            f"{len(batch.urls) - below} of {len(batch.urls)} URLs are not below "
            f"{folder}, for which alone the key file there speaks. Put it at the root: "
            "leave out 'key_location'.",
            is_divisible=below > 0,
        )

    def _post(self, endpoint: str, batch: Batch) -> tuple[Answer, bool]:
        """Return what an endpoint said, and whether that is the last word."""
        name = Target.parse(endpoint).authority
        try:
            response = http.send(
                "POST",
                endpoint,
                headers={"Content-Type": "application/json; charset=utf-8"},
                body=json.dumps(self._payload(batch)).encode(),
                timeout=self.timeout,
            )
        except TransportError as error:
            answer = self._answer(
                Outcome.UNAVAILABLE, str(error), is_unsent=error.is_unsent
            )
            return answer, False
        return self._read(name, response, batch.origin)

    def _payload(self, batch: Batch) -> dict[str, Any]:
        host = _host(batch.origin)
        payload = {"host": host, "key": self._key_of(host), "urlList": list(batch.urls)}
        if self.key_location:
            payload["keyLocation"] = f"{batch.origin}{self.key_location}"
        return payload

    def _read(
        self, name: str, response: http.Response, origin: str
    ) -> tuple[Answer, bool]:
        status = response.status
        wait: float | None = response.retry_after
        outcome, is_final, is_divisible = Outcome.UNAVAILABLE, False, False
        if response.is_success and not response.is_html:
            outcome, is_final, wait = Outcome.ACCEPTED, True, None
            message = _ACCEPTED.get(status, _ACCEPTED[200]).format(name=name)
        elif status == 403 and "SiteVerificationNotCompleted" in response.text:
            is_final, wait = True, max(wait or 0.0, VALIDATED_IN)
            message = f"{name} has not fetched the key file yet. {_WAIT}"
        elif status == 403:
            message, is_final = self._forbidden(name, response, origin)
        elif status == 422 and _is_of_the_key(response.text):
            is_final = True
            message = f"{name} does not take the key or its place (422)."
        elif status in (400, 413, 422):
            outcome, is_final = Outcome.REJECTED, True
            # A form that is wrong is wrong for each of them.
            is_divisible = status != 400 or _NAMES_URLS in response.text.lower()
            message = _REJECTED[status].format(name=name)
        elif status == 429:
            outcome, is_final = Outcome.THROTTLED, True
            wait = THROTTLED_FOR if wait is None else wait
            message = f"{name} wants fewer requests (429: {_SPAM})."
        else:
            message = _other(name, response)
        answer = self._answer(
            outcome,
            message,
            status=status,
            body=response.text,
            retry_after=wait,
            is_divisible=is_divisible,
        )
        return answer, is_final

    def _forbidden(
        self, name: str, response: http.Response, origin: str
    ) -> tuple[str, bool]:
        """Say whose fault 403 is; if it is not ours, another endpoint may know."""
        # What is being submitted was not held back for its address, so nor is this.
        finding = self.verify(origin, force=True)
        if not finding.is_good:
            text = f"{name} does not take the key (403). {finding.text} {finding.fix}"
            return text, True
        if "UserForbid" in response.text:
            return f"{name} {_STICKY}", False
        return f"{name} {_KEY_FILE_IS_GOOD}", False


def _other(name: str, response: http.Response) -> str:
    status = response.status
    if response.is_success:
        return f"{name} answers with a web page: is this the endpoint of an engine?"
    if 300 <= status < 400:
        return f"{name} answers with a redirect ({status}): it is no endpoint any more."
    if status in (404, 405, 410):
        return f"{name} has no IndexNow at this address ({status}): see 'endpoint'."
    if status >= 500:
        return f"{name} has an error of its own ({status})."
    return f"{name} refuses ({status})."


def _is_of_the_key(text: str) -> bool:
    return any(words in text.lower() for words in _NOT_THE_URLS)


def _check_location(location: Any) -> None:
    if not isinstance(location, str) or not _LOCATION.fullmatch(location):
        problem = f"is {location!r}; write the path alone: '/indexnow.txt'."
        raise OptionError("key_location", problem)


def _host(origin: str) -> str:
    """Return the bare host of an origin, as the protocol wants it."""
    return urllib.parse.urlsplit(origin).hostname or ""


def _host_of(host: str) -> str:
    """Return a host, as the header Host or a setting has it, without its port."""
    return _host(f"//{host}")


def _path(url: str) -> str:
    return urllib.parse.urlsplit(url).path or "/"
