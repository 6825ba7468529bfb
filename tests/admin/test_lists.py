"""What lists have in common: an exact URL is found, and what is shown is exported."""

from __future__ import annotations

import csv
import io
import re
import time
from typing import Any

import pytest
from django.test import Client

from django_sitemaps_plus.admin import export
from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.audit.queries import store
from django_sitemaps_plus.changes.queries import location_digest
from django_sitemaps_plus.models import (
    Audit,
    Change,
    EngineState,
    Finding,
    Page,
    Read,
    Section,
    Submission,
    UrlChange,
)
from tests.admin.test_pages import ADMIN, Small, staff, text
from tests.support.outbox_world import BASE, happened, run, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def exported(client: Client, path: str) -> list[dict[str, str]]:
    """Return the rows of a file, by their headings."""
    response = client.get(f"{ADMIN}/{path}")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"))))


def tell(*locations: str, **values: Any) -> None:
    for location in locations:
        happened(location, digest=location_digest(location), **values)


def found(kind: str, url: str, section: str = "article", **values: Any) -> Finding:
    level = kinds.KINDS[kind].level
    url = f"{BASE}{url}"
    return Finding(kind=kind, level=level, section=section, url=url, **values)


def audited(*findings: Finding, section: str = "article", **values: Any) -> None:
    """Store an audit, at which nothing is counted but what is named."""
    counts: dict[str, dict[str, int]] = {}
    for one in findings:
        counts.setdefault(one.kind, {})[one.section] = 1
    fetched = 9 if values.get("fetched") else 0
    now = time.time()
    sections = {section: [9, fetched]}
    audit = Audit(started_at=now, finished_at=now, sections=sections, counts=counts)
    for name, value in values.items():
        setattr(audit, name, value)
    store(audit, findings)


@pytest.fixture
def findings(register: Any, settings: Any) -> None:
    """What audits found of two sections, once by fetching."""
    use(settings, one="Few")
    register("article", Small)
    register("other", Small)
    audited(found(kinds.SESSION, "/corrected/"))
    audited(found(kinds.SESSION, "/old/"), found(kinds.TRACKING, "/t/?utm_source=x"))
    audited(found(kinds.FAILS, "/gone/", text="404", page="article-1"), fetched="live")
    audited(found(kinds.SESSION, "/s/", row="313"))
    audited(found(kinds.SHARED, "/both/", section="other"), section="other")


def shown(client: Client, query: str = "") -> set[str]:
    return {row["URL"] for row in exported(client, f"finding/export/?{query}")}


def test_findings_are_those_of_the_newest_audits_and_filtered(
    findings: None, admin_client: Client
) -> None:
    every = {f"{BASE}{path}" for path in ("/gone/", "/s/", "/both/")}
    assert shown(admin_client) == every
    page = text(admin_client, "finding/")
    for path in ("/gone/", "/s/", "/both/"):
        assert f'href="{BASE}{path}"' in page
    assert "/corrected/" not in page
    for query, path in (
        ("of=other", "/both/"),
        (f"kind={kinds.SESSION}", "/s/"),
        ("level=warning", "/both/"),
        ("mode=live", "/gone/"),
        ("q=/gone/", "/gone/"),
        (f"q={BASE.removeprefix('https://')}/gone/%23top", "/gone/"),
    ):
        assert shown(admin_client, query) == {f"{BASE}{path}"}, query
    assert shown(admin_client, "mode=-&level=error") == {f"{BASE}/s/"}
    assert shown(admin_client, "mode=process") == set()
    [row] = exported(admin_client, "finding/export/?mode=live")
    assert row["Details"] == "404"
    assert row["How"] == "fetched over HTTP"
    assert row["What to do"] == kinds.KINDS[kinds.FAILS].fix
    pk = Finding.objects.get(row="313").pk
    assert "leave the session out of the URL" in text(
        admin_client, f"finding/{pk}/change/"
    )


def test_urls_are_found_and_exported(admin_client: Client, settings: Any) -> None:
    use(settings, one="Few")
    tell("/a/", "/b/")
    run()
    for name in ("urlchange", "submission"):
        for entered in ("/b/", f"{BASE}/b/", "www.example.com/b/", "/b/%23part"):
            [row] = exported(admin_client, f"{name}/export/?q={entered}")
            assert row["URL"] == f"{BASE}/b/"
            assert row["What"] == "changed"
        assert len(exported(admin_client, f"{name}/export/")) == 2
        assert f"{name}/export/?q=%2Fb%2F" in text(admin_client, f"{name}/?q=/b/")
        assert "not a URL of" in text(admin_client, f"{name}/?q=https://else.example/")
    assert exported(admin_client, "submission/export/?state__exact=failed") == []
    client = staff("view_submission")
    assert client.get(f"{ADMIN}/submission/export/").status_code == 200
    assert client.get(f"{ADMIN}/urlchange/export/").status_code == 403


