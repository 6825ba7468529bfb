"""
Where the site stands: scheme, host and script prefix.

The address of everything published comes from ``BASE_URL`` or the sites
framework, and only where neither is set from a request whose Host header passed
``ALLOWED_HOSTS``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
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
from django_sitemaps_plus.protocol.locations import Origin


@dataclass(frozen=True, slots=True)
class SiteAddress:
    """The site as one visitor reaches it."""

    origin: Origin
    prefix: str = "/"

    def with_scheme(self, scheme: str | None) -> SiteAddress:
        """Return this place under ``scheme`` (a sitemap's ``protocol``), if given."""
        if scheme is None or scheme == self.origin.scheme:
            return self
        return replace(self, origin=Origin(scheme=scheme, host=self.origin.host))

    def url(self, location: str) -> str:
        """Return the URL of a location: of a path of the site, or of a whole URL."""
        return f"{self.origin}{location}" if location.startswith("/") else location

    @property
    def tag(self) -> str:
        """A short name of origin and prefix, fit for a file name and an ETag."""
        text = f"{self.origin}{self.prefix}".encode()
        return hashlib.blake2b(text, digest_size=6).hexdigest()


#: A place that is no request's: for what a page is made of, wherever it stands.
PLACEHOLDER_SITE = SiteAddress(origin=Origin(scheme="https", host="localhost"))


@lru_cache(maxsize=8)
def parse_base_url(text: str) -> SiteAddress:
    """
    Return the place that ``BASE_URL`` names.

    Raises ``ConfigurationError`` for anything but ``http(s)://host[:port][/prefix]``.
    """
    try:
        parts = urlsplit(text)
        origin = Origin.parse(
            urlunsplit((parts.scheme, parts.netloc, "", parts.query, parts.fragment))
        )
    except (LocationError, ValueError) as error:
        raise ConfigurationError(
            f"SITEMAPS_PLUS['BASE_URL'] is {text!r}: {error} "
            "Use the public address, for example 'https://www.example.com'."
        ) from error
    return SiteAddress(origin=origin, prefix=f"{parts.path.rstrip('/')}/")


def configured(scheme: str = "https") -> SiteAddress | None:
    """
    Return the place that the project itself names, or None.

    ``BASE_URL`` comes first, then the current Site with ``scheme`` (a Site knows
    only its domain).
    """
    base_url = get_settings().BASE_URL
    if base_url:
        return parse_base_url(base_url)
    domain = _site_domain(None)
    if domain is None:
        return None
    return _site_place(scheme, domain, _own_prefix())


def of_request(request: HttpRequest) -> SiteAddress:
    """
    Return the place that answers ``request``.

    Raises ``DisallowedHost`` (a 400) where only the Host header could tell, and
    ``ALLOWED_HOSTS`` refuses it or it is none.
    """
    base_url = get_settings().BASE_URL
    if base_url:
        return parse_base_url(base_url)
    scheme = request.scheme or "http"
    domain = _site_domain(request)
    if domain is not None:
        return _site_place(scheme, domain, get_script_prefix())
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
    """Return the current Site's domain; None without the sites framework."""
    if not apps.is_installed("django.contrib.sites"):
        return None
    if request is None and not getattr(django_settings, "SITE_ID", ""):
        return None
    site_model = apps.get_model("sites.Site")
    try:
        return str(site_model.objects.get_current(request).domain)
    except site_model.DoesNotExist:
        return None


def _site_place(scheme: str, domain: str, prefix: str) -> SiteAddress:
    try:
        return SiteAddress(origin=Origin.parse(f"{scheme}://{domain}"), prefix=prefix)
    except LocationError as error:
        raise ConfigurationError(
            f"The current Site's domain is {domain!r}: {error} Correct it in the "
            "admin, or set SITEMAPS_PLUS['BASE_URL']."
        ) from error


def _own_prefix() -> str:
    """Return the script prefix that holds outside of any request."""
    prefix = django_settings.FORCE_SCRIPT_NAME or "/"
    return prefix if prefix.endswith("/") else f"{prefix}/"


@contextmanager
def rendering_context(
    place: SiteAddress, language: str | None = None
) -> Iterator[None]:
    """
    Make entries the same wherever they are made: request, thread or command.

    Language ``LANGUAGE_CODE`` (or the entry's), zone ``TIME_ZONE``, urlconf
    ``ROOT_URLCONF``, script prefix from ``place``; never the request's.
    """
    former_prefix, former_urlconf = get_script_prefix(), get_urlconf()
    set_script_prefix(place.prefix)
    # By name: where none is set, each reverse() spends a microsecond to find out.
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


def as_rendered() -> AbstractContextManager[None]:
    """
    Give ``rendering_context(PLACEHOLDER_SITE)``, or nothing where all is so already.

    Outside of requests with a language of their own it is. To find out takes a
    tenth of the time of setting everything and setting it back.
    """
    is_so = (
        get_script_prefix() == PLACEHOLDER_SITE.prefix
        and get_urlconf() in (None, django_settings.ROOT_URLCONF)
        and translation.get_language() == django_settings.LANGUAGE_CODE
        and timezone.get_current_timezone() is timezone.get_default_timezone()
    )
    return nullcontext() if is_so else rendering_context(PLACEHOLDER_SITE)
