"""What every engine does. A new engine needs an entry in its ``setups``."""

from __future__ import annotations

import contextlib
import dataclasses
import email.utils
import inspect
import time
import urllib.parse
from collections.abc import Iterator
from itertools import product

import pytest

from django_sitemaps_plus.delivery.engines import reports_of
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import EXCERPT, Answer, Outcome
from tests.engines.setups import Setup, found, named, own, setups
from tests.support.fakes.faults import Cut, Endless, Raw, Slow, html, redirect, reply
from tests.support.fakes.server import FakeServer
from tests.support.fakes.site import FakeSite

ENGINES, SETUPS = found(), setups()
REMOTE = [name for name in SETUPS if name not in ("console", "memory")]
STRICT = named("STRICT")
#: The option by which some prove who they are.
PROOFS = {name: option for one in own() for name, option in one.PROOFS.items()}


@contextlib.contextmanager
def set_up(
    name: str, site: FakeSite, timeout: float = 5.0
) -> Iterator[tuple[Setup, FakeServer]]:
    """Yield a remote engine and its fake."""
    with SETUPS[name](site, timeout) as setup:
        assert setup.server is not None
        yield setup, setup.server


def submit(setup: Setup) -> Answer:
    """Submit a batch, and check that the answer can be stored and shown."""
    answer = asking.submit(setup.engine, setup.batch)
    text = f"{answer.message} {answer.excerpt}"
    assert len(answer.excerpt) <= EXCERPT
    assert text.isprintable()
    assert not any(secret in text for secret in setup.secrets)
    return answer


def test_every_engine_has_a_setup() -> None:
    known = {*SETUPS, *named("ABSENT")}
    assert set(ENGINES) == known


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_declares_what_it_accepts_and_its_options(name: str) -> None:
    engine = ENGINES[name]
    assert engine.name
    assert engine.takes_urls or engine.takes_sitemaps or hasattr(engine, "feeds")
    assert engine.max_urls >= 1
    assert engine.__doc__
    assert inspect.getdoc(inspect.getmodule(engine))
    fields = dataclasses.fields(engine)
    assert all(field.kw_only for field in fields if field.init)
    assert engine.__dataclass_params__.frozen
    assert {"alias", "interval", "timeout"} <= {field.name for field in fields}


@pytest.mark.parametrize("name", SETUPS)
def test_an_engine_accepts_a_batch_and_answers_every_question(
    name: str, site: FakeSite
) -> None:
    with SETUPS[name](site, 5.0) as setup:
        answer, engine = submit(setup), setup.engine
        assert (answer.outcome, answer.retry_after) == (Outcome.ACCEPTED, None)
        assert all(text for text in engine.files("www.example.com").values())
        assert engine.proof("www.example.com") == engine.proof("WWW.example.com:443")
        assert engine.verify(site.origin, force=True).is_good
        for finding in asking.check_engine(engine, site.origin, force=True):
            assert finding.text.endswith(".")
            assert finding.is_good or finding.fix
        asked = ["https://www.example.com/sitemap.xml"]
        assert [s.location for s in reports_of(engine, asked)] in ([], asked)


#: How an engine, or something before it, fails; and what is known then.
FAULTS = [
    *((reply(status), Outcome.UNAVAILABLE, status) for status in (503, 404, 418)),
    (reply(429), Outcome.THROTTLED, 429),
    (redirect("http://127.0.0.1/x"), Outcome.UNAVAILABLE, 301),
    (html(502), Outcome.UNAVAILABLE, 502),
    (Endless(status=500), Outcome.UNAVAILABLE, 500),
    (Cut("body", status=400), Outcome.UNAVAILABLE, 400),
    (Cut("body", status=200), Outcome.UNAVAILABLE, 200),
    (Endless(), Outcome.UNAVAILABLE, 200),
    (reply(206, "ok"), Outcome.UNAVAILABLE, 206),
    (reply(200, '<form><input type="password">'), Outcome.UNAVAILABLE, 200),
    (reply(200, '{"error":401}'), Outcome.UNAVAILABLE, 200),
    (reply(200, '{"success":1, "rem'), Outcome.UNAVAILABLE, 200),
    (Cut("answer"), Outcome.UNAVAILABLE, None),
    (Raw(b"\x16\x03\x01\x00"), Outcome.UNAVAILABLE, None),
]


@pytest.mark.parametrize("name", REMOTE)
@pytest.mark.costly
def test_a_failure_is_an_answer(name: str, site: FakeSite) -> None:
    with set_up(name, site) as (setup, server):
        for fault, outcome, status in FAULTS:
            server.fault = fault
            answer = submit(setup)
            found = (answer.outcome, answer.status, answer.is_unsent)
            assert found == (outcome, status, False), fault
            assert answer.message.endswith("."), fault


