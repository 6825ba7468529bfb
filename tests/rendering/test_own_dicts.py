"""Classes that make their entries themselves, as contrib's dicts."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sitemaps import views as contrib
from django.core.paginator import Paginator
from django.test import RequestFactory

from django_sitemaps_plus import Sitemap, Video, views
from tests.support.helpers import Entry, body, urlset

from .test_media import NEWS, VIDEO

pytestmark = pytest.mark.django_db

HOST = "https://www.example.com"


class Pages:
    """Two pages in two languages."""

    i18n = True
    alternates = True
    x_default = True
    languages = ("en", "de")

    def items(self) -> Any:
        return ["a", "b"]

    def location(self, item: str) -> str:
        return f"/{item}/"


def as_contrib(name: str) -> Any:
    """Return an override that changes nothing."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(ContribSitemap, name)(self, *args, **kwargs)

    return method


OVERRIDES: dict[str, Any] = {
    **{name: as_contrib(name) for name in ("get_urls", "_urls", "get_domain")},
    "get_protocol": as_contrib("get_protocol"),
    "_items": lambda self: [(item, code) for item in "ab" for code in self.languages],
    "paginator": property(lambda self: Paginator(self._items(), 100)),
}


@pytest.mark.parametrize("name", OVERRIDES)
def test_no_alternate_is_of_no_language(
    rf: RequestFactory, page_of: Any, settings: Any, name: str
) -> None:
    settings.INSTALLED_APPS = ["django.contrib.sitemaps", *settings.INSTALLED_APPS]

    def made(base: Any) -> Any:
        return type("Own", (Pages, base), {name: OVERRIDES[name]})

    theirs: Any = contrib.sitemap(rf.get("/"), {"own": made(ContribSitemap)}).render()
    expected = urlset(theirs)
    assert {*expected[0].alternates} == {"en", "de", "x-default"}
    assert urlset(views.sitemap(rf.get("/"), {"own": made(Sitemap)})) == expected
    stored = urlset(page_of(made(Sitemap)))
    assert [{*entry.alternates} for entry in stored] == [{"en", "de", "x-default"}] * 4


def test_nor_of_an_entry_that_is_given_for_an_item(page_of: Any) -> None:
    link = {"lang_code": "de", "location": "/de/"}

    class Given(Pages, Sitemap):
        def get_urls_for_item(self, item: str) -> Any:
            yield {"location": f"/{item}/"}
            yield {"location": f"/{item}/2/", "alternates": [link]}

    entries = urlset(page_of(Given))
    assert [entry.alternates for entry in entries] == [{}, {"de": f"{HOST}/de/"}] * 2


#: Alternates that no link can be made of.
LINKS: list[Any] = [
    {"location": f"{HOST}/de/", "lang": "de"},
    {"lang_code": "de", "href": f"{HOST}/de/"},
    {"lang_code": "german, of course", "location": f"{HOST}/de/"},
    ("de", f"{HOST}/de/"),
]


@pytest.mark.parametrize("link", LINKS)
def test_an_alternate_that_cannot_be_costs_no_url(
    rf: RequestFactory, page_of: Any, caplog: Any, link: Any
) -> None:
    good = {"lang_code": "fr", "location": "https://fr.example.com/"}
    info = {"location": f"{HOST}/a/", "alternates": [link, good]}
    own = type("Own", (Sitemap,), {"get_urls": lambda self, *args, **kwargs: [info]})
    expected = [Entry(f"{HOST}/a/", alternates={"fr": "https://fr.example.com/"})]
    assert urlset(views.sitemap(rf.get("/"), {"own": own})) == expected
    assert urlset(page_of(own)) == expected
    assert "listed without alternates: " in caplog.text


@pytest.mark.parametrize("hook", ["get_urls", "_urls"])
def test_images_videos_and_news_of_the_dicts_are_listed(
    page_of: Any, hook: str
) -> None:
    def own(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = getattr(ContribSitemap, hook)(self, *args, **kwargs)
        for info in found:
            image = {"loc": "/a.png", "title": "A picture"}
            info |= {"images": [image, "/b.png"], "news": NEWS}
            info["videos"] = [Video(**VIDEO)] if info["item"] == "a" else [VIDEO]
        return found

    response = page_of(type("Own", (Pages, Sitemap), {"i18n": False, hook: own}))
    images = (f"{HOST}/a.png", f"{HOST}/b.png")
    assert [entry.images for entry in urlset(response)] == [images, images]
    text = body(response)
    assert text.count(b"<video:title>A &lt;title&gt;</video:title>") == 2
    assert text.count(b"<news:title>Rain &amp; wind</news:title>") == 2
