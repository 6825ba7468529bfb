"""One state of health: a wrong is red in the admin, the commands and by exit code."""

from __future__ import annotations

import datetime as dt
import re
import sys
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus import NewsSitemap
from django_sitemaps_plus.delivery import workers
from django_sitemaps_plus.delivery.engines import EngineHealth, Health, engines
from django_sitemaps_plus.delivery.gate import pass_on
from django_sitemaps_plus.engines.base import Answer, Outcome
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.health.alerts import Alert, alerts, errors
from django_sitemaps_plus.models import (
    Change,
    EngineState,
    Page,
    Section,
    Submission,
    UrlChange,
)
from django_sitemaps_plus.pagination.lately import note_entries, today
from tests.support.factories import articles
from tests.support.further_apps import APPS
from tests.support.helpers import Small, run_command
from tests.support.outbox_engines import Scripted
from tests.support.outbox_world import happened, run, use
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(databases=["default", "other"])

#: Makes something wrong.
Plant: TypeAlias = Callable[[Any], None]
#: What the core looks at itself.
OWN = [Alert.Subject.SECTIONS, Alert.Subject.ENGINES, Alert.Subject.URLS]


def said() -> tuple[str, int]:
    """Return what the commands say is wrong, and how they end."""
    _, status, code = run_command("ping_sitemaps", "--status")
    return " ".join(status.split()), code


def test_a_site_with_nothing_wrong_is_green(sound: None) -> None:
    assert said() == ("", 0)
    assert alerts(OWN) == []


def fails(settings: Any) -> None:
    begun = time.time() - 42 * 60
    EngineState.objects.update(failures=5, failing_since=begun, message="It sleeps.")
    happened("/b/")
    waits("one")


def waits(engine: str) -> None:
    now, url = time.time(), "https://www.example.com/w/"
    row = Submission(engine=engine, host="www.example.com", url=url)
    row.created_at = row.due_at = now
    row.save()


def cannot_send(settings: Any) -> None:
    settings.DEBUG = True


