"""Google's Indexing API: only pages that it is for are submitted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from django_sitemaps_plus.contrib.webmasters.google_indexing import (
    LOOK_AGAIN,
    GoogleIndexing,
)
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import RENEWED_IN, Answer, Batch, Outcome
from tests.contrib.webmasters.setups import JOB
from tests.contrib.webmasters.setups import indexing as engine
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


def submit(
    google: FakeIndexing,
    site: FakeSite,
    page: str | Reply,
    kind: str = "changed",
    *,
    again: bool = False,
    client: GoogleIndexing | None = None,
) -> Answer:
    """Submit a page that the site answers with."""
    site.pages["/jobs/1/"] = page
    urls = [f"{site.origin}/jobs/1/"]
    deferred = urls if again else []
    batch = Batch(origin=site.origin, urls=urls, kinds=[kind], deferred=deferred)
    return asking.submit(client or engine(google), batch)


def test_a_page_is_submitted_that_declares_such_a_type_or_was_removed(
    google: FakeIndexing, site: FakeSite
) -> None:
    url = f"{site.origin}/jobs/1/"
    for page, kind, said in (
        (JOB, "changed", "URL_UPDATED"),
        (LIVE, "changed", "URL_UPDATED"),
        (Reply(status=404), "removed", "URL_DELETED"),
        (Reply(status=410), "removed", "URL_DELETED"),
    ):
        answer = submit(google, site, page, kind)
        assert (answer.outcome, answer.status) == (Outcome.ACCEPTED, 200)
        assert google.published.pop() == (said, url)
    assert google.unsupported == []


def test_a_page_that_declares_neither_is_not_submitted_and_it_says_why(
    google: FakeIndexing, site: FakeSite
) -> None:
    answer = submit(google, site, JOB.replace("JobPosting", "NewsArticle"))
    assert answer.outcome is Outcome.REJECTED
    assert "declares neither JobPosting nor BroadcastEvent" in answer.message
    assert google.requests == []


def test_a_listed_page_is_deleted_only_if_it_is_not_found_twice(
    google: FakeIndexing, site: FakeSite
) -> None:
    missing, url = Reply(status=404), f"{site.origin}/jobs/1/"
    for kind in ("added", "changed", "requested"):
        answer = submit(google, site, missing, kind)
        assert (answer.outcome, answer.retry_after) == (Outcome.DEFERRED, LOOK_AGAIN)
        assert "answers with status 404" in answer.message
        assert google.published == []
        assert submit(google, site, missing, kind, again=True).status == 200
        assert submit(google, site, JOB, kind, again=True).status == 200
        assert google.published == [("URL_DELETED", url), ("URL_UPDATED", url)]
        google.published.clear()


def test_a_page_that_cannot_be_read_now_is_submitted_later_and_others_never(
    google: FakeIndexing, site: FakeSite
) -> None:
    for outcome, statuses in (
        (Outcome.REJECTED, (301, 403, 499)),
        (Outcome.UNAVAILABLE, (429, 500, 503)),
    ):
        for status in statuses:
            answer = submit(google, site, Reply(status=status))
            assert (answer.outcome, answer.is_unsent) == (outcome, True), status
    assert google.published == []


def test_the_quota_of_the_day_is_no_failure(
    google: FakeIndexing, site: FakeSite
) -> None:
    google.quota = 1
    assert submit(google, site, JOB).outcome is Outcome.ACCEPTED
    assert submit(google, site, JOB).outcome is Outcome.EXHAUSTED


def test_errors_are_explained(google: FakeIndexing, site: FakeSite) -> None:
    """And that the quota of a minute is none of the day."""
    client = engine(google)
    submit(google, site, JOB, client=client)
    for limit, seconds, outcome, wait in (
        ("'Requests per minute'", 20, Outcome.THROTTLED, 20),
        ("DefaultRequestsPerMinutePerProject", None, Outcome.THROTTLED, None),
        ("", 20, Outcome.THROTTLED, 20),
        ("'Publish requests per day'", 20, Outcome.EXHAUSTED, RENEWED_IN),
        ("DefaultPublishRequestsPerDayPerProject", None, Outcome.EXHAUSTED, RENEWED_IN),
        ("", None, Outcome.EXHAUSTED, RENEWED_IN),
    ):
        said = f'{{"error": {{"status": "RESOURCE_EXHAUSTED", "message": "{limit}"}}}}'
        later = {} if seconds is None else {"retry_after": str(seconds)}
        google.fault = reply(429, said, **later)
        answer = submit(google, site, JOB, client=client)
        assert (answer.outcome, answer.retry_after) == (outcome, wait), limit
    for body, text in (
        ('{"error":{"message":"Permission denied."}}', "not an owner of the site"),
        ("SERVICE_DISABLED", "is not enabled"),
    ):
        google.fault = reply(403, body)
        answer = submit(google, site, JOB, client=client)
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