def test_no_cell_is_a_formula(admin_client: Client) -> None:
    for number, cell in enumerate(("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1")):
        Submission.objects.create(
            engine="one", url=f"/{number}/", digest=number, message=cell, created_at=1
        )
    rows = exported(admin_client, "submission/export/")
    assert {row["Message"][:2] for row in rows} == {
        *("'=", "'+", "'-", "'@", "'\t", "'\r")
    }


@pytest.mark.parametrize("cell", ["a;=1", 'a;"=1"', "a,b;+1", 'a"b\n=1', "a\t=1"])
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_no_cell_is_a_formula_where_another_character_separates_them(
    admin_client: Client, cell: str, delimiter: str
) -> None:
    Submission.objects.create(engine="one", url="/", message=cell, created_at=1)
    file = admin_client.get(f"{ADMIN}/submission/export/").content.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(file), delimiter=delimiter))
    assert not [one for row in rows for one in row if one.startswith(("=", "+"))]


def test_lists_are_sorted_by_nothing_that_has_no_index(admin_client: Client) -> None:
    Submission.objects.create(engine="one", url="/", created_at=1)
    assert "column-engine" in (page := text(admin_client, "submission/"))
    assert "?o=" not in page


def test_a_file_that_is_cut_says_so(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(*(f"/{number}/" for number in range(5)))
    monkeypatch.setattr(export, "_ROWS", 2)
    rows = exported(admin_client, "urlchange/export/")
    assert [row["URL"][-3:] for row in rows] == ["/4/", "/3/", "/2/", "/1/", "/0/"]
    monkeypatch.setattr(export, "MOST", 3)
    rows = exported(admin_client, "urlchange/export/")
    assert len(rows) == 4
    assert rows[-1]["URL"].startswith("There are more rows")


def labels(client: Client, path: str) -> list[str]:
    """Return the labels of a row's page, and the heads of a list's columns."""
    shown = text(client, path)
    found = re.findall(r"<label>([^<]*?):?</label>", shown)
    heads = re.findall(r'class="[^"]*column-\w+[^"]*">(.*?)</th>', shown, re.DOTALL)
    heads = [" ".join(re.sub(r"<[^>]+>", " ", head).split()) for head in heads]
    return [one for one in (*found, *heads) if one]


def test_every_label_is_translated(
    findings: None, admin_client: Client, settings: Any
) -> None:
    tell("/a/")
    run()
    now = time.time()
    section = Section.objects.create(name="article")
    rows = [
        *(section, Page.objects.create(section=section, number=1, position=1)),
        *(Submission.objects.all()[0], UrlChange.objects.all()[0]),
        *(EngineState.objects.all()[0], Finding.objects.get(row="313")),
        Change.objects.create(section="article", key='["1"]', at=now),
        Read.objects.create(document="sitemap.xml", first_at=now, last_at=now),
    ]
    names = [(row._meta.model_name, row.pk) for row in rows]
    paths = [f"{name}/" for name, _ in names]
    paths += [f"{name}/{pk}/change/" for name, pk in names]
    english = [labels(admin_client, path) for path in paths]
    assert all(english)
    settings.LANGUAGE_CODE = "de"
    #: They are the same in German.
    same = {
        "Problem",
        "URL",
        "URLs",
        "Host",
        "Status",
        "Name",
        "Version",
        "Lastmod",
        "Crawler",
    }
    for path, before in zip(paths, english, strict=True):
        assert (set(before) & set(labels(admin_client, path))) - same <= {"Sitemap"}


@pytest.mark.parametrize(
    "name",
    [
        *("section", "page", "change", "urlchange", "submission", "enginestate"),
        *("read", "finding"),
    ],
)
def test_no_list_offers_to_count_each_filter(admin_client: Client, name: str) -> None:
    UrlChange.objects.create(section="a", kind="added", location="/", at=1)
    page = text(admin_client, f"{name}/?_facets=True")
    assert "Show counts" not in page
    assert "Hide counts" not in page


def test_a_filter_that_is_none_exports_nothing(admin_client: Client) -> None:
    response = admin_client.get(f"{ADMIN}/urlchange/export/?nothing__x=1")
    assert response.status_code == 302
