"""What lists have in common: an exact URL is found, and what is shown is exported."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
import time
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from django_sitemaps_plus.contrib.insight.admin import export
from django_sitemaps_plus.contrib.insight.models import Read
from django_sitemaps_plus.models import (
    Change,
    EngineState,
    Page,
    Section,
    Submission,
    UrlChange,
)
from django_sitemaps_plus.pagination import lately
from tests.contrib.insight.test_pages import ADMIN, Small, address, admin, staff, text
from tests.support.factories import articles
from tests.support.helpers import run_command
from tests.support.outbox_world import BASE, happened, run, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])

#: The lists of this app.
LISTS = ["section", "page", "change", "urlchange", "submission", "enginestate", "read"]


def exported(path: str, client: Client | None = None) -> list[dict[str, str]]:
    """Return the rows of a file, by their headings."""
    response = (client or admin()).get(address(path))
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"))))


def test_urls_are_found_and_exported(settings: Any) -> None:
    use(settings, one="Few")
    happened("/a/", "/b/")
    run()
    for name in ("urlchange", "submission"):
        for entered in ("/b/", f"{BASE}/b/", "www.example.com/b/", "/b/%23part"):
            [row] = exported(f"{name}/export/?q={entered}")
            assert row["URL"] == f"{BASE}/b/"
            assert row["What"] == "changed"
        assert len(exported(f"{name}/export/")) == 2
        assert f"{name}/export/?q=%2Fb%2F" in text(f"{name}/?q=/b/")
        assert "not a URL of" in text(f"{name}/?q=https://else.example/")
    assert exported("submission/export/?state__exact=failed") == []
    client = staff("view_submission")
    assert client.get(f"{ADMIN}/submission/export/").status_code == 200
    assert client.get(f"{ADMIN}/urlchange/export/").status_code == 403


def test_no_cell_is_a_formula() -> None:
    wide = [chr(ord(sign) + 0xFEE0) for sign in "=+-@"]
    cells = "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", *(f"{one}1" for one in wide)
    for cell in cells:
        submission(message=cell)
    rows = exported("submission/export/")
    signs = {*("'=", "'+", "'-", "'@", "'\t", "'\r"), *(f"'{one}" for one in wide)}
    assert {row["Message"][:2] for row in rows} == signs


def submission(**values: Any) -> None:
    number = Submission.objects.count()
    given = {"engine": "one", "url": "/", "digest": number, "created_at": 1, **values}
    Submission.objects.create(**given)


@pytest.mark.parametrize("cell", ["a;=1", 'a;"=1"', "a,b;+1", 'a"b\n=1', "a\t=1"])
@pytest.mark.costly
def test_no_cell_is_a_formula_where_another_character_separates_them(cell: str) -> None:
    submission(message=cell)
    answer = admin().get(f"{ADMIN}/submission/export/")
    file = answer.content.decode("utf-8-sig")
    for delimiter in (";", "\t"):
        rows = csv.reader(io.StringIO(file), delimiter=delimiter)
        cells = [one for row in rows for one in row]
        assert not [one for one in cells if one.startswith(("=", "+"))]


def test_lists_have_no_sorting_without_an_index_and_no_filter_that_is_none() -> None:
    submission()
    assert "column-engine" in (page := text("submission/"))
    assert "?o=" not in page
    response = admin().get(f"{ADMIN}/urlchange/export/?nothing__x=1")
    assert response.status_code == 302


def test_a_file_that_is_cut_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    happened(*(f"/{number}/" for number in range(5)))
    monkeypatch.setattr(export, "_ROWS", 2)
    rows = exported("urlchange/export/")
    assert [row["URL"][-3:] for row in rows] == ["/4/", "/3/", "/2/", "/1/", "/0/"]
    monkeypatch.setattr(export, "MOST", 3)
    rows = exported("urlchange/export/")
    assert len(rows) == 4
    assert rows[-1]["URL"].startswith("There are more rows")


def labels(path: str) -> list[str]:
    """Return the labels of a row's page, and the heads of a list's columns."""
    shown = text(path)
    found = re.findall(r"<label>([^<]*?):?</label>", shown)
    heads = re.findall(r'class="[^"]*column-\w+[^"]*">(.*?)</th>', shown, re.DOTALL)
    heads = [" ".join(re.sub(r"<[^>]+>", " ", head).split()) for head in heads]
    return [one for one in (*found, *heads) if one]


def are_translated(settings: Any, rows: list[Any]) -> None:
    """Check that no label of some rows, and of their lists, is as in English."""
    names = [(row._meta.model_name, row.pk) for row in rows]
    paths = [f"{name}/" for name, _ in names]
    paths += [f"{name}/{pk}/change/" for name, pk in names]
    english = [labels(path) for path in paths]
    assert all(english)
    settings.LANGUAGE_CODE = "de"
    #: They are the same in German.
    same = {"Problem", "URL", "URLs", "Host", "Status", "Name", "Version", "Lastmod"}
    for path, before in zip(paths, english, strict=True):
        assert (set(before) & set(labels(path))) - same <= {"Sitemap", "Crawler"}


def test_every_label_is_translated(settings: Any) -> None:
    use(settings, one="Few")
    happened("/a/")
    run()
    now = time.time()
    section = Section.objects.create(name="article")
    rows = [
        *(section, Page.objects.create(section=section, number=1, position=1)),
        *(Submission.objects.all()[0], UrlChange.objects.all()[0]),
        EngineState.objects.all()[0],
        Change.objects.create(section="article", key='["1"]', at=now),
        Read.objects.create(document="sitemap.xml", first_at=now, last_at=now),
    ]
    are_translated(settings, rows)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.costly
def test_no_list_offers_to_count_each_filter(name: str) -> None:
    UrlChange.objects.create(section="a", kind="added", location="/", at=1)
    page = text(f"{name}/?_facets=True")
    assert "Show counts" not in page
    assert "Hide counts" not in page


def test_url_changes_and_submissions_are_filtered_by_day(settings: Any) -> None:
    """In the site's zone, whatever the server's and the database's are."""
    settings.TIME_ZONE = "Pacific/Auckland"
    use(settings, one="Few")
    zone = ZoneInfo("Pacific/Auckland")
    midnight = dt.datetime.combine(lately.today(), dt.time(), zone).timestamp()
    happened("/late/", at=midnight - 1)
    happened("/early/", at=midnight)
    run()
    Submission.objects.filter(url__endswith="/late/").update(sent_at=midnight - 1)
    for name in ("urlchange", "submission"):
        today, before = lately.today(), lately.today() - dt.timedelta(days=1)
        for day, path in ((today, "/early/"), (before, "/late/")):
            [row] = exported(f"{name}/export/?day={day}")
            assert row["URL"] == f"{BASE}{path}"
        page = text(f"{name}/")
        assert f'href="?day={today}">Today</a>' in page
        assert len(exported(f"{name}/export/?day=tomorrow")) == 2


def test_a_new_definition_stands_above_what_followed(register: Any) -> None:
    register("article", Small)
    articles(3)
    run_command("build_sitemaps")
    deployed = time.time() - 5_000
    Section.objects.filter(name="article").update(digest_since=deployed)
    happened("/a/", "/b/", kind=UrlChange.Kind.ADDED, at=deployed + 60)
    happened("/c/", kind=UrlChange.Kind.REMOVED, at=deployed + 3_000)
    happened("/d/", kind=UrlChange.Kind.REMOVED, at=deployed + 4_000)
    for name in ("urlchange", "submission"):
        page = " ".join(text(f"{name}/").split())
        assert "The definition of article is new since " in page
        assert "; in the hour after: 2 added, 0 changed, 1 removed." in page
    Section.objects.update(digest_since=time.time() - 8 * 86_400)
    assert "The definition" not in text("urlchange/")
