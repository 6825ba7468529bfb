"""
Wagtail's pages: a ready class, and the views of ``wagtail.contrib.sitemaps``.

``PageSitemap`` lists the live, public pages of one of Wagtail's sites, by key, so that
they are stored, rebuilt and reported. ``index`` and ``sitemap`` take what
Wagtail's views take, and serve Wagtail's own ``Sitemap`` by this package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import (
    BooleanField,
    Case,
    F,
    Func,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.http import HttpRequest, HttpResponseBase
from wagtail.contrib.sitemaps import Sitemap as WagtailSitemap
from wagtail.contrib.sitemaps.views import prepare_sitemaps
from wagtail.coreutils import get_dummy_request
from wagtail.models import COMMENTS_RELATION_NAME, Page, PageViewRestriction, Site
from wagtail.signals import page_slug_changed, post_page_move

from django_sitemaps_plus import Sitemap, touch, views
from django_sitemaps_plus.sitemaps.site import Site as ProjectSite

#: What is saved of a page with the draft of a revision.
_DRAFT = frozenset(
    [
        "draft_title",
        "has_unpublished_changes",
        "latest_revision",
        "latest_revision_created_at",
        COMMENTS_RELATION_NAME,
    ]
)


class PageSitemap(Sitemap):
    """
    The live, public pages of the Wagtail site that has this site's address.

    That is the one with the host and port of ``BASE_URL``, else the default site. What
    is listed of a page is what its ``get_sitemap_urls()`` returns: one entry, none or
    several, each a dict that may have ``images``, ``videos`` and ``news`` as well.

    With ``WAGTAIL_I18N_ENABLED`` the translations of the site's pages are listed too,
    and each page names its live, public translations, unless ``alternates`` is False.
    """

    alternates = True

    #: By translation key, the pages that are each other's translations.
    _translations: Mapping[Any, Sequence[Any]] = {}

    def items(self) -> Any:
        """Return the pages that are live and public, and below the site's root."""
        roots = _chosen_site().values("root_page")
        private = PageViewRestriction.objects.values("page")
        pages = Page.objects.live().filter(
            _Below(roots, translated=_is_multilingual()), ~Q(_Below(private))
        )
        return pages.select_related("locale").defer_streamfields().specific()

    def location(self, item: Any) -> str:
        """Return the path of a page on its site."""
        return self._path(item.get_full_url(self.request), item)

    def lastmod(self, item: Any) -> Any:
        """Return when a page was last published, as Wagtail's class does."""
        return item.last_published_at or item.latest_revision_created_at

    def prepare_items(self, items: Sequence[Any]) -> None:
        """Look up the translations of some pages, by one query for all of them."""
        if not (self.alternates and _is_multilingual()):
            return
        keys = {page.translation_key for page in items}
        found: dict[Any, list[Any]] = {}
        for page in self.items().filter(translation_key__in=keys).specific(defer=True):
            found.setdefault(page.translation_key, []).append(page)
        self._translations = found

    def get_urls_for_item(self, item: Any) -> Iterable[Mapping[str, Any]]:
        """Return what ``get_sitemap_urls()`` of the page returns, and alternates."""
        links = self._alternates(item)
        own = item.get_full_url(self.request) if links else None
        for entry in item.get_sitemap_urls(self.request):
            location = self._path(entry["location"], item)
            more = {"alternates": links} if entry["location"] == own else {}
            yield {**more, **entry, "location": location}

    def records(
        self, instance: Any, *, created: bool, update_fields: frozenset[str] | None
    ) -> bool:
        """Decline the save of a draft, of which visitors see nothing."""
        if created or update_fields is None or not _DRAFT.issuperset(update_fields):
            return True
        # A live page that was never published has the time of its newest draft.
        return bool(instance.live and instance.last_published_at is None)

    @cached_property
    def site(self) -> Any:
        """The Wagtail site whose pages are listed; None if there is none."""
        return _chosen_site().first()

    @cached_property
    def request(self) -> HttpRequest:
        """A request to that site, in which Wagtail keeps what it looks up for URLs."""
        request: Any = get_dummy_request(site=self.site)
        # By its host otherwise, which ALLOWED_HOSTS need not allow.
        request._wagtail_site = self.site
        return request  # type: ignore[no-any-return]  # untyped

    def _alternates(self, page: Any) -> list[dict[str, str]]:
        pages = self._translations.get(page.translation_key, ())
        if len(pages) < 2:
            return []
        return [
            {
                "location": self._path(other.get_full_url(self.request), other),
                "lang_code": other.locale.language_code,
            }
            for other in pages
        ]

    def _path(self, location: str | None, page: Any) -> str:
        """Return a URL of the Wagtail site as a path, for BASE_URL has the address."""
        if location is None:
            raise ValueError(
                f"Wagtail has no URL for page {page.pk}: include wagtail.urls in the "
                "URLconf"
            )
        root = self.site.root_url
        is_own = location.startswith(f"{root}/")
        return location.removeprefix(root) if is_own else location


