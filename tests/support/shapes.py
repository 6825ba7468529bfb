"""Twenty shapes of public sitemap modules: forms, not copies."""

from __future__ import annotations

from typing import Any

from django.apps.registry import Apps
from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse, reverse_lazy
from django.utils.text import slugify

from tests.testapp.models import Article, Tag


class _Meta:
    proxy = True
    app_label = "testapp"


class ByKwargs(Article):
    class Meta(_Meta):
        apps = Apps()

    def get_absolute_url(self) -> str:
        """Return the address."""
        return reverse("article", kwargs={"slug": self.slug})

    @property
    def path_part(self) -> str:
        return self.slug

    def get_link(self) -> str:
        url = reverse("article", kwargs={"slug": self.path_part})
        return url


class ByArgs(Article):
    class Meta(_Meta):
        apps = Apps()

    def get_absolute_url(self) -> str:
        return reverse("by-number", args=[str(self.pk)])


class Lazy(Article):
    class Meta(_Meta):
        apps = Apps()

    def get_absolute_url(self) -> str:
        return str(reverse_lazy("article", kwargs={"slug": self.slug}))


class Chosen(Article):
    class Meta(_Meta):
        apps = Apps()

    def get_absolute_url(self) -> str:
        if self.live:
            return reverse("article", kwargs={"slug": self.slug})
        return f"/drafts/{self.pk}/"


class Slugified(Article):
    class Meta(_Meta):
        apps = Apps()

    def get_absolute_url(self) -> str:
        return reverse("article", args=[slugify(self.title)])


class Dated(Article):
    class Meta(_Meta):
        apps = Apps()

    def get_absolute_url(self) -> str:
        day: Any = self.day
        return reverse("dated", args=[day.year, day.month, day.day, self.slug])


class Behind(Tag):
    class Meta(_Meta):
        apps = Apps()

    def get_absolute_url(self) -> str:
        from django.urls import reverse

        return reverse(
            "in-category", kwargs={"category": self.name, "slug": self.article.slug}
        )


def updated(self: Any, obj: Any) -> Any:
    return obj.updated


def behind(self: Any, obj: Any) -> Any:
    return obj.article.updated


def either(self: Any, obj: Any) -> Any:
    return obj.updated or obj.day


def guessed(self: Any, obj: Any) -> Any:
    return getattr(obj, "updated", None)


def inside(self: Any, obj: Any) -> Any:
    from django.urls import reverse

    return reverse("article", kwargs={"slug": obj.slug})


def lazily(self: Any, obj: Any) -> Any:
    return reverse_lazy("article", kwargs={"slug": obj.slug})


def local(self: Any, obj: Any) -> Any:
    slug = obj.slug
    return reverse("article", args=(slug,))


def linked(self: Any, obj: Any) -> Any:
    return obj.get_link()


def absolute(self: Any, obj: Any) -> Any:
    return obj.get_absolute_url()


def joined(self: Any, obj: Any) -> Any:
    return f"/a/{obj.slug}/"


def formatted(self: Any, obj: Any) -> Any:
    return "/a/%s/" % obj.slug  # noqa: UP031 (as people write it)


def with_settings(self: Any, obj: Any) -> Any:
    return f"/{settings.LANGUAGE_CODE}/{obj.slug}/"


def named(self: Any, obj: Any) -> Any:
    return reverse(obj)


def names(self: Any) -> list[str]:
    return ["spotlight", "about"]


def tuples(self: Any) -> Any:
    return list(Article.objects.values_list("slug", "updated"))


def first(self: Any, obj: Any) -> Any:
    return f"/a/{obj[0]}/"


def get_urls(self: Any, *args: Any, **kwargs: Any) -> Any:
    return super(type(self), self).get_urls(*args, **kwargs)


def _of(model: Any) -> dict[str, Any]:
    def items(self: Any) -> QuerySet[Any]:
        found: QuerySet[Any] = model.objects.order_by("pk")
        return found

    return {"items": items}


#: What each class declares, and whether it is read as columns.
SHAPES: dict[str, tuple[dict[str, Any], bool]] = {
    "lastmod": ({**_of(ByKwargs), "lastmod": updated}, True),
    "lastmod behind": ({**_of(Behind), "lastmod": behind}, True),
    "lastmod or": ({**_of(ByKwargs), "lastmod": either}, False),
    "lastmod getattr": ({**_of(ByKwargs), "lastmod": guessed}, False),
    "kwargs": (_of(ByKwargs), True),
    "args": (_of(ByArgs), True),
    "through a foreign key": (_of(Behind), True),
    "reverse_lazy": ({**_of(ByKwargs), "location": lazily}, True),
    "str of lazy": (_of(Lazy), False),
    "import inside": ({**_of(ByKwargs), "location": inside}, True),
    "local": ({**_of(ByKwargs), "location": local}, True),
    "property and method": ({**_of(ByKwargs), "location": linked}, True),
    "f-string": ({**_of(ByKwargs), "location": joined}, False),
    "percent": ({**_of(ByKwargs), "location": formatted}, False),
    "absolute": ({**_of(ByArgs), "location": absolute, "priority": 0.5}, True),
    "if": (_of(Chosen), False),
    "slugify": (_of(Slugified), False),
    "parts of a date": (_of(Dated), False),
    "tuples": ({"items": tuples, "location": first}, False),
    "settings": ({**_of(ByKwargs), "location": with_settings}, False),
}