def is_private(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BASE_URL": "https://10.0.0.1"}
    Change.objects.create(section="article", key='["1"]', at=time.time())


def waits_for_long(settings: Any) -> None:
    values = {"section": "article", "key": '["1"]', "at": time.time() - 1000}
    Change.objects.create(created=True, **values)


def rows_are_left_out(settings: Any) -> None:
    Page.objects.filter(number=1).update(bad=2)


def pages_are_not_built(settings: Any) -> None:
    Page.objects.filter(number=2).update(checksum="")


def is_in_error(settings: Any) -> None:
    Page.objects.filter(number=2).update(error="No such column.")


def was_never_built(settings: Any) -> None:
    Section.objects.filter(name="article").update(key="another")


def listed(ago: int, number: int, name: str = "article") -> None:
    section, _ = Section.objects.get_or_create(name=name)
    section.listed[str(today() - dt.timedelta(days=ago))] = number
    section.save()


def vanishes(settings: Any) -> None:
    listed(3, 51)


def is_not_included(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.support.without_sitemaps_urls"


def is_answered_by_another_view(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.support.catch_all_urls"


def answers(answer: Answer) -> None:
    """Have the engine give this answer, once."""
    (engine,) = engines().values()
    assert isinstance(engine, Scripted)
    engine.answers.append(answer)


def rejects(settings: Any) -> None:
    answers(Answer(outcome=Outcome.REJECTED, status=400, message="No such key."))
    happened("/b/")
    run()


def is_called_otherwise(settings: Any) -> None:
    happened("/b/", "/c/")
    pass_on()
    use(settings, two="Few")


#: What can be wrong, and what is said of it.
WRONGS: list[tuple[Plant, str]] = [
    (fails, "one cannot be notified: It sleeps. It began 42 minutes ago. 1 change "),
    (
        cannot_send,
        "Search engines are not notified: DEBUG is on: this is not a public site.",
    ),
    (is_private, "Search engines are not notified: "),
    (waits_for_long, "1 change has waited for more than 15 minutes"),
    (rows_are_left_out, "'article': 2 of its 25 rows are left out, more than MAX"),
    (pages_are_not_built, "'article': 1 of its 3 pages were never built"),
    (is_in_error, "Section 'article' is in error: No such column."),
    (was_never_built, "Section 'article' was never built"),
    (
        vanishes,
        "Section 'article' lists 25 of last week's 51 URLs. Look at what it leaves "
        "out, or confirm it: manage.py ping_sitemaps --confirm --section article",
    ),
    (is_not_included, "No URLconf includes the addresses of the sitemaps. Add path("),
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
]


@pytest.mark.parametrize("apps", [APPS, []], ids=["all-apps", "core-alone"])
@pytest.mark.parametrize(("plant", "text"), WRONGS)
@pytest.mark.costly
def test_each_wrong_is_red(
    sound: None, settings: Any, plant: Plant, text: str, apps: list[str]
) -> None:
    others = [one for one in settings.INSTALLED_APPS if one not in APPS]
    settings.INSTALLED_APPS = [*others, *apps]
    plant(settings)
    status, code = said()
    assert text in status
    assert code == 1


def test_a_rejection_is_a_warning_once_the_engine_accepts_again(sound: None) -> None:
    rejects(None)
    assert [one.health for one in EngineHealth.all("")] == [Health.REJECTING]
    out, _, _ = run_command("ping_sitemaps", "--status")
    assert "Health        rejects what is sent: No such key." in out
    happened("/c/")
    run()
    out, _, code = run_command("ping_sitemaps", "--status")
    assert "Warning: one: 1 submission failed. The last one:" in out
    assert code == 0
    assert [one.is_failing for one in EngineHealth.all("")] == [False]
    week = 7 * 86_400
    for seconds, count in ((week - 60, 1), (week + 60, 0)):
        Submission.objects.update(created_at=time.time() - seconds)
        assert len(alerts(OWN)) == count, "it is over after a week"
        assert alerts(OWN, aliases=["two"]) == []


def test_an_engine_that_failed_may_be_taken_out(sound: None, settings: Any) -> None:
    """And one that somebody has to mend; it is forgotten when nothing waits for it."""
    is_called_otherwise(settings)
    for values in ({"failures": 5}, {"failures": 0, "problem": "No key file."}):
        EngineState.objects.update(**values)
        (alert,) = [one for one in alerts(OWN) if one.name == "one"]
        assert (alert.level, alert.waiting) == (Alert.WARNING, 2)
    out, _, code = run_command("ping_sitemaps", "--status")
    assert "Warning: one is not in SITEMAPS_PLUS['ENGINES'] any more" in out
    assert code == 0
    Submission.objects.filter(live=True).delete()
    assert alerts(OWN) == []


def test_who_answers_otherwise_may_mean_it(sound: None, settings: Any) -> None:
    for plant, number in ((is_answered_by_another_view, 15), (is_not_included, 5)):
        plant(settings)
        settings.SILENCED_SYSTEM_CHECKS = [f"sitemaps_plus.W{number:03}"]
        assert errors(alerts()) == []


def test_bytes_that_were_damaged_are_a_warning(sound: None) -> None:
    Page.objects.filter(number=1).update(lost_at=time.time() - 60)
    out, _, code = run_command("ping_sitemaps", "--status")
    text = "Warning: Section 'article': the stored bytes of 1 page were missing"
    assert text in " ".join(out.split())
    assert code == 0, "they were built again"


def test_who_lists_less_than_half_is_red_until_confirmed(sound: None) -> None:
    for ago, number in ((0, 51), (1, 51), (3, 50), (8, 1000), (7, 1000)):
        is_red = (ago, number) not in ((3, 50), (8, 1000))
        Section.objects.update(listed={})
        listed(ago, number)
        listed(2, 26)
        found = [(one.name, one.text.partition(" URLs")[0]) for one in errors(alerts())]
        said = f"Section 'article' lists 25 of last week's {number:,}"
        assert found == [("article", said)] * is_red
    out, _, _ = run_command("ping_sitemaps", "--confirm", "--section", "article")
    assert out == "Section 'article': 0 URLs will be submitted.\n"
    assert errors(alerts()) == []
    vanishes(None)
    Section.objects.update(confirmed_at=time.time() - 3 * 86_400)
    listed(2, 50)
    assert errors(alerts()) == [], "it was confirmed since"


def test_the_loss_of_a_few_urls_is_red_if_there_were_ten(sound: None) -> None:
    listed(3, 1000, "former")
    Page.objects.update(entries=1)
    listed(3, 9)
    assert errors(alerts()) == []
    Page.objects.update(entries=0)
    listed(3, 10)
    (alert,) = errors(alerts())
    assert "lists 0 of last week's 10 URLs" in alert.text
    Section.objects.update(filled=False)
    assert errors(alerts()) == [], "it is yet to be divided"
    Section.objects.update(filled=True)
    pages_are_not_built(None)
    (alert,) = errors(alerts())
    assert "1 of its 3 pages were never built" in alert.text, "none of them is empty"


def test_news_that_are_over_have_not_vanished(settings: Any, register: Any) -> None:
    class News(NewsSitemap):
        model = Article
        location = Small.location
        publication_date = F("updated")
        publication_name = "The Example"

    use(settings, one="Few")
    register("news", News)
    articles(30, updated=timezone.now() - dt.timedelta(days=9))
    run_command("build_sitemaps")
    listed(3, 30, "news")
    assert errors(alerts()) == []
    register("news", Small)
    run_command("build_sitemaps", "--reconcile")
    Page.objects.update(entries=1)
    assert [one.name for one in errors(alerts())] == ["news"]


def test_of_several_notes_of_a_day_the_largest_stays(sound: None) -> None:
    """A wrong filter may be live for some hours."""
    note_entries()
    Page.objects.update(entries=1)
    note_entries()
    assert Section.objects.get(name="article").listed[str(today())] == 25
    (alert,) = errors(alerts())
    assert "lists 3 of last week's 25 URLs" in alert.text


def test_what_is_wrong_with_a_section_is_said_once(sound: None) -> None:
    Section.objects.filter(name="article").update(failure="No such column.")
    assert errors(alerts()) == [], "it is over with the changes that failed"
    Change.objects.create(section="article", key='["1"]', at=time.time())
    (alert,) = errors(alerts())
    assert "its changes cannot be looked at: No such column." in alert.text
    Change.objects.all().delete()
    Page.objects.update(checksum="")
    (alert,) = errors(alerts())
    assert alert.sentence == (
        "Section 'article' was never built: manage.py build_sitemaps article"
    )
    # Rows that are left out are what the error says.
    Page.objects.update(error="Too many rows.", bad=9)
    (alert,) = errors(alerts())
    assert alert.text == "Section 'article' is in error: Too many rows."


def test_changes_that_wait_are_a_warning_where_nobody_is_notified(
    sound: None, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ENGINES": {}}
    waits_for_long(settings)
    (alert,) = [one for one in alerts(OWN) if one.waiting]
    assert (alert.level, alert.waiting) == (Alert.WARNING, 1)


def test_a_refusal_says_what_waits_in_all(sound: None, settings: Any) -> None:
    waits("one")
    happened("/c/")
    Change.objects.create(section="article", key='["1"]', at=time.time())
    settings.DEBUG = True
    (alert,) = errors(alerts())
    assert alert.text.endswith("3 changes and submissions wait.")
    assert alert.waiting == 3
    Submission.objects.filter(engine="one").update(due_at=time.time() - 1000)
    assert len(errors(alerts())) == 1, "late because of it"


def test_removals_on_hold_wait_until_they_are_confirmed(sound: None) -> None:
    happened("/d/", "/e/", kind="removed", on_hold=True)
    (alert,) = alerts([Alert.Subject.URLS])
    assert (alert.level, alert.waiting) == (Alert.ERROR, 2)
    UrlChange.objects.update(queued_at=1)
    assert alerts([Alert.Subject.URLS]) == []


def test_without_sections_no_address_is_needed(settings: Any, register: Any) -> None:
    use(settings, one="Few")
    is_not_included(settings)
    assert errors(alerts()) == []
    register("article", Small)
    texts = [one.text for one in errors(alerts())]
    assert any("No URLconf includes" in text for text in texts)


AWAY = Outcome.UNAVAILABLE


def refuses(status: int | None, outcome: Outcome = AWAY, path: str = "/b/") -> None:
    says = f"It says {status}."
    answers(Answer(outcome=outcome, status=status, message=says))
    happened(path)
    run()


@pytest.mark.parametrize("status", [0, 200, 302, 401, 403, 404, 499])
@pytest.mark.costly
def test_what_a_person_has_to_mend_is_an_error_at_once(
    sound: None, status: int
) -> None:
    """A key that is refused, a login page, an address that moved."""
    refuses(status)
    (alert,) = errors(alerts())
    assert f"one cannot be notified: It says {status}. It began just now." in alert.text
    out, _, code = run_command("ping_sitemaps", "--status")
    assert f"needs attention: It says {status}." in " ".join(out.split())
    assert code == 1
    EngineState.objects.update(paused_until=0)
    refuses(status, path="/c/")
    assert EngineState.objects.get().failures == 2, "its pauses go on growing"
    EngineState.objects.update(paused_until=0)
    happened("/d/")
    run()
    assert errors(alerts()) == [], "it accepts again"


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(None, AWAY), (408, AWAY), (500, AWAY), (403, Outcome.THROTTLED)],
)
@pytest.mark.costly
def test_what_passes_by_itself_is_an_error_after_a_while(
    sound: None, status: int | None, outcome: Outcome
) -> None:
    refuses(status, outcome)
    assert [one.level for one in alerts(OWN)] == [Alert.WARNING]
    for seconds, level in ((890, Alert.WARNING), (910, Alert.ERROR)):
        EngineState.objects.update(failing_since=time.time() - seconds)
        assert [one.level for one in alerts(OWN)] == [level]


def test_a_quota_that_does_not_suffice_is_noted_after_a_day(sound: None) -> None:
    refuses(429, Outcome.EXHAUSTED)
    day = 86_400
    for seconds, count in ((day - 60, 0), (day + 60, 1)):
        Submission.objects.filter(due_at__isnull=False).update(
            created_at=time.time() - seconds
        )
        assert len(alerts(OWN)) == count
    out, err, code = run_command("ping_sitemaps", "--status")
    text = (
        "Note: The quota of one is used up. 1 change or submission waits. It began 1 "
        "day ago."
    )
    assert text in " ".join(out.replace("\xa0", " ").split())
    assert (err, code) == ("", 0)
    Submission.objects.filter(due_at__isnull=False).delete()
    assert alerts(OWN) == [], "nothing waits"


@pytest.mark.django_db(transaction=True, databases=["default", "other"])
def test_a_table_that_is_missing_is_red(sound: None) -> None:
    """No server runs the check of the database."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE sitemaps_plus_pagefile RENAME TO away")
        try:
            out = run_command("ping_sitemaps", "--status")
        finally:
            cursor.execute("ALTER TABLE away RENAME TO sitemaps_plus_pagefile")
    assert out[1:] == (
        "CommandError: Tables of django_sitemaps_plus are missing: manage.py migrate\n",
        1,
    )


def test_a_worker_that_is_not_installed_is_red(
    sound: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert errors(alerts()) == []
    monkeypatch.setitem(sys.modules, "celery", None)
    monkeypatch.setitem(workers.WORKERS, "tasks", "no.such.module")
    for how, problem in (
        ("celery", "No module named 'celery'"),
        ("tasks", "ModuleNotFoundError: No module named 'no'"),
    ):
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BACKGROUND": how}
        (alert,) = errors(alerts())
        assert alert.text == (
            f"BACKGROUND is '{how}', which cannot be used, so nothing is done in the "
            f"background: {problem}"
        )


def test_status_says_when_an_engine_is_tried_again(sound: None) -> None:
    now = time.time() + 60
    paused = {"paused_until": now + 3 * 3600}
    exhausted = {"exhausted_until": now + 5 * 3600}
    for values, says in (
        ({}, ""),
        ({"failures": 1, **paused}, "3 hours"),
        ({"problem": "No key.", **paused}, "3 hours"),
        (exhausted, "5 hours"),
        ({"failures": 1, **paused, **exhausted}, "5 hours"),
    ):
        before = {"failures": 0, "problem": "", "paused_until": 0, "exhausted_until": 0}
        EngineState.objects.update(**{**before, **values})
        out = " ".join(run_command("ping_sitemaps", "--status")[0].split())
        assert re.findall(r"Next try in (\d hours)", out) == [says] * bool(says)
        assert ("Next try" in out) is bool(says)


def test_only_what_is_asked_for_is_looked_at(sound: None, settings: Any) -> None:
    fails(settings)
    assert [one.name for one in errors(alerts())] == ["one"]
    assert errors(alerts([Alert.Subject.URLS])) == []
    assert errors(alerts(aliases=["two"])) == []
    (alert,) = errors(alerts(refusal="It rains."))
    assert "Search engines are not notified: It rains. " in alert.text
    settings.DEBUG = True
    assert [one.name for one in errors(alerts(refusal=""))] == ["one"]


def test_wrong_rules_of_robots_txt_are_refused_where_nothing_is_submitted(
    sound: None, settings: Any
) -> None:
    given = {"ENGINES": {}, "ROBOTS": [{"disalow": "/"}]}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **given}
    with pytest.raises(ConfigurationError, match="Did you mean 'disallow'"):
        alerts(OWN)
    text, code = said()
    assert code == 1
    assert "Did you mean 'disallow'" in text