def _is_multilingual() -> bool:
    return bool(getattr(settings, "WAGTAIL_I18N_ENABLED", False))


def _chosen_site() -> QuerySet[Any]:
    """Return the Wagtail site with this site's address, else the default one."""
    address = ProjectSite.current().address()
    parts = urlsplit("" if address is None else str(address.origin))
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    rank = Case(
        When(hostname=host, port=port, then=Value(0)),
        # Behind a proxy Wagtail often has another port.
        When(hostname=host, then=Value(1)),
        default=Value(2),
    )
    some = Site.objects.filter(Q(hostname=host) | Q(is_default_site=True))
    best = some.order_by(rank, "-is_default_site", "pk").values("pk")[:1]
    chosen: QuerySet[Any] = Site.objects.filter(pk=Subquery(best))
    return chosen


class _Below(Func):
    """
    Whether a page is one of some pages, or below one of them.

    In SQL of its own. Read off the ORM's query, it would say that the ``path`` of each
    page matters to all others, and their saves would have everything compared.
    """

    output_field = BooleanField()

    def __init__(self, pages: QuerySet[Any], *, translated: bool = False) -> None:
        super().__init__(F("path"), Subquery(pages))
        #: Whether the translations of ``pages`` count as well.
        self.translated = translated

    def as_sql(
        self, compiler: Any, connection: Any, *args: Any, **context: Any
    ) -> tuple[str, tuple[Any, ...]]:
        """Return it as EXISTS; a page's path begins with those of its ancestors."""
        path, pages = self.get_source_expressions()
        path_sql, path_params = compiler.compile(path)
        pages_sql, pages_params = compiler.compile(pages)
        table = connection.ops.quote_name(Page._meta.db_table)
        among = f"above.id IN {pages_sql}"
        if self.translated:
            key = "translation_key"
            keys = f"SELECT r.{key} FROM {table} r WHERE r.id IN {pages_sql}"  # noqa: S608 (names)
            among = f"above.{key} IN ({keys})"
        return (
            f"EXISTS (SELECT 1 FROM {table} above WHERE {among} "  # noqa: S608 (names)
            f"AND SUBSTR({path_sql}, 1, LENGTH(above.path)) = above.path)",
            (*pages_params, *path_params),
        )


# Pages below one that was moved have other URLs, by an UPDATE without signals.


def _moved(*, instance: Any, **kwargs: Any) -> None:
    below = partial(_touch_below, instance.pk)
    transaction.on_commit(below, using=instance._state.db, robust=True)


def _touch_below(pk: Any) -> None:
    page = Page.objects.filter(pk=pk).first()
    if page is not None:
        touch(page.get_descendants())


for _signal in (post_page_move, page_slug_changed):
    _signal.connect(_moved, dispatch_uid=__name__)


# Wagtail's views


def index(request: HttpRequest, sitemaps: Any, **kwargs: Any) -> HttpResponseBase:
    """Serve what ``wagtail.contrib.sitemaps.views.index`` serves."""
    return views.index(request, prepare_sitemaps(request, sitemaps), **kwargs)


def sitemap(
    request: HttpRequest, sitemaps: Any = None, **kwargs: Any
) -> HttpResponseBase:
    """
    Serve what ``wagtail.contrib.sitemaps.views.sitemap`` serves.

    Without ``sitemaps``, that is the pages of the site that the request is for.
    """
    chosen: Any = {"wagtail": WagtailSitemap(request)}
    if sitemaps:
        chosen = prepare_sitemaps(request, sitemaps)
    return views.sitemap(request, chosen, **kwargs)
