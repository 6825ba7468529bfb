"""The admin of a project with several sites."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.models import Page, Section
from tests import test_several_sites as sites
from tests.contrib.insight.test_pages import act, address, text
from tests.support.helpers import run_command
from tests.support.outbox_world import happened
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(databases=["default", "other"])

hosts = sites.hosts


def test_the_admin_shows_one_site_at_a_time(hosts: Any, admin_client: Any) -> None:
    Article.objects.create(slug="told", title="blog")
    run_command("build_sitemaps")
    admin_client.defaults["HTTP_HOST"] = "www.example.com"
    own, blog = text("page/", admin_client), text("page/?site=blog", admin_client)
    assert "https://www.example.com/sitemap-article-1.xml" in own
    assert "blog.example.com" not in own
    assert "https://blog.example.com/sitemap-post-1.xml" in blog
    assert "www.example.com/sitemap" not in blog
    assert "fresh" in blog
    page = Page.objects.get(section__site="blog", section__name="post")
    at = f"page/{page.pk}/change/"
    assert admin_client.get(address(at)).status_code == 302
    shown = text(f"{at}?_changelist_filters=site%3Dblog", admin_client)
    assert "https://blog.example.com/sitemap-post-1.xml" in shown
    done = act("page/?site=blog", "rebuild", [page], admin_client)
    assert "1 stayed the same" in done


def test_the_admin_shows_no_site_but_its_own(hosts: Any, admin_client: Any) -> None:
    """A Site that another SITE_ID serves is not looked at by adding it to a URL."""
    other = Section.objects.create(site="2", name="secret", filled=True)
    Page.objects.create(section=other, number=1, position=1, checksum="1", entries=1)
    happened("/secret/", site="2", section="secret", kind="removed")
    admin_client.defaults["HTTP_HOST"] = "www.example.com"
    for query in ("", "?site=2", "?site=nobody"):
        for model in ("page", "section", "urlchange"):
            answer = admin_client.get(address(f"{model}/{query}"), follow=True)
            # Django sends away what its filter does not know.
            assert answer.status_code == 200
            assert "secret" not in answer.content.decode(), (model, query)
