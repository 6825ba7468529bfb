"""
The site that is worked for, and its address: scheme, host and script prefix.

The address comes from ``BASE_URL`` or the sites framework. Only without both it comes
from a request, whose Host header has to pass ``ALLOWED_HOSTS``.

Of several sites on one database each has its own rows: its key is ``SITE_ID``, the
number of the request's Site, or the name of one of ``SITES``. Like the language, the
current one is not handed on by every function.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
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

#: What a sitemap may have as its ``protocol``.
SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class SiteAddress:
    """Where a visitor reaches the site."""

    origin: Origin
    prefix: str = "/"
    #: Where all must lie that its sitemaps list: the path of ``BASE_URL``. Else "/",
    #: because the robots.txt of the site names its sitemaps.
    folder: str = "/"

    def with_scheme(self, scheme: str | None) -> SiteAddress:
        """
        Return this address with ``scheme`` (a sitemap's ``protocol``), if given.

        Raises ``ConfigurationError`` for any but "http" and "https".
        """
        if not scheme or scheme == self.origin.scheme:
            return self
        if scheme not in SCHEMES:
            raise ConfigurationError(
                f"The protocol of a sitemap must be 'http' or 'https', not {scheme!r}."
            )
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


# The site that is worked for

_current: ContextVar[str | None] = ContextVar("sitemaps_plus_site", default=None)


def current_site() -> str:
    """
    Return the key of the site that is worked for: rows of others are not seen.

    Empty where the project has one site, and no ``SITE_ID``.
    """
    active = _current.get()
    return _site_id() if active is None else active


@contextmanager
def working_for(site: str) -> Iterator[None]:
    """Work for a site meanwhile."""
    token = _current.set(site)
    try:
        yield
    finally:
        _current.reset(token)


def named_site() -> str:
    """Return which of ``SITES`` is worked for; empty for the site without a name."""
    active = _current.get()
    return active if active is not None and active in get_settings().SITES else ""


def declared_sites() -> list[str]:
    """Return the keys of the sites that these settings describe, and have sections."""
    return [_site_id(), *get_settings().SITES]


def own_sites() -> list[str]:
    """
    Return the keys of the sites that this process works for without being asked.

    Where the request tells which Site it is, that is none of these.
    """
    found = declared_sites()
    return found[1:] if request_decides() else found


def request_decides() -> bool:
    """Tell whether each request says which Site it is for: there is no ``SITE_ID``."""
    if _site_id() or get_settings().BASE_URL:
        return False
    return apps.is_installed("django.contrib.sites")


def may_share_database() -> bool:
    """Tell whether other Sites, of which these settings know nothing, may have rows."""
    return bool(_site_id()) or request_decides()


def site_of_request(request: HttpRequest, name: str = "") -> str:
    """
    Return the key of the site that a request is for; ``name`` is what its URLconf says.

    Raises ``ConfigurationError`` if that is none of ``SITES``.
    """
    if name:
        if name not in get_settings().SITES:
            raise ConfigurationError(
                f'A URLconf includes the addresses with {{"site": {name!r}}}, which is '
                "not in SITEMAPS_PLUS['SITES']."
            )
        return name
    if not request_decides():
        return _site_id()
    site = _django_site(request)
    return "" if site is None else str(site.pk)


def site_called(text: str) -> str | None:
    """
    Return the key of the site that somebody names; None if there is no such site.

    By its name, by the number or the domain of a Site.
    """
    if text in own_sites():
        return text
    if not apps.is_installed("django.contrib.sites"):
        return None
    sites = apps.get_model("sites.Site").objects
    found = sites.filter(domain__iexact=text).first()
    if found is None and text.isdecimal():
        found = sites.filter(pk=int(text)).first()
    if found is None:
        return None
    key = str(found.pk)
    # Another SITE_ID has settings of its own.
    return key if request_decides() or key == _site_id() else None


def _site_id() -> str:
    return str(getattr(django_settings, "SITE_ID", None) or "")


# Its address


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


def base_url() -> str | None:
    """Return the ``BASE_URL`` of the site that is worked for, if it has one."""
    settings, name = get_settings(), named_site()
    return str(settings.SITES[name]["BASE_URL"]) if name else settings.BASE_URL


def urlconf() -> Any:
    """Return the URLconf of the site that is worked for: a module, or its name."""
    own = get_settings().SITES[name].get("URLCONF") if (name := named_site()) else None
    return own or django_settings.ROOT_URLCONF


def configured(scheme: str = "https") -> SiteAddress | None:
    """
    Return the address that the project itself names, or None.

    That is ``BASE_URL``, else the current Site with ``scheme`` (a Site has only a
    domain).
    """
    given = base_url()
    if given:
        return parse_base_url(given)
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
    given = base_url()
    return parse_base_url(given) if given else requested_address(request)


def requested_address(request: HttpRequest) -> SiteAddress:
    """
    Return the address that contrib's views use: the current Site's, else the Host's.

    Raises as ``of_request`` does.
    """
    domain = _site_domain(request)
    if domain is None:
        return address_of_host(request)
    return _address_of_site(request.scheme or "http", domain, get_script_prefix())


def address_of_host(request: HttpRequest) -> SiteAddress:
    """
    Return the address that a request names by its scheme and its Host header.

    Raises as ``of_request`` does.
    """
    scheme, host = request.scheme or "http", request.get_host()
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
    if base_url() or apps.is_installed("django.contrib.sites"):
        return site
    host = site.origin.host
    # The colons within brackets are an IPv6 address's.
    colon = host.rfind(":")
    name = host[:colon] if colon > host.rfind("]") else host
    return replace(site, origin=Origin(scheme=site.origin.scheme, host=name))


def _site_domain(request: HttpRequest | None) -> str | None:
    """Return the current Site's domain; None without one."""
    site = _django_site(request)
    return None if site is None else str(site.domain)


def _django_site(request: HttpRequest | None) -> Any:
    """Return the Site of the sites framework that is worked for; None without one."""
    if not apps.is_installed("django.contrib.sites"):
        return None
    objects = apps.get_model("sites.Site").objects
    try:
        if request is None and not _site_id():
            current = current_site()
            return objects.get(pk=int(current)) if current.isdecimal() else None
        return objects.get_current(request)
    except objects.model.DoesNotExist:
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
    the site's (``ROOT_URLCONF``), script prefix of ``site``; never the request's.
    """
    former_prefix, former_urlconf = get_script_prefix(), get_urlconf()
    set_script_prefix(site.prefix)
    # By name: where none is set, finding that out costs each reverse() a microsecond.
    set_urlconf(urlconf())
    try:
        with (
            translation.override(language or django_settings.LANGUAGE_CODE),
            timezone.override(timezone.get_default_timezone()),
        ):
            yield
    finally:
        set_urlconf(former_urlconf)
        set_script_prefix(former_prefix)
