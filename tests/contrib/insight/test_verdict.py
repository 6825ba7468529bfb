"""The admin says of a site's health what the commands say."""

from __future__ import annotations

import html
from typing import Any

import pytest

from django_sitemaps_plus.models import Page
from tests.building import test_damaged_rows as rows
from tests.conftest import Register
from tests.contrib.insight.test_pages import admin, text
from tests.health import test_alerts as wrongs
from tests.support.factories import articles
from tests.support.helpers import run_command
from tests.support.outbox_world import use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def red() -> str:
    """Return what is red on the app's index."""
    sign = '<strong class="sitemaps-error">error</strong>'
    found = html.unescape(text("")).replace("\xa0", " ").split(sign)[1:]
    return "".join(one.partition("<")[0] for one in found)


@pytest.mark.parametrize(("plant", "said"), wrongs.WRONGS)
@pytest.mark.costly
def test_each_wrong_is_red(
    sound: None, settings: Any, plant: wrongs.Plant, said: str
) -> None:
    assert red() == ""
    plant(settings)
    assert said in red()


@pytest.mark.parametrize("what", rows.DAMAGE)
@pytest.mark.costly
def test_damaged_rows_are_shown(register: Register, settings: Any, what: str) -> None:
    use(settings, one="Few")
    register("article", rows.Small)
    articles(15)
    run_command("build_sitemaps")
    rows.DAMAGE[what]()
    client = admin()
    for path in ("", "page/", f"page/{Page.objects.all()[0].pk}/change/"):
        answer = client.get(f"/admin/sitemaps_plus/{path}")
        assert answer.status_code == 200, path


def test_a_page_whose_bytes_were_damaged_says_so(sound: None) -> None:
    wrongs.test_bytes_that_were_damaged_are_a_warning(None)
    page = Page.objects.get(number=1)
    shown = html.unescape(text(f"page/{page.pk}/change/")).replace("\xa0", " ")
    label = "Stored bytes found missing or damaged:"
    assert "1 minute ago" in shown.split(label)[1][:300]
