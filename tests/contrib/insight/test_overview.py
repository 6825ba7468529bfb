"""The app's index: a site at a glance, for those who may see it, at a constant cost."""

from __future__ import annotations

import datetime as dt
import re
import time
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.staticfiles import finders
from django.db import connection
from django.test import Client
from lxml.html import fromstring

from django_sitemaps_plus.contrib.insight.models import DailyCount, Read
from django_sitemaps_plus.models import Change, EngineState, Page, Submission, UrlChange
from django_sitemaps_plus.pagination import lately
from tests.contrib.insight.test_lists import LISTS
from tests.contrib.insight.test_pages import (
    ADMIN,
    Small,
    admin,
    queries_of,
    staff,
    text,
)
from tests.support.factories import articles
from tests.support.helpers import PagesSitemap, run_command
from tests.support.outbox_world import BASE, happened, run, use

pytestmark = [
    pytest.mark.django_db(databases=["default", "other"]),
    pytest.mark.usefixtures("site"),
]


@pytest.fixture
def site(register: Any, settings: Any) -> Any:
    """Two sections, one of them built, and an engine."""
    register("article", Small)
    register("static", PagesSitemap)
    articles(25)
    run_command("build_sitemaps", "article")
    return use(settings, one="Few")


def words(html: str) -> str:
    """Return the text of a page's content, with single spaces."""
    html = html[html.index('id="content-main"') :].replace("\xa0", " ")
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def index(client: Client | None = None) -> str:
    return words(text("", client))


def crawled(name: str, count: int, document: str = "sitemap.xml") -> None:
    now = time.time()
    counts = {"crawler": name, "full": count, "unchanged": 2 * count}
    times = {"first_at": now - 9000, "last_at": now - 500}
    Read.objects.create(document=document, **counts, **times)


def counted(topic: str, name: str, count: int, ago: int = 0, outcome: str = "") -> None:
    """Have something counted on a day, so many days ago."""
    day = lately.today() - dt.timedelta(days=ago)
    given = {"topic": topic, "name": name, "outcome": outcome}
    DailyCount.objects.create(**given, day=day, number=count)


# What it shows


def test_sections_are_shown_with_their_sums_and_their_growth(register: Any) -> None:
    """Of each section whose number was known then, and of these together."""
    register("unbuilt", Small)
    known = {
        # Nobody knows what it lists: its pages are lost.
        "unbuilt": {7: 9},
        "article": {6: 24, 7: 20, 8: 1},
        "static": {7: 5},
        # No longer registered: it is in no row, and not in the sum.
        "former": {7: 1000},
    }
    for name, counts in known.items():
        for ago, number in counts.items():
            counted("entries", name, number, ago=ago)
    shown = index()
    assert "article none 25 +5 3 " in shown
    assert "static Built for each request, because" in shown
    assert "unbuilt Not built yet." in shown
    assert "All sections none 25 +5 3 " in shown
    Page.objects.filter(section__name="article", number=1).update(bad=2, error="why")
    Change.objects.create(section="article", key='["1"]', at=time.time(), page=2)
    Page.objects.update(lastmod=time.time() - 3 * 3_600)
    shown = index()
    numbers = r"1 page in error 2 rows left out 25 \+5 3 \S+ KB 3 hours ago 1 "
    assert re.search(f"article {numbers}", shown)
    assert re.search(f"All sections {numbers}", shown)
    assert "Section &#x27;article&#x27; is in error: why" in shown
    assert "stale" not in shown
    DailyCount.objects.filter(name="article").delete()
    assert "rows left out 25 – 3 " in index(), "nobody knows"


def test_engines_are_shown_before_anything_was_sent(settings: Any) -> None:
    assert "www.example.com ready, nothing sent yet 0 – –" in index()
    happened("/a/", "/b/")
    run()
    EngineState.objects.update(
        failures=1, message="It does not answer.", paused_until=time.time() + 110
    )
    shown = index()
    assert "paused It does not answer. Next try in 1 minute. 0 2 accepted" in shown
    EngineState.objects.update(problem="No key file.")
    assert "cannot be notified: No key file." in index()
    use(settings)
    assert "No engine is configured" in index()
    settings.SITEMAPS_PLUS = {"ENGINES": {"one": {"BACKEND": "no.such"}}}
    assert "cannot be imported" in index()


def test_what_other_apps_show_is_shown_and_so_is_that_one_fails(settings: Any) -> None:
    """Whatever they show before they fail: nobody takes half of it for all."""
    assert "It rains" not in index()
    app = "tests.contrib.insight.weather.Weather"
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, app]
    assert "It rains, admin." in index()
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "WEATHER": "hail"}
    shown = index()
    assert "It rains" not in shown
    assert "tests.contrib.insight could not check, so this is unknown" in shown
    assert "LookupError: &lt;hail&gt;" in shown
    assert "Who read the sitemaps" in shown


