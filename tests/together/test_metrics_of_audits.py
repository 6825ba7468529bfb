"""The numbers for monitoring: when all that is listed was last audited."""

from __future__ import annotations

import time
from typing import Any

import pytest

from django_sitemaps_plus.contrib.audit.models import Audit
from django_sitemaps_plus.contrib.insight.metrics import metrics
from django_sitemaps_plus.health.alerts import alerts, errors
from tests.contrib.audit import kinds
from tests.contrib.audit.looked import audited, look_at_everything
from tests.contrib.insight.test_metrics import about
from tests.support.helpers import ArticleSitemap, PagesSitemap
from tests.support.outbox_world import BASE

pytestmark = pytest.mark.django_db(databases=["default", "other"])


@pytest.fixture
def audits(sound: None) -> None:
    """Audits of a site with nothing wrong, which looked at everything."""
    look_at_everything()


def test_an_audit_of_everything_counts(audits: None) -> None:
    assert metrics().last_audit_seconds == about(600)
    assert errors(alerts()) == []


def test_of_several_sections_the_one_that_was_not_looked_at_counts(
    audits: None, register: Any
) -> None:
    register("more", ArticleSitemap)
    assert metrics().last_audit_seconds is None
    register("more", PagesSitemap)
    audited(sections={"more": [3, 0]})
    Audit.objects.filter(sections__has_key="article").update(
        finished_at=time.time() - 7000
    )
    assert metrics().last_audit_seconds == about(7000)
    # It ended before it had read the pages of the section.
    audited("E-any", sections={"more": [3, 0]})
    assert metrics().last_audit_seconds == about(7000)
    # Some of the pages were not built, or could not be read.
    audited(kinds.NOT_BUILT)
    assert metrics().last_audit_seconds == about(7000)
    Audit.objects.all().delete()
    assert metrics().last_audit_seconds is None


def test_of_no_section_there_is_no_audit(audits: None, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE}
    assert metrics().last_audit_seconds is not None
