"""The admin of a project with several sites."""

from __future__ import annotations

import time
from typing import Any

import pytest

from django_sitemaps_plus.models import Page, Section, UrlChange
from tests import test_several_sites as sites
from tests.support.helpers import run_command
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(databases=["default", "other"])

hosts = sites.hosts


def test_the_admin_shows_one_site_at_a_time(hosts: Any, admin_client: Any) -> None:
    Article.objects.create(slug="told", title="blog")
    run_command("build_sitemaps")
    admin_client.defaults["HTTP_HOST"] = "www.example.com"
    own = admin_client.get("/admin/sitemaps_plus/page/").content.decode()
    blog = admin_client.get("/admin/sitemaps_plus/page/?site=blog").content.decode()
    assert "https://www.example.com/sitemap-article-1.xml" in own
    assert "blog.example.com" not in own
    assert "https://blog.example.com/sitemap-post-1.xml" in blog
    assert "www.example.com/sitemap" not in blog
    assert "fresh" in blog
    page = Page.objects.get(section__site="blog", section__name="post")
    at = f"/admin/sitemaps_plus/page/{page.pk}/change/"
    assert admin_client.get(at).status_code == 302
    shown = admin_client.get(f"{at}?_changelist_filters=site%3Dblog")
    assert "https://blog.example.com/sitemap-post-1.xml" in shown.content.decode()
    action = {"action": "rebuild", "_selected_action": [page.pk]}
    done = admin_client.post(
        "/admin/sitemaps_plus/page/?site=blog", action, follow=True
    )
    assert "1 stayed the same" in done.content.decode()


def test_the_admin_shows_no_site_but_its_own(
    hosts: Any, admin_client: Any, settings: Any
) -> None:
    """A Site that another SITE_ID serves is not looked at by adding it to a URL."""
    other = Section.objects.create(site="2", name="secret", filled=True)
    Page.objects.create(section=other, number=1, position=1, checksum="1", entries=1)
    UrlChange.objects.create(
        site="2", section="secret", kind="removed", location="/secret/", at=time.time()
    )
    admin_client.defaults["HTTP_HOST"] = "www.example.com"
    for query in ("", "?site=2", "?site=nobody"):
        for model in ("page", "section", "urlchange"):
            answer = admin_client.get(f"/admin/sitemaps_plus/{model}/{query}")
            if answer.status_code == 302:
                # Django sends away what its filter does not know.
                answer = admin_client.get(answer.headers["Location"])
            assert answer.status_code == 200
            assert "secret" not in answer.content.decode(), (model, query)
