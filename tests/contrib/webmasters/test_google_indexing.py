"""Google's Indexing API: only pages that it is for are submitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus.contrib.webmasters.google_indexing import (
    LOOK_AGAIN,
    GoogleIndexing,
)
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import RENEWED_IN, Answer, Batch, Outcome
from tests.contrib.webmasters.setups import JOB
from tests.support.fakes.faults import Reply, reply
from tests.support.fakes.google_indexing import FakeIndexing
from tests.support.fakes.site import FakeSite

LIVE = (
    '<script type="application/ld+json">{"@type": "VideoObject", "publication": '
    '[{"@type": "BroadcastEvent"}]}</script>'
)


@pytest.fixture
def google(site: FakeSite) -> Iterator[FakeIndexing]:
    with FakeIndexing(properties={f"{site.origin}/": "siteOwner"}) as server:
        yield server


def engine(google: FakeIndexing, **options: Any) -> GoogleIndexing:
    given = {
        "sections": ["job"],
        "credentials": google.credentials,
        "endpoint": google.endpoint,
        "timeout": 5.0,
        **options,
    }
    return GoogleIndexing(alias="it", **given)


def submit(
    google: FakeIndexing,
    site: FakeSite,
    page: str | Reply,
    kind: str = "changed",
    *,
    again: bool = False,
) -> Answer:
    """Submit a page that the site answers with."""
    site.pages["/jobs/1/"] = page
    urls = [f"{site.origin}/jobs/1/"]
    deferred = urls if again else []
    batch = Batch(origin=site.origin, urls=urls, kinds=[kind], deferred=deferred)
    return asking.submit(engine(google), batch)


def refused(google: FakeIndexing, site: FakeSite, fault: Any) -> Answer:
    """Return the answer to a submission that fails after a token was issued."""
    site.pages["/jobs/1/"] = JOB
    client = engine(google)
    batch = Batch(origin=site.origin, urls=[f"{site.origin}/jobs/1/"])
    asking.submit(client, batch)
    google.fault = fault
    return asking.submit(client, batch)


@pytest.mark.parametrize("page", [JOB, LIVE])
def test_a_page_that_declares_such_a_type_is_submitted(
    google: FakeIndexing, site: FakeSite, page: str
) -> None:
    answer = submit(google, site, page)
    assert (answer.outcome, answer.status) == (Outcome.ACCEPTED, 200)
    assert google.published == [("URL_UPDATED", f"{site.origin}/jobs/1/")]
    assert google.unsupported == []


def test_a_page_that_declares_neither_is_not_submitted_and_it_says_why(
    google: FakeIndexing, site: FakeSite
) -> None:
    answer = submit(google, site, JOB.replace("JobPosting", "NewsArticle"))
    assert answer.outcome is Outcome.REJECTED
    assert "declares neither JobPosting nor BroadcastEvent" in answer.message
    assert google.requests == []


@pytest.mark.parametrize("status", [404, 410])
def test_a_removed_page_is_submitted_as_deleted_if_it_is_not_found(
    google: FakeIndexing, site: FakeSite, status: int
) -> None:
    answer = submit(google, site, Reply(status=status), "removed")
    assert answer.outcome is Outcome.ACCEPTED
    assert google.published == [("URL_DELETED", f"{site.origin}/jobs/1/")]
    assert google.unsupported == []


@pytest.mark.parametrize("kind", ["added", "changed", "requested"])
@pytest.mark.costly
def test_a_listed_page_is_deleted_only_if_it_is_not_found_twice(
    google: FakeIndexing, site: FakeSite, kind: str
) -> None:
    missing = Reply(status=404)
    answer = submit(google, site, missing, kind)
    assert (answer.outcome, answer.retry_after) == (Outcome.DEFERRED, LOOK_AGAIN)
    assert "answers with status 404" in answer.message
    assert google.requests == []
    url = f"{site.origin}/jobs/1/"
    assert submit(google, site, missing, kind, again=True).status == 200
    assert submit(google, site, JOB, kind, again=True).status == 200
    assert google.published == [("URL_DELETED", url), ("URL_UPDATED", url)]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (301, Outcome.REJECTED),
        (403, Outcome.REJECTED),
        (499, Outcome.REJECTED),
        (429, Outcome.UNAVAILABLE),
        (500, Outcome.UNAVAILABLE),
        (503, Outcome.UNAVAILABLE),
    ],
)
def test_a_page_that_cannot_be_read_now_is_submitted_later_and_others_never(
    google: FakeIndexing, site: FakeSite, status: int, outcome: Outcome
) -> None:
    answer = submit(google, site, Reply(status=status))
    assert (answer.outcome, answer.is_unsent) == (outcome, True)
    assert google.published == []


def test_the_quota_of_the_day_is_no_failure(
    google: FakeIndexing, site: FakeSite
) -> None:
    google.quota = 1
    assert submit(google, site, JOB).outcome is Outcome.ACCEPTED
    assert submit(google, site, JOB).outcome is Outcome.EXHAUSTED


@pytest.mark.parametrize(
    ("limit", "seconds", "outcome", "wait"),
    [
        ("'Requests per minute'", 20, Outcome.THROTTLED, 20),
        ("DefaultRequestsPerMinutePerProject", None, Outcome.THROTTLED, None),
        ("", 20, Outcome.THROTTLED, 20),
        ("'Publish requests per day'", 20, Outcome.EXHAUSTED, RENEWED_IN),
        ("DefaultPublishRequestsPerDayPerProject", None, Outcome.EXHAUSTED, RENEWED_IN),
        ("", None, Outcome.EXHAUSTED, RENEWED_IN),
    ],
)
@pytest.mark.costly
def test_a_quota_of_a_minute_is_none_of_the_day(
    google: FakeIndexing,
    site: FakeSite,
    limit: str,
    seconds: int | None,
    outcome: Outcome,
    wait: float | None,
) -> None:
    said = f'{{"error": {{"status": "RESOURCE_EXHAUSTED", "message": "{limit}"}}}}'
    later = {} if seconds is None else {"retry_after": str(seconds)}
    answer = refused(google, site, reply(429, said, **later))
    assert (answer.outcome, answer.retry_after) == (outcome, wait)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('{"error":{"message":"Permission denied."}}', "not an owner of the site"),
        ("SERVICE_DISABLED", "is not enabled"),
    ],
)
def test_errors_are_explained(
    google: FakeIndexing, site: FakeSite, body: str, text: str
) -> None:
    answer = refused(google, site, reply(403, body))
    assert answer.outcome is Outcome.UNAVAILABLE
    assert text in answer.message


def test_the_check_says_which_pages_are_submitted(google: FakeIndexing) -> None:
    [found] = asking.check_engine(engine(google), "https://www.example.com")
    assert found.is_good
    assert "job, those that declare JobPosting or BroadcastEvent" in found.text
    google.is_revoked = True
    [found] = asking.check_engine(engine(google), "https://www.example.com")
    assert not found.is_good
    assert engine(google, credentials="/none.json").check_machine()
