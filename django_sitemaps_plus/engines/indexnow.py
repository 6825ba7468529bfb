"""
IndexNow: Bing (and engines that use its index), Yandex, Seznam, Naver, Yep, Amazonbot.

https://www.indexnow.org/documentation. Each participant forwards URLs to all the others
(https://www.indexnow.org/faq), so one endpoint is enough; the others are fallbacks.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from django_sitemaps_plus.protocol.errors import page
from django_sitemaps_plus.protocol.values import matches

from . import http, own_files
from .addresses import Target, check_url
from .base import (
    CREATE_ONE,
    Answer,
    Batch,
    CheckResult,
    Engine,
    NoToken,
    OptionError,
    Outcome,
    TransportError,
    secret_option,
)
from .http import explained

#: Forwards to all participants.
ENDPOINT = "https://api.indexnow.org/indexnow"
#: Used in this order if the endpoint fails. https://www.indexnow.org/searchengines.json
FALLBACKS = ("https://yandex.com/indexnow", "https://search.seznam.cz/indexnow")

#: The hosts of all who take part, and share what any of them receives.
_PARTICIPANTS = (
    *("api.indexnow.org", "www.bing.com", "bing.com", "yandex.com"),
    *("search.seznam.cz", "searchadvisor.naver.com", "indexnow.yep.com"),
    "indexnow.amazonbot.amazon",
)

_LOCATION = re.compile(r"/[!-~]*")

#: Seconds to wait after a 429 without ``Retry-After``: the least time between two
#: submissions of the same URL.
_THROTTLED_FOR = 600.0
#: The least seconds that engines have been seen to take to fetch a new key file.
_VALIDATED_IN = 120.0

#: Parts of Yandex's messages that concern the key or the host, not a URL.
#: https://yandex.com/support/webmaster/en/indexnow/reference
_NOT_THE_URLS = ("invalid key", "key must", "no host", "no key")

#: In the body of a 400 that is about the URLs, not the form of the request.
_NAMES_URLS = "urllist"

#: What the message of each 403 ends with.
_SEE = f"See {page('indexnow-403')}."
_STICKY = (
    "refuses the key for this site (403 UserForbiddedToAccessSite), although the key "
    "file is correct. It once found no key file, and now distrusts the key for good. "
    f"Use a new key, and move this one to 'old_keys'. {CREATE_ONE}"
)
_KEY_FILE_IS_GOOD = (
    "refuses the key (403), although the key file looks correct from here. Check that "
    "no firewall blocks crawlers."
)


@dataclass(frozen=True, kw_only=True)
class IndexNow(Engine):
    """Submit URLs that were added, changed or removed."""

    name: ClassVar[str] = "IndexNow"
    takes_urls: ClassVar[bool] = True
    max_urls: ClassVar[int] = 10_000

    #: Proves that the site is yours, by a file that the site serves.
    key: str = secret_option(default="")
    #: Keys of single hosts, used instead of ``key``.
    keys: Mapping[str, str] = secret_option(default_factory=dict)
    #: Previous keys, whose files are still served.
    old_keys: Sequence[str] = secret_option(default=())
    #: The path of the key file. None: ``/<key>.txt``.
    key_location: str | None = None
    #: The URL to submit to.
    endpoint: str = ENDPOINT
    #: URLs to submit to if the endpoint fails. None: Yandex and Seznam for the default
    #: endpoint, none for any other.
    fallbacks: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
        """
        super().__post_init__()
        self._check_keys()
        check_url("endpoint", self.endpoint)
        if isinstance(self.fallbacks, str):
            raise OptionError("fallbacks", "is a string; use a list of URLs.")
        for address in self.fallbacks or ():
            check_url("fallbacks", address)
        location = self.key_location
        if location is not None and not matches(location, _LOCATION):
            problem = f"is {location!r}; use a path, for example '/indexnow.txt'."
            raise OptionError("key_location", problem)

    @property
    def service(self) -> str:
        """IndexNow, whichever participant it submits to; or an endpoint of its own."""
        return self.name if _host(self.endpoint) in _PARTICIPANTS else self.endpoint

    def submit(self, batch: Batch) -> Answer:
        """
        Submit URLs to the endpoint, or to the next one if it fails.

        Throttling is final: the next one would count the same requests. But not if
        the endpoint throttles again without a reason that is this site's: it counts
        those of all who share an address.
        """
        host = _host(batch.origin)
        if not self._key_of(host):
            raise NoToken(f"There is no key for {host}. {CREATE_ONE}")
        if refusal := self._outside(batch):
            return refusal
        answers: list[Answer] = []
        for endpoint in self._endpoints():
            answer, is_final = self._post(endpoint, batch)
            answers.append(answer)
            if is_final:  # it counts; otherwise that of the first endpoint does
                answers.reverse()
                break
        message = " ".join(answer.message for answer in answers)
        is_unsent = all(answer.is_unsent for answer in answers)
        return dataclasses.replace(answers[0], message=message, is_unsent=is_unsent)

    def files(self, host: str) -> Mapping[str, str]:
        """Return the key files of a host, including old ones: contents by name."""
        key = self._key_of(_host_of(host))
        files = {f"{name}.txt": name for name in (key, *self.old_keys) if name}
        location = (self.key_location or "").removeprefix("/")
        if location and "/" not in location and key:
            files[location] = key
        return files

    def hosts(self) -> Iterable[str]:
        """Return the hosts with a key of their own."""
        return self.keys

    def proof(self, host: str) -> str:
        """Return a hash of a host's key and the location of its file."""
        proof = f"{self._key_of(_host_of(host))} {self.key_location or ''}"
        return hashlib.sha256(proof.encode()).hexdigest()[:32]

    def verify(self, origin: str, *, force: bool = False) -> CheckResult:
        """
        Fetch the key file as engines do, and compare it with the key.

        Without ``force``, the site must have a public address, and its robots.txt must
        not block all crawlers.
        """
        key = self._key_of(_host(origin))
        if not key:
            return CheckResult.bad(f"There is no key for {_host(origin)}.", CREATE_ONE)
        url, former = f"{origin}{self.key_location or f'/{key}.txt'}", self.old_keys
        result = own_files.check_key_file(url, key, old_keys=former, force=force)
        if result.is_good and not force:
            crawling = own_files.check_live_robots(origin, timeout=own_files.TIMEOUT)
            result = result if crawling.is_good else crawling
        return result

    def _check_keys(self) -> None:
        if not self.key and not self.keys:
            raise OptionError("key", f"is missing. {CREATE_ONE}")
        if not isinstance(self.keys, Mapping):
            raise OptionError("keys", "is not a dict of hosts and their keys.")
        if isinstance(self.old_keys, str):
            raise OptionError("old_keys", "is a string; use a list of keys.")
        named: list[tuple[str, object]] = [("key", self.key)] if self.key else []
        named += [("keys", key) for key in self.keys.values()]
        named += [("old_keys", key) for key in self.old_keys]
        for option, key in named:
            if not matches(key, own_files.KEY):
                problem = "contains a key that is not 8 to 128 of a-z, A-Z, 0-9 and -."
                raise OptionError(option, f"{problem} {CREATE_ONE}")

    def _key_of(self, host: str) -> str:
        own = (key for named, key in self.keys.items() if _host_of(named) == host)
        return next(own, self.key)

    def _endpoints(self) -> list[str]:
        fallbacks = self.fallbacks
        if fallbacks is None:
            fallbacks = FALLBACKS if self.endpoint == ENDPOINT else ()
        return [self.endpoint, *fallbacks]

    def _outside(self, batch: Batch) -> Answer | None:
        """Refuse URLs for which a key file in a folder is not valid."""
        folder = (self.key_location or "/").rpartition("/")[0] + "/"
        if folder == "/":
            return None
        paths = [urllib.parse.urlsplit(url).path for url in batch.urls]
        below = sum(path.startswith(folder) for path in paths)
        if below == len(batch.urls):
            return None
        problem = (
            f"{len(batch.urls) - below} of {len(batch.urls)} URLs are not below "
            f"{folder}, and this key file is valid only there. Serve it at the root: "
            "remove 'key_location'."
        )
        return Answer(outcome=Outcome.REJECTED, message=problem, is_divisible=below > 0)

    def _post(self, endpoint: str, batch: Batch) -> tuple[Answer, bool]:
        """Return an endpoint's answer, and whether it is final."""
        name, host = Target.parse(endpoint).authority, _host(batch.origin)
        payload = {"host": host, "key": self._key_of(host), "urlList": list(batch.urls)}
        if self.key_location:
            payload["keyLocation"] = f"{batch.origin}{self.key_location}"
        try:
            response = http.send(
                "POST",
                endpoint,
                headers={"Content-Type": "application/json; charset=utf-8"},
                document=payload,
                timeout=self.timeout,
            )
        except TransportError as error:
            return error.answer, False
        return self._read(name, response, batch)

    def _read(
        self, name: str, response: http.Response, batch: Batch
    ) -> tuple[Answer, bool]:
        status, text = response.status, response.text.lower()
        wait: float | None = response.retry_after
        outcome, message = explained(response, name, "the URLs", promised="JSON")
        is_final, is_divisible = outcome != Outcome.UNAVAILABLE, False
        if outcome == Outcome.ACCEPTED:
            wait = None
            if status == 202:
                problem = "accepted the URLs; the key file has yet to be verified."
                message = f"{name} {problem}"
        elif status == 403 and "siteverificationnotcompleted" in text:
            # Nobody has to act.
            outcome = Outcome.THROTTLED
            is_final, wait = True, max(wait or 0.0, _VALIDATED_IN)
            message = (
                f"{name} has not fetched the key file yet. This is normal for a new "
                f"key, and takes a few minutes. {_SEE}"
            )
        elif status == 403:
            message, is_final = self._forbidden(name, response, batch.origin)
        elif status == 422 and any(words in text for words in _NOT_THE_URLS):
            outcome = Outcome.UNAVAILABLE
            message = f"{name} rejects the key, or where its file is (422)."
        elif outcome == Outcome.REJECTED:
            # If the form of the request is wrong, it is so for every half.
            is_divisible = status != 400 or _NAMES_URLS in text
        elif outcome == Outcome.THROTTLED and wait is None:
            is_final, wait = not batch.throttled, _THROTTLED_FOR
        details = {"retry_after": wait, "is_divisible": is_divisible}
        return self._answer_to(response, outcome, message, **details), is_final

    def _forbidden(
        self, name: str, response: http.Response, origin: str
    ) -> tuple[str, bool]:
        """Explain a 403; if the key file is correct, another endpoint may accept it."""
        # Submissions for a private address were allowed, so the check is, too.
        finding = self.verify(origin, force=True)
        if not finding.is_good:
            problem = f"refuses the key (403). {finding.text} {finding.fix}"
            return f"{name} {problem} {_SEE}", True
        problem = _STICKY if "UserForbid" in response.text else _KEY_FILE_IS_GOOD
        return f"{name} {problem} {_SEE}", False


def _host(origin: str) -> str:
    """Return the bare host of an origin, as the protocol requires."""
    return urllib.parse.urlsplit(origin).hostname or ""


def _host_of(host: str) -> str:
    """Return the host of a Host header or a setting, without its port."""
    return _host(f"//{host}")
