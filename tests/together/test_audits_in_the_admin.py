"""What the overview and the recipe for Prometheus say of audits."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from django_sitemaps_plus.contrib.audit.kinds import known
from django_sitemaps_plus.contrib.audit.models import Audit
from tests.conftest import Register
from tests.contrib.audit import kinds
from tests.contrib.audit.looked import audited, look_at_everything
from tests.contrib.insight import test_recipes
from tests.contrib.insight.test_pages import text
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, run_command

site, monitored = test_recipes.site, test_recipes.monitored


@pytest.mark.django_db(databases=["default", "other"])
def test_what_audits_found_and_did_not_look_at_has_its_level(sound: None) -> None:
    look_at_everything()
    Audit.objects.update(finished_at=1)
    page = html.unescape(text(""))
    assert "No audit of article in the last 30 days: manage.py check_" in page
    assert "The sitemaps were not read as a crawler does in the last 30" in page
    look_at_everything()
    nothing = "Nothing: all that was looked at is in order"
    assert nothing in text("")
    audited(kinds.TRACKING)
    page = html.unescape(text(""))
    assert nothing not in page
    assert f"found 3 warnings: {known()[kinds.TRACKING].title}" in page
    assert '<strong class="sitemaps-error">' not in page
    audited(kinds.FAILS, fetched="live", fetched_urls=25)
    red = html.unescape(text("")).partition('<strong class="sitemaps-error">')[2]
    assert "article found 3 errors: URLs that do not answer 200" in red


@pytest.mark.django_db
def test_findings_are_translated_for_people(settings: Any, register: Register) -> None:
    settings.LANGUAGE_CODE = "de"
    register("article", ArticleSitemap)
    articles(2)
    run_command("check_sitemaps")
    for settings.LANGUAGE_CODE, title, fix in (
        ("de", "Seiten, die nicht erstellt wurden", "geben Sie ein: manage.py build_"),
        ("fr", "pages non construites ou", "exécutez manage.py build_sitemaps"),
    ):
        page = text("")
        assert title in page
        assert fix in page


def test_the_recipe_for_prometheus_says_when_all_was_audited(monitored: Any) -> None:
    audit = 'INSTALLED_APPS += ["django_sitemaps_plus.contrib.audit"]\n'
    monitored.add("settings.py", audit)
    work = ("build_sitemaps", "notify_engines", "check_sitemaps")
    asked = test_recipes.ASKED
    told = monitored.visit(*asked, "--", *work, "--", *asked)
    before, _, after = told.split("--\n")
    assert "sitemaps_last_audit_seconds" not in before
    assert after.startswith('200 {"wrong": []}\n')
    assert len(re.findall(r"\nsitemaps_last_audit_seconds \d", after)) == 2