def test_readers_and_charts_are_shown_of_each_site(settings: Any) -> None:
    given = settings.SITEMAPS_PLUS
    settings.SITEMAPS_PLUS = {**given, "BACKGROUND": False}
    assert "Readers are not counted: BACKGROUND is off." in index()
    blog = {"blog": {"BASE_URL": "https://blog.example.com"}}
    settings.SITEMAPS_PLUS = {**given, "SITES": blog}
    assert "Nobody so far." in index()
    crawled("Googlebot", 1000)
    crawled("Googlebot", 234, "sitemap-article-1.xml")
    crawled("bingbot", 5, "sitemap-article-2.xml")
    crawled("", 7)
    counted("reads", "Googlebot", 30, outcome="200")
    counted("reads", "Googlebot", 4, outcome="304")
    counted("reads", "", 7, outcome="200")
    html = text("")
    shown = words(html)
    assert "Googlebot 8 minutes ago 2 1,234 2,468" in shown
    assert "other clients 8 minutes ago 1 7 14" in shown
    assert "<title>Googlebot: 30 whole file (200)</title>" in html
    assert "Googlebot 30 4 others 7 0" in shown, "the chart's numbers as a table"
    assert "Googlebot" in words(text("read/?crawler=Googlebot"))
    listed = words(text("read/?crawler=-"))
    assert "other clients" in listed
    assert "sitemap-article-1.xml" not in listed
    found = text("read/?q=sitemap-article-1.xml")
    assert f'href="{BASE}/sitemap-article-1.xml"' in found
    assert "1 reader" in found
    page = Page.objects.filter(section__name="article", number=1).get()
    shown = words(text(f"page/{page.pk}/change/"))
    assert "Googlebot 8 minutes ago 234 468" in shown
    assert "bingbot" not in shown
    Read.objects.filter(crawler="bingbot").update(site="blog")
    shown = index()
    assert "Googlebot" in shown
    assert "bingbot" not in shown
    html = text("?site=blog")
    assert "bingbot" in words(html)
    assert "Googlebot" not in words(html)
    assert 'href="?site=blog" aria-current="page"' in html
    assert '<input type="hidden" name="site" value="blog">' in html


def test_the_check_says_what_is_wrong() -> None:
    assert "robots.txt, keys and credentials" in index()
    response = admin().post(f"{ADMIN}/enginestate/check/")
    shown = words(response.content.decode())
    assert "the site fine DEBUG is off." in shown
    # Nobody answers there.
    assert "Something keeps search engines from being notified" in shown
    assert "the site wrong" in shown
    assert admin().get(f"{ADMIN}/enginestate/check/").status_code == 302


# Who may see what


def test_each_part_is_for_those_who_may_view_it() -> None:
    client = staff("view_read")
    crawled("Googlebot", 5)
    shown = words(client.get("/admin/sitemaps_plus_insight/").content.decode())
    assert "Who read the sitemaps" in shown
    others = ("Sections", "Search engines", "The last audits", "What happened to")
    assert not [heading for heading in others if heading in shown]
    assert client.get(f"{ADMIN}/urlchange/story/?url=/").status_code == 403
    assert client.post(f"{ADMIN}/enginestate/check/").status_code == 403
    other = Client()
    other.force_login(User.objects.create_user("visitor", password="x"))
    assert other.get(f"{ADMIN}/").status_code == 302


def test_the_group_of_the_docs_may_look_and_retry_and_nothing_else() -> None:
    page = (Path(__file__).parents[3] / "docs" / "insight.md").read_text()
    lines = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert lines is not None
    exec(lines[1], {})  # noqa: S102 (our own documentation)
    group = Group.objects.get()
    happened("/a/")
    run()
    client = staff()
    User.objects.get().groups.add(group)
    for name in LISTS:
        shown = text(f"{name}/", client)
        assert "Add " not in words(shown)
    assert "retry" in text("submission/", client)
    assert "robots.txt, keys and credentials" in index(client)
    assert client.post(f"{ADMIN}/enginestate/check/").status_code == 200
    for name, action in (("page", "rebuild"), ("urlchange", "confirm")):
        assert f'value="{action}"' not in text(f"{name}/", client)
    row = Page.objects.all()[0]
    response = client.post(f"{ADMIN}/page/{row.pk}/change/", {"number": 7})
    assert response.status_code == 403
    assert client.post(f"{ADMIN}/page/{row.pk}/delete/").status_code == 403
    changing = Permission.objects.filter(group=group, codename__regex="^(add|delete)_")
    assert not changing.exists()


# What it costs


def fill(count: int) -> None:
    """Have so many rows more of everything that the page sums up."""
    happened(*(f"/{count}/{n}/" for n in range(count)))
    run()
    for number in range(count):
        crawled("Googlebot", 3, f"sitemap-{count}-{number}.xml")
        EngineState.objects.create(engine="one", host=f"h{count}-{number}.example.com")
        counted("reads", f"{count}-{number}", 1, ago=number % 30, outcome="200")
        Change.objects.create(section="article", key=f'["{number}"]', at=1.0)
    articles(count)
    run_command("build_sitemaps")


