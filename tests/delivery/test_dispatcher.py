"""What is due is claimed, sent, and the answer decides what becomes of it."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings

from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.delivery import dispatcher, outbox
from django_sitemaps_plus.delivery.dispatcher import DeliveryOptions
from django_sitemaps_plus.engines.base import Answer, CheckResult, Outcome
from django_sitemaps_plus.models import EngineState, Submission
from django_sitemaps_plus.signals import submission_finished
from tests.support.outbox_world import BASE, happened, later, rows, run, sent, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])

THROTTLED = Answer(outcome=Outcome.THROTTLED, status=429, message="Too much.")
AWAY = Answer(outcome=Outcome.UNAVAILABLE, message="No route.")
DOWN = Answer(outcome=Outcome.UNAVAILABLE, status=503, excerpt="<h1>\0 busy")


def state() -> EngineState:
    return EngineState.objects.get()


def test_batches_are_cut_at_what_an_engine_takes(settings: Any) -> None:
    engine = use(settings, one="Few")
    happened(*(f"/{n}/" for n in range(7)))
    report = run()
    assert [len(batch) for batch in sent(engine)] == [3, 3, 1]
    [line] = report.lines
    assert (line.engine, line.host, line.requests) == ("one", "www.example.com", 3)
    assert (line.accepted, line.rejected, line.postponed) == (7, 0, 0)


def test_the_answer_is_kept(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    engine.answers.append(
        Answer(
            outcome=Outcome.ACCEPTED, status=202, excerpt="x\0y" * 400, message="Ok."
        )
    )
    happened("/a/")
    run()
    row = Submission.objects.get()
    assert (row.status, row.message, len(row.excerpt)) == (202, "Ok.", 500)
    assert row.excerpt.startswith("xyxy")
    assert (row.attempts, row.live, row.due_at, row.claimed_by) == (1, None, None, "")
    assert row.seconds is not None
    assert row.sent_at is not None
    assert row.answered_at is not None
    assert row.created_at <= row.sent_at <= row.answered_at + 0.01
    assert state().succeeded_at == state().answered_at > 0


def test_a_url_that_is_refused_does_not_take_others_along(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    engine.bad.update({f"{BASE}/5/", f"{BASE}/6/"})
    happened(*(f"/{n}/" for n in range(20)))
    report = run()
    refused = {path for path, how in rows() if how == "rejected"}
    assert refused == {"/5/", "/6/"}
    assert report.total("accepted") == 18
    run()
    assert report.total("requests") == len(engine.sent), "never again"


def test_a_refusal_that_is_of_all_is_not_halved(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    engine.answers.append(Answer(outcome=Outcome.REJECTED, status=400))
    happened("/a/", "/b/")
    run()
    assert rows() == [("/a/", "rejected"), ("/b/", "rejected")]
    assert len(engine.sent) == 1


def test_too_many_refusals_are_found_bit_by_bit(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "HALVINGS", 10)
    engine = use(settings, one="Scripted")
    paths = [f"/{n}/" for n in range(16)]
    engine.bad.update(f"{BASE}{path}" for path in paths)
    happened(*paths)
    for _ in range(10):
        run()
        later(100)
    assert {how for _, how in rows()} == {"rejected"}


def test_a_throttled_engine_is_left_alone_as_long_as_it_says(settings: Any) -> None:
    engine = use(settings, one="Few")
    engine.answers.append(dataclasses.replace(THROTTLED, retry_after=1000))
    happened(*(f"/{n}/" for n in range(7)))
    report = run()
    assert (report.lines[0].postponed, report.lines[0].note) == (3, "Too much.")
    happened("/new/")
    assert "Too much." in run().lines[0].note
    later(990)
    run()
    assert len(engine.sent) == 1
    later(11)
    run()
    assert report.total("rejected") == 0
    assert {how for _, how in rows()} == {"accepted"}
    assert state().failures == 0


def test_without_a_time_each_pause_is_longer(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    engine.answers.extend([THROTTLED] * 12)
    happened("/a/")
    outbox.enqueue()
    pauses = []
    for _ in range(12):
        dispatcher.deliver()
        pause = outbox.next_due()
        assert pause is not None
        pauses.append(pause)
        later(pause + 1)
    for number, pause in enumerate(pauses):
        assert 0.7 <= pause / min(3600, 60 * 2**number) <= 1.3
    assert len(set(pauses)) == 12, "not all at the same moment"
    dispatcher.deliver()
    assert rows() == [("/a/", "accepted")]


@pytest.mark.parametrize("seconds", [0.0, -5.0])
def test_a_time_that_is_over_is_none(settings: Any, seconds: float) -> None:
    engine = use(settings, one="Scripted")
    engine.answers.extend([dataclasses.replace(THROTTLED, retry_after=seconds)] * 2)
    happened("/a/")
    run()
    pause = outbox.next_due()
    assert pause is not None
    assert pause > 40, "an engine that is too busy is not asked again at once"
    later(pause + 1)
    run()
    assert (outbox.next_due() or 0) > 80


def test_what_another_deliverer_was_told_counts_for_all(settings: Any) -> None:
    engine = use(settings, one="Few")
    happened(*(f"/{n}/" for n in range(7)))

    def throttle_another(line: Any) -> None:
        until = database_time("default") + 1000
        EngineState.objects.update(paused_until=until)

    run(progress=throttle_another)
    assert list(map(len, sent(engine))) == [3]
    assert sorted(how for _, how in rows()) == ["accepted"] * 3 + ["pending"] * 4
    pause = outbox.next_due()
    assert pause is not None
    assert pause > 990, "neither ended nor shortened"
    engine.answers.append(DOWN)
    later(1001)
    run(progress=throttle_another)
    assert (outbox.next_due() or 0) > 990


def test_failures_at_the_same_moment_count_once(settings: Any) -> None:
    engine = use(settings, one="Few")
    engine.answers.append(DOWN)
    happened("/a/")
    run(progress=lambda line: EngineState.objects.update(failures=1))
    assert state().failures == 1


def test_who_is_slow_leaves_time_for_others(settings: Any) -> None:
    one = use(settings, one="Few", two="Few")
    two = outbox.engines()["two"]
    happened(*(f"/{n}/" for n in range(7)))
    outbox.enqueue()
    for _ in range(2):
        order: dict[str, Any] = {"deadline": time.monotonic() + 0.5}
        run(progress=lambda line: time.sleep(0.6), **order)
    assert len(one.sent) == 1
    assert len(two.sent) == 1  # type: ignore[attr-defined]


def test_without_an_answer_nothing_is_sent_again_within_the_interval(
    settings: Any,
) -> None:
    engine = use(settings, one="Few")
    engine.answers.append(AWAY)
    happened(*(f"/{n}/" for n in range(4)))
    run()
    later(120)
    run()
    assert sorted(map(len, sent(engine))) == [1, 3], "the others go before"
    later(481)
    run()
    assert sorted(map(len, sent(engine))) == [1, 3, 3]


def test_after_days_it_is_given_up(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    engine.answers.extend([DOWN] * 100)
    happened("/a/")
    run()
    for _ in range(5):
        assert rows() == [("/a/", "pending")]
        later(0.7 * 86_400)
        run()
    assert rows() == [("/a/", "failed")]
    assert Submission.objects.get().excerpt == "<h1> busy"
    assert outbox.next_due() is None


def test_a_url_that_waited_long_for_others_is_tried_all_the_same(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    engine.answers.append(DOWN)
    happened("/a/")
    outbox.enqueue()
    later(4 * 86_400)
    run()
    assert rows() == [("/a/", "pending")]


def test_an_engine_that_fails_does_not_keep_others(settings: Any) -> None:
    use(settings, raises="Broken", away="Scripted", fine="Scripted")
    outbox.engines()["away"].answers.append(AWAY)  # type: ignore[attr-defined]
    happened("/a/")
    report = run()
    assert [line.accepted for line in report.lines] == [0, 0, 1]


def test_what_an_engine_raises_is_told_without_secrets(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    use(settings, one=("Broken", {"key": "s3cr3t-key"}))
    happened("/a/")
    run()
    row = Submission.objects.get()
    assert row.message == "RuntimeError: no way with …"
    assert "no way with …" in caplog.text
    assert "s3cr3t" not in caplog.text + row.message + row.excerpt
    assert "s3cr3t" not in state().message + repr(outbox.engines()["one"])


def test_an_engine_that_forgets_to_answer_does_not_keep_others(settings: Any) -> None:
    engine = use(settings, one="Scripted", two="Scripted")
    engine.answers.append(None)
    happened("/a/")
    run()
    found = Submission.objects.order_by("engine").values_list("state", "message")
    assert list(found) == [
        ("pending", "TypeError: submit() returned NoneType"),
        ("accepted", ""),
    ]


def test_what_changes_while_it_is_sent_is_told_again(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/", "/b/")

    def change(**kwargs: Any) -> None:
        """Happens before the answer is written down."""

    submit = type(engine).submit

    def during(self: Any, batch: Any) -> Answer:
        happened("/a/")
        outbox.enqueue()
        return submit(self, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(engine), "submit", during)
        run()
    assert rows() == [("/a/", "accepted"), ("/b/", "accepted"), ("/a/", "pending")]
    run()
    assert len(engine.sent) == 1
    later(601)
    run()
    assert sent(engine)[1:] == [["/a/"]]


@pytest.mark.parametrize(
    ("backend", "kind", "again"),
    [("Sitemaps", "changed", "sitemap"), ("Scripted", "gone", "gone")],
)
def test_what_is_told_again_is_what_happened_last(
    settings: Any, backend: str, kind: Any, again: str
) -> None:
    use(settings, one=backend)
    happened("/a/")

    def change(line: Any) -> None:
        happened("/a/", kind=kind)
        outbox.enqueue()

    run(progress=change)
    found = Submission.objects.order_by("pk").values_list("kind", "state")
    assert list(found)[1:] == [(again, "pending")]


def test_who_dies_at_the_end_of_its_time_keeps_the_interval(settings: Any) -> None:
    """The last request may be begun long after the claim."""
    use(settings, one=("Scripted", {"interval": 700}), two=("Few", {"interval": 0}))
    happened("/a/")

    def die(line: Any) -> None:
        raise KeyboardInterrupt

    for alias in ("one", "two"):
        with pytest.raises(KeyboardInterrupt):
            run(progress=die, engines=[alias])
    one, two = Submission.objects.order_by("engine")
    for row, least in ((one, dispatcher.SENDING + 700), (two, 600)):
        assert row.state == "sending"
        assert row.due_at is not None
        assert row.sent_at is not None
        assert row.due_at - row.sent_at >= least - 0.001


# The proof


def test_nothing_is_told_before_the_proof_was_found_good(settings: Any) -> None:
    engine = use(settings, one=("Keyed", {"key": "k1"}))
    engine.findings.append(CheckResult(is_good=False, text="No k1.", fix="Mend it."))
    happened("/a/")
    report = run()
    assert engine.sent == []
    assert state().problem == report.lines[0].note == "No …. Mend it."
    run()
    assert engine.verified == [BASE], "not at every look"
    later(90)
    run()
    assert sent(engine) == [["/a/"]]
    assert state().problem == ""
    happened("/b/")
    run()
    assert engine.verified == [BASE] * 2, "what was found is remembered"
    use(settings, one=("Keyed", {"key": "k2"}))
    happened("/c/")
    run()
    assert outbox.engines()["one"].verified == [BASE]  # type: ignore[attr-defined]


def test_who_asks_has_the_proof_looked_at_at_once(settings: Any) -> None:
    engine = use(settings, one=("Keyed", {"key": "k1"}))
    engine.findings.append(CheckResult(is_good=False, text="No.", fix="Mend it."))
    happened("/a/")
    run()
    run(is_asked=True)
    assert sent(engine) == [["/a/"]]


def test_who_is_not_let_in_has_the_proof_looked_at_again(settings: Any) -> None:
    engine = use(settings, one=("Keyed", {"key": "k1"}))
    engine.answers.append(Answer(outcome=Outcome.UNAVAILABLE, status=403))
    happened("/a/")
    run()
    later(90)
    run()
    assert len(engine.verified) == 2
    assert rows() == [("/a/", "accepted")]


def test_who_is_not_let_in_is_asked_more_and_more_seldom(settings: Any) -> None:
    engine = use(settings, one=("Keyed", {"key": "k1"}))
    engine.answers.extend([Answer(outcome=Outcome.UNAVAILABLE, status=403)] * 4)
    happened("/a/")
    outbox.enqueue()
    pauses = []
    for _ in range(4):
        dispatcher.deliver()
        pauses.append(state().paused_until - database_time("default"))
        later(4000)
    assert pauses[0] < 80
    assert pauses[-1] > 60 * 2**3 * 0.7, pauses
    assert len(engine.verified) == 4


# From where nothing is told


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"BASE_URL": "http://localhost:8000"}, "no public address"),
        ({"BASE_URL": "https://192.168.0.1"}, "no public address"),
        ({"BASE_URL": "http://[::1]:8000"}, "no public address"),
        ({"BASE_URL": "https://intranet"}, "no public address"),
        ({"BASE_URL": "https://shop.test"}, "no public address"),
        ({"BASE_URL": None}, "address is not known"),
        ({"ROBOTS": [{"disallow": "/"}]}, "robots.txt keeps all crawlers out"),
    ],
)
def test_copies_of_a_site_tell_nothing(
    settings: Any, given: dict[str, Any], reason: str
) -> None:
    settings.SITE_ID = None
    use(settings, one="Scripted")
    happened("/a/")
    outbox.enqueue()
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **given}
    report = dispatcher.deliver()
    assert reason in report.refusal
    assert rows() == [("/a/", "pending")]
    forced = dispatcher.deliver(DeliveryOptions(force=True))
    assert forced.total("accepted") == (given.get("BASE_URL", BASE) is not None)


def test_nothing_is_told_from_debug(settings: Any) -> None:
    use(settings, one="Scripted")
    happened("/a/")
    outbox.enqueue()
    with override_settings(DEBUG=True):
        assert "DEBUG" in dispatcher.deliver().refusal
    assert rows() == [("/a/", "pending")]


@pytest.mark.django_db(transaction=True)
def test_nothing_is_sent_before_the_claim_is_committed(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/")
    outbox.enqueue()
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        dispatcher.deliver()
    assert engine.sent == []


# What may be chosen


def test_engines_and_sections_can_be_chosen(settings: Any) -> None:
    use(settings, one="Scripted", two="Scripted")
    happened("/a/")
    happened("/b/", section="news")
    run(engines=["two"], sections=["news"])
    found = Submission.objects.filter(state="accepted").values_list("engine", "url")
    assert list(found) == [("two", f"{BASE}/b/")]


def test_it_ends_when_its_time_is_over(settings: Any) -> None:
    engine = use(settings, one="Few")
    happened(*(f"/{n}/" for n in range(7)))
    run(deadline=time.monotonic() - 1)
    assert engine.sent == []
    seen: list[int] = []
    run(progress=lambda line: seen.append(line.requests))
    assert seen == [1, 2, 3]


# Signals


def test_projects_are_told_what_came_of_it(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[dict[str, Any]] = []

    def listen(**kwargs: Any) -> None:
        told.append(kwargs)

    def fail(**kwargs: Any) -> None:
        raise RuntimeError("mine")

    engine = use(settings, one="Scripted")
    engine.answers.extend([DOWN, Answer(outcome=Outcome.REJECTED, status=400)])
    happened("/a/")
    submission_finished.connect(fail)
    submission_finished.connect(listen)
    try:
        run()
        assert told == [], "it is not final"
        later(90)
        run()
    finally:
        submission_finished.disconnect(listen)
        submission_finished.disconnect(fail)
    [first] = told
    assert (first["engine"], first["state"], first["urls"]) == (
        "one",
        "rejected",
        [f"{BASE}/a/"],
    )
    assert first["answer"].status == 400
    assert rows() == [("/a/", "rejected")]
    assert "mine" in caplog.text
