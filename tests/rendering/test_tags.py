"""A lastmod, changefreq or priority that cannot be costs the tag, never the URL."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pytest
from django.db.models import F
from django.test import Client, RequestFactory

from django_sitemaps_plus import Sitemap, views
from django_sitemaps_plus.models import Page
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, run_command, urlset
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db


class Unprintable:
    def __repr__(self) -> str:
        raise LookupError("nothing to see")


def raising(item: Any) -> Any:
    raise LookupError("no idea")


#: What is declared, and what is said of it.
VALUES: list[tuple[str, Any, str]] = [
    ("changefreq", "sometimes", "changefreq 'sometimes': not one of always"),
    ("changefreq", "".lower, "changefreq <built-in method lower"),
    ("changefreq", raising, "changefreq: LookupError: no idea"),
    ("changefreq", Unprintable(), "changefreq <Unprintable"),
    ("priority", 2.0, "priority 2.0: not within 0 and 1"),
    ("priority", math.nan, "priority nan: not within 0 and 1"),
    ("priority", 10**5000, "priority <"),
    ("priority", raising, "priority: LookupError: no idea"),
    ("priority", "".lower, "priority <built-in method lower"),
    ("priority", Unprintable(), "priority <Unprintable"),
    ("lastmod", "unknown", "lastmod: date 'unknown': not a W3C Datetime"),
    ("lastmod", "0000-00-00", "lastmod: date '0000-00-00': "),
    ("lastmod", "2026", "lastmod '2026': the schemas want YYYY-MM-DD at least"),
    ("lastmod", 1_767_225_600, "lastmod: date 1767225600: neither a date nor a text"),
    ("lastmod", dt.time(9), "lastmod: date datetime.time(9, 0): neither a date nor"),
    ("lastmod", dt.datetime(1, 1, 1), "lastmod: date datetime.datetime(1, 1, 1"),  # noqa: DTZ001
    ("lastmod", raising, "lastmod: LookupError: no idea"),
    ("lastmod", Unprintable(), "lastmod: date <Unprintable"),
]
IDS = [f"{name}-{index}" for index, (name, _, _) in enumerate(VALUES)]


def declared(name: str, value: Any, **attributes: Any) -> type[Sitemap]:
    """Return a class whose method returns a value, or raises."""

    def method(self: Any, item: Any) -> Any:
        return value(item) if value is raising else value

    return type("Odd", (Sitemap,), {**attributes, name: method})


def of_list(self: Any) -> list[str]:
    return [f"/{number}/" for number in range(30)]


@pytest.mark.parametrize(("name", "value", "reason"), VALUES, ids=IDS)
@pytest.mark.costly
def test_every_url_is_listed_without_the_tag_and_the_first_row_is_reported(
    client: Client, register: Any, name: str, value: Any, reason: str
) -> None:
    by_key = declared(name, value, model=Article)
    lists = {"items": of_list, "location": lambda self, item: item}
    register("by-key", by_key)
    register("by-position", declared(name, value, **lists))
    made = articles(30)
    for section in ("by-key", "by-position"):
        entries = urlset(client.get(f"/sitemap-{section}-1.xml"))
        assert len(entries) == 30
        assert all(getattr(entry, name) is None for entry in entries)
    page = Page.objects.get()
    ((_, problem),) = page.problems
    assert problem.startswith(f"listed without {reason}")
    assert page.bad == 0
    for section, label in (("by-key", made[0].pk), ("by-position", "'/0/'")):
        out, err, code = run_command("build_sitemaps", "--reconcile", section)
        assert (err, code) == ("", 0)
        assert f"  Row {label} is listed without {reason}" in out


@pytest.mark.parametrize(("name", "value", "reason"), VALUES, ids=IDS)
@pytest.mark.costly
def test_contribs_view_too(
    rf: RequestFactory, caplog: Any, name: str, value: Any, reason: str
) -> None:
    lists = {"items": of_list, "location": lambda self, item: item}
    response = views.sitemap(rf.get("/"), {"odd": declared(name, value, **lists)})
    assert len(urlset(response)) == 30
    (record,) = caplog.records
    assert f"Section 'odd', row '/0/': listed without {reason}" in record.getMessage()


def test_a_column_and_a_constant_too(client: Client, register: Any) -> None:
    constants = {"priority": F("weight"), "changefreq": "sometimes"}
    register("article", type("Odd", (ArticleSitemap,), constants))
    articles(2, weight=0.25)
    articles(2, weight=7.5)
    entries = urlset(client.get("/sitemap-article-1.xml"))
    assert [entry.priority for entry in entries] == ["0.25", "0.25", None, None]
    reasons = [reason for _, reason in Page.objects.get().problems]
    assert [reason.partition(":")[0] for reason in reasons] == [
        "listed without changefreq 'sometimes'",
        "listed without priority 7.5",
    ]


def test_texts_of_a_column_that_are_no_dates(client: Client, register: Any) -> None:
    register("article", type("Odd", (ArticleSitemap,), {"lastmod": F("title")}))
    for title in ("2026-01-02", "unknown", "", "2026-01-02 03:04"):
        articles(1, title=title)
    entries = urlset(client.get("/sitemap-article-1.xml"))
    assert [entry.lastmod for entry in entries] == ["2026-01-02", None, None, None]
    reasons = [reason for _, reason in Page.objects.get().problems]
    assert [reason[:39] for reason in reasons] == [
        "listed without lastmod: date 'unknown':",
        "listed without lastmod: date '2026-01-0",
    ]


def test_what_contrib_takes_for_no_lastmod_is_none(
    client: Client, register: Any
) -> None:
    register("article", declared("lastmod", False, model=Article))
    articles(2)
    entries = urlset(client.get("/sitemap-article-1.xml"))
    assert [entry.lastmod for entry in entries] == [None, None]
    assert Page.objects.get().problems == []


def test_on_error_raise_raises_for_a_tag_too(
    client: Client, register: Any, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ON_ERROR": "raise"}
    register("article", declared("priority", raising, model=Article))
    articles(1)
    with pytest.raises(LookupError, match="no idea"):
        client.get("/sitemap-article-1.xml")
