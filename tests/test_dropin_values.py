"""What 64 odd classes list by contrib's view, and by the one that takes its place."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from html import unescape
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urldefrag

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sitemaps import views as contrib
from django.core.paginator import Paginator
from django.test import RequestFactory
from django.utils import timezone
from django.utils.functional import lazystr

from django_sitemaps_plus import Sitemap, views
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.locations import Origin
from tests.support.helpers import body, remove_sites

pytestmark = pytest.mark.django_db

_ORIGIN = Origin("http", "localhost")
_PAGE = Path(__file__).parent.parent / "docs" / "moving-from-contrib.md"
_NOW = dt.datetime(2026, 3, 1, 9, 30, tzinfo=dt.UTC)


def each(value: Callable[[str], Any]) -> Callable[[Any, str], Any]:
    """Return a method of the item."""
    return lambda self, item: value(item)


def urls(**info: Any) -> Callable[..., Any]:
    """Return a get_urls() that gives one dict."""

    def get_urls(
        self: Any, page: Any = 1, site: Any = None, protocol: Any = None
    ) -> Any:
        return [info]

    return get_urls


def contribs(self: Any, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
    return ContribSitemap.get_urls(self, page, None, protocol)


_HERE, _LANGUAGES = "http://localhost/a/", {"languages": ["en", "de"]}
_ALTERNATES = {"i18n": True, "alternates": True, **_LANGUAGES}

LASTMODS: dict[str, Any] = {
    "date.min": dt.date.min,
    "a text": "2026-01-01",
    "a text of another form": "27.11.2026",
    "an empty text": "",
    "a number": 1_700_000_000,
    "a naive time": dt.datetime(2026, 3, 1, 9),  # noqa: DTZ001
    "datetime.min": dt.datetime(1, 1, 1),  # noqa: DTZ001
    "datetime.max": dt.datetime(9999, 12, 31, 23, 59, 59),  # noqa: DTZ001
    "a future time": timezone.now() + dt.timedelta(days=3),
    "False": False,
}
LOCATIONS: dict[str, Callable[[str], Any]] = {
    "no slash": lambda item: item.strip("/"),
    "an empty location": lambda item: "",
    "a fragment": lambda item: f"{item}#x",
    "a query": lambda item: f"{item}?a=1&b=2",
    "a lazy location": lazystr,
    "a whole URL": lambda item: f"http://localhost{item}",
    "a URL of another host": lambda item: f"https://other.example.com{item}",
    "bytes": str.encode,
    "letters": lambda item: f"/ä ö/{item}",
    "escapes": lambda item: "/%C3%A4/",
    "a bare percent": lambda item: "/100%/",
    "an angle": lambda item: "/<a>/",
    "a path object": PurePosixPath,
    "dots": lambda item: "/a/../b/",
    "a session": lambda item: f"{item}?sessionid=1",
    "3,000 characters": lambda item: "/" + "x" * 3_000,
    "two slashes": lambda item: f"//x{item}",
}
_OTHER_KEYS = [{"lang": "en", "location": "http://x/"}]
GET_URLS: dict[str, Callable[..., Any]] = {
    "alternates of other keys": urls(location=_HERE, alternates=_OTHER_KEYS),
    "a dict without a location": urls(loc=_HERE),
    "a dict of empty texts": urls(
        location=_HERE, priority="", lastmod="", changefreq=""
    ),
    "a generator of dicts": lambda self, **kwargs: iter([{"location": _HERE}]),
    "a positional get_urls()": lambda self, page, site, protocol: [{"location": _HERE}],
    "get_urls() without a site": contribs,
    "get_urls() by keyword": lambda self, **given: ContribSitemap.get_urls(
        self, **given
    ),
}
VALUES: dict[str, dict[str, Any]] = {
    **{name: {"lastmod": each(lambda i, v=v: v)} for name, v in LASTMODS.items()},  # type: ignore[misc]
    "some lastmods": {"lastmod": each(lambda i: None if i == "/a/" else _NOW)},
    "dates and times": {"lastmod": each(lambda i: _NOW.date() if i == "/a/" else _NOW)},
    **{name: {"location": each(value)} for name, value in LOCATIONS.items()},
    "priority 0": {"priority": 0},
    "priority of text": {"priority": "0.5"},
    "priority of decimals": {"priority": Decimal("0.25")},
    "priority 1": {"priority": 1},
    "priority 5": {"priority": 5},
    "priority True": {"priority": True},
    "no changefreq": {"changefreq": ""},
    "changefreq Weekly": {"changefreq": "Weekly"},
    "a changefreq method": {"changefreq": each(lambda i: "daily")},
    "repeated items": {"items": lambda self: ["/a/", "/a/"]},
    "a tuple": {"items": lambda self: ("/a/", "/b/")},
    "a range": {"items": lambda self: range(3), "location": each(lambda i: f"/{i}/")},
    "a generator": {"items": lambda self: (x for x in "ab")},
    "keys": {"items": lambda self: {"/a/": 1}.keys()},
    "limit 1": {"limit": 1},
    "protocol": {"protocol": "https"},
    "a newest lastmod": {"get_latest_lastmod": lambda self: _NOW},
    "no newest lastmod": {
        "lastmod": each(lambda i: _NOW),
        "get_latest_lastmod": lambda self: None,
    },
    "alternates and a domain": {
        **_ALTERNATES,
        "get_domain": lambda self, site=None: "localhost",
    },
    "alternates": _ALTERNATES,
    "get_protocol()": {"get_protocol": lambda self, protocol=None: "https"},
    "get_domain()": {"get_domain": lambda self, site=None: "www.other.example.com"},
    **{name: {"get_urls": value} for name, value in GET_URLS.items()},
    "paginator": {"paginator": property(lambda self: Paginator(["/x/"], 10))},
    "_location()": {"_location": lambda self, item, force_lang_code=None: f"/o{item}"},
    "_get()": {
        "_get": lambda self, name, item, default=None: (
            "/g/" if name == "location" else default
        )
    },
    "_items()": {"_items": lambda self: ["/i/"]},
    "items() that raises": {"items": lambda self: 1 / 0},
    "a location that raises": {"location": each(lambda i: i if i == "/a/" else 1 / 0)},
}

#: What contrib writes and the protocol does not allow, as the page names it: here such
#: a row is left out, and reported.
REFUSED = {
    "dots": "a segment `..`",
    "a session": "a session id",
    "3,000 characters": "over 2,048 characters",
    "two slashes": "two slashes",
}


#: Where contrib writes a tag that the protocol does not allow, or no one believes: here
#: it is left out, and reported.
LEFT_OUT = {
    *("datetime.min", "datetime.max", "a future time"),
    *("priority 5", "priority True", "changefreq Weekly"),
}

#: A URL, and its lastmod to the day, changefreq and priority.
Listed = tuple[str, tuple[str, ...]]


def listed(base: Any, view: Any, attributes: dict[str, Any]) -> list[Listed] | None:
    """Return what a view lists; None where it fails."""
    members = {"items": lambda self: ["/a/", "/b/"], "location": each(str)}
    cls = type("Odd", (base,), {**members, **attributes})
    request = RequestFactory().get("/sitemap.xml", headers={"host": "localhost"})
    try:
        response = view(request, {"odd": cls})
        if hasattr(response, "render"):
            response.render()
    except Exception:  # whatever a class raises
        return None
    if response.status_code != 200:
        return []
    text = unescape(body(response).decode())
    entries = re.findall("<url>.*?</url>", text, re.DOTALL)
    return [(tag(entry, "loc"), tuple(tags(entry))) for entry in entries]


def tags(entry: str) -> Iterator[str]:
    yield tag(entry, "lastmod")[:10]
    yield tag(entry, "changefreq")
    yield tag(entry, "priority")


def tag(entry: str, name: str) -> str:
    """Return the text of a tag; "" without one."""
    found = re.search(f"<{name}>(.*?)</{name}>", entry, re.DOTALL)
    return found[1] if found else ""


def written(url: str) -> str:
    """Return a URL as this package writes it; "" for what is none of a site."""
    url = urldefrag(url).url
    try:
        if url == str(_ORIGIN):
            return f"{url}/"
        if url.startswith(f"{_ORIGIN}/"):
            return f"{_ORIGIN}{_ORIGIN.local_path(url)}"
    except LocationError:
        return ""
    return url if re.match(r"https?://[a-z.]+/", url) else ""


def test_no_url_is_lost_but_those_that_the_page_names(settings: Any) -> None:
    remove_sites(settings)
    settings.SITEMAPS_PLUS = {}
    settings.ALLOWED_HOSTS = ["*"]
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    settings.INSTALLED_APPS = ["django.contrib.sitemaps", *settings.INSTALLED_APPS]
    same, lost, without = [], [], set()
    for name, attributes in VALUES.items():
        theirs = listed(ContribSitemap, contrib.sitemap, attributes)
        ours = listed(Sitemap, views.sitemap, attributes)
        if name in REFUSED:
            assert (ours, bool(theirs)) == ([], True), name
            continue
        wanted = [(one, more) for url, more in theirs or [] if (one := written(url))]
        urls = [url for url, _ in ours or []]
        if urls == [url for url, _ in wanted] and (theirs is None) == (ours is None):
            same.append(name)
            if ours and ours != wanted:
                assert {tags for _, tags in ours} == {("", "", "")}, name
                without.add(name)
        elif not {url for url, _ in wanted} <= {*urls}:
            lost.append(name)
    assert lost == []
    assert without == LEFT_OUT
    text = _PAGE.read_text(encoding="utf-8")
    assert len(same) >= 50
    said = f"Of {len(VALUES)} odd classes {len(same)} list the same URLs"
    assert said in text, said
    for words in REFUSED.values():
        assert words in text, words
