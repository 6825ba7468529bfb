"""IndexNow, with fakes that fetch the key file themselves."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus.engines import asking, http, indexnow, own_files
from django_sitemaps_plus.engines.base import Answer, Batch, Outcome
from django_sitemaps_plus.engines.indexnow import IndexNow
from tests.support.fakes.faults import Cut, Endless, Reply, Slow, html, reply
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.fakes.site import FakeSite, Page

KEY = "0123456789abcdef0123456789abcdef"
OTHER = "ffffffffffffffffffffffffffffffff"
OLD = "00000000000000000000000000000000"
ORIGIN = "https://www.example.com"
SEE = 'See "indexnow-403" in the documentation.'
HOST = "www.example.com"


def engine(server: FakeIndexNow | None = None, **options: Any) -> IndexNow:
    if server is not None:
        options.setdefault("endpoint", server.url)
    return IndexNow(alias="indexnow", **{"key": KEY, "timeout": 5.0, **options})


def batch(*paths: str, origin: str = ORIGIN) -> Batch:
    return Batch(origin=origin, urls=[f"{origin}{path}" for path in paths or ["/a"]])


@pytest.fixture
def bing(site: FakeSite) -> Iterator[FakeIndexNow]:
    with FakeIndexNow("bing", resolve={HOST: site.host}) as server:
        yield server


@pytest.fixture
def trusting(bing: FakeIndexNow) -> FakeIndexNow:
    """An engine that has verified the key."""
    bing.trust(HOST, KEY)
    return bing


def outcome(answer: Answer) -> tuple[Outcome, int | None]:
    return answer.outcome, answer.status


# Submitting


def test_a_submission_has_the_documented_form(trusting: FakeIndexNow) -> None:
    answer = asking.submit(engine(trusting), batch("/a", "/b?c=%C3%A4"))
    assert outcome(answer) == (Outcome.ACCEPTED, 200)
    (request,) = trusting.requests
    assert (request.method, request.path) == ("POST", "/indexnow")
    assert request.headers["content-type"] == "application/json; charset=utf-8"
    assert json.loads(request.body) == {
        "host": HOST,
        "key": KEY,
        "urlList": [f"{ORIGIN}/a", f"{ORIGIN}/b?c=%C3%A4"],
    }


def test_each_host_uses_its_key(site: FakeSite) -> None:
    keys = {"Shop.example.com": OTHER}
    resolve = {"shop.example.com": site.host, HOST: site.host}
    site.pages.update({f"/{KEY}.txt": KEY, f"/{OTHER}.txt": OTHER})
    with FakeIndexNow("api", resolve=resolve) as server:
        client = engine(server, keys=keys)
        for origin in (ORIGIN, "https://shop.example.com:8443"):
            answer = asking.submit(client, batch(origin=origin))
            assert outcome(answer) == (Outcome.ACCEPTED, 202)
            assert answer.message.endswith("the key file has yet to be verified.")
        server.settle()
        assert server.verdicts == {(HOST, KEY): True, ("shop.example.com", OTHER): True}


def test_a_host_without_a_key_is_not_submitted(trusting: FakeIndexNow) -> None:
    client = engine(trusting, key="", keys={"shop.example.com": OTHER})
    answer = asking.submit(client, batch())
    assert outcome(answer) == (Outcome.UNAVAILABLE, 0)
    assert answer.is_unsent
    assert answer.message.startswith("There is no key for www.example.com. Create one")
    assert trusting.requests == []
    assert not client.verify(ORIGIN).is_good


# The key and its file


def test_old_keys_are_served_and_not_sent(trusting: FakeIndexNow) -> None:
    old_keys = ["Aa0-Aa0-", "x" * 128]  # the shortest and the longest
    client = engine(trusting, old_keys=old_keys, keys={"shop.example.com": OTHER})
    assert client.files(HOST) == {f"{key}.txt": key for key in (KEY, *old_keys)}
    for shop in ("shop.example.com:8000", "SHOP.example.com"):
        files = {f"{key}.txt": key for key in (OTHER, *old_keys)}
        assert client.files(shop) == files
    assert engine(key="", keys={"a.example": OTHER}).files(HOST) == {}
    urls = [f"/{number}" for number in range(IndexNow.max_urls)]
    asking.submit(client, batch(*urls))
    assert [(post.key, len(post.urls)) for post in trusting.posts] == [(KEY, 10_000)]


def test_a_new_key_or_location_must_be_verified_again() -> None:
    proofs = {
        engine().proof(HOST),
        engine(key=OTHER).proof(HOST),
        engine(key_location="/x.txt").proof(HOST),
        engine(key_location="/y.txt").proof(HOST),
        engine(keys={HOST: OLD}).proof(HOST),
    }
    assert len(proofs) == 5
    assert KEY not in "".join(proofs)
    assert engine().proof(HOST) == engine(old_keys=[OTHER]).proof(HOST)


def test_a_submission_names_the_location_of_its_key_file(
    site: FakeSite, bing: FakeIndexNow
) -> None:
    site.pages["/seo/indexnow.txt"] = KEY
    client = engine(bing, key_location="/seo/indexnow.txt")
    assert asking.submit(client, batch("/seo/a")).status == 403
    assert asking.submit(client, batch("/seo/a")).status == 200
    assert bing.posts[0].key_location == f"{ORIGIN}/seo/indexnow.txt"
    assert client.files(HOST) == {f"{KEY}.txt": KEY}
    root = engine(bing, key_location="/indexnow.txt")
    assert root.files(HOST) == {f"{KEY}.txt": KEY, "indexnow.txt": KEY}


def test_urls_outside_of_the_folder_of_the_key_file_are_not_sent(
    trusting: FakeIndexNow,
) -> None:
    client = engine(trusting, key_location="/seo/indexnow.txt")
    some = asking.submit(client, batch("/seo/a", "/b", "/seo"))
    assert outcome(some) == (Outcome.REJECTED, None)
    assert some.is_divisible
    assert some.message.startswith("2 of 3 URLs are not below /seo/")
    assert not asking.submit(client, batch("/b")).is_divisible
    assert trusting.requests == []


# Verifying the key file


def problem(site: FakeSite, **options: Any) -> str:
    """Return the problem of a key file that is wrong."""
    finding = asking.verify(engine(**options), site.origin, force=True)
    assert not finding.is_good
    assert finding.fix
    assert KEY not in finding.text + finding.fix
    return finding.text


def test_a_site_that_blocks_crawlers_does_not_pass(
    site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages[f"/{KEY}.txt"] = KEY
    finding = asking.verify(engine(), site.origin, force=True)
    assert finding.is_good
    assert finding.text == f"The key file is at {site.origin}/….txt."
    assert [request.path for request in site.requests] == [f"/{KEY}.txt"]
    # As if loopback were public.
    monkeypatch.setattr(http, "is_private", lambda address: False)
    assert asking.verify(engine(), site.origin).is_good
    site.pages["/robots.txt"] = "User-agent: *\nDisallow: /\n"
    finding = asking.verify(engine(), site.origin)
    assert not finding.is_good
    assert "blocks all crawlers" in finding.text
    assert asking.verify(engine(), site.origin, force=True).is_good


HTML = {"Content-Type": "text/html"}
A_PAGE = "There is a web page instead of the key file."
MORE = "The key file contains more than the key: a newline, a space or a byte order"


def test_a_key_file_that_is_wrong_is_explained(site: FakeSite) -> None:
    unsent = b"<title>400 No required SSL certificate was sent</title>"
    pages: list[tuple[Page | None, str]] = [
        (None, "The key file was not found (404)."),
        (Reply(status=400), "The site refuses the request for the key file (400)."),
        (
            Reply(status=400, body=unsent),
            "The web server refuses the request for the key file: "
            "400 No required SSL certificate was sent.",
        ),
        (Reply(status=403), "Access to the key file is denied (403)."),
        (Reply(status=503), "The site fails to serve the key file (503)."),
        (Reply(status=204), "The key file has status 204."),
        (
            Reply(status=301, headers={"Location": "https://example.com/x"}),
            "The key file redirects (301) to https://example.com/x.",
        ),
        (b"<!doctype html><title>Shop</title>", A_PAGE),
        (Reply(body=f"<p>{KEY}</p>".encode(), headers=HTML), A_PAGE),
        ("", "The key file is empty."),
        (OTHER, "The key file contains another key."),
        (OLD, "The key file contains an old key."),
        ("User-agent: *", "The key file contains something else."),
        (
            Reply(body=b"\x1f\x8b\x08", headers={"Content-Encoding": "gzip"}),
            "The key file is compressed, although the request did not allow it.",
        ),
        *((page, MORE) for page in (f"{KEY}\r\n", f"{KEY} ", f"\ufeff{KEY}")),
    ]
    for page, found in pages:
        site.pages |= {} if page is None else {f"/{KEY}.txt": page}
        assert problem(site, old_keys=[OLD]).startswith(found)


def test_a_key_file_that_does_not_end(
    site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.fault = Endless()
    too_long = "The key file is incomplete. The answer is longer than 65,536"
    assert problem(site).startswith(too_long)
    monkeypatch.setattr(own_files, "TIMEOUT", 1.0)
    site.fault = Slow("answer")
    assert problem(site).startswith("The key file cannot be fetched. ")


def test_a_key_file_at_a_private_address_is_not_fetched(site: FakeSite) -> None:
    finding = asking.verify(engine(), site.origin)
    problem = "The key file cannot be fetched. 127.0.0.1 is not a public address."
    assert (finding.is_good, finding.text) == (False, problem)
    assert "--force" in finding.fix
    assert site.requests == []


# Answers


def test_a_new_key_is_accepted_after_a_while(
    site: FakeSite, bing: FakeIndexNow
) -> None:
    site.pages[f"/{KEY}.txt"] = KEY
    first = asking.submit(engine(bing), batch())
    assert outcome(first) == (Outcome.THROTTLED, 403), "nobody has to act"
    assert first.retry_after == 120.0
    assert "has not fetched the key file yet" in first.message
    assert first.message.endswith(SEE)
    assert outcome(asking.submit(engine(bing), batch())) == (Outcome.ACCEPTED, 200)


def test_a_new_key_has_two_minutes_at_least(bing: FakeIndexNow) -> None:
    """Whoever asks again sooner may have the key refused for good."""
    for asked, waits in (("5", 120.0), ("300", 300.0)):
        bing.fault = reply(403, "SiteVerificationNotCompleted", retry_after=asked)
        answer = asking.submit(engine(bing), batch())
        assert outcome(answer) == (Outcome.THROTTLED, 403)
        assert answer.retry_after == waits


def test_403_explains_a_wrong_key_file(site: FakeSite) -> None:
    """It is fetched again, and no other engine is asked."""
    with FakeIndexNow("bing") as server, FakeIndexNow("api") as other:
        client = engine(server, fallbacks=[other.url])
        asking.submit(client, batch(origin=site.origin))
        answer = asking.submit(client, batch(origin=site.origin))
        assert outcome(answer) == (Outcome.UNAVAILABLE, 403)
        assert "The key file was not found (404)." in answer.message
        assert answer.message.endswith(SEE)
        assert 'include("django_sitemaps_plus.urls")' in answer.message
        assert other.requests == []


def test_a_key_that_is_refused_for_good_needs_a_new_one(site: FakeSite) -> None:
    """The key file was late, and one engine never accepts the key again."""
    with FakeIndexNow("bing") as bing, FakeIndexNow("yandex") as yandex:
        client = engine(bing, fallbacks=[yandex.url])
        asking.submit(client, batch(origin=site.origin))
        bing.settle()
        site.pages.update({f"/{KEY}.txt": KEY, f"/{OTHER}.txt": OTHER})
        answer = asking.submit(client, batch(origin=site.origin))
        assert outcome(answer) == (Outcome.ACCEPTED, 202)
        assert answer.message.startswith(f"{yandex.host} accepted the URLs")
        assert yandex.accepted == [f"{site.origin}/a"]
        refused = asking.submit(engine(bing), batch(origin=site.origin))
        assert outcome(refused) == (Outcome.UNAVAILABLE, 403)
        assert "Use a new key, and move this one to 'old_keys'." in refused.message
        assert refused.message.endswith(SEE)
        rotated = engine(bing, key=OTHER, old_keys=[KEY])
        assert asking.submit(rotated, batch(origin=site.origin)).status == 403
        assert asking.submit(rotated, batch(origin=site.origin)).status == 200
        bing.fault = reply(403, '{"errorCode":"KeyNotFound"}')
        answer = asking.submit(rotated, batch(origin=site.origin))
        assert "Check that no firewall blocks crawlers." in answer.message
        # Another one may have read the file.
        client = engine(bing, key=OTHER, fallbacks=[yandex.url])
        answer = asking.submit(client, batch("/b", origin=site.origin))
        assert outcome(answer) == (Outcome.ACCEPTED, 202)


KEY_PROBLEM = "Key must consist of a-Z0-9 or '-'"


def test_only_a_batch_with_wrong_urls_is_divisible(trusting: FakeIndexNow) -> None:
    urls = [f"{ORIGIN}/a", "https://other.example/b"]
    with FakeIndexNow("api") as other:
        client = engine(trusting, fallbacks=[other.url])
        for fault, expected, is_divisible in (
            (None, Outcome.REJECTED, True),
            (reply(422, "Invalid key location"), Outcome.UNAVAILABLE, False),
            (reply(422, KEY_PROBLEM), Outcome.UNAVAILABLE, False),
            # Halves of what nobody can read would be twenty thousand requests.
            (reply(400), Outcome.REJECTED, False),
            (reply(400, '{"at":[{"target":"urlList[3]"}]}'), Outcome.REJECTED, True),
            (reply(413), Outcome.REJECTED, True),
        ):
            trusting.fault = fault
            answer = asking.submit(client, Batch(origin=ORIGIN, urls=urls))
            found = (answer.outcome, answer.is_divisible)
            assert found == (expected, is_divisible), fault
    assert other.requests == [], "it would find the same"


def test_the_same_url_too_soon_waits_for_ten_minutes(site: FakeSite) -> None:
    with FakeIndexNow("yandex", rest=600) as server, FakeIndexNow("api") as other:
        server.trust(HOST, KEY)
        client = engine(server, fallbacks=[other.url])
        assert asking.submit(client, batch()).outcome is Outcome.ACCEPTED
        answer = asking.submit(client, batch())
        assert outcome(answer) == (Outcome.THROTTLED, 429)
        assert answer.retry_after == 600.0
        assert other.requests == [], "429 is final"
        server.retry_after = "30"
        assert asking.submit(client, batch()).retry_after == 30.0


# Fallbacks


def test_a_fallback_is_used_if_the_endpoint_throttles_for_others() -> None:
    """It counts the requests of all who share an address; the next one does not."""
    with FakeIndexNow() as shared, FakeIndexNow() as other:
        client = engine(shared, fallbacks=[other.url])
        other.trust(HOST, KEY)
        again = dataclasses.replace(batch(), throttled=True)
        shared.fault = reply(429, retry_after="30")
        assert outcome(asking.submit(client, again)) == (Outcome.THROTTLED, 429)
        assert other.requests == [], "it says how long to wait"
        shared.fault = reply(429)
        answer = asking.submit(client, again)
        assert outcome(answer) == (Outcome.ACCEPTED, 200)
        assert "asks for fewer requests (429)." in answer.message
        other.fault = reply(429)
        answer = asking.submit(client, again)
        assert (outcome(answer), answer.retry_after) == ((Outcome.THROTTLED, 429), 600)


def test_a_fallback_is_used_if_the_endpoint_fails(trusting: FakeIndexNow) -> None:
    with FakeIndexNow("api") as down:
        client = engine(down, fallbacks=[trusting.url])
        for down.fault, words in (
            (reply(500), "has an internal error (500)."),
            # A wrong endpoint, or a network that requires a login.
            (html(400), "answers with a web page (400): check 'endpoint'."),
            (Cut("answer"), "did not answer"),
        ):
            answer = asking.submit(client, batch())
            assert outcome(answer) == (Outcome.ACCEPTED, 200)
            assert f"{down.host} {words}" in answer.message
            assert trusting.accepted.pop() == f"{ORIGIN}/a"


def test_if_all_fail_the_first_answer_counts_unless_the_last_is_final() -> None:
    with FakeIndexNow() as first, FakeIndexNow() as second:
        first.fault = reply(503, "first", retry_after="50")
        second.fault = reply(429, retry_after="9")
        final = asking.submit(engine(first, fallbacks=[second.url]), batch())
        assert (outcome(final), final.retry_after) == ((Outcome.THROTTLED, 429), 9.0)
        second.stop()
        answer = asking.submit(engine(first, fallbacks=[second.url]), batch())
    assert outcome(answer) == (Outcome.UNAVAILABLE, 503)
    assert (answer.excerpt, answer.retry_after) == ("first", 50.0)
    assert answer.message.index(first.host) < answer.message.index(second.host)
    assert not answer.is_unsent, "the first may have received it"


def test_public_engines_are_fallbacks_of_the_default_endpoint_only() -> None:
    """URLs for a private endpoint never leave it."""
    assert engine()._endpoints() == [indexnow.ENDPOINT, *indexnow.FALLBACKS]
    own = "https://intranet.example/indexnow"
    assert engine(endpoint=own)._endpoints() == [own]
    assert engine(fallbacks=[])._endpoints() == [indexnow.ENDPOINT]
