"""The admin: what is seen of pages, changes and URLs, and who may act."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.admin import with_states
from django_sitemaps_plus.changes.reporting import lookup
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Change, Page, Section, UrlChange
from django_sitemaps_plus.publishing.pages import STARTED, is_fresh, state
from django_sitemaps_plus.rendering.digest import definition
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, PagesSitemap, run_command
from tests.testapp.models import Article, Elsewhere

pytestmark = pytest.mark.django_db(databases=["default", "other"])

ADMIN = "/admin/sitemaps_plus"


class Small(ArticleSitemap):
    """Ten articles to a page."""

    limit = 10


@pytest.fixture
def built(register: Any) -> None:
    register("article", Small)
    register("static", PagesSitemap)
    articles(25)
    run_command("build_sitemaps")


def staff(*permissions: str) -> Client:
    user = User.objects.create_user("staff", password="x", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def text(client: Client, path: str) -> str:
    response = client.get(f"{ADMIN}/{path}")
    assert response.status_code == 200
    return str(response.content.decode())


def act(client: Client, path: str, action: str, rows: Any) -> str:
    data = {"action": action, "_selected_action": [row.pk for row in rows]}
    response = client.post(f"{ADMIN}/{path}", data, follow=True)
    return str(response.content.decode())


@pytest.mark.usefixtures("built")
def test_each_state_is_shown_and_found(admin_client: Client) -> None:
    first, second, third = Page.objects.order_by("number")[:3]
    assert text(admin_client, "page/").count('class="sitemaps-fresh"') == 3
    Page.objects.filter(pk=first.pk).update(error="Too <bad>")
    Page.objects.filter(pk=second.pk).update(verified_at=0)
    Change.objects.create(
        section="article", key="1", at=time.time() - 1000, page=third.number
    )
    shown = text(admin_client, "page/")
    for word in ("error", "due", "waits"):
        assert shown.count(f'class="sitemaps-{word}"') == 1
        found = text(admin_client, f"page/?state={word}")
        assert found.count('class="sitemaps-') == 1
    assert "https://www.example.com/sitemap-article-1.xml" in shown
    told = text(admin_client, "section/")
    assert "3 pages: 2 stale, 0 never made, 1 in error. 1 change has" in told
    assert "Paged by position, because" in told


@pytest.mark.usefixtures("built")
def test_a_page_shows_its_problems_escaped(admin_client: Client) -> None:
    page = Page.objects.order_by("number")[0]
    Page.objects.filter(pk=page.pk).update(
        bad=1, problems=[["7", "<b>no</b>"]], error="why"
    )
    shown = text(admin_client, f"page/{page.pk}/change/")
    assert "<td>7</td><td>&lt;b&gt;no&lt;/b&gt;</td>" in shown
    assert "why" in shown
    assert 'name="_save"' not in shown


@pytest.mark.usefixtures("built")
def test_pages_are_made_again_by_those_who_may() -> None:
    rows = list(Page.objects.all())
    client = staff("view_page")
    assert "make_again" not in text(client, "page/")
    act(client, "page/", "make_again", rows)
    assert not Page.objects.filter(verified_at=0).exists()
    user = User.objects.get()
    user.user_permissions.add(Permission.objects.get(codename="change_page"))
    told = act(client, "page/", "make_again", rows)
    assert "3 pages are compared with their rows" in told
    assert Page.objects.filter(verified_at=0).count() == 3
    told = act(client, "page/", "rebuild", rows)
    assert "0 changed and 3 stayed the same" in told
    assert not Page.objects.filter(verified_at=0).exists()
    assert client.get(f"{ADMIN}/page/add/").status_code == 403
    assert client.get(f"{ADMIN}/section/").status_code == 403


def test_held_urls_are_confirmed(admin_client: Client, register: Any) -> None:
    register("article", Small)
    row = UrlChange.objects.create(
        section="article", kind="gone", location="/a/", at=time.time() - 720, held=True
    )
    shown = text(admin_client, "urlchange/?since=3600&of=article&held__exact=1")
    assert "Select URL change to view" in shown
    assert "held: confirm it" in shown
    assert "12\xa0minutes ago" in shown
    assert 'href="https://www.example.com/a/"' in shown
    assert "1 URL of the sections article may be told." in act(
        admin_client, "urlchange/", "confirm", [row]
    )
    assert not UrlChange.objects.filter(held=True).exists()
    assert "held: confirm it" not in text(admin_client, "urlchange/")


class Broken(Small):
    """Its rows cannot even be asked for."""

    error: Exception = ConfigurationError("Declare <something> else.")

    def items(self) -> Any:
        raise self.error


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConfigurationError("Say <so>."), "Say &lt;so&gt;."),
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
    ],
)
def test_a_broken_section_is_shown_beside_the_others(
    admin_client: Client, register: Any, error: Exception, reason: str
) -> None:
    articles(5)
    register("fine", Small)
    run_command("build_sitemaps", "--section", "fine")
    register("article", type("Broken", (Broken,), {"error": error}))
    register("new", type("Broken", (Broken,), {"error": error}))
    pages = text(admin_client, "page/")
    assert pages.count('class="sitemaps-broken"') == pages.count(reason) == 3
    assert pages.count('class="sitemaps-fresh"') == Page.objects.count() - 3
    found = text(admin_client, "page/?state=broken")
    assert found.count('class="sitemaps-') == 3
    # One in the list, for its pages; one below it, for there are none as yet.
    sections = text(admin_client, "section/")
    assert sections.count(reason) == 2
    assert "3 in error" in sections
    page = Page.objects.filter(section__name="article")[0]
    assert reason in text(admin_client, f"page/{page.pk}/change/")
    assert reason in text(admin_client, f"section/{page.section_id}/change/")
    assert reason in act(admin_client, "page/", "rebuild", [page])
    for path in ("change/", "urlchange/"):
        assert "article" in text(admin_client, path)


@pytest.mark.usefixtures("built")
def test_no_section_can_be_told(admin_client: Client, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"SITEMAPS": "tests.nowhere.sitemaps"}
    assert "cannot be imported" in text(admin_client, "section/")
    for path in ("page/", "change/", "urlchange/"):
        text(admin_client, path)


@pytest.mark.usefixtures("built")
def test_pages_of_a_section_that_is_no_more(admin_client: Client) -> None:
    Section.objects.update(name="former")
    assert text(admin_client, "page/").count('class="sitemaps-unregistered"') == 3
    assert "not registered" in text(admin_client, "section/")
    told = act(admin_client, "page/", "rebuild", list(Page.objects.all()))
    assert told.count("Page former-1: its section is not registered") == 1
    assert told.count("its section is not registered") == 3
    assert "/sitemap-former-1.xml" not in text(admin_client, "page/")


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("use_tz", [True, False])
def test_times_and_sizes_are_for_people(
    admin_client: Client, settings: Any, use_tz: bool
) -> None:
    settings.USE_TZ = use_tz
    settings.TIME_ZONE = "Asia/Kolkata"
    # 2026-03-01 12:00 UTC
    Page.objects.update(changed_at=1_772_366_400, size=2_621_440)
    page = Page.objects.all()[0]
    for path in ("page/", f"page/{page.pk}/change/"):
        shown = text(admin_client, path)
        assert "March 1, 2026, 5:30 p.m." in shown
        assert "2.5\xa0MB" in shown
        assert "2621440" not in shown
    now = time.time()
    change = Change.objects.create(section="article", key="", at=now)
    gone = UrlChange.objects.create(
        section="article", kind="gone", location="/", at=1_772_366_400
    )
    for path in (f"change/{change.pk}/change/", f"urlchange/{gone.pk}/change/"):
        shown = text(admin_client, path)
        assert 'name="_save"' not in shown
    assert "just now" in text(admin_client, "change/")
    assert "March 1, 2026, 5:30 p.m." in text(admin_client, "urlchange/")


class Far(Sitemap):
    """Its rows, and so its changes, lie in another database."""

    model = Elsewhere
    location = Route("article", slug=F("slug"))


class Ticking(Small):
    """Articles appear when it is time."""

    appears = F("updated")


class ByClock(Small):
    """Nobody says when articles appear, but the query depends on the time."""

    def items(self) -> Any:
        return Article.objects.filter(updated__lte=Now())


def of_all_kinds(section: Section, ours: str, now: float) -> None:
    """Make a page of each kind that decides whether pages are fresh."""
    kinds = itertools.product(
        ("", "abc"),
        (0, now - 1, now + 60),
        (ours, "newest", "older"),
        (0, now - 3700, now - 3600, now - 61, now - 59, now, now + 5),
    )
    Page.objects.bulk_create(
        Page(
            section=section,
            number=number,
            position=number,
            checksum=checksum,
            grace_until=grace,
            digest=digest,
            verified_at=verified,
        )
        for number, (checksum, grace, digest, verified) in enumerate(kinds, 1)
    )


def check_agreement(name: str, now: float) -> set[bool]:
    """Compare what the list calls fresh with what is served without a row read."""
    found = with_states(Page.objects.select_related("section"), now)
    current = definition(name)
    said, served = {}, {}
    for page in found.filter(section__name=name):
        said[page.number] = page.state in ("fresh", "grace")
        known = state(name, page.number)
        assert known
        served[page.number] = is_fresh(known, current, now)
    assert said == served
    return set(said.values())


@pytest.mark.parametrize("sitemap", [Small, Far, Ticking, ByClock])
@pytest.mark.parametrize("lag", [-10, 10])
def test_what_is_called_fresh_is_served(
    register: Any, sitemap: type, lag: float
) -> None:
    register("some", sitemap)
    register("static", PagesSitemap)
    now = time.time()
    current = definition("some")
    section = Section.objects.create(
        name="some",
        key=current.key,
        filled=True,
        digest="newest",
        digest_since=STARTED + lag,
        ticked_at=now - 30,
    )
    of_all_kinds(section, current.digest, now)
    assert check_agreement("some", now) == {True, False}
    # Some have changes: each in another state, and one that is not there.
    recorded = Change.objects.using(lookup("some").database)
    recorded.create(section="other", key="1", at=now)
    for number in (1, 4, 60, 67, 100, 105, 120, 999):
        recorded.create(section="some", key="1", at=now, page=number)
    assert check_agreement("some", now) == {True, False}
    last = recorded.create(section="some", key="1", at=now)
    # A change whose page is not known concerns all but those in grace.
    assert check_agreement("some", now) == {True, False}
    last.delete()
    for ticked_at in (now - 60, now + 1, 0):
        Section.objects.update(ticked_at=ticked_at)
        check_agreement("some", now)


def test_bounds_of_another_key_are_not_fresh(admin_client: Client, built: None) -> None:
    Section.objects.update(key="another")
    assert text(admin_client, "page/").count('class="sitemaps-due"') == 3


def test_changes_of_another_database_are_found(admin_client: Client) -> None:
    Change.objects.using("other").create(section="far", key="77123", at=time.time())
    assert "77123" not in text(admin_client, "change/")
    assert "77123" in text(admin_client, "change/?database=other")


def test_changes_say_what_they_concern(admin_client: Client) -> None:
    now = time.time()
    Change.objects.create(section="a", key='["3"]', at=now, settled=False)
    Change.objects.create(section="a", key='["4"]', upto='["9"]', at=now)
    last = Change.objects.create(section="a", at=now, old='["/former/"]')
    shown = text(admin_client, "change/")
    for words in ("not yet", "[&quot;4&quot;] … [&quot;9&quot;]", "the whole section"):
        assert shown.count(words) == 1
    assert "/former/" in text(admin_client, f"change/{last.pk}/change/")


@pytest.mark.parametrize("path", ["change/", "urlchange/", "page/"])
@pytest.mark.usefixtures("built")
def test_no_row_costs_a_query_and_no_table_is_counted(
    admin_client: Client, path: str
) -> None:
    def queries() -> list[str]:
        with CaptureQueriesContext(
            connection,
        ) as found:
            text(admin_client, path)
        return [query["sql"] for query in found]

    queries()
    few = queries()
    now = time.time()
    Change.objects.bulk_create(
        Change(section="article", key=str(n), at=now, page=1) for n in range(90)
    )
    UrlChange.objects.bulk_create(
        UrlChange(section="article", kind="added", location=f"/{n}/", at=now)
        for n in range(90)
    )
    many = queries()
    assert len(many) == len(few)
    counts = [sql for sql in many if "COUNT(" in sql and "sitemaps_plus_" in sql]
    assert counts
    assert all("LIMIT 10000" in sql for sql in counts)
