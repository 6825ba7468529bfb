"""Pages that no section lists, as far as Django alone knows of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from django.apps import apps
from django.conf import settings
from django.db.models import Model
from django.urls import NoReverseMatch, reverse

from django_sitemaps_plus.contrib.audit.kinds import _, warning
from django_sitemaps_plus.management.utils import counted
from django_sitemaps_plus.protocol.robots import Group
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from . import Answered
from .indexing import forbidden
from .robots import forbids

UNLISTED = warning(
    "A006",
    _("pages that no section lists"),
    _(
        "register a sitemap of the model, or return the route's name from items(); or "
        "add 'sitemaps_plus.A006.' and its name to SILENCED_SYSTEM_CHECKS"
    ),
)


class Unlisted(NamedTuple):
    """A page that should perhaps be listed."""

    #: Of a route; a model's label: "shop.Product".
    name: str
    text: str
    #: Whether it is one, only its answer can tell.
    is_route: bool


def candidates(
    site: SiteAddress, sources: Collection[SectionSource], *, fetches: bool
) -> dict[str, Unlisted]:
    """Return pages by URL: the first of each model in no section, and routes."""
    found: dict[str, Unlisted] = {}
    with site.rendering():
        for path, one in [*_models(sources), *(_routes() if fetches else ())]:
            url = site.url(path) if path.startswith("/") else path
            is_silenced = f"{UNLISTED}.{one.name}" in settings.SILENCED_SYSTEM_CHECKS
            if url.startswith(f"{site.origin}{site.prefix}") and not is_silenced:
                found.setdefault(url, one)
    return found


def _models(sources: Collection[SectionSource]) -> Iterator[tuple[str, Unlisted]]:
    listed = tuple({one for source in sources for one in _listed_models(source)})
    for model in apps.get_models():
        if not hasattr(model, "get_absolute_url") or model._meta.proxy:
            continue
        if issubclass(model, listed) or any(issubclass(one, model) for one in listed):
            continue
        with suppress(Exception):  # a model may have no table, and a row no URL
            row = model._base_manager.order_by("pk").first()
            if row is not None and (path := row.get_absolute_url()):
                name, count = model._meta.label, model._base_manager.count()
                text = f"{name} has {counted(count, 'row')} with get_absolute_url()"
                yield path, Unlisted(name, text, is_route=False)


def _listed_models(source: SectionSource) -> Iterator[type[Model]]:
    with suppress(Exception):  # items() is the project's own
        items = source.sitemap.items()
        kind = getattr(items, "model", None)
        for one in [kind] if kind else {type(item) for item in items[:1_000]}:
            if issubclass(one, Model):
                yield one


def _routes() -> Iterator[tuple[str, Unlisted]]:
    """Yield the named routes without arguments."""
    urlconf = Site.current().urlconf
    for name in Site.current().route_names():
        with suppress(NoReverseMatch):
            path = reverse(name, urlconf=urlconf)
            yield path, Unlisted(name, f"the route {name!r} answers 200", is_route=True)


def is_page(seen: Answered, robots: Sequence[Group]) -> bool:
    """Return whether an answer is a page that search engines may index."""
    is_html = seen.is_whole and "html" in seen.answer.media_type
    path = "/" + seen.url.split("/", 3)[-1]
    return is_html and not forbids(robots)(path) and not any(forbidden(seen))
