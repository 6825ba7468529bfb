"""Engines are notified side by side: a slow one does not hold up the others."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connections, transaction

from django_sitemaps_plus.delivery.engines import AT_ONCE, engines, side_by_side
from django_sitemaps_plus.models import Submission
from django_sitemaps_plus.sitemaps.site import Site, working_for
from tests.support.outbox_world import happened, run, sent, use

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


def together(*jobs: Any) -> None:
    side_by_side(jobs, "default")


def test_a_slow_engine_does_not_hold_up_the_others(settings: Any) -> None:
    """It answers when the others have been notified, of two batches."""
    use(settings, slow="Waits", fast="Few", other="Few")
    happened(*(f"/{n}/" for n in range(4)))
    report = run()
    assert [result.accepted for result in report.results] == [4, 4, 4]
    assert [len(batch) for batch in sent(engines()["fast"])] == [3, 1]
    assert set(Submission.objects.values_list("state", flat=True)) == {"accepted"}


def test_each_thread_works_for_the_site_and_closes_its_connections() -> None:
    seen: list[tuple[str, Any]] = []
    meet = threading.Barrier(3)

    def job() -> None:
        here = connections["default"]
        here.ensure_connection()
        seen.append((Site.current().key, here))
        meet.wait(20)

    with working_for(Site("shop")):
        together(job, job, job)
    assert [key for key, _ in seen] == ["shop"] * 3
    mine = connections["default"]
    others = [one for _, one in seen if one is not mine]
    assert len({id(one) for one in others}) == 2
    assert [one.connection for one in others] == [None, None]


def test_a_job_that_fails_does_not_stop_the_others_and_is_heard_of() -> None:
    done: list[int] = []

    def fail() -> None:
        raise LookupError("of the first")

    jobs = [lambda n=n: done.append(n) for n in range(2 * AT_ONCE)]
    with pytest.raises(LookupError, match="of the first"):
        together(fail, *jobs)
    assert sorted(done) == list(range(2 * AT_ONCE))


def test_one_thread_does_it_all_within_a_transaction_or_where_no_other_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a project's tests, whose rows no other connection sees."""
    found: list[int] = []
    jobs = [lambda: found.append(threading.get_ident())] * 3
    with transaction.atomic():
        together(*jobs)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    together(*jobs)
    assert found == [threading.get_ident()] * 6
