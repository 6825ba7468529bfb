"""The admin: what is seen of pages, changes and URLs, and who may act."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.contrib.insight.admin import display
from django_sitemaps_plus.contrib.insight.admin.display import page_state
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Change, Page, Section, UrlChange
from django_sitemaps_plus.pagination import deploys
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.storing.freshness import page_rows
from tests.support.factories import articles
from tests.support.helpers import PagesSitemap, Small, Titled, run_command
from tests.support.outbox_world import happened
from tests.testapp.models import Article, Elsewhere

pytestmark = pytest.mark.django_db(databases=["default", "other"])

ADMIN = "/admin/sitemaps_plus"


@pytest.fixture
def built(register: Any) -> None:
    register("article", Small)
    register("static", PagesSitemap)
    articles(25)
    run_command("build_sitemaps", "article")


def staff(*permissions: str) -> Client:
    user = User.objects.create_user("staff", password="x", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def admin() -> Client:
    """Return the client of somebody who may do everything."""
    rights = {"is_staff": True, "is_superuser": True}
    user, _ = User.objects.get_or_create(username="admin", defaults=rights)
    client = Client()
    client.force_login(user)
    return client


def address(path: str) -> str:
    """Return the address of a list, by the name of its model, or of what is below."""
    name = path.partition("/")[0]
    labels = [
        model._meta.app_label
        for model in apps.get_models()
        if model._meta.model_name == name
    ]
    label = next((one for one in labels if one.startswith("sitemaps_plus")), "")
    return f"/admin/{label or 'sitemaps_plus'}/{path}"


def text(path: str, client: Client | None = None) -> str:
    """Return a page as an administrator sees it, or the user of a client."""
    response = (client or admin()).get(address(path))
    assert response.status_code == 200
    return str(response.content.decode())


def queries_of(path: str) -> list[str]:
    client = admin()
    with CaptureQueriesContext(connection) as found:
        text(path, client)
    return [query["sql"] for query in found]


def act(path: str, action: str, rows: Any, client: Client | None = None) -> str:
    data = {"action": action, "_selected_action": [row.pk for row in rows]}
    response = (client or admin()).post(f"{ADMIN}/{path}", data, follow=True)
    return str(response.content.decode())


# Pages


@pytest.mark.usefixtures("built")
def test_each_state_is_shown_and_found_in_each_language(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    for settings.LANGUAGE_CODE, words in (
        ("de", ["Abschnitt", "Seiten"]),
        ("fr", ["Section", "à jour"]),
        ("en", ["fresh"]),
    ):
        run_command("build_sitemaps", "article")
        page = text("page/")
        assert page.count('class="sitemaps-fresh"') == 3
        assert [word for word in words if word not in page] == []
    # Filters find what lies beyond the rows that a list counts.
    monkeypatch.setattr(display, "MOST", 1)
    first, second, third = Page.objects.order_by("number")[:3]
    Page.objects.filter(pk=first.pk).update(error="Too <bad>")
    Page.objects.filter(pk=second.pk).update(verified_at=0)
    given = {"created": True, "at": time.time() - 1000, "page": third.number}
    Change.objects.create(section="article", key='["1"]', **given)
    shown = text("page/")
    for state, word in (
        ("error", "in error"),
        ("due", "due for a routine check"),
        ("waits", "changes waiting"),
    ):
        assert shown.count(f'class="sitemaps-{state}"') == 1
        found = text(f"page/?state={state}")
        assert found.count('<strong class="sitemaps-') == 1
        assert f">{word}</strong>" in found
    assert "https://www.example.com/sitemap-article-1.xml" in shown
    sections = text("section/")
    for said in (
        "3 pages: 1 with waiting changes, 1 due for a routine check, 0 not built yet,",
        "1 in error. 1 change has waited for more than 15 minutes for its page to be",
        "Built for each request, because",
    ):
        assert said in sections
    Change.objects.all().delete()
    assert "0 changes have waited" in text("section/")
    Section.objects.update(key="another")
    assert text("page/").count('class="sitemaps-due"') == 2


def test_a_page_shows_how_many_urls_repeat_and_its_problems(register: Any) -> None:
    register("article", Titled)
    for title in ("/a/", "/b/", "/a/", "/a/"):
        articles(1, title=title)
    run_command("build_sitemaps")
    page = Page.objects.get()
    problems = {"bad": 1235, "problems": [["7", "<b>no</b>"]], "error": "why"}
    Page.objects.update(**problems)
    shown = text(f"page/{page.pk}/change/")
    assert "<td>7</td><td>&lt;b&gt;no&lt;/b&gt;</td>" in shown
    assert "<p>and 1,234 more</p>" in shown
    assert "[&quot;" not in shown, "keys are shown as people know them"
    assert "why" in shown
    assert 'name="_save"' not in shown
    assert "Entries with the URL of another one" in shown
    _, _, shown = shown.partition("field-repeated_shown")
    assert '<div class="readonly">2</div>' in shown[:600]
    for number in (2, 3):
        Page.objects.create(section=page.section, number=number, position=number)
    for bad, count in (("yes", 1), ("no", 2)):
        assert text(f"page/?bad={bad}").count('<strong class="sitemaps-') == count


@pytest.mark.usefixtures("built")
def test_pages_are_rebuilt_by_those_who_may() -> None:
    rows = list(Page.objects.order_by("number"))
    client = staff("view_page")
    assert "rebuild" not in text("page/", client)
    act("page/", "compare", rows, client)
    assert not Page.objects.filter(verified_at=0).exists()
    user = User.objects.get()
    user.user_permissions.add(Permission.objects.get(codename="change_page"))
    shown = act("page/", "compare", rows, client)
    assert "3 pages will be compared with their rows" in shown
    assert Page.objects.filter(verified_at=0).count() == 3
    Article.objects.order_by("pk")[:1].get().delete()
    assert "1 of the pages changed, 2 stayed" in act("page/", "rebuild", rows, client)
    assert not Page.objects.filter(verified_at=0).exists()
    assert not Change.objects.exists()
    articles(40)
    run_command("build_sitemaps", "--reconcile")
    many = list(Page.objects.all())
    assert "choose at most 5 pages" in act("page/", "rebuild", many, client)
    assert client.get(f"{ADMIN}/page/add/").status_code == 403
    assert client.get(f"{ADMIN}/section/").status_code == 403


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConfigurationError("Say <so>."), "Say &lt;so&gt;."),
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
    ],
)
@pytest.mark.costly
def test_a_broken_section_is_shown_beside_the_others(
    register: Any, error: Exception, reason: str
) -> None:
    def items(self: Any) -> Any:
        """Its rows cannot even be asked for."""
        raise error

    articles(5)
    register("fine", Small)
    run_command("build_sitemaps", "fine")
    for name in ("article", "new"):
        register(name, type("Broken", (Small,), {"items": items}))
    pages = text("page/")
    assert pages.count('class="sitemaps-broken"') == pages.count(reason) == 3
    assert pages.count('class="sitemaps-fresh"') == Page.objects.count() - 3 > 0
    found = text("page/?state=broken")
    assert found.count('<strong class="sitemaps-') == 3
    # One in the list, for its pages; one below it, for there are none as yet.
    sections = text("section/")
    assert sections.count(reason) == 2
    assert "3 in error" in sections
    page = Page.objects.filter(section__name="article")[0]
    assert reason in text(f"page/{page.pk}/change/")
    assert reason in text(f"section/{page.section_id}/change/")
    assert reason in act("page/", "rebuild", [page])
    for path in ("change/", "urlchange/"):
        assert "article" in text(path)


@pytest.mark.usefixtures("built")
def test_pages_of_a_former_section_are_not_linked_and_wrong_settings_break_no_list(
    settings: Any,
) -> None:
    Section.objects.exclude(name="").update(name="former")
    pages = text("page/")
    assert pages.count('class="sitemaps-unregistered"') == 3
    assert "/sitemap-former-1.xml" not in pages
    assert "not registered" in text("section/")
    shown = act("page/", "rebuild", list(Page.objects.all()))
    assert shown.count("Page former-1: its section is not registered") == 1
    assert shown.count("its section is not registered") == 3
    settings.SITEMAPS_PLUS = {"SITEMAPS": "tests.nowhere.sitemaps"}
    assert "cannot be imported" in text("section/")
    for path in ("page/", "change/", "urlchange/"):
        text(path)


# What is called fresh


#: Its rows lie in another database.
FAR = {"model": Elsewhere, "location": Route("article", slug=F("slug"))}
#: Articles appear when it is time.
TICKING = {"appears": F("updated")}


class ByClock(Small):
    """Nobody says when articles appear, but the query depends on the time."""

    def items(self) -> Any:
        return Article.objects.filter(updated__lte=Now())


def state_with(now: float, **values: Any) -> str:
    """Return the state of the page with such values."""
    digest = definition(source("some")).digest
    fresh = {"checksum": "abc", "digest": digest, "verified_at": now, "error": ""}
    Page.objects.update(**{**fresh, **values})
    return page_state(page_rows().get(), {"some": ""}, now)


@pytest.mark.parametrize(
    ("base", "declared"), [(Small, {}), (Sitemap, FAR), (Small, TICKING), (ByClock, {})]
)
@pytest.mark.costly
def test_a_page_is_called_what_it_is(register: Any, base: type, declared: Any) -> None:
    register("some", type("Some", (base,), declared))
    now = time.time()
    section = Section.objects.create(
        name="some", key=source("some").signature, filled=True, ticked_at=now - 30
    )
    Page.objects.create(section=section, number=1, position=1)
    assert state_with(now) == "fresh"
    assert state_with(now, checksum="") == "never"
    assert state_with(now, error="why", checksum="") == "error"
    assert state_with(now, verified_at=now - 3600) == "due"
    assert state_with(now, digest="older") == "due"
    is_by_clock = base is ByClock
    assert (state_with(now, verified_at=now - 61) == "due") is is_by_clock
    Change.objects.create(section="some", key="1", at=now)
    assert state_with(now) == "waits"
    newer = {"digest_since": deploys.STARTED + 10, "digest_seen": now}
    Section.objects.update(digest="newest", **newer)
    assert state_with(now) == "fresh", "old code serves what is stored"
    Section.objects.update(digest="", ticked_at=now - 60)
    Change.objects.all().delete()
    assert (state_with(now) == "due") is (declared is TICKING)
    Section.objects.update(ticked_at=now, key="another")
    assert state_with(now) == "due"


# Changes and URLs


def test_changes_say_what_they_concern() -> None:
    now = time.time()
    for given in (
        {"key": '["3"]'},
        {"key": '["4"]', "upto": '["9"]'},
        {"key": "7", "related": "testapp.Category"},
        {"page": 5},
    ):
        Change.objects.create(section="a", at=now, **given)
    shown = text("change/")
    of_page = '<td class="field-page">5</td>'
    for words in (">3<", ">4 … 9<", "testapp.Category 7", "the whole section", of_page):
        assert shown.count(words) == 1, words


def test_urls_on_hold_are_confirmed(register: Any) -> None:
    register("article", Small)
    Section.objects.create(name="article")
    now = time.time()
    for number, section in enumerate(("article", "article", "other")):
        given: Any = {"section": section, "kind": "removed", "at": now - 720}
        happened(f"/{number}/", on_hold=True, **given)
    shown = text("urlchange/?since=3600&of=article&on_hold=yes")
    assert "Select URL change to view" in shown
    assert shown.count("on hold: confirm it") == 2
    assert "12\xa0minutes ago" in shown
    assert 'href="https://www.example.com/0/"' in shown
    shown = act("urlchange/", "confirm", UrlChange.objects.filter(location="/0/"))
    assert "2 URLs of the sections article will be submitted." in shown
    assert [row.section for row in UrlChange.objects.filter(on_hold=True)] == ["other"]
    assert Section.objects.get(name="article").confirmed_at >= now


# All lists


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("use_tz", [True, False])
@pytest.mark.costly
def test_times_and_sizes_are_for_people(settings: Any, use_tz: bool) -> None:
    settings.USE_TZ = use_tz
    settings.TIME_ZONE = "Asia/Kolkata"
    # 2026-03-01 12:00 UTC
    then = 1_772_366_400
    Page.objects.update(changed_at=then, size=2_621_440)
    page = Page.objects.all()[0]
    for path in ("page/", f"page/{page.pk}/change/"):
        shown = text(path)
        assert "March 1, 2026, 5:30 p.m." in shown
        assert "2.5\xa0MB" in shown
        assert "2621440" not in shown
    change = Change.objects.create(section="article", at=time.time())
    happened("/", kind="removed", at=then)
    removed = UrlChange.objects.get()
    for path in (f"change/{change.pk}/change/", f"urlchange/{removed.pk}/change/"):
        assert 'name="_save"' not in text(path), "nothing is edited"
    assert "just now" in text("change/")
    assert "March 1, 2026, 5:30 p.m." in text("urlchange/")


@pytest.mark.parametrize("path", ["change/", "urlchange/", "page/"])
@pytest.mark.usefixtures("built")
@pytest.mark.costly
def test_no_row_costs_a_query_and_no_table_is_counted(path: str) -> None:
    queries_of(path)
    few = queries_of(path)
    now = time.time()
    Change.objects.bulk_create(
        Change(section="article", key=str(n), at=now, page=1) for n in range(90)
    )
    happened(*(f"/{n}/" for n in range(90)), kind="added")
    many = queries_of(path)
    assert len(many) == len(few)
    counts = [sql for sql in many if "COUNT(" in sql and "sitemaps_plus_" in sql]
    assert counts
    assert all("LIMIT 10000" in sql for sql in counts)
