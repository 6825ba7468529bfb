"""
The site's address: scheme, host and script prefix.

It comes from ``BASE_URL`` or the sites framework. Only without both it comes from a
request, whose Host header has to pass ``ALLOWED_HOSTS``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

from django.apps import apps
from django.conf import settings as django_settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf
from django.utils import timezone, translation

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.locations import Origin, quote


@dataclass(frozen=True, slots=True)
class SiteAddress:
    """Where a visitor reaches the site."""

    origin: Origin
    prefix: str = "/"
    #: Where all must lie that its sitemaps list: the path of ``BASE_URL``. Else "/",
    #: because the robots.txt of the site names its sitemaps.
    folder: str = "/"

    def with_scheme(self, scheme: str | None) -> SiteAddress:
        """Return this address with ``scheme`` (a sitemap's ``protocol``), if given."""
        if scheme is None or scheme == self.origin.scheme:
            return self
        return replace(self, origin=Origin(scheme=scheme, host=self.origin.host))

    def url(self, location: str) -> str:
        """Return the URL of a location: of a path of the site, or of a whole URL."""
        return f"{self.origin}{location}" if location.startswith("/") else location

    @property
    def tag(self) -> str:
        """A short name of the address, for file names and ETags."""
        text = f"{self.origin}{self.prefix}".encode()
        return hashlib.blake2b(text, digest_size=6).hexdigest()


_SCHEME = re.compile(r"https?://", re.IGNORECASE)
#: What somebody wrote in its place.
_ALMOST = re.compile(r"\s*(?:https?(?=[:/]))?:?/*", re.IGNORECASE)

#: For what does not depend on the site's address.
PLACEHOLDER_SITE = SiteAddress(origin=Origin(scheme="https", host="localhost"))


@lru_cache(maxsize=8)
def parse_base_url(text: str) -> SiteAddress:
    """
    Return the address that ``BASE_URL`` names.

    Raises ``ConfigurationError`` for anything but ``http(s)://host[:port][/prefix]``.
    """
    given = f"SITEMAPS_PLUS['BASE_URL'] is {text!r}"
    if not _SCHEME.match(text):
        rest = _ALMOST.sub("", text, count=1)
        is_host = bool(rest) and "://" not in rest
        meant = f"https://{rest if is_host else 'www.example.com'}"
        raise ConfigurationError(
            f"{given}, which does not begin with 'https://' or 'http://'. Write "
            f"{meant!r}."
        )
    try:
        parts = urlsplit(text)
        origin = Origin.parse(
            urlunsplit((parts.scheme, parts.netloc, "", parts.query, parts.fragment))
        )
    except (LocationError, ValueError) as error:
        raise ConfigurationError(
            f"{given}: {error}. Use the public address, for example "
            "'https://www.example.com'."
        ) from error
    prefix = f"{parts.path.rstrip('/')}/"
    return SiteAddress(origin=origin, prefix=prefix, folder=quote(prefix))


def configured(scheme: str = "https") -> SiteAddress | None:
    """
    Return the address that the project itself names, or None.

    That is ``BASE_URL``, else the current Site with ``scheme`` (a Site has only a
    domain).
    """
    base_url = get_settings().BASE_URL
    if base_url:
        return parse_base_url(base_url)
    domain = _site_domain(None)
    if domain is None:
        return None
    return _address_of_site(scheme, domain, _own_prefix())


def of_request(request: HttpRequest) -> SiteAddress:
    """
    Return the address at which the site answers ``request``.

    Raises ``DisallowedHost`` (a 400) if only the Host header tells, and
    ``ALLOWED_HOSTS`` refuses it or it is not a legal host.
    """
    base_url = get_settings().BASE_URL
    return parse_base_url(base_url) if base_url else requested_address(request)


def requested_address(request: HttpRequest) -> SiteAddress:
    """
    Return the address that contrib's views use: the current Site's, else the Host's.

    Raises as ``of_request`` does.
    """
    scheme = request.scheme or "http"
    domain = _site_domain(request)
    if domain is not None:
        return _address_of_site(scheme, domain, get_script_prefix())
    host = request.get_host()
    try:
        origin = Origin.parse(f"{scheme}://{host}")
    except LocationError as error:
        # ALLOWED_HOSTS = [".example.com"] lets "a..example.com" pass.
        raise DisallowedHost(f"Invalid HTTP_HOST header: {host!r}: {error}") from error
    return SiteAddress(origin=origin, prefix=get_script_prefix())


def stored_address(site: SiteAddress) -> SiteAddress:
    """
    Return the address that stored pages carry where ``site`` was asked for.

    Without ``BASE_URL`` and Sites that is the request's host without a port of its own,
    or each port would have pages of its own.
    """
    if get_settings().BASE_URL or apps.is_installed("django.contrib.sites"):
        return site
    host = site.origin.host
    # The colons within brackets are an IPv6 address's.
    colon = host.rfind(":")
    name = host[:colon] if colon > host.rfind("]") else host
    return replace(site, origin=Origin(scheme=site.origin.scheme, host=name))


def _site_domain(request: HttpRequest | None) -> str | None:
    """Return the current Site's domain; None without one."""
    if not apps.is_installed("django.contrib.sites"):
        return None
    if request is None and not getattr(django_settings, "SITE_ID", ""):
        return None
    site_model = apps.get_model("sites.Site")
    try:
        return str(site_model.objects.get_current(request).domain)
    except site_model.DoesNotExist:
        return None


def _address_of_site(scheme: str, domain: str, prefix: str) -> SiteAddress:
    try:
        return SiteAddress(origin=Origin.parse(f"{scheme}://{domain}"), prefix=prefix)
    except LocationError as error:
        raise ConfigurationError(
            f"The current Site's domain is {domain!r}: {error} Correct it in the "
            "admin, or set SITEMAPS_PLUS['BASE_URL']."
        ) from error


def _own_prefix() -> str:
    """Return the script prefix outside of any request."""
    prefix = django_settings.FORCE_SCRIPT_NAME or "/"
    return prefix if prefix.endswith("/") else f"{prefix}/"


@contextmanager
def rendering_context(site: SiteAddress, language: str | None = None) -> Iterator[None]:
    """
    Set the context in which entries are built, by a request, thread or command alike.

    Language ``LANGUAGE_CODE`` (or the entry's), time zone ``TIME_ZONE``, urlconf
    ``ROOT_URLCONF``, script prefix of ``site``; never the request's.
    """
    former_prefix, former_urlconf = get_script_prefix(), get_urlconf()
    set_script_prefix(site.prefix)
    # By name: where none is set, finding that out costs each reverse() a microsecond.
    set_urlconf(django_settings.ROOT_URLCONF)
    try:
        with (
            translation.override(language or django_settings.LANGUAGE_CODE),
            timezone.override(timezone.get_default_timezone()),
        ):
            yield
    finally:
        set_urlconf(former_urlconf)
        set_script_prefix(former_prefix)