JSON_OR_NOTHING = [
    *("", " \n", "{}", '{"success":true}', '{"ok":1,"errors":[],"failed":0}'),
    *('{"code":200,"message":"OK"}', '{"urls":["https://a.example/error/"]}'),
]
WORDS = ["ok", "Received https://a.example/error/", "danke"]
PAGES = ["<title>Wait</title>", "<!-- a -->\n<HTML><p>Wait"]
BROKEN = ['{"d":', '{"d":{"ErrorCode":3}}', "[]", "welcome"]
#: The bodies of successes that are believed, by the engines that believe them.
BELIEVED = {
    "indexnow": JSON_OR_NOTHING,
    "ping": [*JSON_OR_NOTHING, *WORDS, *PAGES],
    **{name: [] for name in STRICT},
}


@pytest.mark.parametrize("name", REMOTE)
def test_a_success_has_a_body_as_the_protocol_promises(
    name: str, site: FakeSite
) -> None:
    believed = BELIEVED.get(name, [*JSON_OR_NOTHING, *WORDS])
    tried = BROKEN if name in STRICT else [*JSON_OR_NOTHING, *WORDS]
    with set_up(name, site) as (setup, server):
        for body in (*tried, *PAGES):
            server.fault = reply(200, body)
            answer = submit(setup)
            assert (answer.outcome is Outcome.ACCEPTED) == (body in believed), body
            if body in PAGES and body not in believed:
                assert "answers with a web page (200)" in answer.message


@pytest.mark.parametrize("name", sorted(PROOFS))
def test_a_firewalls_page_does_not_reject_a_key(name: str, site: FakeSite) -> None:
    with set_up(name, site) as (setup, server):
        server.fault = html(403)
        message = submit(setup).message
    assert "answers with a web page (403), perhaps a firewall's: check " in message
    assert message.endswith(f" and {PROOFS[name]!r}.")


@pytest.mark.parametrize("name", REMOTE)
def test_a_proxy_refuses_nothing_for_good(name: str, site: FakeSite) -> None:
    """Its page is not the engine's word, except that all of it was too large."""
    with set_up(name, site) as (setup, server):
        server.faults = [html(400), reply(400), html(413)]
        answers = [submit(setup).outcome for _ in range(3)]
    page = Outcome.REJECTED if name == "ping" else Outcome.UNAVAILABLE
    bare = Outcome.UNAVAILABLE if name in STRICT else Outcome.REJECTED
    assert answers == [page, bare, Outcome.REJECTED]


@pytest.mark.parametrize("name", REMOTE)
@pytest.mark.costly
def test_an_answer_that_does_not_come_is_not_waited_for(
    name: str, site: FakeSite
) -> None:
    with set_up(name, site, timeout=1.0) as (setup, server):
        server.fault = Slow("answer")
        answer = submit(setup)
        assert answer.outcome is Outcome.UNAVAILABLE
        assert "did not answer within 1 s" in answer.message


@pytest.mark.parametrize("name", REMOTE)
def test_an_engine_that_is_down_cannot_have_received_anything(
    name: str, site: FakeSite
) -> None:
    with set_up(name, site) as (setup, server):
        server.stop()
        answer = submit(setup)
        assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, None)
        problem = "did not accept a connection: Connection refused."
        assert answer.message == f"{server.host} {problem}"
        assert answer.is_unsent


@pytest.mark.parametrize("name", REMOTE)
def test_retry_after_is_passed_on(name: str, site: FakeSite) -> None:
    with set_up(name, site) as (setup, server):
        for status in (429, 503):
            date = email.utils.formatdate(time.time() + 90, usegmt=True)
            server.faults = [reply(status, retry_after=value) for value in ("77", date)]
            assert submit(setup).retry_after == 77.0
            assert submit(setup).retry_after == pytest.approx(89, abs=5)


@pytest.mark.parametrize("name", REMOTE)
def test_secrets_in_an_answer_are_redacted(name: str, site: FakeSite) -> None:
    """As they are, percent-encoded, and where the excerpt would cut one in two."""
    with set_up(name, site) as (setup, server):
        assert not any(secret in repr(setup.engine) for secret in setup.secrets)
        in_clear = " ".join(setup.secrets)
        bodies = ["x" * (EXCERPT - 10) + secret for secret in setup.secrets]
        bodies.append(f"{in_clear}\x00{urllib.parse.quote(in_clear, safe='')}")
        for status, body in product((200, 400, 403, 404, 422, 500), bodies):
            server.fault = reply(status, body)
            excerpt = submit(setup).excerpt
            assert not any(secret[:8] in excerpt for secret in setup.secrets)
