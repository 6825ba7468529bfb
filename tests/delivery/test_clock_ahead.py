"""A clock was ahead by a year for a while: what it wrote counts as of now."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db.models import F, FloatField
from django.test import Client

from django_sitemaps_plus.building.refresh import Leisure
from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.delivery import gate
from django_sitemaps_plus.models import Page, Section, Submission
from django_sitemaps_plus.sitemaps.sections import source
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, Small
from tests.support.ledger_world import place
from tests.support.outbox_world import happened, run, sent, use
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

YEAR = 365 * 86_400.0


def ahead(*models: Any) -> None:
    """Write all times as a clock does that is ahead by a year."""
    for model in models:
        for field in model._meta.concrete_fields:
            if isinstance(field, FloatField) and field.name != "seconds":
                rows = model.objects.filter(**{f"{field.name}__gt": 0})
                rows.update(**{field.name: F(field.name) + YEAR})


def test_what_was_sent_by_a_clock_that_was_ahead_is_sent_again(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/")
    run()
    ahead(Submission)
    happened("/a/")
    gate.pass_on()
    due_at = Submission.objects.get(live=True).due_at
    assert due_at is not None
    # As if it had been sent just now.
    assert 590 < due_at - database_time("default") <= 600
    assert sent(engine) == [["/a/"]]


def test_an_index_has_no_time_of_a_clock_that_was_ahead(
    register: Register, client: Client
) -> None:
    register("article", Small)
    articles(25)
    client.get("/sitemap-article.xml")
    Page.objects.update(lastmod=time.time())
    text = client.get("/sitemap-article.xml").content.decode()
    assert text.count("<lastmod>") == 3
    Page.objects.filter(number=1).update(lastmod=time.time() + YEAR)
    text = client.get("/sitemap-article.xml").content.decode()
    assert text.count("<lastmod>") == 2


def test_pages_are_compared_at_leisure_though_a_clock_was_ahead(
    register: Register, client: Client
) -> None:
    register("article", ArticleSitemap)
    articles(3)
    client.get("/sitemap-article-1.xml")
    Page.objects.update(refreshed_at=time.time())
    ahead(Page, Section)
    Article.objects.update(slug="renamed behind its back")
    gate.pass_on()
    Leisure().step([source("article")], place(), gate.Search())
    page = Page.objects.get()
    assert page.verified_at <= time.time() + 1
    assert page.refreshed_at <= time.time() + 1
