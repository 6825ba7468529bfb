"""``SITEMAPS_PLUS``: what is wrong is said at once, with the way out."""

from __future__ import annotations

import dataclasses
from importlib import reload
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.urls import include
from django.utils.translation import gettext_lazy

import django_sitemaps_plus
from django_sitemaps_plus import hooks, urls
from django_sitemaps_plus.conf import Settings, get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.serving.robots import rules


def known() -> str:
    """Return the settings of the core, then those of each app."""
    kinds = [Settings, *(getattr(one, "Settings", None) for _, one in hooks.modules())]
    fields = [dataclasses.fields(kind) for kind in kinds if kind is not None]
    return ", ".join(field.name for some in fields for field in some)


LINE = "a header is one line of ASCII, for example 'public, max-age=600'."


def refusal(settings: Any, value: Any) -> str:
    """Return the message with which a value of SITEMAPS_PLUS is refused."""
    settings.SITEMAPS_PLUS = value
    with pytest.raises(ConfigurationError) as caught:
        get_settings()
    assert isinstance(caught.value, ImproperlyConfigured)
    return str(caught.value)


def test_a_text_that_people_read_may_be_lazy_and_no_other(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"PUBLICATION_NAME": gettext_lazy("Yes")}
    assert str(get_settings().PUBLICATION_NAME) == "Yes"
    said = refusal(settings, {"BASE_URL": gettext_lazy("https://www.example.com")})
    assert said.startswith("SITEMAPS_PLUS['BASE_URL'] must be text, not ")


def test_a_value_that_is_set_is_used_and_everything_has_a_default(
    settings: Any,
) -> None:
    given = {"MAX_BAD": 0.5, "VERIFY_AFTER": 60, "CACHE_CONTROL": None}
    settings.SITEMAPS_PLUS = given
    assert get_settings() == dataclasses.replace(Settings(), **given)
    settings.SITEMAPS_PLUS = {}  # tells that it has changed, as deleting does not
    del settings.SITEMAPS_PLUS
    assert get_settings() == Settings()


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("BASEURL", "Did you mean 'BASE_URL'?"),
        ("base_url", "Did you mean 'BASE_URL'?"),
        ("VERIFY_AFTR", "Did you mean 'VERIFY_AFTER'?"),
        ("SITEMAP", "Did you mean 'SITEMAPS'?"),
        ("TWELVE", "Known settings: "),
        (7, "Known settings: "),
    ],
)
def test_an_unknown_name_is_refused_with_a_suggestion(
    settings: Any, name: Any, advice: str
) -> None:
    if advice.startswith("Known"):
        advice += f"{known()}."
    message = refusal(settings, {name: 1})
    assert message == f"SITEMAPS_PLUS[{name!r}] is unknown. {advice}"


def test_anything_but_a_dict_is_refused(settings: Any) -> None:
    wanted = 'SITEMAPS_PLUS must be a dict, for example {"BASE_URL": "https://…"}.'
    for value in (None, "https://www.example.com", ["BASE_URL"]):
        assert refusal(settings, value) == wanted


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("BASE_URL", 7, "must be text, not 7."),
        ("SITEMAPS", {}, "must be text, not {}."),
        ("CACHE_CONTROL", 300, "must be text, not 300."),
        ("CACHE_CONTROL", "no-cache\r\nX-A: b", f"is 'no-cache\\r\\nX-A: b'; {LINE}"),
        (
            "CACHE_CONTROL",
            "public, s-maxage=1d",
            "is 'public, s-maxage=1d'; write ages in seconds, for example "
            "'s-maxage=86400'.",
        ),
        ("CACHE_CONTROL", "no-cache\n", f"is 'no-cache\\n'; {LINE}"),
        ("CACHE_CONTROL", "no\x00cache", f"is 'no\\x00cache'; {LINE}"),
        ("CACHE_CONTROL", "no\x7fcache", f"is 'no\\x7fcache'; {LINE}"),
        ("CACHE_CONTROL", "größer", f"is 'größer'; {LINE}"),
        ("ON_ERROR", "ignore", "is 'ignore'; use 'skip' or 'raise'."),
        ("ON_ERROR", None, "is None; use 'skip' or 'raise'."),
        ("BACKGROUND", "rq", "is 'rq'; use True, False, 'celery' or 'tasks'."),
        ("MAX_BAD", "1%", "must be a number, not '1%'."),
        ("MAX_BAD", True, "must be a number, not True."),
        ("MAX_BAD", 5, "is 5; use a share from 0 to 1."),
        ("MAX_BAD", -0.1, "is -0.1; use a share from 0 to 1."),
        ("MAX_BAD", float("nan"), "is nan; use a finite number."),
        ("BACKGROUND_SHARE", float("inf"), "is inf; use a finite number."),
        ("NOTIFY_AFTER", float("-inf"), "is -inf; use a finite number."),
        ("VERIFY_AFTER", 1.5, "must be a whole number, not 1.5."),
        ("VERIFY_AFTER", None, "must be a whole number, not None."),
        ("VERIFY_AFTER", True, "must be a whole number, not True."),
        ("VERIFY_AFTER", -1, "is -1; it cannot be negative."),
        ("BACKGROUND_SHARE", 0, "is 0; use a share above 0 and up to 1."),
        ("ROBOTS", "User-agent: *", "must be a list, not 'User-agent: *'."),
        ("STYLESHEET", 1, "must be True or False, not 1."),
    ],
)
def test_a_value_that_cannot_work_is_refused(
    settings: Any, name: str, value: Any, problem: str
) -> None:
    assert refusal(settings, {name: value}) == f"SITEMAPS_PLUS[{name!r}] {problem}"