def test_the_number_of_queries_does_not_grow() -> None:
    fill(3)
    index()
    few = queries_of("")
    fill(15)
    many = queries_of("")
    assert len(many) == len(few), "\n".join(many)
    # In this test's transaction each app's part has a savepoint.
    assert len([one for one in many if "SAVEPOINT" not in one]) <= 20


# How it is written


@pytest.mark.parametrize(
    "path",
    [
        "",
        *(f"{name}/" for name in LISTS),
        "urlchange/story/?url=/articles/article-1/",
        "page/{page}/change/",
        "submission/{submission}/change/",
    ],
)
@pytest.mark.costly
def test_a_strict_policy_forbids_nothing_of_it(path: str) -> None:
    happened("/a/")
    run()
    crawled("Googlebot", 5)
    counted("reads", "Googlebot", 1, outcome="200")
    page, submission = Page.objects.all()[0].pk, Submission.objects.all()[0].pk
    is_strict(text(path.format(page=page, submission=submission)))


def is_strict(html: str) -> None:
    """Check that a strict policy forbids nothing of a page, and all ids are there."""
    found = fromstring(html).xpath
    data = "@type = 'application/json'"
    assert found(f"//style | //script[not(string(@src)) and not({data})]") == []
    assert found("//@style | //@*[starts-with(name(), 'on')]") == []
    styles = found("//link[@rel = 'stylesheet']/@href")
    own = [href for href in styles if "django_sitemaps_plus" in href]
    assert own == ["/static/django_sitemaps_plus/admin.css"]
    ids = found("//@id")
    assert len(set(ids)) == len(ids)
    assert set(" ".join(found("//@aria-labelledby | //@for")).split()) <= set(ids)


def test_no_day_flattens_a_chart_and_numbers_are_those_of_svg(settings: Any) -> None:
    for age, number in enumerate([12, 9, 6_213, 0, 15, 8]):
        counted("submissions", "one", number, ago=age, outcome="accepted")
    html = text("")
    bar = r'height="([\d.]+)" class="sitemaps-fill-good"><title>[^:]*: ([\d,]+) '
    heights = {
        int(number.replace(",", "")): float(height)
        for height, number in re.findall(bar, html)
    }
    assert heights[15] == heights[6_213] == max(heights.values())
    assert heights[8] > heights[15] / 2
    assert html.count('class="sitemaps-cut"') == 1
    assert ">6,213</text>" in html
    settings.LANGUAGE_CODE = "de"
    settings.USE_THOUSAND_SEPARATOR = True
    counted("entries", "article", 1_234_567)
    html = text("")
    attribute = r'<(?:rect|text)[^>]* (?:x|y|width|height)="([^"]*)"'
    for number in re.findall(attribute, html):
        assert re.fullmatch(r"\d+(\.\d)?", number)
    assert "1.234.567" in html


def test_errors_stand_first_and_levels_are_words() -> None:
    assert "Nothing: all that was looked at is in order." in index()
    happened("/gone/", kind=UrlChange.Kind.REMOVED, on_hold=True)
    Page.objects.update(lost_at=time.time())
    shown = unescape(index())
    removed = "1 removed URL is on hold until you confirm it: manage.py"
    first = shown.index(f"error Section 'article': {removed}")
    second = shown.index("warning Section 'article': the stored bytes")
    assert shown.index("What needs attention") < first < second
    # Beside the words stand signs.
    css = Path(str(finders.find("django_sitemaps_plus/admin.css"))).read_text()
    for name in ("ok", "error", "warning"):
        assert f".sitemaps-{name}::before" in css


@pytest.mark.parametrize("app", ["_audit", "_webmasters", "_insight", ""])
@pytest.mark.costly
def test_the_page_of_each_app_is_the_overview(app: str) -> None:
    html = admin().get(f"{ADMIN}{app}/").content.decode()
    assert "What needs attention" in html


@pytest.mark.django_db(transaction=True, databases=["default", "other"])
def test_without_an_app_s_tables_it_says_the_line_to_type() -> None:
    with connection.schema_editor() as editor:
        editor.delete_model(Read)
    try:
        overview = index()
        pages = [
            admin().get(f"{ADMIN}{path}", follow=True)
            for path in ("_insight/read/", "/page/", "/urlchange/story/?url=/a/")
        ]
    finally:
        with connection.schema_editor() as editor:
            editor.create_model(Read)
    said = "Tables of django_sitemaps_plus are missing: manage.py migrate"
    assert f"error {said}" in overview
    for page in pages:
        assert page.redirect_chain == [(f"{ADMIN}/", 302)]
        assert page.content.decode().count(said) == 2
