"""``check_sitemaps --left-out``: what patterns leave out, on all rows."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.conftest import Register
from tests.support.helpers import ArticleSitemap, PagesSitemap, run_command
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db


class Drafted(ArticleSitemap):
    """Without drafts, and with two patterns that are wrong."""

    exclude = ("/articles/draft-", "/articles/*.php", re.compile("articles"))


@pytest.fixture
def site(register: Register, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {
        **settings.SITEMAPS_PLUS,
        "EXCLUDE": ["/about/", "/*-1/"],
    }
    slugs = ["a", "b", "draft-1", "draft-2"]
    Article.objects.bulk_create(Article(slug=slug) for slug in slugs)
    register("article", Drafted)
    register("pages", PagesSitemap)


def test_each_pattern_says_how_many_urls_it_leaves_out(site: None) -> None:
    out, err, code = run_command("check_sitemaps", "--left-out")
    assert code == 1
    assert out.splitlines() == [
        "EXCLUDE: '/about/' leaves out 1 of 6 URLs, '/about/' first.",
        "EXCLUDE: '/*-1/' leaves out 1 of 6 URLs, '/articles/draft-1/' first.",
        "exclude of section 'article': '/articles/draft-' leaves out 2 of 4 URLs, "
        "'/articles/draft-1/' first.",
        "exclude of section 'article': '/articles/*.php' leaves out nothing: none of "
        "4 URLs matches.",
        "exclude of section 'article': re.compile('articles') leaves out "
        "everything: all of 4 URLs match.",
    ]
    assert err == "CommandError: 2 patterns leave out none or all.\n"


def test_the_same_as_json(site: None) -> None:
    out, _, code = run_command("check_sitemaps", "pages", "--left-out", "--format=json")
    assert code == 1
    first, second = json.loads(out)["left_out"]
    assert first == {
        "pattern": "/about/",
        "section": "",
        "total": 2,
        "count": 1,
        "example": "/about/",
    }
    assert second["count"] == 0


def test_without_patterns_there_is_nothing_to_count(register: Register) -> None:
    register("article", ArticleSitemap)
    assert run_command("check_sitemaps", "--left-out") == (
        "No section has a pattern, and EXCLUDE is empty.\n",
        "",
        0,
    )
