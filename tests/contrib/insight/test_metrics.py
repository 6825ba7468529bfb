"""The numbers for monitoring: the state of health that people see, as numbers."""

from __future__ import annotations

import time
from typing import Any

import pytest

from django_sitemaps_plus.contrib.insight.metrics import Metrics, metrics
from django_sitemaps_plus.health.alerts import alerts, errors
from django_sitemaps_plus.models import Change, Section, Submission
from tests.health import test_alerts as wrongs
from tests.support.helpers import ArticleSitemap, PagesSitemap, Small
from tests.support.outbox_world import BASE, happened, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def about(seconds: float) -> Any:
    return pytest.approx(seconds, abs=60)


def test_of_a_site_with_nothing_wrong_there_is_a_number_of_each(sound: None) -> None:
    assert metrics() == Metrics(
        waiting=0,
        oldest_waiting_seconds=0.0,
        paused_engines=(),
        unbuilt_pages=0,
        left_out_rows=0,
        last_audit_seconds=None,
    )
    assert errors(alerts()) == []


@pytest.mark.parametrize(
    ("plant", "name", "value"),
    [
        (wrongs.fails, "paused_engines", ("one",)),
        (wrongs.cannot_send, "paused_engines", None),
        (wrongs.is_private, "paused_engines", None),
        (wrongs.waits_for_long, "waiting", 1),
        (wrongs.waits_for_long, "oldest_waiting_seconds", about(1000)),
        (wrongs.rows_are_left_out, "left_out_rows", 2),
        (wrongs.pages_are_not_built, "unbuilt_pages", 1),
        (wrongs.was_never_built, "unbuilt_pages", None),
        (wrongs.was_never_built, "left_out_rows", None),
    ],
)
@pytest.mark.costly
def test_what_needs_attention_shows_in_the_numbers(
    sound: None, settings: Any, plant: wrongs.Plant, name: str, value: Any
) -> None:
    plant(settings)
    assert getattr(metrics(), name) == value
    assert errors(alerts()), "and people see it"


def test_everything_that_waits_is_counted_from_its_beginning(sound: None) -> None:
    now = time.time()
    happened("/b/", "/c/", at=now - 2000)
    found = metrics()
    assert (found.waiting, found.oldest_waiting_seconds) == (2, about(2000))
    wrongs.waits_for_long(None)
    # Tried in vain since long ago, and to be tried again only later.
    wrongs.waits("one")
    waiting = Submission.objects.filter(due_at__isnull=False)
    waiting.update(created_at=now - 9000, due_at=now + 3000)
    # On hold: it waits for somebody, who is told by an alert.
    happened("/d/", kind="removed", on_hold=True, at=now - 50_000)
    # Not of this site, and of no section that is registered any more.
    Change.objects.create(site="other", section="article", at=1)
    Change.objects.create(section="former", at=1)
    found = metrics()
    assert (found.waiting, found.oldest_waiting_seconds) == (4, about(9000))


def test_without_engines_only_what_is_rebuilt_waits(sound: None, settings: Any) -> None:
    happened("/b/")
    wrongs.waits("one")
    wrongs.waits_for_long(None)
    use(settings)
    found = metrics()
    assert (found.waiting, found.paused_engines) == (1, None)


def test_a_section_that_is_not_known_has_no_number(sound: None, register: Any) -> None:
    def items(self: Any) -> Any:
        raise ValueError("Out of paper.")

    for is_filled, unbuilt in ((False, None), (True, 0)):
        Section.objects.exclude(name="").update(filled=is_filled)
        found = metrics()
        assert (found.unbuilt_pages, found.left_out_rows) == (unbuilt, 0)
    register("more", ArticleSitemap)
    assert metrics().unbuilt_pages is None
    # Pages by position are built for each request.
    for name in ("more", "article"):
        register(name, PagesSitemap)
        assert metrics().unbuilt_pages == 0
    register("article", Small)
    for name in ("z-last", "a-first"):
        register(name, type("Broken", (ArticleSitemap,), {"items": items}))
        assert metrics().unbuilt_pages is None
        assert "Out of paper." in " ".join(one.text for one in errors(alerts()))
        register(name, PagesSitemap)


def test_no_section_is_not_a_site_with_nothing_wrong(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE}
    found = metrics()
    assert (found.unbuilt_pages, found.left_out_rows) == (None, None)
