"""
The site that is worked for, and its address: scheme, host and script prefix.

The address comes from ``BASE_URL`` or the sites framework. Only without both it comes
from a request, whose Host header has to pass ``ALLOWED_HOSTS``.

Several sites on one database have rows of their own. A site's key is ``SITE_ID``, the
number of the request's Site, or the name of one of ``SITES``. Like the active language,
the current site is not an argument of every function.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.apps import apps
from django.conf import settings as django_settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.urls import (
    Resolver404,
    ResolverMatch,
    URLResolver,
    get_resolver,
    get_script_prefix,
    get_urlconf,
    resolve,
    set_script_prefix,
    set_urlconf,
)
from django.utils import timezone, translation
from django.utils.translation import get_language_from_path

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.locations import Origin, quote

from . import tenants

#: What a sitemap may have as its ``protocol``.
SCHEMES = ("http", "https")


@dataclass(frozen=True)
class SiteAddress:
    """Where a visitor reaches the site."""

    origin: Origin
    prefix: str = "/"
    #: Where all must lie that its sitemaps list: the path of ``BASE_URL``. Else "/",
    #: because the robots.txt of the site names its sitemaps.
    folder: str = "/"

    @classmethod
    @lru_cache(maxsize=1024)
    def parse(cls, text: str) -> SiteAddress:
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
            whole = parts.scheme, parts.netloc, "", parts.query, parts.fragment
            origin = Origin.parse(urlunsplit(whole))
        except (LocationError, ValueError) as error:
            raise ConfigurationError(
                f"{given}: {error}. Use the public address, for example "
                "'https://www.example.com'."
            ) from error
        prefix = f"{parts.path.rstrip('/')}/"
        return cls(origin=origin, prefix=prefix, folder=quote(prefix))

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

    @contextmanager
    def rendering(self, language: str | None = None) -> Iterator[None]:
        """
        Set the context in which entries are built, by request, thread or command alike.

        Language ``Site.default_language`` (or the entry's), time zone ``TIME_ZONE``,
        urlconf the site's (``ROOT_URLCONF``), this script prefix; not the request's.
        """
        former_prefix, former_urlconf = get_script_prefix(), get_urlconf()
        set_script_prefix(self.prefix)
        # By name: where none is set, to find out costs each reverse() a microsecond.
        set_urlconf(Site.current().urlconf)
        try:
            with (
                translation.override(language or Site.current().default_language),
                timezone.override(timezone.get_default_timezone()),
            ):
                yield
        finally:
            set_urlconf(former_urlconf)
            set_script_prefix(former_prefix)

    def version_tag(self, checksum: str) -> str:
        """Return the tag of what a page's version says at this address."""
        return f"{checksum[:24]}-{self.tag}"

    @cached_property
    def tag(self) -> str:
        """A short name of the address, for file names and ETags."""
        return hashlib.blake2b(self.base.encode(), digest_size=6).hexdigest()

    @cached_property
    def base(self) -> str:
        """What stored bytes carry of it: scheme, host and script prefix."""
        return f"{self.origin}{self.prefix}"


_SCHEME = re.compile(r"https?://", re.IGNORECASE)
#: What somebody wrote in its place.
_ALMOST = re.compile(r"\s*(?:https?(?=[:/]))?:?/*", re.IGNORECASE)

#: For what does not depend on the site's address.
PLACEHOLDER_SITE = SiteAddress(origin=Origin(scheme="https", host="localhost"))


# The site that is worked for

_current: ContextVar[Site | None] = ContextVar("sitemaps_plus_site", default=None)


@dataclass(frozen=True, slots=True)
class Site:
    """A site of the project: its rows, its sections, its URLconf and its address."""

    #: What its rows have in ``site``. Empty: the project has one site, and no
    #: ``SITE_ID``.
    key: str = ""
    #: Its name in ``SITES``; empty for the site without a name.
    name: str = ""
    #: The tenant whose site it is, in a project that has tenants.
    tenant: tenants.Tenant | None = field(default_factory=tenants.current)

    @classmethod
    def current(cls) -> Site:
        """Return the site that is worked for: rows of others are not seen."""
        return _current.get() or cls.default()

    @classmethod
    def default(cls) -> Site:
        """Return the site without a name: the one of ``SITE_ID``, if that is set."""
        return cls(str(getattr(django_settings, "SITE_ID", None) or ""))

    @classmethod
    def from_key(cls, key: str) -> Site:
        """Return the site whose rows have ``key``."""
        return cls(key, key if key in get_settings().SITES else "")

    @classmethod
    def all(cls) -> list[Site]:
        """Return the sites that these settings describe: the default one first."""
        return [cls.default(), *(cls(name, name) for name in get_settings().SITES)]

    @classmethod
    def of_process(cls) -> list[Site]:
        """Return the sites that this process works for without being asked."""
        return [site for site in cls.all() if not site.is_chosen_by_request]

    @classmethod
    def of_request(cls, request: HttpRequest, name: str = "") -> Site:
        """
        Return the site that a request is for; ``name`` is what its URLconf says.

        Raises ``ConfigurationError`` if that is none of ``SITES``.
        """
        if name:
            if name not in get_settings().SITES:
                raise ConfigurationError(
                    f'A URLconf includes the addresses with {{"site": {name!r}}}, '
                    "which is not in SITEMAPS_PLUS['SITES']."
                )
            return cls(name, name)
        site = cls.default()
        if site.is_chosen_by_request and (row := _django_site(request)) is not None:
            return cls(str(row.pk))
        return site

    @classmethod
    def called(cls, text: str) -> Site:
        """
        Return the site that somebody names; raises ``LookupError`` if there is none.

        By its key or its host, or by the number or the domain of a Site.
        """
        for one in cls.of_process():
            if text in (one.key, one.label):
                return one
        row = None
        if apps.is_installed("django.contrib.sites"):
            rows = apps.get_model("sites.Site").objects
            row = rows.filter(domain__iexact=text).first()
            if row is None and text.isdecimal():
                row = rows.filter(pk=int(text)).first()
        default, site = cls.default(), cls(str(row.pk)) if row else None
        # Another SITE_ID has settings of its own.
        if site is not None and (default.is_chosen_by_request or site == default):
            return site
        raise LookupError(f"There is no site {text!r}. {known_sites()}")

    def unasked(self) -> Site:
        """Return the same site; of a tenant the address and URLconf stay unknown."""
        tenant = self.tenant and replace(self.tenant, is_asked=False)
        return replace(self, tenant=tenant)

    @property
    def is_chosen_by_request(self) -> bool:
        """Whether it stands for the Site that each request says: without SITE_ID."""
        # Of a tenant ``Site.objects.get_current()`` may say another's: it is cached.
        if self.key or self.tenant or get_settings().BASE_URL:
            return False
        return apps.is_installed("django.contrib.sites")

    @property
    def may_share_database(self) -> bool:
        """Whether Sites of which these settings know nothing may have rows."""
        return not self.tenant and (bool(self.key) or self.is_chosen_by_request)

    @property
    def base_url(self) -> str | None:
        """Its ``BASE_URL``, if it has one."""
        settings = get_settings()
        if self.name:
            return str(settings.SITES[self.name]["BASE_URL"])
        return self.tenant.base_url if self.tenant else settings.BASE_URL

    @property
    def urlconf(self) -> Any:
        """Its URLconf: a module, or its name."""
        given = get_settings().SITES[self.name].get("URLCONF") if self.name else None
        given = given or (self.tenant and self.tenant.urlconf)
        return given or django_settings.ROOT_URLCONF

    @property
    def default_language(self) -> str:
        """
        The language of the site's URLs where nothing asks for another.

        As Django finds it for a request: of ``LANGUAGE_CODE`` "en-us" that is "en" if
        ``LANGUAGES`` has only that, unless the default language has no prefix.
        """
        code = django_settings.LANGUAGE_CODE
        try:
            supported = translation.get_supported_language_variant(code)
        except LookupError:
            return code  # Django's own check says so
        if supported == code:
            return code
        is_used, has_prefix = is_language_prefix_patterns_used(self.urlconf)
        return code if is_used and not has_prefix else supported

    @property
    def label(self) -> str:
        """
        What people call it: its key or, without one, its host; empty if unknown.

        A tenant's is the tenant's key.
        """
        if self.tenant:
            return self.tenant.key
        address = None if self.key else self.address()
        return self.key if address is None else address.origin.host

    def address(self, scheme: str = "https") -> SiteAddress | None:
        """
        Return the address that the project itself names, or None.

        That is ``BASE_URL``, else that of the Site with ``scheme`` (a Site has only a
        domain).
        """
        if self.base_url:
            return SiteAddress.parse(self.base_url)
        row = _django_site(None, self.key)
        if row is None:
            return None
        prefix = (django_settings.FORCE_SCRIPT_NAME or "").removesuffix("/")
        return _address_of_site(scheme, row, f"{prefix}/")

    def address_for(self, request: HttpRequest) -> SiteAddress:
        """
        Return the address at which the site answers ``request``.

        Raises ``DisallowedHost`` (a 400) if only the Host header tells, and
        ``ALLOWED_HOSTS`` refuses it or it is not a legal host.
        """
        given = self.base_url
        return SiteAddress.parse(given) if given else requested_address(request)

    def stored_address(self, address: SiteAddress) -> SiteAddress:
        """
        Return the address that stored pages carry where ``address`` was asked for.

        Without ``BASE_URL`` and Sites that is the request's host without a port of its
        own, or each port would have pages of its own.
        """
        if self.base_url or apps.is_installed("django.contrib.sites"):
            return address
        host = address.origin.host
        # The colons within brackets are an IPv6 address's.
        colon = host.rfind(":")
        name = host[:colon] if colon > host.rfind("]") else host
        return replace(address, origin=Origin(scheme=address.origin.scheme, host=name))

    def route_names(self) -> Iterator[str]:
        """Yield the names of its URL patterns, as ``reverse()`` knows them."""
        return known_names(get_resolver(self.urlconf))

    def resolved(self, path: str) -> ResolverMatch | None:
        """
        Return what answers a path in the site's URLconf; None if nothing does.

        The path is in the language that it begins with, as ``i18n_patterns()`` has it.
        """
        with PLACEHOLDER_SITE.rendering(get_language_from_path(path)):
            try:
                return resolve(path, self.urlconf)
            except Resolver404:
                return None


def known_names(
    resolver: URLResolver, path: str = "", outer: tuple[URLResolver, ...] = ()
) -> Iterator[str]:
    """Yield every name that reverse() knows, with its namespaces."""
    for name in resolver.reverse_dict:
        if isinstance(name, str):
            yield path + name
    for namespace, (_, inner) in resolver.namespace_dict.items():
        if inner not in outer:  # a URLconf may include itself
            yield from known_names(inner, f"{path}{namespace}:", (*outer, inner))


def known_sites() -> str:
    """Return what the sites are called, as a sentence."""
    known = [site.label for site in Site.of_process() if site.label]
    if Site.default().is_chosen_by_request:
        rows = apps.get_model("sites.Site").objects.order_by("pk")
        known += [f"{row.pk} ({row.domain})" for row in rows[:20]]
    return f"There are: {', '.join(known)}." if known else "There is only one."


@contextmanager
def working_for(site: Site) -> Iterator[None]:
    """Work for a site meanwhile, and for the tenant whose site it is."""
    with tenants.active(site.tenant.key) if site.tenant else nullcontext():
        token = _current.set(site)
        try:
            yield
        finally:
            _current.reset(token)


# Its address


def address_advice() -> str:
    """Return what to do where the address of the current site is not known."""
    if Site.current().tenant:
        return "Give the tenant a public address: its primary domain, or base_url()."
    return "Set SITEMAPS_PLUS['BASE_URL'], for example 'https://www.example.com'."


def requested_address(request: HttpRequest) -> SiteAddress:
    """
    Return the address that contrib's views use: the current Site's, else the Host's.

    Raises as ``Site.address_for`` does.
    """
    row = _django_site(request)
    if row is None:
        return address_of_host(request)
    return _address_of_site(request.scheme or "http", row, get_script_prefix())


def address_of_host(request: HttpRequest) -> SiteAddress:
    """
    Return the address that a request names by its scheme and its Host header.

    Raises as ``Site.address_for`` does.
    """
    scheme, host = request.scheme or "http", request.get_host()
    try:
        origin = Origin.parse(f"{scheme}://{host}")
    except LocationError as error:
        # ALLOWED_HOSTS = [".example.com"] lets "a..example.com" pass.
        raise DisallowedHost(f"Invalid HTTP_HOST header: {host!r}: {error}") from error
    return SiteAddress(origin=origin, prefix=get_script_prefix())


def _django_site(request: HttpRequest | None, key: str = "") -> Any:
    """
    Return a row of the sites framework; None without one.

    The one of ``SITE_ID`` if that is set; else the request's, or the one with ``key``.
    None for a tenant too: Django caches one Site for all of them.
    """
    if not apps.is_installed("django.contrib.sites") or tenants.configured():
        return None
    objects = apps.get_model("sites.Site").objects
    try:
        if request is None and not Site.default().key:
            return objects.get(pk=int(key)) if key.isdecimal() else None
        return objects.get_current(request)
    except objects.model.DoesNotExist:
        return None


def _address_of_site(scheme: str, row: Any, prefix: str) -> SiteAddress:
    try:
        origin = Origin.parse(f"{scheme}://{row.domain}")
    except LocationError as error:
        raise ConfigurationError(
            f"The current Site's domain is {row.domain!r}: {error} Correct it in "
            "the admin, or set SITEMAPS_PLUS['BASE_URL']."
        ) from error
    return SiteAddress(origin=origin, prefix=prefix)
