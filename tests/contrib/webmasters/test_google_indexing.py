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
from django_sitemaps_plus.engines.base import (
    RENEWED_IN,
    Answer,
    Batch,
    MissingExtra,
    OptionError,
    Outcome,
)
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
    path: str,
    kind: str = "changed",
    *,
    again: bool = False,
) -> Answer:
    urls = [f"{site.origin}{path}"]
    deferred = urls if again else []
    batch = Batch(origin=site.origin, urls=urls, kinds=[kind], deferred=deferred)
    return asking.submit(engine(google), batch)


@pytest.mark.parametrize("page", [JOB, LIVE])
def test_a_page_that_declares_such_a_type_is_submitted(
    google: FakeIndexing, site: FakeSite, page: str
) -> None:
    site.pages["/jobs/1/"] = page
    answer = submit(google, site, "/jobs/1/")
    assert (answer.outcome, answer.status) == (Outcome.ACCEPTED, 200)
    assert google.published == [("URL_UPDATED", f"{site.origin}/jobs/1/")]
    assert google.unsupported == []


def test_a_page_that_declares_neither_is_not_submitted_and_it_says_why(
    google: FakeIndexing, site: FakeSite
) -> None:
    site.pages["/news/1/"] = JOB.replace("JobPosting", "NewsArticle")
    answer = submit(google, site, "/news/1/")
    assert answer.outcome is Outcome.REJECTED
    assert "declares neither JobPosting nor BroadcastEvent" in answer.message
    assert google.requests == []


@pytest.mark.parametrize("status", [404, 410])
def test_a_removed_page_is_submitted_as_deleted_if_it_is_not_found(
    google: FakeIndexing, site: FakeSite, status: int
) -> None:
    site.pages["/jobs/1/"] = Reply(status=status)
    answer = submit(google, site, "/jobs/1/", "removed")
    assert answer.outcome is Outcome.ACCEPTED
    assert google.published == [("URL_DELETED", f"{site.origin}/jobs/1/")]
    assert google.unsupported == []


@pytest.mark.parametrize("kind", ["added", "changed", "requested"])
@pytest.mark.costly
def test_a_listed_page_is_deleted_only_if_it_is_not_found_twice(
    google: FakeIndexing, site: FakeSite, kind: str
) -> None:
    site.pages["/jobs/1/"] = Reply(status=404)
    answer = submit(google, site, "/jobs/1/", kind)
    assert (answer.outcome, answer.retry_after) == (Outcome.DEFERRED, LOOK_AGAIN)
    assert "answers with status 404" in answer.message
    assert google.requests == []
    url = f"{site.origin}/jobs/1/"
    assert submit(google, site, "/jobs/1/", kind, again=True).status == 200
    site.pages["/jobs/1/"] = JOB
    assert submit(google, site, "/jobs/1/", kind, again=True).status == 200
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
    site.pages["/jobs/1/"] = Reply(status=status)
    answer = submit(google, site, "/jobs/1/")
    assert (answer.outcome, answer.is_unsent) == (outcome, True)
    assert google.published == []


def test_the_quota_of_the_day_is_no_failure(
    google: FakeIndexing, site: FakeSite
) -> None:
    site.pages["/jobs/1/"] = JOB
    google.quota = 1
    assert submit(google, site, "/jobs/1/").outcome is Outcome.ACCEPTED
    assert submit(google, site, "/jobs/1/").outcome is Outcome.EXHAUSTED


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
    site.pages["/jobs/1/"] = JOB
    client = engine(google)
    batch = Batch(origin=site.origin, urls=[f"{site.origin}/jobs/1/"])
    asking.submit(client, batch)
    said = f'{{"error": {{"status": "RESOURCE_EXHAUSTED", "message": "{limit}"}}}}'
    later = {} if seconds is None else {"retry_after": str(seconds)}
    google.fault = reply(429, said, **later)
    answer = asking.submit(client, batch)
    assert (answer.outcome, answer.retry_after) == (outcome, wait)


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (403, '{"error":{"message":"Permission denied."}}', "not an owner of the site"),
        (403, "SERVICE_DISABLED", "is not enabled"),
        (401, "", "rejects the access token"),
    ],
)
def test_errors_are_explained(
    google: FakeIndexing, site: FakeSite, status: int, body: str, text: str
) -> None:
    site.pages["/jobs/1/"] = JOB
    client = engine(google)
    batch = Batch(origin=site.origin, urls=[f"{site.origin}/jobs/1/"])
    asking.submit(client, batch)
    granted = reply(200, '{"access_token": "ya29.new", "expires_in": 3599}')
    refused = reply(status, body)
    google.faults = [refused, granted, refused] if status == 401 else [refused]
    answer = asking.submit(client, batch)
    assert answer.outcome is Outcome.UNAVAILABLE
    assert text in answer.message


def test_a_token_that_expired_is_replaced_once(
    google: FakeIndexing, site: FakeSite
) -> None:
    site.pages["/jobs/1/"] = JOB
    client = engine(google)
    batch = Batch(origin=site.origin, urls=[f"{site.origin}/jobs/1/"])
    for _ in range(2):
        assert asking.submit(client, batch).outcome is Outcome.ACCEPTED
        google.expire_tokens()
    assert (len(google.published), google.grants) == (2, 2)


def test_the_check_says_which_pages_are_submitted(google: FakeIndexing) -> None:
    [found] = asking.check_engine(engine(google), "https://www.example.com")
    assert found.is_good
    assert "job, those that declare JobPosting or BroadcastEvent" in found.text
    google.is_revoked = True
    [found] = asking.check_engine(engine(google), "https://www.example.com")
    assert not found.is_good
    assert engine(google, credentials="/none.json").check_machine()


@pytest.mark.parametrize(
    ("option", "value"), [("sections", []), ("credentials", 7), ("endpoint", "x")]
)
def test_impossible_options_are_refused(
    google: FakeIndexing, option: str, value: object
) -> None:
    with pytest.raises(OptionError) as caught:
        engine(google, **{option: value})
    assert caught.value.option == option


def test_the_package_that_it_needs_is_named(
    google: FakeIndexing, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "django_sitemaps_plus.contrib.webmasters.google_auth._auth"
    monkeypatch.setattr(path, None)
    with pytest.raises(MissingExtra, match="pip install"):
        engine(google)
