"""IndexNow against engines that look at the key file themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus.engines import http, indexnow
from django_sitemaps_plus.engines.base import Answer, Batch, Outcome
from django_sitemaps_plus.engines.errors import OptionError
from django_sitemaps_plus.engines.indexnow import IndexNow, make_key
from tests.support.fakes.faults import (
    Cut,
    Drip,
    Endless,
    Reply,
    Slow,
    html,
    redirect,
    reply,
)
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.fakes.site import FakeSite

KEY = "0123456789abcdef0123456789abcdef"
OTHER = "ffffffffffffffffffffffffffffffff"
ORIGIN = "https://www.example.com"
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
def trusting(site: FakeSite) -> Iterator[FakeIndexNow]:
    """An engine that has verified the key."""
    with FakeIndexNow("bing", resolve={HOST: site.host}) as server:
        server.trust(HOST, KEY)
        yield server


def outcome(answer: Answer) -> tuple[Outcome, int | None]:
    return answer.outcome, answer.status


# What is sent


def test_one_post_of_the_documented_form(trusting: FakeIndexNow) -> None:
    answer = engine(trusting).submit(batch("/a", "/b?c=%C3%A4"))
    assert outcome(answer) == (Outcome.ACCEPTED, 200)
    (request,) = trusting.requests
    assert (request.method, request.path) == ("POST", "/indexnow")
    assert request.headers["content-type"] == "application/json; charset=utf-8"
    assert json.loads(request.body) == {
        "host": HOST,
        "key": KEY,
        "urlList": [f"{ORIGIN}/a", f"{ORIGIN}/b?c=%C3%A4"],
    }


def test_ten_thousand_urls_are_one_post(trusting: FakeIndexNow) -> None:
    urls = [f"/{number}" for number in range(IndexNow.max_urls)]
    assert engine(trusting).submit(batch(*urls)).outcome is Outcome.ACCEPTED
    assert [len(post.urls) for post in trusting.posts] == [10_000]


def test_each_host_has_its_key(site: FakeSite) -> None:
    keys = {"Shop.example.com": OTHER}
    resolve = {"shop.example.com": site.host, HOST: site.host}
    site.pages.update({f"/{KEY}.txt": KEY, f"/{OTHER}.txt": OTHER})
    with FakeIndexNow("api", resolve=resolve) as server:
        told = engine(server, keys=keys)
        for origin in (ORIGIN, "https://shop.example.com:8443"):
            assert told.submit(batch(origin=origin)).status == 202
        server.settle()
        assert server.verdicts == {(HOST, KEY): True, ("shop.example.com", OTHER): True}
    assert [(p.host, p.key) for p in server.posts] == [
        (HOST, KEY),
        ("shop.example.com", OTHER),
    ]


def test_a_host_without_a_key_is_not_told_of(trusting: FakeIndexNow) -> None:
    told = engine(trusting, key="", keys={"shop.example.com": OTHER})
    answer = told.submit(batch())
    assert outcome(answer) == (Outcome.UNAVAILABLE, None)
    assert answer.message == (
        "There is no key for www.example.com. `python manage.py ping_sitemaps "
        "--new-key` makes one."
    )
    assert trusting.requests == []
    assert not told.verify(ORIGIN).is_good


# The key and its file


def test_a_new_key_is_of_the_form_that_everybody_takes() -> None:
    assert re.fullmatch(r"[0-9a-f]{32}", make_key())
    assert make_key() != make_key()


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"key": ""}, "key"),
        ({"key": "short-7"}, "key"),
        ({"key": "x" * 129}, "key"),
        ({"key": "with_underscore"}, "key"),
        ({"key": "padding="}, "key"),
        ({"key": "line-end\n"}, "key"),
        ({"key": 12345678}, "key"),
        ({"keys": {"a.example": "short"}}, "keys"),
        ({"keys": ["a.example"]}, "keys"),
        ({"old_keys": ["short"]}, "old_keys"),
        ({"old_keys": KEY}, "old_keys"),
        ({"key_location": "indexnow.txt"}, "key_location"),
        ({"key_location": f"{ORIGIN}/indexnow.txt"}, "key_location"),
        ({"endpoint": "http://engine.example/indexnow"}, "endpoint"),
        ({"fallbacks": ["engine.example"]}, "fallbacks"),
        ({"fallbacks": "https://engine.example/indexnow"}, "fallbacks"),
    ],
)
def test_an_impossible_option(options: dict[str, Any], option: str) -> None:
    with pytest.raises(OptionError) as caught:
        engine(**options)
    assert caught.value.option == option
    for value in ("short-7", "with_underscore", "padding="):
        assert value not in str(caught.value)


@pytest.mark.parametrize("key", ["12345678", "x" * 128, "Aa0-Aa0-"])
def test_a_key_of_the_documented_form(key: str) -> None:
    assert engine(key=key).files(HOST) == {f"{key}.txt": key}


def test_a_rotation_serves_both_keys_and_sends_the_new_one(
    trusting: FakeIndexNow,
) -> None:
    told = engine(trusting, old_keys=[OTHER])
    assert told.files(HOST) == {f"{KEY}.txt": KEY, f"{OTHER}.txt": OTHER}
    told.submit(batch())
    assert [post.key for post in trusting.posts] == [KEY]


def test_files_are_of_the_host_that_asks() -> None:
    told = engine(keys={"shop.example.com": OTHER})
    assert told.files("shop.example.com:8000") == {f"{OTHER}.txt": OTHER}
    assert told.files("SHOP.example.com") == {f"{OTHER}.txt": OTHER}
    assert told.files(HOST) == {f"{KEY}.txt": KEY}
    assert engine(key="", keys={"a.example": OTHER}).files(HOST) == {}


def test_what_was_verified_must_be_verified_again_when_it_changes() -> None:
    proofs = {
        engine().proof(HOST),
        engine(key=OTHER).proof(HOST),
        engine(key_location="/x.txt").proof(HOST),
        engine(keys={HOST: make_key()}).proof(HOST),
    }
    assert len(proofs) == 4
    assert KEY not in "".join(proofs)
    assert engine().proof(HOST) == engine(old_keys=[OTHER]).proof(HOST)


def test_a_key_file_elsewhere_is_named_in_the_request(
    site: FakeSite, bing: FakeIndexNow
) -> None:
    site.pages["/seo/indexnow.txt"] = KEY
    told = engine(bing, key_location="/seo/indexnow.txt")
    assert told.submit(batch("/seo/a")).status == 403
    assert told.submit(batch("/seo/a")).status == 200
    assert bing.posts[0].key_location == f"{ORIGIN}/seo/indexnow.txt"
    assert told.files(HOST) == {f"{KEY}.txt": KEY}
    root = engine(bing, key_location="/indexnow.txt")
    assert root.files(HOST) == {f"{KEY}.txt": KEY, "indexnow.txt": KEY}


def test_urls_outside_of_the_key_files_folder_are_not_sent(
    trusting: FakeIndexNow,
) -> None:
    told = engine(trusting, key_location="/seo/indexnow.txt")
    some = told.submit(batch("/seo/a", "/b", "/seo"))
    assert outcome(some) == (Outcome.REJECTED, None)
    assert some.is_divisible
    assert some.message.startswith("2 of 3 URLs are not below /seo/")
    assert not told.submit(batch("/b")).is_divisible
    assert trusting.requests == []


# The look at our own key file


def verified(site: FakeSite, **options: Any) -> str:
    """Return what is found, and check that it is wrong and has a fix."""
    finding = engine(**options).verify(site.origin, force=True)
    assert not finding.is_good
    assert finding.fix
    assert KEY not in finding.text + finding.fix
    return finding.text


def test_a_key_file_that_is_right(site: FakeSite) -> None:
    site.pages[f"/{KEY}.txt"] = KEY
    finding = engine().verify(site.origin, force=True)
    assert finding.is_good
    assert finding.text == f"The key file is at {site.origin}/….txt."
    assert [request.path for request in site.requests] == [f"/{KEY}.txt"]


def test_a_site_that_its_robots_txt_closes(
    site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if it were a public address.
    monkeypatch.setattr(http, "is_private", lambda address: False)
    site.pages[f"/{KEY}.txt"] = KEY
    assert engine().verify(site.origin).is_good
    site.pages["/robots.txt"] = "User-agent: *\nDisallow: /\n"
    finding = engine().verify(site.origin)
    assert not finding.is_good
    assert "keeps all crawlers out" in finding.text
    assert engine().verify(site.origin, force=True).is_good


PAGE = b"<!doctype html><title>Shop</title>"
WRONG: dict[str, tuple[Any, str]] = {
    "missing": (None, "The key file is not found (404)."),
    "gone": (Reply(status=410), "The key file is not found (410)."),
    "forbidden": (Reply(status=403), "The key file may not be read (403)."),
    "login": (Reply(status=401), "The key file may not be read (401)."),
    "error": (
        Reply(status=503),
        "The site has an error where its key file is (503).",
    ),
    "no content": (Reply(status=204), "The key file's status is 204."),
    "redirect": (
        Reply(status=301, headers={"Location": "https://example.com/x"}),
        "The key file is not there itself: it redirects (301) to "
        "https://example.com/x.",
    ),
    "page": (
        Reply(body=PAGE, headers={"Content-Type": "text/html"}),
        "There is a web page in place of the key file.",
    ),
    "page as text": (PAGE, "There is a web page in place of the key file."),
    "key in a page": (
        Reply(body=f"<p>{KEY}</p>".encode(), headers={"Content-Type": "text/html"}),
        "There is a web page in place of the key file.",
    ),
    "empty": ("", "The key file is empty."),
    "other": (OTHER, "The key file has another key in it."),
    "else": ("User-agent: *", "The key file has something else in it."),
    "long": ("x" * 70_000, "The key file does not come whole."),
    "compressed": (
        Reply(body=b"\x1f\x8b\x08", headers={"Content-Encoding": "gzip"}),
        "The key file is compressed, though nobody asked for it.",
    ),
}
for end in ("\n", "\r\n", " "):
    WRONG[f"ends in {end!r}"] = (KEY + end, "The key file has more in it than the key:")
WRONG["byte order mark"] = (
    "\ufeff" + KEY,
    "The key file has more in it than the key: a line end, a space or a byte order "
    "mark.",
)


@pytest.mark.parametrize("case", WRONG)
def test_a_key_file_that_is_wrong(case: str, site: FakeSite) -> None:
    page, text = WRONG[case]
    if page is not None:
        site.pages[f"/{KEY}.txt"] = page
    assert verified(site).startswith(text)


def test_a_key_file_with_the_former_key(site: FakeSite) -> None:
    site.pages[f"/{KEY}.txt"] = OTHER
    text = verified(site, old_keys=[OTHER])
    assert text == "The key file has a former key in it."


@pytest.mark.parametrize("fault", [Slow("answer"), Drip("headers"), Drip("body")])
def test_a_key_file_that_takes_too_long(
    site: FakeSite, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexnow, "VERIFY_TIMEOUT", 0.3)
    site.fault = fault
    assert re.match(r"The key file (cannot be fetched|does not come)", verified(site))


def test_a_key_file_that_never_ends(site: FakeSite) -> None:
    site.fault = Endless()
    assert verified(site) == (
        "The key file does not come whole. The answer is longer than 65,536 bytes."
    )


def test_a_key_file_at_a_private_address_is_not_fetched(site: FakeSite) -> None:
    finding = engine().verify(site.origin)
    assert not finding.is_good
    assert finding.text == (
        "The key file cannot be fetched. 127.0.0.1 is no public address."
    )
    assert "--force" in finding.fix
    assert site.requests == []


def test_a_site_that_is_down(site: FakeSite) -> None:
    site.stop()
    assert "refuses connections" in verified(site)


# What engines answer


def test_a_new_key_is_waited_for_and_then_taken(
    site: FakeSite, bing: FakeIndexNow
) -> None:
    site.pages[f"/{KEY}.txt"] = KEY
    first = engine(bing).submit(batch())
    assert outcome(first) == (Outcome.UNAVAILABLE, 403)
    assert first.retry_after == 120.0
    assert "has not fetched the key file yet" in first.message
    assert outcome(engine(bing).submit(batch())) == (Outcome.ACCEPTED, 200)


def test_202_is_accepted_whatever_the_key(site: FakeSite) -> None:
    with FakeIndexNow("api", resolve={HOST: site.host}) as server:
        answer = engine(server).submit(batch())
    assert outcome(answer) == (Outcome.ACCEPTED, 202)
    assert answer.message.endswith("has the URLs, and will fetch the key file.")


def test_403_where_the_key_file_is_wrong_says_how(site: FakeSite) -> None:
    """Its own look tells, and no other engine is bothered."""
    with FakeIndexNow("bing") as server, FakeIndexNow("api") as other:
        told = engine(server, fallbacks=[other.url])
        told.submit(batch(origin=site.origin))
        answer = told.submit(batch(origin=site.origin))
        assert outcome(answer) == (Outcome.UNAVAILABLE, 403)
        assert "The key file is not found (404)." in answer.message
        assert 'include("django_sitemaps_plus.urls")' in answer.message
        assert other.requests == []


def test_a_sticky_403_goes_to_the_next_engine(site: FakeSite) -> None:
    """The key file was late: one engine holds that against the key for good."""
    with FakeIndexNow("bing") as bing, FakeIndexNow("yandex") as yandex:
        told = engine(bing, fallbacks=[yandex.url])
        told.submit(batch(origin=site.origin))
        bing.settle()
        site.pages[f"/{KEY}.txt"] = KEY
        answer = told.submit(batch(origin=site.origin))
        assert outcome(answer) == (Outcome.ACCEPTED, 202)
        assert answer.message.startswith(f"{yandex.host} has the URLs")
        assert "make a new key" in answer.message
        assert yandex.accepted == [f"{site.origin}/a"]


def test_a_sticky_403_without_another_engine_asks_for_a_new_key(
    site: FakeSite,
) -> None:
    with FakeIndexNow("bing") as bing:
        told = engine(bing)
        told.submit(batch(origin=site.origin))
        bing.settle()
        site.pages[f"/{KEY}.txt"] = KEY
        refused = told.submit(batch(origin=site.origin))
        assert outcome(refused) == (Outcome.UNAVAILABLE, 403)
        assert "`python manage.py ping_sitemaps --new-key`" in refused.message
        site.pages[f"/{OTHER}.txt"] = OTHER
        rotated = engine(bing, key=OTHER, old_keys=[KEY])
        assert rotated.submit(batch(origin=site.origin)).status == 403
        assert rotated.submit(batch(origin=site.origin)).status == 200


def test_a_key_that_is_right_and_not_taken_hints_at_firewalls(
    site: FakeSite, trusting: FakeIndexNow
) -> None:
    site.pages[f"/{KEY}.txt"] = KEY
    trusting.fault = reply(403, '{"errorCode":"KeyNotFound"}')
    answer = engine(trusting).submit(batch(origin=site.origin))
    assert "Look whether a firewall keeps crawlers from it." in answer.message


def test_urls_of_another_host_are_divided(trusting: FakeIndexNow) -> None:
    urls = [f"{ORIGIN}/a", "https://other.example/b"]
    answer = engine(trusting).submit(Batch(origin=ORIGIN, urls=urls))
    assert outcome(answer) == (Outcome.REJECTED, 422)
    assert answer.is_divisible
    assert "Invalid url" in answer.excerpt


@pytest.mark.parametrize(
    "text", ["Invalid key location", "Key must consist of a-Z0-9 or '-'"]
)
def test_422_about_the_key_is_a_persons_turn(trusting: FakeIndexNow, text: str) -> None:
    trusting.fault = reply(422, json.dumps({"message": text}))
    answer = engine(trusting).submit(batch())
    assert outcome(answer) == (Outcome.UNAVAILABLE, 422)
    assert not answer.is_divisible


def test_400_is_final_and_not_divided(trusting: FakeIndexNow) -> None:
    """Halves of what nobody can read would be twenty thousand requests."""
    trusting.fault = reply(400)
    answer = engine(trusting).submit(batch())
    assert outcome(answer) == (Outcome.REJECTED, 400)
    assert not answer.is_divisible


def test_400_about_the_urls_is_divided(trusting: FakeIndexNow) -> None:
    details = [{"target": "urlList[3]", "message": "is no URL"}]
    trusting.fault = reply(400, json.dumps({"details": details}))
    answer = engine(trusting).submit(batch())
    assert outcome(answer) == (Outcome.REJECTED, 400)
    assert answer.is_divisible


def test_the_same_url_too_soon_rests_for_ten_minutes(site: FakeSite) -> None:
    with FakeIndexNow("yandex", rest=600) as server, FakeIndexNow("api") as other:
        server.trust(HOST, KEY)
        told = engine(server, fallbacks=[other.url])
        assert told.submit(batch()).outcome is Outcome.ACCEPTED
        answer = told.submit(batch())
        assert outcome(answer) == (Outcome.THROTTLED, 429)
        assert answer.retry_after == 600.0
        assert other.requests == [], "429 is not gone round"
        server.retry_after = "30"
        assert told.submit(batch()).retry_after == 30.0


def test_a_web_page_is_no_success(trusting: FakeIndexNow) -> None:
    """A mistyped endpoint, or a login of the network, answers 200 to everything."""
    trusting.fault = html()
    answer = engine(trusting).submit(batch())
    assert outcome(answer) == (Outcome.UNAVAILABLE, 200)
    assert "is this the endpoint of an engine?" in answer.message


# Fail-over


@pytest.mark.parametrize(
    "fault",
    [reply(500), reply(404), redirect("https://x.example/"), html(), Cut("answer")],
)
def test_another_engine_stands_in(trusting: FakeIndexNow, fault: Any) -> None:
    with FakeIndexNow("api") as down:
        down.fault = fault
        answer = engine(down, fallbacks=[trusting.url]).submit(batch())
    assert outcome(answer) == (Outcome.ACCEPTED, 200)
    assert down.host in answer.message, "it says who was down"
    assert trusting.accepted == [f"{ORIGIN}/a"]


def test_only_one_engine_is_told(trusting: FakeIndexNow) -> None:
    with FakeIndexNow("api") as other:
        engine(trusting, fallbacks=[other.url]).submit(batch())
    assert len(trusting.posts) == 1
    assert other.requests == []


def test_if_nobody_can_the_first_answer_counts() -> None:
    with FakeIndexNow() as first, FakeIndexNow() as second:
        first.fault = reply(503, "first", retry_after="50")
        second.fault = Cut("answer")
        answer = engine(first, fallbacks=[second.url]).submit(batch())
    assert outcome(answer) == (Outcome.UNAVAILABLE, 503)
    assert (answer.excerpt, answer.retry_after) == ("first", 50.0)
    assert answer.message.index(first.host) < answer.message.index(second.host)


def test_what_the_stand_in_says_counts() -> None:
    with FakeIndexNow() as first, FakeIndexNow() as second:
        first.fault, second.fault = reply(503), reply(429, retry_after="9")
        answer = engine(first, fallbacks=[second.url]).submit(batch())
    assert outcome(answer) == (Outcome.THROTTLED, 429)
    assert answer.retry_after == 9.0


def test_public_engines_stand_in_for_the_public_one_only() -> None:
    """What goes to a server of one's own never goes to another."""
    assert engine()._endpoints() == [indexnow.ENDPOINT, *indexnow.FALLBACKS]
    own = "https://intranet.example/indexnow"
    assert engine(endpoint=own)._endpoints() == [own]
    assert engine(fallbacks=[])._endpoints() == [indexnow.ENDPOINT]
