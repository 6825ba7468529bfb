"""Checks of llms.txt, and of the feeds that an engine submits."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.sitemaps.registry import registry
from tests.checks.test_checks import Found, found
from tests.checks.test_wrongs import checked
from tests.conftest import Register
from tests.support.helpers import ArticleSitemap, PagesSitemap
from tests.support.outbox_world import BASE, use

WEBSUB = "django_sitemaps_plus.contrib.formats.websub.WebSub"


def of(number: str) -> list[Found]:
    return [one for one in found() if one[0] == number]


def test_llms_txt_without_a_section_is_named(settings: Any, register: Register) -> None:
    register("article", ArticleSitemap)
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "LLMS": {"title": "Example"}}
    [(_, text, hint)] = of("W051")
    assert "no section declares a title" in text
    assert 'title = "Articles"' in hint
    titled = type("Titled", (ArticleSitemap,), {"title": "Articles"})
    register("titled", titled)
    assert of("W051") == []
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE}
    assert of("W051") == []


@pytest.mark.parametrize("base", [BASE, f"{BASE}/shop"])
def test_a_feed_that_the_site_does_not_serve_is_named(settings: Any, base: str) -> None:
    path = base.removeprefix(BASE)
    for feed, is_served in (
        (f"{path}/none.atom", False),
        (f"{path}/robots.txt?x=1", True),
        ("https://blog.example.com/feed.atom", True),
    ):
        use(settings, BASE_URL=base, hub=(WEBSUB, {"feeds": [feed]}))
        messages = of("W032")
        assert (messages == []) is is_served
        assert all(feed in text for _, text, _ in messages)


def websub(**options: Any) -> dict[str, Any]:
    return {"ENGINES": {"one": {"BACKEND": WEBSUB, "OPTIONS": options}}}


@pytest.mark.django_db(databases=["default", "other"])
@pytest.mark.parametrize(
    ("number", "given"),
    [
        ("E031", websub(hub="hub")),
        ("E050", {"FORMATS": {"recent": {}}}),
        ("W032", websub(feeds=["/none.atom"])),
        ("W051", {"LLMS": {"title": "Example"}}),
    ],
)
@pytest.mark.costly
def test_each_wrong_fails_by_its_id(
    settings: Any, register: Register, number: str, given: dict[str, Any]
) -> None:
    good = {"BASE_URL": BASE, "FORMATS": {"text": {}}}
    settings.SITEMAPS_PLUS = good
    register("articles", ArticleSitemap)
    register("recent", PagesSitemap)
    assert checked() == ([], 0)
    settings.SITEMAPS_PLUS = {**good, **given}
    ids, code = checked()
    assert set(ids) == {number}
    assert code == 1


@pytest.mark.django_db
def test_one_site_with_a_title_is_enough(settings: Any, register: Register) -> None:
    register("article", ArticleSitemap)
    blog = {"BASE_URL": "https://blog.example.com"}
    blog["URLCONF"] = "tests.support.blog_urls"
    use(settings, SITES={"blog": blog}, LLMS={"title": "Example"})
    assert [name for name, _, _ in found()] == ["W051"]
    titled = {"title": "Posts", "location": "/"}
    registry.add("posts", type("Posts", (PagesSitemap,), titled), "blog")
    try:
        assert of("W051") == []
    finally:
        registry.remove("posts", "blog")
