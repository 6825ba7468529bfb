"""A row that a failing disk or SQL has damaged counts as not there."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from django_sitemaps_plus.db import digest_of
from django_sitemaps_plus.delivery import upkeep
from django_sitemaps_plus.health.alerts import Alert, alerts
from django_sitemaps_plus.models import Change, Page, RelatedState, Section, UrlChange
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.helpers import Small, locations, run_command
from tests.support.outbox_world import use
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db


def change(**values: Any) -> Callable[[], object]:
    given = {"section": "article", "key": '["1"]', "at": time.time(), **values}
    return lambda: Change.objects.create(**given)


def write(**values: Any) -> Callable[[], object]:
    return lambda: Page.objects.filter(number=1).update(**values)


def write_section(**values: Any) -> Callable[[], object]:
    return lambda: Section.objects.filter(name="article").update(**values)


def happened(location: str, **more: Any) -> Callable[[], object]:
    values = {"digest": digest_of(location), "at": time.time(), **more}
    return lambda: UrlChange.objects.create(
        section="article", kind="changed", location=location, **values
    )


DAMAGE = {
    "a change's model": change(related="x"),
    "a change's key": change(key="x"),
    "a change's last key": change(upto="x"),
    "a change's page": change(page=99),
    "an object's model": lambda: RelatedState.objects.create(
        section="article", model="x", key="1", state="x"
    ),
    "problems": write(problems={"a": 1}, bad=1),
    "problems that are a number": write(problems=5, bad=1),
    "problems of other parts": write(problems=["x", ["1"], 5], bad=1),
    "a location": happened("x"),
    "a location with a control character": happened("/x\x01/"),
    "a time of a URL change": happened("/x/", at=1e300),
    "the numbers of days": write_section(listed=[1]),
    "the numbers of days as a text": write_section(listed="x"),
    "a day without a number": write_section(listed={"2026-11-24": None}),
    "a time of a confirmation": write_section(confirmed_at=1e300),
    "a lastmod": write(lastmod=-1e300),
    "a lastmod that is too late": write(lastmod=1e300),
    "a time of a change": write(changed_at=-1e300),
    "a time of a change that is too late": write(changed_at=1e300),
}


@pytest.mark.parametrize("what", DAMAGE)
@pytest.mark.costly
def test_it_counts_as_not_there(
    client: Client, register: Register, settings: Any, what: str
) -> None:
    use(settings, one="Few")
    register("article", Small)
    articles(15)
    run_command("build_sitemaps")
    DAMAGE[what]()
    article = Article.objects.all()[0]
    article.slug = "renamed"
    article.save()
    found = []
    for path in ("", "-article", "-article-1", "-article-2"):
        answer = client.get(f"/sitemap{path}.xml")
        assert answer.status_code == 200, path
        found += locations(answer) if path[-1:].isdigit() else []
    assert "https://www.example.com/articles/renamed/" in found
    upkeep.tend()
    for command in (
        ["ping_sitemaps", "--force"],
        ["ping_sitemaps", "--status"],
        ["build_sitemaps", "--reconcile", "--deep"],
    ):
        _, err, code = run_command(*command)
        assert "Traceback" not in err
        assert code in (0, 1), err
    wrong = [alert.text for alert in alerts([Alert.Subject.SECTIONS])]
    assert not [text for text in wrong if "error" in text or "reported" in text]
