"""What is shown of audits is read by an index, however many there are."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory

from django_sitemaps_plus.contrib.audit.models import Audit
from django_sitemaps_plus.contrib.insight.admin.overview import overview
from django_sitemaps_plus.contrib.insight.metrics import metrics
from django_sitemaps_plus.models import Page, Section
from tests.contrib.insight.test_plans import ROWS, check
from tests.contrib.insight.test_story import story
from tests.support.helpers import ArticleSitemap
from tests.support.outbox_world import BASE, use
from tests.support.plans import analyze, statements

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


@pytest.fixture
def audits(settings: Any, register: Any) -> None:
    """Very many audits of another site, and one of this."""
    use(settings, one="Few")
    register("article", ArticleSitemap)
    section = Section.objects.create(site="1", name="article")
    Page.objects.create(section=section, number=1, position=1)
    now = time.time()
    Audit.objects.bulk_create(
        Audit(site="other", started_at=now, finished_at=now) for _ in range(ROWS)
    )
    Audit.objects.create(started_at=1, finished_at=1, sections={"article": [20, 0]})
    analyze(Audit._meta.db_table)


def test_the_index_and_a_story_read_audits_by_indexes(audits: None) -> None:
    request = RequestFactory().get("/")
    request.user = User(is_superuser=True, is_active=True)
    with statements(Audit._meta.db_table) as found:
        overview(request)
        story(f"{BASE}/17/")
    check(found, 2, [Audit])


def test_the_numbers_for_monitoring_are_five_statements(
    audits: None, django_assert_num_queries: Any
) -> None:
    with statements(Audit._meta.db_table) as found, django_assert_num_queries(5):
        numbers = metrics()
    assert numbers.last_audit_seconds is not None
    check(found, 1, [Audit])
