"""The sections of each site: which sitemaps are registered, and by which names."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeAlias, TypeVar, overload

from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.signals import setting_changed
from django.db import DatabaseError
from django.db.models import Model
from django.utils.functional import LazyObject
from django.utils.module_loading import import_string

from django_sitemaps_plus.conf import NAME, get_settings
from django_sitemaps_plus.exceptions import ConfigurationError

from .site import Site

_SitemapType = TypeVar("_SitemapType", bound=type)

#: A sitemap of contrib's or of ours. Contrib's hooks (``_get``, ``_location``, …)
#: are in no stubs.
AnySitemap: TypeAlias = Any


_LEGAL_NAME = re.compile(r"[\w-]{1,100}")
_PAGE_LIKE = re.compile(r"(.+)-([0-9]+)")


class Registry:
    """
    The registered sections, by name, in the order of their registration.

    Each of ``SITES`` has its own; the site without a name has the others.
    """

    def __init__(self) -> None:
        #: By site and name.
        self._sources: dict[str, dict[str, Any]] = {}
        #: All sections of a site, also those of the settings; not before first use.
        self._all: dict[str, dict[str, Any]] = {}
        #: The names of the sections of all sites; None before they were asked for.
        self._names: frozenset[str] | None = None
        self._listeners: list[Callable[[], object]] = []
        #: Modules with sitemaps that could not be imported yet.
        self._postponed: list[str] = []
        #: Whether somebody was given fewer sections than there are.
        self._was_incomplete = False
        self._is_importing = False
        self._lock = threading.RLock()

    def add(self, name: str, source: Any, site: str = "") -> None:
        """
        Register ``source`` as the section ``name`` of a site.

        Raises ``ConfigurationError`` for a name that cannot be part of an address, or
        that another sitemap already has.
        """
        _check_name(name)
        registered = self._sources.setdefault(site, {})
        taken = registered.get(name)
        if taken is not None and _identity(taken) != _identity(source):
            raise ConfigurationError(
                f"Two sitemaps are called {name!r}: {_label(taken)} and "
                f"{_label(source)}. Give one another name: "
                f'@register(name="{name}-2nd").'
            )
        registered[name] = source
        self.changed()

    def remove(self, name: str, site: str = "") -> None:
        """Remove the section ``name``, for tests and projects that replace one."""
        del self._sources[site][name]
        self.changed()

    def postpone(self, module: str) -> None:
        """Import a module when sections are next asked for."""
        self._postponed.append(module)

    def changed(self) -> None:
        """Look at everything anew, also at the dict named by the settings."""
        self._all.clear()
        self._names = None
        if not self._is_importing:
            self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    def sources(self) -> Mapping[str, Any]:
        """
        Return the source of every section by name, of the site that is worked for.

        Raises ``ConfigurationError`` if the dict named by the settings cannot be used,
        or if two names would share an address, and what the database raises where that
        dict or a module asks it.
        """
        return self._of(Site.current().name)

    def sources_of_all_sites(self) -> Iterator[Any]:
        """Yield the sources of the sections of all ``SITES``; raises as ``sources``."""
        for site in Site.all():
            yield from self._of(site.name).values()

    def known(self) -> Mapping[str, Any]:
        """Return what ``sources`` does as far as it is known by now."""
        site = Site.current().name
        sections = self._all.get(site)
        return self._sources.get(site, {}) if sections is None else sections

    def sites(self) -> list[str]:
        """Return the names of sites for which sitemaps were registered."""
        return [site for site, sources in self._sources.items() if site and sources]

    def _of(self, site: str) -> dict[str, Any]:
        sections = self._all.get(site)
        if sections is not None:
            return sections
        with self._lock:
            try:
                sections = self._all[site] = self._gather(site)
            except Exception:
                self._was_incomplete = True
                raise
            if self._was_incomplete:
                self._was_incomplete = False
                self._tell()
        return sections

    def _gather(self, site: str) -> dict[str, Any]:
        self._is_importing = True
        try:
            while self._postponed:
                import_module(self._postponed[0])
                del self._postponed[0]
        finally:
            self._is_importing = False
        settings, registered = get_settings(), self._sources.get(site, {})
        if site:
            path, where = settings.SITES[site].get("SITEMAPS"), f"['SITES'][{site!r}]"
        else:
            path, where = settings.SITEMAPS, ""
        where = f"{NAME}{where}['SITEMAPS']"
        named = load(path, where)
        for name in named.keys() & registered.keys():
            raise ConfigurationError(
                f"The section {name!r} is both registered and in the dict that "
                f"{where} names. Remove one of them."
            )
        sections = {**registered, **named}
        _refuse_look_alikes(sections)
        return sections

    def source(self, name: str, site: str) -> Any:
        """Return the source of a section of a site; ``KeyError`` if unknown."""
        registered = self._sources.get(site, {})
        return registered[name] if name in registered else self._of(site)[name]

    def get(self, name: str) -> AnySitemap:
        """Return a sitemap for the section ``name``; ``KeyError`` if unknown."""
        return instance(self.source(name, Site.current().name))

    def has(self, name: str) -> bool:
        """
        Return whether any site of these settings has a section ``name``.

        Though others may not be known now.
        """
        if self._names is None:
            sites = [site.name for site in Site.all()]
            if any(name in self._sources.get(site, {}) for site in sites):
                return True
            self._names = frozenset().union(*map(self._of, sites))
        return name in self._names

    def subscribe(self, listener: Callable[[], object]) -> None:
        """Call ``listener`` whenever a section is added or removed."""
        self._listeners.append(listener)


def _check_name(name: object) -> None:
    """Raise ``ConfigurationError`` for a name that cannot be part of an address."""
    if not isinstance(name, str) or not _LEGAL_NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} cannot name a section: use letters, digits, '-' and '_' (at "
            "most 100 of them), because the name is part of the address "
            "/sitemap-<name>.xml."
        )
    if name == "index" or name.endswith("-index"):
        raise ConfigurationError(
            f"{name!r} cannot name a section: addresses ending in '-index' belong "
            f"to further index files. Choose another, for example {name + '-pages'!r}."
        )


def _refuse_look_alikes(names: Iterable[str]) -> None:
    """Refuse names that are equal in a database that ignores case and accents."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(_folded(name), name)
        if other != name:
            raise ConfigurationError(
                f"The sections {other!r} and {name!r} differ only in case or accents, "
                "which some databases do not distinguish. Rename one of them."
            )