@pytest.mark.parametrize(
    ("group", "rest"),
    [
        ("Disallow: /", """[1] must be a dict, for example {"user_agent": "*"}."""),
        ({"agent": "*"}, "[1]['agent'] is unknown. Did you mean 'user_agent'?"),
        ({"allow": 7}, "[1]['allow'] is 7; use a list of texts."),
        ({"disallow": [None]}, "[1]['disallow'] is [None]; use a list of texts."),
        ({"user_agent": {"*"}}, "[1]['user_agent'] is {'*'}; use a list of texts."),
        ({"user_agent": []}, " cannot be written: user_agents: none"),
        ({"crawlers": []}, " cannot be written: user_agents: none"),
        (
            {"crawlers": ["ai-training", "ai-trainings"]},
            "[1]['crawlers'] has 'ai-trainings'. Did you mean 'ai-training'?",
        ),
        (
            {"content_signal": "search=yes"},
            "[1]['content_signal'] must be a dict, for example "
            """{"search": True, "ai-train": False}.""",
        ),
        (
            {"content_signal": {"ai_train": False}},
            "[1]['content_signal']['ai_train'] is unknown. Did you mean 'ai-train'?",
        ),
        (
            {"content_signal": {"search": "yes"}},
            "[1]['content_signal']['search'] is 'yes'; use True or False.",
        ),
        (
            {"content_signal": {"use": True}},
            "[1]['content_signal']['use'] is True; use one of 'immediate', "
            "'reference', 'full'.",
        ),
        (
            {"content_usage": {"train_ai": False}},
            "[1]['content_usage']['train_ai'] is unknown. Did you mean 'train-ai'?",
        ),
        (
            {"content_usage": {"/docs/": {"search": "y"}}},
            "[1]['content_usage']['/docs/']['search'] is 'y'; use True or False.",
        ),
        (
            {"content_usage": {"/docs/": True}},
            "[1]['content_usage']['/docs/'] must be a dict, for example "
            """{"train-ai": False, "/docs/": {"train-ai": True}}.""",
        ),
        (
            {"content_usage": {"docs/": {"search": True}}},
            "[1]['content_usage']['docs/'] is unknown. Known categories: search, "
            "ai-use, train-ai.",
        ),
        (
            {"license": "/license.xml"},
            "[1]['license'] is '/license.xml'; use the whole URL of the license, for "
            """example {"license": "https://www.example.com/license.xml"}.""",
        ),
        (
            {"user_agent": "a", "license": "https://a.example/license.xml"},
            "[1]['license'] holds for all crawlers. Give it an entry of its own: "
            """{"license": "https://www.example.com/license.xml"}.""",
        ),
        (
            {"disallow": "private"},
            " cannot be written: disallow 'private': begins with neither / nor *: "
            "write '/private'",
        ),
        (
            {"disallow": "/" + "a" * 600_000},
            " cannot be written: robots.txt: 600051 bytes, over 512000",
        ),
        (
            {"crawl_delay": "soon"},
            " cannot be written: crawl_delay 'soon': not a number",
        ),
    ],
)
def test_a_group_of_robots_txt_that_cannot_be_written_is_refused(
    settings: Any, group: Any, rest: str
) -> None:
    settings.SITEMAPS_PLUS = {"ROBOTS": [{"user_agent": "*"}, group]}
    with pytest.raises(ConfigurationError) as caught:
        rules()
    assert str(caught.value) == f"SITEMAPS_PLUS['ROBOTS']{rest}"


def test_rules_may_be_one_text_or_several(settings: Any) -> None:
    urls = ["https://a.example/license.xml", "https://b.example/license.xml"]
    one = {"user_agent": ("a", "b"), "allow": "/x", "disallow": ["/y", "/z"]}
    settings.SITEMAPS_PLUS = {"ROBOTS": [{"license": urls}, one]}
    found = rules()
    assert [line[9:] for line in found.text.splitlines()[:2]] == urls
    (group,) = found.groups
    assert group.user_agents == ("a", "b")
    assert (group.allow, group.disallow) == (("/x",), ("/y", "/z"))


def test_a_urlconf_needs_the_app(settings: Any) -> None:
    given = settings.INSTALLED_APPS
    settings.INSTALLED_APPS = [app for app in given if "sitemaps_plus" not in app]
    with pytest.raises(ConfigurationError) as caught:
        reload(urls)
    assert str(caught.value) == (
        "A URLconf includes django_sitemaps_plus.urls, but 'django_sitemaps_plus' is "
        "not in INSTALLED_APPS. Add it, then run 'manage.py migrate'."
    )


def test_the_package_in_place_of_its_urls_is_told() -> None:
    """Django would say that imports may be circular."""
    with pytest.raises(
        ConfigurationError, match=r'include\("django_sitemaps_plus.urls"'
    ):
        include("django_sitemaps_plus")
    assert not hasattr(django_sitemaps_plus, "urlpattern")
