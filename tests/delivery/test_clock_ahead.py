"""A clock was ahead by a year for a while: what it wrote counts as of now."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db.models import F, FloatField
from django.test import Client

from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.delivery import outbox, upkeep
from django_sitemaps_plus.models import (
    EngineState,
    Page,
    Section,
    Submission,
    UrlChange,
)
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap
from tests.support.outbox_world import BASE, Kind, happened, run, sent, use
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

DAY = 86_400.0
YEAR = 365 * DAY


def ahead(*models: Any, by: float = YEAR) -> None:
    """Write all times as a clock does that is ahead by a year, or less."""
    for model in models:
        for field in model._meta.concrete_fields:
            if isinstance(field, FloatField) and field.name != "seconds":
                rows = model.objects.filter(**{f"{field.name}__gt": 0})
                rows.update(**{field.name: F(field.name) + by})


def in_the_future() -> list[str]:
    """Return the columns that have a time after now."""
    now = database_time("default") + 1
    return [
        f"{model.__name__}.{field.name}"
        for model in apps.get_app_config("sitemaps_plus").get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, FloatField)
        and model._base_manager.filter(**{f"{field.name}__gt": now}).exists()
    ]


def test_what_was_sent_by_a_clock_that_was_ahead_is_sent_again(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/")
    run()
    ahead(Submission)
    happened("/a/")
    outbox.enqueue()
    due_at = Submission.objects.get(live=True).due_at
    assert due_at is not None
    # As if it had been sent just now.
    assert 590 < due_at - database_time("default") <= 600
    assert sent(engine) == [["/a/"]]


def test_an_index_has_no_time_of_a_clock_that_was_ahead(
    register: Register, client: Client
) -> None:
    class Small(ArticleSitemap):
        limit = 5

    register("article", Small)
    articles(12)
    client.get("/sitemap-article.xml")
    Page.objects.update(lastmod=time.time())
    text = client.get("/sitemap-article.xml").content.decode()
    assert text.count("<lastmod>") == 3
    Page.objects.filter(number=1).update(lastmod=time.time() + YEAR)
    text = client.get("/sitemap-article.xml").content.decode()
    assert text.count("<lastmod>") == 2


def test_nothing_is_silent_for_as_long_as_a_clock_was_ahead(
    settings: Any, register: Register, client: Client
) -> None:
    engine = use(settings, one="Scripted", both=("Scripted", {"interval": 5 * 86_400}))
    register("article", ArticleSitemap)
    first, *_ = articles(12)
    client.get("/sitemap-article-1.xml")
    first.save()
    happened("/waits/", "/failed/")
    call_command("ping_sitemaps", verbosity=0)
    outbox.request([("/later/", "")], outbox.Site.current().address(), ["one", "both"])
    EngineState.objects.update(paused_until=time.time() + 60, failures=1)
    ahead(Submission, EngineState, Section, Page, UrlChange)
    assert "Page.lastmod" in in_the_future()
    assert outbox.next_due() is not None
    assert outbox.next_due() > YEAR - 86_400
    upkeep.tend()
    assert in_the_future() == []
    assert not EngineState.objects.filter(paused_until__gt=time.time() + 1).exists()
    first.save()
    Article.objects.filter(pk=first.pk).delete()
    call_command("ping_sitemaps", verbosity=0)
    assert f"{BASE}/later/" in {url for batch in engine.sent for url in batch.urls}
    kinds = UrlChange.objects.order_by("-pk").values_list("kind", flat=True)
    assert kinds[0] == Kind.REMOVED


def test_what_is_due_later_stays_so(settings: Any) -> None:
    """An interval of days is no fault of a clock."""
    use(settings, one=("Scripted", {"interval": 9 * 86_400.0}))
    happened("/a/")
    run()
    happened("/a/")
    run()
    due_at = Submission.objects.get(live=True).due_at
    now = database_time("default")
    EngineState.objects.update(paused_until=now + 80_000, answered_at=now + YEAR)
    upkeep.tend()
    assert Submission.objects.get(live=True).due_at == due_at
    state = EngineState.objects.get()
    assert state.paused_until == now + 80_000
    assert state.answered_at <= time.time() + 1


def test_a_day_is_not_waited_for_either(
    settings: Any, register: Register, client: Client
) -> None:
    """Claims, and what is due later, were counted from the time of the same clock."""
    engine = use(settings, one="Scripted")
    register("article", ArticleSitemap)
    articles(12)
    client.get("/sitemap-article-1.xml")
    happened("/a/")
    outbox.enqueue()
    now = time.time()
    Section.objects.update(claimed_until=now + 60, waiting_until=now + 60)
    Page.objects.update(claimed_until=now + 300)
    ahead(Submission, Section, Page, by=DAY)
    upkeep.tend()
    assert in_the_future() == []
    run()
    assert sent(engine) == [["/a/"]]
