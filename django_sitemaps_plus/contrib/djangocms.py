"""
django CMS's pages: a ready class.

``PageSitemap`` lists what ``cms.sitemaps.CMSSitemap`` lists, by key, so that it is
stored, rebuilt and reported. It works with and without djangocms-versioning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from cms.models import Page, PageContent, PageUrl
from cms.operations import MOVE_PAGE
from cms.signals import post_obj_operation
from cms.utils.i18n import get_public_languages
from django.apps import apps
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.signals import post_save

from django_sitemaps_plus import Sitemap, touch


class PageSitemap(Sitemap):
    """
    The public pages of the site ``SITE_ID``, in each of its public languages.

    Pages that need a login or redirect are left out, as ``CMSSitemap`` does. Each entry
    names the page's other languages, unless ``alternates`` is False.
    """

    alternates = True

    #: By page, its URLs.
    _languages_of: Mapping[Any, Sequence[Any]] = {}

    def items(self) -> Any:
        """Return the URLs of all pages that everybody may see."""
        site = settings.SITE_ID
        urls = PageUrl.objects.get_for_site(site).filter(
            language__in=get_public_languages(site_id=site),
            path__isnull=False,
            page__login_required=False,
        )
        newest = Subquery(_contents().values("changed_date")[:1])
        urls = urls.annotate(content_changed_date=newest)
        return urls.filter(content_changed_date__isnull=False).select_related("page")

    def location(self, item: Any) -> str:
        """Return the path of a page in one language."""
        location = item.get_absolute_url(item.language)
        if location is None:
            raise ValueError(
                f"django CMS has no URL for the path {item.path!r}: cms.urls is not "
                "in the URLconf, or does not match it"
            )
        return str(location)

    def lastmod(self, item: Any) -> Any:
        """Return when the page's content was last changed in this language."""
        return item.content_changed_date

    def prepare_items(self, items: Sequence[Any]) -> None:
        """Look up the other languages of some pages, by one query for all of them."""
        found: dict[Any, list[Any]] = {}
        if self.alternates:
            pages = {url.page_id for url in items}
            for url in self.items().filter(page__in=pages).order_by("language"):
                found.setdefault(url.page_id, []).append(url)
        self._languages_of = found

    def get_urls_for_item(self, item: Any) -> Iterable[Mapping[str, Any]]:
        """Return the entry of a page in one language, with its other languages."""
        (entry,) = super().get_urls_for_item(item)
        urls = self._languages_of.get(item.page_id, ())
        if len(urls) < 2:
            return [entry]
        links = [
            {"location": self.location(url), "lang_code": url.language} for url in urls
        ]
        return [{**entry, "alternates": links}]


#: Of a content, what its URL has, too.
_OF_URL = {"page": OuterRef("page"), "language": OuterRef("language")}


def _contents() -> QuerySet[Any]:
    """Return the contents of a URL that visitors see: none, if the page redirects."""
    contents: QuerySet[Any] = PageContent.objects.filter(**_OF_URL)
    return contents.filter(Q(redirect="") | Q(redirect=None))


# django CMS saves contents and versions, not URLs, and moves pages by UPDATE.


def _content_saved(*, instance: Any, using: str, raw: bool = False, **kw: Any) -> None:
    if not raw:
        publish = partial(_touch_content, instance.pk)
        transaction.on_commit(publish, using=using, robust=True)


def _version_saved(*, instance: Any, using: str, raw: bool = False, **kw: Any) -> None:
    if not raw and instance.state == "published":
        publish = partial(_touch_content, instance.object_id)
        transaction.on_commit(publish, using=using, robust=True)


def _touch_content(pk: Any) -> None:
    """Touch the URL of a content, if visitors see it: drafts are nobody's business."""
    shown = PageContent.objects.filter(pk=pk, **_OF_URL)
    touch(PageUrl.objects.filter(Exists(shown)))


def _page_operated(*, operation: str, obj: Any = None, **kwargs: Any) -> None:
    if operation == MOVE_PAGE:
        transaction.on_commit(partial(_touch_tree, obj), robust=True)
    elif isinstance(obj, Page):
        transaction.on_commit(partial(touch, PageUrl), robust=True)


def _touch_tree(page: Any) -> None:
    page = Page.objects.filter(pk=page.pk).first()
    if page is not None:
        pages = [page.pk, *page.get_descendant_pages().values_list("pk", flat=True)]
        touch(PageUrl.objects.filter(page__in=pages))


post_save.connect(_content_saved, sender=PageContent, dispatch_uid=__name__)
if apps.is_installed("djangocms_versioning"):
    versions = apps.get_app_config("djangocms_versioning")
    post_save.connect(
        _version_saved, sender=versions.get_model("Version"), dispatch_uid=__name__
    )
post_obj_operation.connect(_page_operated, dispatch_uid=__name__)