@lru_cache(maxsize=1024)
def _folded(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(c for c in letters if not unicodedata.combining(c))


def ambiguous_names(names: Mapping[str, object]) -> list[tuple[str, str, int]]:
    """
    Return the names that look like a page of another section.

    Each as ``(name, other section, page number)``: "news-2" besides "news".
    """
    matches = filter(None, map(_PAGE_LIKE.fullmatch, names))
    return [
        (found[0], found[1], int(found[2])) for found in matches if found[1] in names
    ]


def instance(source: Any) -> AnySitemap:
    """Return the sitemap of ``source``: an instance, a class, a factory, or lazy."""
    if isinstance(source, LazyObject):
        # Its own class says nothing of the sitemap's.
        source = source.__reduce__()[1][0]
    return source() if callable(source) else source


def _identity(source: Any) -> object:
    """Return what stays the same when a module is imported again."""
    if isinstance(source, type):
        return source.__module__, source.__qualname__
    return id(source)


def _label(source: Any) -> str:
    described = source if isinstance(source, type) else type(source)
    return f"{described.__module__}.{described.__qualname__}"


def load(path: str | None, where: str) -> dict[str, Any]:
    """
    Return the sections of a dict that the setting ``where`` names, read anew.

    Raises ``ConfigurationError`` for anything else, and what the database raises where
    the dict reads from it.
    """
    if path is None:
        return {}
    try:
        sitemaps = import_string(path)
    except ImportError as error:
        text = f"{where} is {path!r}, which cannot be imported: {error}"
        raise ConfigurationError(text) from error
    if not (hasattr(sitemaps, "keys") and hasattr(sitemaps, "__getitem__")):
        raise ConfigurationError(
            f"{where} is {path!r}, which is not a dict of sitemaps but "
            f"{type(sitemaps).__name__}."
        )
    try:
        sections = {name: sitemaps[name] for name in sitemaps.keys()}  # noqa: SIM118 (as contrib)
    except DatabaseError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"{where} is {path!r}, which cannot be read: "
            f"{type(error).__name__}: {error}"
        ) from error
    for name in sections:
        _check_name(name)
    return sections


registry = Registry()


@overload
def register(sitemap: _SitemapType, /) -> _SitemapType: ...


@overload
def register(
    *, name: str | None = None, site: str = ""
) -> Callable[[_SitemapType], _SitemapType]: ...


def register(
    sitemap: _SitemapType | None = None, /, *, name: str | None = None, site: str = ""
) -> _SitemapType | Callable[[_SitemapType], _SitemapType]:
    """
    Register a sitemap class as a section of the site.

    Used as ``@register`` or ``@register(name="stories")``. The default name is that
    of the class's model (``Article`` → "article") or, without a model, of the class
    (``StaticPagesSitemap`` → "staticpages"). ``site`` is one of
    ``SITEMAPS_PLUS["SITES"]``, in a project that serves several.

    Raises ``ConfigurationError`` for anything but a sitemap class, and if the name is
    taken or cannot be part of an address.
    """

    def decorate(cls: _SitemapType) -> _SitemapType:
        _refuse_others(cls)
        registry.add(name or _default_name(cls), cls, site)
        return cls

    return decorate if sitemap is None else decorate(sitemap)


def _refuse_others(given: Any) -> None:
    """Raise ``ConfigurationError`` for what is not a sitemap class."""
    if not isinstance(given, type):
        raise ConfigurationError(
            f"register() takes a sitemap class, not {given!r}. Write @register above "
            'the class, or @register(name="…"); instances belong into the dict that '
            f"{NAME}['SITEMAPS'] names."
        )
    if issubclass(given, Model):
        name = given.__name__
        raise ConfigurationError(
            f"register() takes a sitemap class, not the model {name}. Declare a class "
            f"{name}Sitemap(Sitemap) with model = {name}, and register that."
        )
    if not issubclass(given, ContribSitemap):
        raise ConfigurationError(
            f"register() takes a sitemap class, and {given.__qualname__} is not a "
            "subclass of django_sitemaps_plus.Sitemap."
        )


def _default_name(cls: type) -> str:
    model = getattr(cls, "model", None)
    if isinstance(model, type) and issubclass(model, Model):  # else E021 says so
        return str(model._meta.model_name)
    return cls.__name__.removesuffix("Sitemap").lower() or cls.__name__.lower()


def _forget(*, setting: str, **kwargs: Any) -> None:
    """Load the named dict again after a test has overridden the settings."""
    if setting == NAME:
        registry.changed()


setting_changed.connect(_forget, dispatch_uid="django_sitemaps_plus.sitemaps.registry")
