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
from tests.support.helpers import run_command, urlset
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
    rf: RequestFactory,
    client: Client,
    register: Any,
    caplog: Any,
    name: str,
    value: Any,
    reason: str,
) -> None:
    """In contrib's view too."""
    lists = {"items": of_list, "location": lambda self, item: item}
    by_position = declared(name, value, **lists)
    register("by-key", declared(name, value, model=Article))
    register("by-position", by_position)
    made = articles(30)
    pages = [client.get(f"/sitemap-by-{way}-1.xml") for way in ("key", "position")]
    caplog.clear()
    pages.append(views.sitemap(rf.get("/"), {"odd": by_position}))
    (record,) = caplog.records
    assert f"Section 'odd', row '/0/': listed without {reason}" in record.getMessage()
    for entries in map(urlset, pages):
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


def reasons() -> list[str]:
    found = [reason for _, reason in Page.objects.get().problems]
    return [reason.removeprefix("listed without ") for reason in found]


def test_a_column_and_a_constant_too(page_of: Any) -> None:
    articles(2, weight=0.25)
    articles(2, weight=7.5)
    entries = urlset(page_of(priority=F("weight"), changefreq="sometimes"))
    assert [entry.priority for entry in entries] == ["0.25", "0.25", None, None]
    found = [reason.partition(":")[0] for reason in reasons()]
    assert found == ["changefreq 'sometimes'", "priority 7.5"]


def test_texts_of_a_column_that_are_no_dates(page_of: Any) -> None:
    for title in ("2026-01-02", "unknown", "", "2026-01-02 03:04"):
        articles(1, title=title)
    entries = urlset(page_of(lastmod=F("title")))
    assert [entry.lastmod for entry in entries] == ["2026-01-02", None, None, None]
    found = [reason[:24] for reason in reasons()]
    assert found == ["lastmod: date 'unknown':", "lastmod: date '2026-01-0"]


def test_what_contrib_takes_for_no_lastmod_is_none(page_of: Any) -> None:
    articles(2)
    entries = urlset(page_of(declared("lastmod", False, model=Article)))
    assert [entry.lastmod for entry in entries] == [None, None]
    assert reasons() == []


def test_on_error_raise_raises_for_a_tag_too(page_of: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ON_ERROR": "raise"}
    articles(1)
    with pytest.raises(LookupError, match="no idea"):
        page_of(declared("priority", raising, model=Article))
