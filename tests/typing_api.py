"""The public interface as a project with strict types uses it. Only mypy reads this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from django.db.models import F, QuerySet, Value
from django.db.models.functions import Coalesce
from django.http import HttpResponseBase
from django.test import RequestFactory
from django.urls import include, path

from django_sitemaps_plus import (
    GenericSitemap,
    NewsSitemap,
    Related,
    Route,
    Sitemap,
    StaticSitemap,
    atouch,
    register,
    submission_finished,
    touch,
    views,
)
from django_sitemaps_plus.engines.base import (
    Answer,
    Batch,
    Engine,
    Outcome,
    secret_option,
)
from django_sitemaps_plus.protocol.entries import Image, News, Video
from tests.testapp.models import Article


@register
class ByExpressions(Sitemap):
    model = Article
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    changefreq = "daily"
    priority = Value(0.5)
    images = (F("photo"), Related("photos", F("file"), order_by="-position"))
    videos = Video(
        thumbnail_loc=F("photo"),
        title=F("title"),
        description="About it",
        content_loc=Coalesce("title", Value("")),
        duration=F("pk"),
    )
    page_by = "id"
    limit = 1_000
    i18n = True
    alternates = True
    x_default = True
    languages = ("en", "de")
    record_deletes = False
    appears = F("updated")
    expires = Coalesce("updated", Value(None))


@register(name="daily")
class Daily(NewsSitemap):
    model = Article
    location = Route("article", slug=F("slug"))
    publication_date = F("updated")
    publication_name = "The Example"


@register(name="methods")
class ByMethods(Sitemap):
    protocol = "https"
    route = Route("article")

    def items(self) -> QuerySet[Article]:
        return Article.objects.filter(live=True)

    def location(self, item: Article) -> str:
        return self.route(slug=item.slug)

    def records(
        self, instance: Article, *, created: bool, update_fields: frozenset[str] | None
    ) -> bool:
        return created or set(update_fields or ()) != {"views"}

    def lastmod(self, item: Article) -> datetime | None:
        return item.updated

    def priority(self, item: Article) -> float:
        return 0.5

    def images(self, item: Article) -> Sequence[Image]:
        return [Image("/photo.png")]

    def videos(self, item: Article) -> Video:
        return Video(thumbnail_loc="/t.png", title="T", description="D", live=True)

    def news(self, item: Article) -> News:
        return News("Times", "en", datetime(2026, 1, 1), item.title)  # noqa: DTZ001 (allowed)


class Typed(Sitemap[Article]):
    def items(self) -> QuerySet[Article]:
        return Article.objects.all()

    def location(self, item: Article) -> str:
        return item.get_absolute_url()

    def prepare_items(self, items: Sequence[int]) -> None:  # type: ignore[override]  # refused
        """Read what objects need."""

    def get_urls_for_item(self, item: str) -> Any:  # type: ignore[override]  # refused
        """Give entries."""


class Headlines(NewsSitemap[Article]):
    def items(self) -> QuerySet[Article]:
        return Article.objects.all()

    def location(self, item: str) -> str:  # type: ignore[override]  # refused
        return item


class Pages(StaticSitemap):
    names = ("home", ("article", {"slug": "a"}), ("number", [3]))


registered: type[ByMethods] = ByMethods
generic = GenericSitemap({"queryset": Article.objects.all()}, priority=0.5)
sitemaps = {"pages": Pages, "generic": generic, "methods": ByMethods()}
urlpatterns = [
    path("", include("django_sitemaps_plus.urls")),
    path("index.xml", views.index, {"sitemaps": sitemaps}),
    path("<section>.xml", views.sitemap, {"sitemaps": sitemaps}),
]
response: HttpResponseBase = views.sitemap(RequestFactory().get("/"), sitemaps)


def import_articles(slugs: Sequence[str]) -> None:
    """Say what was changed in bulk, in every way there is."""
    Article.objects.bulk_create(Article(slug=slug) for slug in slugs)
    touch(Article)
    touch(Article.objects.filter(slug__in=slugs))
    touch(Article.objects.values("slug"))
    touch(Article.objects.get())
    touch(slugs)  # type: ignore[arg-type]  # refused


async def import_one(slug: str) -> None:
    """Say it in a coroutine."""
    await atouch(await Article.objects.acreate(slug=slug))
    await atouch(slug)  # type: ignore[arg-type]  # refused


@dataclass(frozen=True, kw_only=True)
class Intranet(Engine):
    """An engine of a project's own."""

    name: ClassVar[str] = "Intranet"
    takes_urls: ClassVar[bool] = True
    token: str = secret_option()

    def submit(self, batch: Batch) -> Answer:
        return Answer(outcome=Outcome.ACCEPTED, message=", ".join(batch.urls))


def listen(
    *, engine: str, state: str, urls: list[str], answer: Answer, **kwargs: Any
) -> None:
    """Take what the signal gives."""


submission_finished.connect(listen)
