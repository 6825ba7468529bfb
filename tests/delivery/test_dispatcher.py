"""What is due is claimed and submitted, and the answer decides what becomes of it."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings

from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.delivery import dispatcher, gate, outbox
from django_sitemaps_plus.delivery.dispatcher import DeliveryOptions, duration_in_words
from django_sitemaps_plus.delivery.engines import EngineHealth, Health, engines
from django_sitemaps_plus.engines.base import Answer, CheckResult, Outcome
from django_sitemaps_plus.hooks import EngineResult
from django_sitemaps_plus.models import EngineState, Submission
from django_sitemaps_plus.signals import submission_finished
from tests.support.helpers import later
from tests.support.outbox_engines import OVER
from tests.support.outbox_world import BASE, happened, rows, run, sent, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])

REJECTED = Answer(outcome=Outcome.REJECTED, status=400)
THROTTLED = Answer(outcome=Outcome.THROTTLED, status=429, message="Too much.")
NO_ANSWER = Answer(outcome=Outcome.UNAVAILABLE, message="No route.")
DOWN = Answer(outcome=Outcome.UNAVAILABLE, status=503, excerpt="<h1>\0 busy")


def urls(count: int) -> None:
    """Have something happen to some URLs."""
    happened(*(f"/{n}/" for n in range(count)))


def state() -> EngineState:
    return EngineState.objects.get()


def outcomes() -> list[str]:
    return sorted(Submission.objects.values_list("state", flat=True))


def rest() -> float:
    """Return the seconds until something is due."""
    found = outbox.next_due()
    assert found is not None
    return found


def pauses(count: int) -> list[float]:
    """Deliver as often, each time when something is due; return how long each took."""
    found = []
    for _ in range(count):
        dispatcher.deliver()
        found.append(rest())
        later(found[-1] + 1, "paused_until", "due_at")
    return found


def pause_engine(result: Any = None) -> None:
    """Have another process be asked to pause, as if it had delivered meanwhile."""
    until = database_time("default") + 1000
    EngineState.objects.update(paused_until=until, failures=1)


def die(result: Any) -> None:
    """Have the process be killed before the answer is stored."""
    raise KeyboardInterrupt


def test_batches_are_cut_at_what_an_engine_takes(settings: Any) -> None:
    engine = use(settings, one="Few")
    urls(7)
    [result] = run().results
    assert [len(batch) for batch in sent(engine)] == [3, 3, 1]
    expected = EngineResult("one", "www.example.com", requests=3, accepted=7)
    assert result == expected


def test_the_answer_is_stored(engine: Any) -> None:
    given = {"status": 202, "excerpt": "x\0y" * 400, "message": "Ok."}
    engine.answers.append(Answer(outcome=Outcome.ACCEPTED, **given))
    happened("/a/")
    run()
    row = Submission.objects.get()
    assert (row.status, row.message, len(row.excerpt)) == (202, "Ok.", 500)
    assert row.excerpt.startswith(r"x\x00yx\x00y")
    assert (row.attempts, row.live, row.due_at, row.claimed_by) == (1, None, None, "")
    assert row.sent_at is not None
    assert row.answered_at is not None
    assert row.created_at <= row.sent_at <= row.answered_at + 0.01
    assert row.seconds is not None
    assert state().succeeded_at == state().answered_at > 0


# Rejected


def test_a_rejected_url_does_not_take_others_along(engine: Any) -> None:
    engine.bad.update({f"{BASE}/5/", f"{BASE}/6/"})
    urls(20)
    report = run()
    assert {path for path, how in rows() if how == "rejected"} == {"/5/", "/6/"}
    assert report.total("accepted") == 18
    run()
    assert report.total("requests") == len(engine.sent), "never again"
    engine.answers.append(REJECTED)
    happened("/20/", "/21/")
    assert (run().total("requests"), outcomes().count("rejected")) == (1, 4), "whole"
    named = Answer(outcome=Outcome.ACCEPTED, status=200, refused=[f"{BASE}/31/"])
    engine.answers.append(named)
    happened("/30/", "/31/", "/32/")
    report = run()
    assert [how for _, how in rows()[-3:]] == ["accepted", "rejected", "accepted"]
    assert [report.total(n) for n in ("accepted", "rejected", "requests")] == [2, 1, 1]


# Quotas


def test_as_much_is_submitted_as_a_quota_allows(settings: Any) -> None:
    engine = use(settings, one="Limited")
    engine.quota[0] = 2
    urls(5)
    [result] = run().results
    assert sent(engine) == [["/0/", "/1/"], ["/sitemap.xml"]]
    assert (result.accepted, result.postponed) == (3, 3)
    assert 3500 < rest() <= 3600
    assert (state().failures, state().exhausted_until > 0) == (0, True)
    row = Submission.objects.filter(state="pending")[0]
    assert (row.status, row.message) == (200, "No more today.")
    engine.quota[0] = 5
    happened("/new/")
    run()
    assert len(engine.sent) == 2, "nobody asks for the quota again so soon"
    later(601)
    run()
    assert sent(engine)[2:] == [["/sitemap.xml"]], "which needs none"
    later(3000)
    run()
    [paths] = sent(engine)[3:]
    assert sorted(paths) == ["/2/", "/3/", "/4/", "/new/"]
    assert set(outcomes()) == {"accepted"}


@pytest.mark.parametrize("outcome", [Outcome.EXHAUSTED, Outcome.DEFERRED])
@pytest.mark.costly
def test_an_engine_that_asks_for_a_second_is_left_alone_for_a_minute(
    engine: Any, outcome: Outcome
) -> None:
    answer = dataclasses.replace(OVER, outcome=outcome, retry_after=1.0)
    engine.answers.extend([answer] * 3)
    happened("/a/")
    for _ in range(3):
        run()
        later(25)
    assert len(engine.sent) == 1


def test_what_waits_for_a_quota_is_never_late_nor_given_up(settings: Any) -> None:
    use(settings, one="Limited")
    urls(2)
    for _ in range(dispatcher.ATTEMPTS + 1):
        run()
        later(3601)
    later(dispatcher.GIVE_UP)
    run()
    waiting = Submission.objects.filter(state="pending")
    assert list(waiting.values_list("attempts", flat=True)) == [0, 0]
    assert EngineHealth.all("")[0].late == 0
    happened("/new/")
    gate.pass_on()
    later(1000)
    assert rest() > 2000
    [one] = EngineHealth.all("")
    assert (one.health, one.waiting, one.late) == (Health.EXHAUSTED, 4, 0)
    later(3601)
    assert EngineHealth.all("")[0].late == 4, "nobody asked for the quota again"


def test_what_was_not_received_loses_no_attempt(engine: Any) -> None:
    too_many = Answer(outcome=Outcome.REJECTED, status=413, is_divisible=True)
    engine.answers.extend([too_many, DOWN])
    urls(4)
    run()
    found = Submission.objects.order_by("pk").values_list("attempts", flat=True)
    assert list(found) == [1, 1, 0, 0]


def test_what_is_deferred_waits_alone_and_is_known_again(engine: Any) -> None:
    later_on = Answer(outcome=Outcome.DEFERRED, message="Not yet.", retry_after=300)
    engine.answers.append(later_on)
    happened("/a/")
    assert run().results[0].postponed == 1
    happened("/b/")
    assert run().results[0].accepted == 1
    row = Submission.objects.get(live=True)
    assert (row.url, row.message) == (f"{BASE}/a/", "Not yet.")
    assert (state().failures, state().paused_until) == (0, 0)
    assert 290 < rest() <= 300
    later(300)
    run()
    assert sent(engine) == [["/a/"], ["/b/"], ["/a/"]]
    assert [list(batch.deferred) for batch in engine.sent] == [[], [], [f"{BASE}/a/"]]
    assert outcomes() == ["accepted", "accepted"]


def test_many_rejected_urls_are_found_in_several_runs(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "HALVINGS", 6)
    engine = use(settings, one="Scripted")
    engine.bad.update(f"{BASE}/{n}/" for n in range(8))
    urls(8)
    run()
    assert len(engine.sent) == 7
    for _ in range(4):
        later(100)
        run()
    assert outcomes() == ["rejected"] * 8


# Pauses


def test_a_throttled_engine_pauses_as_long_as_it_says(settings: Any) -> None:
    engine = use(settings, one="Few")
    engine.answers.append(dataclasses.replace(THROTTLED, retry_after=1000))
    urls(7)
    [result] = run().results
    assert (result.postponed, result.note) == (3, "Too much.")
    [result] = run().results
    assert result.note == "Too much. Paused, next try in 17 minutes."
    later(990)
    assert "next try in under a minute" in run().results[0].note
    assert len(engine.sent) == 1
    later(11)
    run()
    assert outcomes() == ["accepted"] * 7
    assert state().failures == 0
    engine.answers.append(dataclasses.replace(THROTTLED, retry_after=1e9))
    happened("/7/")
    run()
    # A clock may be set back by a moment.
    assert 86_000 < rest() < 86_401, "a day at most"


def test_a_duration_is_said_in_words() -> None:
    seconds = 59.9, 60, 61, 7200, 7201, 86_400
    assert ", ".join(map(duration_in_words, seconds)) == (
        "under a minute, 1 minute, 2 minutes, 120 minutes, 3 hours, 24 hours"
    )


def test_without_a_time_each_pause_is_longer(engine: Any) -> None:
    # A time that is over is none: an engine that is too busy must not be asked at once.
    past = [dataclasses.replace(THROTTLED, retry_after=at) for at in (0.0, -5.0)]
    engine.answers.extend([*past, *[THROTTLED] * 10])
    happened("/a/")
    gate.pass_on()
    found = pauses(12)
    for number, pause in enumerate(found):
        assert 0.7 <= pause / min(3600, 60 * 2**number) <= 1.3
    assert len(set(found)) == 12, "not all at the same moment"
    dispatcher.deliver()
    assert outcomes() == ["accepted"]


def test_who_says_retry_in_a_second_is_not_asked_each_second(engine: Any) -> None:
    asked = [1.0] * 8 + [5000.0]
    engine.answers.extend(dataclasses.replace(THROTTLED, retry_after=s) for s in asked)
    happened("/a/")
    gate.pass_on()
    first, *others, last = pauses(len(asked))
    assert first <= 1
    assert all(60 <= pause <= 4500 for pause in others)
    assert others[-1] > 10 * others[0]
    assert 4990 < last <= 5000, "what it asks for, if that is longer"


def test_an_engine_that_throttles_a_site_that_sent_little_is_told_so(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it may ask at another address: others share this one."""
    engine = use(settings, one="Scripted", two="Scripted")
    urls(4)
    run()
    happened("/new/")
    engine.answers.extend([DOWN, THROTTLED, THROTTLED, THROTTLED])
    for little in (5, 5, 5, 4, 5):
        monkeypatch.setattr(dispatcher, "LITTLE", little)
        run()
        later(3600)
    told = [batch.throttled for batch in engine.sent]
    assert told == [False, False, False, True, False, True]
    happened("/last/")
    run()
    assert not engine.sent[-1].throttled, "the one before was accepted"


