"""What engines say of the sitemaps is asked for in the background, and stored."""

from __future__ import annotations

import re
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User

from django_sitemaps_plus.contrib.webmasters import reports
from django_sitemaps_plus.contrib.webmasters.hooks import panels
from django_sitemaps_plus.contrib.webmasters.models import SitemapReport
from django_sitemaps_plus.delivery import background
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.engines.base import SitemapStatus
from django_sitemaps_plus.health import words
from django_sitemaps_plus.health.check import check
from tests.support.helpers import later
from tests.support.outbox_engines import Few, Keyed, Scripted
from tests.support.outbox_world import BASE, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])

SITEMAP = f"{BASE}/sitemap.xml"


@pytest.fixture
def asked(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Give an engine that reports on sitemaps, and what it was asked for."""
    use(settings, one="Scripted", two="Few")
    found: list[Any] = []

    def status(self: Any, locations: Any) -> list[SitemapStatus]:
        if self.alias == "two":
            return []
        found.append(list(locations))
        return [
            SitemapStatus(
                location=one,
                last_downloaded="2026-01-02T03:04:05.000Z",
                errors=len(found),
                submitted={"web": 3},
            )
            for one in locations
        ]

    monkeypatch.setattr(Scripted, "status", status)
    return found


def test_an_engine_is_asked_every_six_hours_by_one_process(asked: list[Any]) -> None:
    background.notify_all()
    reports.ask()
    assert asked == [[SITEMAP]]
    row = SitemapReport.objects.get(engine="one")
    [said] = row.sitemaps
    assert (said["location"], said["errors"]) == (SITEMAP, 1)
    assert said["submitted"] == {"web": 3}
    later(6 * 3600)
    background.notify_all()
    assert len(asked) == 2
    assert SitemapReport.objects.get(engine="one").sitemaps[0]["errors"] == 2
    check(list(engines()))
    assert len(asked) == 3, "the check asks at once"


def test_one_that_fails_is_asked_again_after_an_hour(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings, one=("Keyed", {"key": "abc12345"}))
    calls = []

    def status(self: Any, locations: Any) -> Any:
        calls.append(1)
        raise LookupError("no abc12345")

    monkeypatch.setattr(Keyed, "status", status)
    reports.ask()
    row = SitemapReport.objects.get()
    assert row.sitemaps[0]["problem"] == "LookupError: no …"
    assert str(row) == "one"
    later(3000)
    reports.ask()
    assert len(calls) == 1
    later(700)
    reports.ask()
    assert len(calls) == 2


def test_nothing_is_asked_from_where_nothing_is_sent(
    asked: list[Any], settings: Any
) -> None:
    settings.DEBUG = True
    background.notify_all()
    assert asked == []


@pytest.mark.django_db(transaction=True, databases=["default", "other"])
def test_a_slow_engine_does_not_hold_up_what_the_others_say(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answers when both were asked."""
    use(settings, slow="Few", other="Few")
    meet = threading.Barrier(2)

    def status(self: Any, locations: Any) -> list[SitemapStatus]:
        meet.wait(60)
        return [SitemapStatus(location=one) for one in locations]

    monkeypatch.setattr(Few, "status", status)
    reports.ask()
    assert {
        (row.engine, row.sitemaps[0]["problem"]) for row in SitemapReport.objects.all()
    } == {("slow", ""), ("other", "")}


def shown(user: Any) -> str:
    """Return the text that this app adds to the page of ``contrib.insight``."""
    verbs = ("view", "change")

    def may(model: Any) -> bool:
        name = model._meta.model_name
        return any(user.has_perm(f"sitemaps_plus.{one}_{name}") for one in verbs)

    # As the admin shows numbers and times.
    display = SimpleNamespace(
        number=lambda value: "–" if value is None else words.number(value),
        ago=words.ago,
    )
    page: Any = SimpleNamespace(may=may, display=display)
    html = " ".join(map(str, panels(page))).replace("\xa0", " ")
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_what_search_engines_say_is_shown_to_those_who_may_see_it(
    asked: list[Any], admin_user: Any
) -> None:
    assert "Not asked yet." in shown(admin_user)
    reports.ask()
    assert re.search(r"/sitemap.xml one – .* ago 3 1 – just now", shown(admin_user))
    row = SitemapReport.objects.get(engine="one")
    row.asked_at -= 300
    row.sitemaps[0] |= {
        "last_submitted": "2026-01-02",
        "is_pending": True,
        "warnings": 1234,
        "submitted": {},
    }
    row.save()
    assert re.search(
        r"/sitemap.xml one .* ago not read yet – 1 1,234 5 minutes ago",
        shown(admin_user),
    )
    row.sitemaps[0]["problem"] = "It was never submitted."
    row.save()
    assert "It was never submitted. 5 minutes ago" in shown(admin_user)
    assert shown(User.objects.create_user("guest")) == ""


def test_nothing_is_shown_where_no_engine_can_say_anything(
    settings: Any, admin_user: Any
) -> None:
    use(settings, one="Few")
    assert shown(admin_user) == ""
