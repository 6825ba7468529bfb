"""Which sections and sites an audit is of, and in which language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import test_several_sites, test_tenants
from tests.conftest import Register
from tests.contrib.audit.looked import findings
from tests.contrib.audit.written import sitemap_of
from tests.sitemaps import test_news
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, remove_sites, run_command
from tests.test_several_sites import BLOG
from tests.test_tenants import TENANTS, Manage
from tests.testapp.models import Article

twice = test_news.twice
hosts = test_several_sites.hosts
engine, given = test_tenants.engine, test_tenants.given
manage, migrated = test_tenants.manage, test_tenants.migrated


@pytest.mark.django_db(transaction=True)
def test_what_is_news_is_no_duplicate(
    register: Register, twice: None, tmp_path: Path
) -> None:
    def shared() -> list[dict[str, Any]]:
        return [one for one in findings() if one["id"] == "sitemaps_plus.A015"]

    assert shared() == []
    former = tmp_path / "former.xml"
    former.write_text(sitemap_of("/articles/old/", "/articles/new/"))
    compared = "--compare", str(former), "--format", "json"
    out, _, _ = run_command("check_sitemaps", *compared)
    assert list(json.loads(out)["differences"]) == ["lastmod"]
    # Two sections that are not news list it twice all the same.
    register("again", type("Again", (ArticleSitemap,), {}))
    run_command("build_sitemaps")
    assert shared()
    assert "news" not in str(shared())


@pytest.mark.django_db(databases=["default", "other"])
def test_a_site_that_there_is_not_is_an_error_of_use(hosts: Any) -> None:
    for options in (["--site", "blgo"], []):
        _, err, code = run_command("check_sitemaps", "--format", "json", *options)
        assert (code, "There are: 1, blog." in err) == (2, True)


@pytest.mark.django_db(databases=["default", "other"])
def test_a_former_sitemap_is_compared_with_the_site_of_its_host(
    hosts: Any, settings: Any, tmp_path: Path
) -> None:
    remove_sites(settings)
    Article.objects.create(slug="sold")
    Article.objects.create(slug="told", title="blog")
    former, folder = "tests.support.blog_urls.FORMER", str(tmp_path / "before")
    sites = {"blog": {**BLOG, "SITEMAPS": former}}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "SITES": sites}
    for what in ([former, "--save", folder], [folder]):
        out, err, code = run_command("check_sitemaps", "--compare", *what)
        assert (err, code) == ("", 0)
    assert "Nothing is lost." in out
    _, err, _ = run_command("check_sitemaps", "--compare", folder, "--site", "1")
    assert "1 URL is lost." in err


def test_nothing_is_asked_of_an_address_that_somebody_else_may_have(
    manage: Manage,
) -> None:
    done = manage("check_sitemaps", "--fetch", without=list(TENANTS))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Skipped. ") == len(TENANTS)


@pytest.mark.django_db
def test_what_programs_read_is_english(settings: Any, register: Register) -> None:
    register("article", ArticleSitemap)
    articles(2)
    for language in ("de", "fr"):
        settings.LANGUAGE_CODE = language
        assert [one["fix"] for one in findings()] == ["run manage.py build_sitemaps"]
        for form in ("github", "table"):
            out, _, _ = run_command("check_sitemaps", "--format", form)
            assert "Next: run manage.py build_sitemaps." in out
