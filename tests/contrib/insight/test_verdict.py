"""The admin says of a site's health what the commands say."""

from __future__ import annotations

import html
from typing import Any

import pytest
from django.test import Client

from django_sitemaps_plus.models import Page
from tests.building import test_damaged_rows as rows
from tests.conftest import Register
from tests.health import test_alerts as wrongs
from tests.support.factories import articles
from tests.support.helpers import run_command
from tests.support.outbox_world import use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def red_in(client: Client) -> str:
    """Return what is red on the app's index."""
    page = html.unescape(client.get("/admin/sitemaps_plus/").content.decode())
    red = page.split('<strong class="sitemaps-error">error</strong>')[1:]
    return "".join(one.partition("<")[0] for one in red).replace("\xa0", " ")


def test_of_a_site_with_nothing_wrong_nothing_is_red(
    sound: None, admin_client: Client
) -> None:
    assert red_in(admin_client) == ""


@pytest.mark.parametrize(("plant", "text"), wrongs.WRONGS)
@pytest.mark.costly
def test_each_wrong_is_red(
    sound: None, admin_client: Client, settings: Any, plant: wrongs.Plant, text: str
) -> None:
    plant(settings)
    assert text in red_in(admin_client)


@pytest.mark.parametrize("what", rows.DAMAGE)
@pytest.mark.costly
def test_damaged_rows_are_shown(
    admin_client: Client, register: Register, settings: Any, what: str
) -> None:
    use(settings, one="Few")
    register("article", rows.Small)
    articles(15)
    run_command("build_sitemaps")
    rows.DAMAGE[what]()
    for path in ("", "page/", f"page/{Page.objects.all()[0].pk}/change/"):
        answer = admin_client.get(f"/admin/sitemaps_plus/{path}")
        assert answer.status_code == 200, path


def test_a_page_whose_bytes_were_damaged_says_so(
    sound: None, admin_client: Client
) -> None:
    wrongs.test_bytes_that_were_damaged_are_a_warning(None)
    page = Page.objects.get(number=1)
    answer = admin_client.get(f"/admin/sitemaps_plus/page/{page.pk}/change/")
    shown = html.unescape(answer.content.decode()).replace("\xa0", " ")
    label = "Stored bytes found missing or damaged:"
    assert "1 minute ago" in shown.split(label)[1][:300]