def test_a_pause_that_another_process_was_asked_for_counts(settings: Any) -> None:
    engine = use(settings, one="Few")
    urls(7)
    run(progress=pause_engine)
    assert list(map(len, sent(engine))) == [3]
    assert outcomes() == ["accepted"] * 3 + ["pending"] * 4
    assert rest() > 990, "neither ended nor shortened"
    engine.answers.append(DOWN)
    later(1001)
    run(progress=pause_engine)
    assert rest() > 990
    assert state().failures == 1, "failures at the same moment count once"


@pytest.mark.parametrize("status", [None, 200])
def test_what_may_have_been_received_is_not_sent_again_within_the_interval(
    settings: Any, status: int | None
) -> None:
    engine = use(settings, one="Few")
    engine.answers.append(dataclasses.replace(NO_ANSWER, status=status))
    urls(4)
    run()
    later(120)
    run()
    assert sorted(map(len, sent(engine))) == [1, 3], "the others go before"
    later(481)
    run()
    assert sorted(map(len, sent(engine))) == [1, 3, 3]


def test_after_three_days_a_submission_fails(engine: Any) -> None:
    engine.answers.extend([DOWN] * 100)
    happened("/a/")
    gate.pass_on()
    later(4 * 86_400)
    run()
    assert outcomes() == ["pending"], "it has waited for others: it is tried again"
    Submission.objects.update(created_at=time.time())
    for _ in range(5):
        assert outcomes() == ["pending"]
        later(0.7 * 86_400)
        run()
    assert outcomes() == ["failed"]
    assert Submission.objects.get().excerpt == r"<h1>\x00 busy"
    assert outbox.next_due() is None


