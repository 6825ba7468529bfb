"""What builds found of rows and stored bytes stands in the audit, too."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from django_sitemaps_plus.models import Page, PageFile
from tests.conftest import Register
from tests.contrib.audit.looked import findings
from tests.rendering.test_media_tags import LONG
from tests.rendering.test_tags import declared
from tests.storing import test_damage as stored
from tests.support.factories import articles
from tests.support.helpers import Titled, run_command
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

site = stored.site


def audit(*arguments: str) -> str:
    return " ".join(run_command("check_sitemaps", *arguments)[0].split())


def test_the_row_that_is_listed_without_a_tag(register: Register) -> None:
    row = articles(3)[0].pk
    for name, value, reason in (
        ("priority", 7, "priority 7"),
        ("videos", LONG, "videos.title 'aaa"),
        ("images", "/a.jpg#1", "images: location '/a.jpg#1'"),
    ):
        register("article", declared(name, value, model=Article))
        run_command("build_sitemaps")
        out = audit("article")
        assert f"article-1, row {row}: listed without {reason}" in out


def test_nobody_is_asked_to_correct_rows_where_the_address_is_wrong(
    register: Register, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com/shop"}
    register("article", Titled)
    Article.objects.bulk_create(Article(title=f"/news/{n}/") for n in range(20))
    assert run_command("build_sitemaps")[2] == 1
    out, _, code = run_command("check_sitemaps")
    assert code == 1
    assert "correct the error, then run manage.py build_sitemaps" in out
    assert "correct the rows" not in out


@pytest.mark.parametrize("kind", ["flip", "cut the end", "lose"])
@pytest.mark.costly
def test_an_audit_gets_through_damage(site: None, kind: str) -> None:
    stored.break_all(kind)
    _, err, code = run_command("check_sitemaps")
    assert "Traceback" not in err
    assert code == 1
    assert run_command("ping_sitemaps", "--status")[2] == 1, "somebody should look why"


def test_an_audit_says_what_it_could_not_read(site: None) -> None:
    stored.break_all("flip")
    [finding] = findings("article")
    assert (finding["id"], finding["page"]) == ("sitemaps_plus.A001", "article-1")
    assert finding["text"] == "its stored bytes are missing or damaged"
    _, err, code = run_command("check_sitemaps", "article")
    assert (err, code) == ("CommandError: The audit found 1 error.\n", 1)


def test_damage_of_the_last_week_is_said(site: None, client: Client) -> None:
    row = PageFile.objects.get(page__section__name="article", part=0)
    stored.damage(row, "flip", 99)
    client.get("/sitemap-article-1.xml")
    line = "Stored bytes of 1 page were missing or damaged in the last 7 days"
    assert line in audit("article")
    assert line not in audit("pages")
    lost_at = Page.objects.get(section__name="article").lost_at
    Page.objects.update(lost_at=lost_at - 8 * 86_400)
    assert line not in audit("article")
