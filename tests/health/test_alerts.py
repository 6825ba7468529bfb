"""One state of health: a wrong is red in the admin, the commands and by exit code."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.outbox import enqueue
from django_sitemaps_plus.engines.base import Answer, Outcome
from django_sitemaps_plus.health.alerts import alerts, errors
from django_sitemaps_plus.health.metrics import metrics
from django_sitemaps_plus.models import (
    Audit,
    Change,
    EngineState,
    Page,
    Section,
    Submission,
)
from tests.health.conftest import audited
from tests.support.helpers import run_command
from tests.support.outbox_engines import Scripted
from tests.support.outbox_world import happened, run, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def said(client: Client) -> tuple[str, tuple[str, int], tuple[str, int]]:
    """Return what is red in the admin, what the commands say, and how these end."""
    page = html.unescape(client.get("/admin/sitemaps_plus/").content.decode())
    red = "".join(
        one.partition("<")[0] for one in page.split('<li class="sitemaps-error">')[1:]
    )
    _, status, code = run_command("ping_sitemaps", "--status")
    status = " ".join(status.split())
    report, _, report_code = run_command("sitemap_report")
    shown = " ".join(report.replace("\xa0", " ").split())
    return red.replace("\xa0", " "), (status, code), (shown, report_code)


def test_a_site_with_nothing_wrong_is_green(sound: None, admin_client: Client) -> None:
    red, status, (report, code) = said(admin_client)
    assert red == ""
    assert status == ("", 0)
    assert code == 0, report
    for text in (report, run_command("ping_sitemaps", "--status")[0]):
        assert "Not looked at" not in text
        assert "Note" not in text


def fails(settings: Any) -> None:
    begun = time.time() - 42 * 60
    EngineState.objects.update(failures=5, failing_since=begun, message="It sleeps.")
    happened("/b/")
    waits("one")


def waits(engine: str) -> None:
    Submission.objects.create(
        engine=engine,
        host="www.example.com",
        url="https://www.example.com/w/",
        created_at=time.time(),
        due_at=time.time(),
    )


def cannot_send(settings: Any) -> None:
    settings.DEBUG = True
    waits("one")


def is_private(settings: Any) -> None:
    given = {**settings.SITEMAPS_PLUS, "BASE_URL": "https://10.0.0.1"}
    settings.SITEMAPS_PLUS = given
    Change.objects.create(section="article", key='["1"]', at=time.time())


def was_not_reported(settings: Any) -> None:
    Change.objects.create(section="article", key='["1"]', at=time.time() - 1000)


def rows_are_left_out(settings: Any) -> None:
    Page.objects.filter(number=1).update(bad=2)


def pages_are_not_built(settings: Any) -> None:
    Page.objects.filter(number=2).update(checksum="")


def is_in_error(settings: Any) -> None:
    Page.objects.filter(number=2).update(error="No such column.")


def was_never_built(settings: Any) -> None:
    Section.objects.filter(name="article").update(key="another")


def is_not_included(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.support.without_sitemaps_urls"


def is_answered_by_another_view(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.support.catch_all_urls"


def rejects(settings: Any) -> None:
    (engine,) = engines().values()
    assert isinstance(engine, Scripted)
    no = Answer(outcome=Outcome.REJECTED, status=400, message="No such key.")
    engine.answers.append(no)
    happened("/b/")
    run()


def is_called_otherwise(settings: Any) -> None:
    happened("/b/", "/c/")
    enqueue()
    use(settings, two="Few")


@pytest.mark.parametrize(
    ("plant", "text"),
    [
        (
            fails,
            "one cannot be notified: It sleeps. It began 42 minutes ago. 1 change ",
        ),
        (
            cannot_send,
            "Search engines are not notified: DEBUG is on: this is not a public site.",
        ),
        (is_private, "Search engines are not notified: "),
        (was_not_reported, "1 change has waited for more than 15 minutes"),
        (rows_are_left_out, "'article': 2 of its 25 rows are left out, more than MAX"),
        (pages_are_not_built, "'article': 1 of its 3 pages were never built"),
        (is_in_error, "Section 'article' is in error: No such column."),
        (was_never_built, "Section 'article' was never built"),
        (
            is_not_included,
            "No URLconf includes the addresses of the sitemaps. Add path(",
        ),
        (
            is_answered_by_another_view,
            "/sitemap.xml, /sitemap-article.xml, /sitemap-article-1.xml: "
            "tests.testapp.views.anything (URL pattern '",
        ),
        (rejects, "one: 1 submission failed. The last one: https://www.example.com/b/"),
        (
            is_called_otherwise,
            "one is not in SITEMAPS_PLUS['ENGINES'] any more, so nothing is sent to",
        ),
    ],
)
def test_each_wrong_is_red_everywhere(
    sound: None,
    admin_client: Client,
    settings: Any,
    plant: Callable[[Any], None],
    text: str,
) -> None:
    plant(settings)
    red, (status, code), (report, report_code) = said(admin_client)
    assert text in red
    assert text in status
    assert code == 1
    assert text in report
    assert report_code == 1


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "article found 3 errors, URLs with a session id (what is listed)"),
        (
            {"fetched": "live", "fetched_urls": 25, "kind": kinds.FAILS},
            "article found 3 errors, URLs that do not answer 200 (25 of 25 URLs "
            "fetched over HTTP): manage.py "
            "check_sitemaps --live",
        ),
        (
            {"fetched": "crawl", "fetched_urls": 4, "urls": 4, "section": ""},
            "The last audit of the site found 3 errors, URLs with a session id (4 of ",
        ),
    ],
)
def test_what_an_audit_found_is_not_hidden_by_one_that_looked_at_less(
    sound: None, admin_client: Client, values: dict[str, Any], text: str
) -> None:
    audited(**{"kind": kinds.SESSION, **values})
    # Another section, and a sample.
    audited(sections={"other": [5, 0]})
    audited(fetched="live", fetched_urls=2)
    audited(fetched="crawl", fetched_urls=1, urls=4, sections={})
    red, (status, code), (report, _) = said(admin_client)
    if not values:
        # The sample read all that is listed.
        assert (red, code) == ("", 0)
        return
    assert text in red
    assert text in status
    assert text in report
    assert code == 1


@pytest.mark.parametrize("fetched", ["", "live", "crawl"])
def test_a_warning_of_an_audit_is_not_passed_off_as_in_order(
    sound: None, admin_client: Client, fetched: str
) -> None:
    of = "" if fetched == "crawl" else "article"
    kind = kinds.EXPIRES if fetched == "crawl" else kinds.LOGIN_FORM
    if not fetched:
        kind = kinds.TRACKING
    audited(fetched=fetched, kind=kind, section=of, fetched_urls=25)
    page = admin_client.get("/admin/sitemaps_plus/").content.decode()
    assert "Nothing: all that was looked at is in order" not in page
    status, _, code = run_command("ping_sitemaps", "--status")
    text = f"found 3 warnings, {kinds.KINDS[kind].title}"
    for where in (html.unescape(page), status):
        assert text in " ".join(where.split())
    assert code == 0


def test_what_was_not_looked_at_is_said(sound: None, admin_client: Client) -> None:
    long_ago = time.time() - 31 * 86_400
    Audit.objects.update(finished_at=long_ago)
    page = admin_client.get("/admin/sitemaps_plus/").content.decode()
    status, err, code = run_command("ping_sitemaps", "--status")
    assert (err, code) == ("", 0)
    report = run_command("sitemap_report")[0]
    for text in (page, *(" ".join(some.split()) for some in (status, report))):
        missing = "No audit has looked at article in the last 30 days: manage.py check_"
        assert missing in text
        assert "Nobody has read the sitemaps as a crawler does in the last 30" in text
    audited(fetched="live", missed="It was stopped at page 2.")
    out = " ".join(run_command("ping_sitemaps", "--status")[0].split())
    assert "Warning: The last audit of article did not see everything: It" in out
    audited(fetched="crawl", fetched_urls=1, urls=1, sections={}, missed="No IPv6.")
    out = " ".join(run_command("ping_sitemaps", "--status")[0].split())
    assert "Note: The last audit of the site did not see everything: No" in out


def test_a_rejection_is_a_warning_once_the_engine_accepts_again(sound: None) -> None:
    rejects(None)
    assert metrics().paused_engines == ("one",)
    out, _, _ = run_command("ping_sitemaps", "--status")
    assert "Health        rejects what is sent: No such key." in out
    happened("/c/")
    run()
    out, _, code = run_command("ping_sitemaps", "--status")
    assert "Warning: one: 1 submission failed. The last one:" in out
    assert code == 0
    assert metrics().paused_engines == ()


def test_an_engine_that_failed_may_be_taken_out(sound: None, settings: Any) -> None:
    EngineState.objects.update(failures=5)
    is_called_otherwise(settings)
    out, _, code = run_command("ping_sitemaps", "--status")
    assert "Warning: one is not in SITEMAPS_PLUS['ENGINES'] any more" in out
    assert code == 0


def test_who_answers_elsewhere_may_be_silenced(sound: None, settings: Any) -> None:
    is_answered_by_another_view(settings)
    settings.SILENCED_SYSTEM_CHECKS = ["sitemaps_plus.W015"]
    assert errors(alerts()) == []


def test_bytes_that_were_damaged_are_a_warning(
    sound: None, admin_client: Client
) -> None:
    Page.objects.filter(number=1).update(lost_at=time.time() - 60)
    out, _, code = run_command("ping_sitemaps", "--status")
    text = "Warning: Section 'article': the stored bytes of 1 page were missing"
    assert text in " ".join(out.split())
    assert code == 0, "they were built again"