# Engines beside each other


def test_a_slow_engine_leaves_time_for_others(settings: Any) -> None:
    use(settings, one="Few", two="Few")
    urls(7)
    gate.pass_on()
    for _ in range(2):
        over: list[Any] = []
        run(is_over=lambda over=over: bool(over), progress=over.append)
    assert [len(engine.sent) for engine in engines().values()] == [1, 1]


def test_an_engine_says_since_when_it_fails(engine: Any) -> None:
    engine.answers.extend([NO_ANSWER, NO_ANSWER])
    happened("/a/")
    run()
    since = state().failing_since
    assert time.time() - since < 60
    later(4000)
    run()
    assert (state().failures, state().failing_since) == (2, since - 4000)
    later(8000)
    run()
    assert state().failing_since == 0


def test_an_engine_that_fails_does_not_stop_others(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    raises = ("Broken", {"key": "s3cr3t-key"})
    use(settings, raises=raises, forgets="Scripted", away="Scripted", fine="Scripted")
    engines()["forgets"].answers.append(None)
    engines()["away"].answers.append(NO_ANSWER)
    happened("/a/")
    assert [result.accepted for result in run().results] == [0, 0, 0, 1]
    found = Submission.objects.order_by("pk").values_list("message", flat=True)
    forgotten = "TypeError: submit() returned NoneType"
    assert list(found) == ["RuntimeError: no way with …", forgotten, "No route.", ""]
    assert "no way with …" in caplog.text
    assert "s3cr3t" not in caplog.text + repr(list(EngineState.objects.values()))


def test_delivering_can_be_stopped_before_each_request(settings: Any) -> None:
    """What was claimed by then is due at once, and no proof is verified any more."""
    engine = keyed(settings)
    engine.bad.add(f"{BASE}/1/")
    urls(3)
    run(is_over=lambda: True)
    assert (engine.sent, engine.verified) == ([], [])
    over: list[Any] = []
    run(is_over=lambda: len(over) > 1, progress=over.append)
    assert list(map(len, sent(engine))) == [3, 1], "the second half was not sent"
    assert outcomes() == ["accepted", "pending", "pending"]
    assert rest() < 0.1, "the database's clock may be a little behind"
    run()
    assert outcomes() == ["accepted", "accepted", "rejected"]


# Claims


@pytest.mark.parametrize(
    ("backend", "kind", "again"),
    [("Sitemaps", "changed", "sitemap"), ("Scripted", "removed", "removed")],
)
@pytest.mark.costly
def test_what_changes_while_it_is_sent_is_submitted_again(
    settings: Any, backend: str, kind: Any, again: str
) -> None:
    engine = use(settings, one=backend)
    happened("/a/", "/b/")

    def change(result: Any) -> None:
        """Happens before the answer is stored."""
        happened("/a/", kind=kind)
        gate.pass_on()

    run(progress=change)
    count = len(outcomes())
    assert outcomes() == ["accepted"] * (count - 1) + ["pending"]
    assert Submission.objects.get(live=True).kind == again, "what happened last"
    run()
    assert len(engine.sent) == 1
    later(601)
    run()
    assert len(engine.sent) == 2
    assert len(engine.sent[1].urls) == 1


@pytest.mark.parametrize(
    ("former", "kinds", "last"),
    [
        ("added", ["changed", "removed"], ["removed"]),
        ("removed", ["added"], ["added"]),
        ("added", ["changed"], ["changed"]),
        ("changed", [], []),
    ],
)
@pytest.mark.costly
def test_what_changes_after_its_sender_was_killed_is_sent_after_the_same_again(
    settings: Any, former: Any, kinds: list[Any], last: list[str]
) -> None:
    """Whoever has heard it knows the request by its id."""
    engine = use(settings, one=("Scripted", {"interval": 0}))
    happened("/a/", kind=former)
    with pytest.raises(KeyboardInterrupt):
        run(progress=die)
    for kind in kinds:
        happened("/a/", kind=kind)
        gate.pass_on()
    later(1000)
    run()
    run()
    told = [kind for batch in engine.sent for kind in batch.kinds]
    assert told == [former, former, *last]
    assert engine.sent[0].id == engine.sent[1].id
    assert outcomes() == ["accepted"] * (1 + len(last))


def test_a_claim_outlasts_the_interval(settings: Any) -> None:
    """The last request may be started long after the claim."""
    use(settings, one=("Scripted", {"interval": 700}), two=("Few", {"interval": 0}))
    happened("/a/")
    for alias, least in (("one", dispatcher.SENDING + 700), ("two", 600)):
        with pytest.raises(KeyboardInterrupt):
            run(progress=die, engines=[alias])
        row = Submission.objects.get(engine=alias)
        assert row.state == "sending"
        assert (row.due_at or 0) - (row.sent_at or 0) >= least - 0.001


@pytest.mark.django_db(transaction=True)
def test_nothing_is_sent_before_the_claim_is_committed(engine: Any) -> None:
    happened("/a/")
    gate.pass_on()
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        dispatcher.deliver()
    assert engine.sent == []


# The ownership proof


def keyed(settings: Any, key: str = "k1", *found: CheckResult | Exception) -> Any:
    """Use an engine with a key; ``found`` are the first results of verifying it."""
    engine = use(settings, one=("Keyed", {"key": key}))
    engine.findings.extend(found)
    return engine


MISSING = CheckResult(is_good=False, text="No k1.", fix="Upload it.")


def test_nothing_is_submitted_before_ownership_is_verified(settings: Any) -> None:
    engine = keyed(settings, "k1", MISSING, ValueError("not with k1"))
    happened("/a/")
    [result] = run().results
    assert state().problem == result.note == "No …. Upload it."
    assert run().results[0].note.startswith("No …. Upload it. Paused, next try in ")
    assert engine.verified == [BASE], "not each time"
    later(90)
    run()
    assert state().problem == "Memory could not be verified: ValueError: not with …"
    assert engine.sent == []
    later(180)
    run()
    assert sent(engine) == [["/a/"]]
    assert (state().problem, state().failures) == ("", 0)
    happened("/b/")
    run()
    assert engine.verified == [BASE] * 3, "it is remembered"
    other = keyed(settings, "k2")
    happened("/c/")
    run()
    assert other.verified == [BASE]


def test_on_request_a_proof_is_verified_but_no_pause_ends(settings: Any) -> None:
    engine = keyed(settings, "k1", MISSING)
    happened("/a/")
    run()
    run(is_requested=True)
    assert sent(engine) == [["/a/"]]
    engine.answers.append(THROTTLED)
    happened("/b/", "/c/")
    for _ in range(2):
        run(is_requested=True)
    assert len(engine.sent) == 2


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.costly
def test_a_denial_has_the_proof_verified_again(settings: Any, status: int) -> None:
    """More and more seldom."""
    engine = keyed(settings)
    engine.answers.extend([Answer(outcome=Outcome.UNAVAILABLE, status=status)] * 4)
    happened("/a/")
    gate.pass_on()
    pauses = []
    for _ in range(4):
        dispatcher.deliver()
        pauses.append(state().paused_until - database_time("default"))
        later(4000)
    assert pauses[0] < 80
    assert pauses[-1] > 60 * 2**3 * 0.7, pauses
    assert len(engine.verified) == 4
    dispatcher.deliver()
    assert outcomes() == ["accepted"]


# From where nothing is submitted


def test_copies_of_a_site_submit_nothing(settings: Any) -> None:
    settings.SITE_ID = None
    use(settings, one="Scripted")
    happened("/a/")
    gate.pass_on()
    private = (
        "is not a public address: engines cannot reach it. Set "
        "SITEMAPS_PLUS['BASE_URL'], for example 'https://www.example.com', or use"
    )
    for given, reason in (
        ({"BASE_URL": None}, "address is not known"),
        ({"ROBOTS": [{"disallow": "/"}]}, "robots.txt disallows everything"),
        ({"BASE_URL": "http://localhost:8000"}, private),
        ({}, "DEBUG is on"),
    ):
        known = {**settings.SITEMAPS_PLUS, **given}
        with override_settings(DEBUG=not given, SITEMAPS_PLUS=known):
            assert reason in dispatcher.deliver().refusal
            assert outcomes() == ["pending"]
            forced = dispatcher.deliver(DeliveryOptions(force=True))
            assert forced.total("accepted") == (known["BASE_URL"] is not None)
        Submission.objects.update(state="pending", live=True, due_at=1)


# Signals


def test_projects_hear_of_final_answers(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[dict[str, Any]] = []

    def listen(signal: Any, **kwargs: Any) -> None:
        heard.append(kwargs)
        raise RuntimeError("mine")

    engine = use(settings, one="Scripted")
    engine.answers.extend([DOWN, REJECTED])
    happened("/a/")
    submission_finished.connect(listen)
    try:
        run()
        assert heard == [], "it is not final"
        later(90)
        run()
    finally:
        submission_finished.disconnect(listen)
    expected = {"engine": "one", "state": "rejected", "urls": [f"{BASE}/a/"]}
    assert heard == [{"sender": type(engine), "answer": REJECTED, **expected}]
    assert outcomes() == ["rejected"]
    assert "mine" in caplog.text


# Damaged

LISTED = f"{EngineState._meta.app_label}/enginestate/"
TIMES = sorted(
    field.name
    for field in EngineState._meta.fields
    if field.get_default() == 0
    if field.get_internal_type() == "FloatField"
)


@pytest.mark.parametrize("time_of_it", [1e300, -1e300])
@pytest.mark.costly
def test_a_time_that_cannot_be_keeps_nothing_from_being_sent(
    admin_client: Any, engine: Any, time_of_it: float
) -> None:
    urls(1)
    run()
    for name in TIMES:
        EngineState.objects.update(**{name: time_of_it})
        assert getattr(state(), name) == 0, name
        EngineState.objects.update(**dict.fromkeys(TIMES, time_of_it))
        assert not EngineState.objects.is_paused(database_time("default"))
        happened(f"/{name}/")
        for path in ("", LISTED):
            assert admin_client.get(f"/admin/{path}").status_code == 200
        assert EngineHealth.all("")[0].next_try is None
        assert run().total("accepted") == 1, name
    assert state().succeeded_at > 0
    assert sent(engine)[-1] == [f"/{TIMES[-1]}/"]
    for number, answer in enumerate([THROTTLED, OVER]):
        EngineState.objects.update(**dict.fromkeys(TIMES, time_of_it))
        engine.answers.append(answer)
        happened(f"/paused-{number}/")
        run()
        found, now = state(), database_time("default")
        assert now < max(found.paused_until, found.exhausted_until) < now + 86_401
        assert found.failing_since <= now
        assert rest() > 0
