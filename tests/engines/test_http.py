"""HTTP for engines: limits, errors, TLS, and addresses that may be requested."""

from __future__ import annotations

import logging
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.engines import http
from django_sitemaps_plus.engines.addresses import Target, check_url, is_private
from django_sitemaps_plus.engines.base import OptionError, TransportError
from tests.support.fakes.faults import Cut, Drip, Endless, Raw, Slow, reply
from tests.support.fakes.ports import deaf, full, secured
from tests.support.fakes.server import FakeServer


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


def failure(url: str, **options: Any) -> tuple[str, str]:
    """Return the stage and the message of a request that gets no answer."""
    with pytest.raises(TransportError) as caught:
        http.send(options.pop("method", "GET"), url, **options)
    assert "secret" not in str(caught.value)
    return caught.value.stage, str(caught.value)


# Answers


def test_a_request_names_its_sender_and_returns_the_answer(server: FakeServer) -> None:
    server.fault = reply(201, "created", x_thing="1")
    response = http.send("POST", f"{server.origin}/a?b=c", body=b"data")
    assert (response.status, response.text, response.flaw) == (201, "created", "")
    assert response.headers["x-thing"] == "1"
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("POST", "/a?b=c", b"data")
    assert re.fullmatch(r"django-sitemaps-plus/\d+\.\d+\.\d+", http.USER_AGENT)
    assert request.headers["user-agent"] == http.USER_AGENT
    assert request.headers["host"] == server.host


def test_a_body_is_read_as_it_is_up_to_the_limit(server: FakeServer) -> None:
    """If it were decompressed, a few bytes could become gigabytes."""
    whole, gzipped = "x" * 1000, reply(200, "not gzip at all", content_encoding="gzip")
    server.faults = [reply(200, whole), Endless(), gzipped]
    full, cut, packed = (http.send("GET", server.origin, limit=1000) for _ in range(3))
    assert (full.text, full.flaw) == (whole, "")
    assert (cut.status, len(cut.body)) == (200, 1000)
    assert cut.flaw == "The answer is longer than 1,000 bytes."
    assert packed.body == b"not gzip at all"


def test_a_server_may_answer_and_hang_up_early() -> None:
    early = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig"
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def refuse() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(100)
                connection.sendall(early)

        thread = threading.Thread(target=refuse)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        response = http.send("POST", url, body=b"x" * 8_000_000, timeout=5)
        thread.join()
    assert (response.status, response.text) == (413, "big")


def test_a_header_that_is_sent_twice_has_both_values(server: FakeServer) -> None:
    server.fault = Raw(
        b"HTTP/1.1 200 OK\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 0\r\n\r\n"
    )
    assert http.send("GET", server.origin).headers["x-a"] == "1, 2"


def test_a_host_is_reached_over_the_family_that_is_asked_for(
    server: FakeServer,
) -> None:
    assert http.families("127.0.0.1") == ["IPv4"]
    assert http.families("::1") == ["IPv6"]
    assert http.send("GET", server.origin, family="IPv4").status == 200
    stage, message = failure(server.origin, family="IPv6")
    assert (stage, message.partition(": ")[2]) == ("name", "no IPv6 address.")
    with pytest.raises(TransportError, match="could not be resolved"):
        http.families("no-such-host.invalid")


# Failures


def test_a_name_that_cannot_be_resolved() -> None:
    for host, reason in (
        ("no-such-host.invalid", ""),
        ("a" * 64 + ".example", "label"),
    ):
        stage, message = failure(f"https://{host}/secret")
        assert stage == "name"
        assert message.startswith(f"{host} could not be resolved: {reason}")


def test_a_resolver_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: over.wait(30) and [])
    started = time.monotonic()
    message = "slow.example could not be resolved within 0.1 s."
    assert failure("https://slow.example/", timeout=0.1) == ("name", message)
    assert time.monotonic() - started < 20
    over.set()


def test_a_connection_that_takes_too_long() -> None:
    with full() as port:
        stage, message = failure(f"http://127.0.0.1:{port}/", timeout=1.0)
    problem = "did not accept a connection within 1 s."
    assert (stage, message) == ("connection", f"127.0.0.1:{port} {problem}")
    with deaf() as port:
        stage, message = failure(f"https://127.0.0.1:{port}/", timeout=1.0)
    problem = "did not finish the TLS handshake within 1 s."
    assert (stage, message) == ("tls", f"127.0.0.1:{port} {problem}")


def test_a_host_with_several_addresses_is_tried_at_each(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name may have an IPv6 address where the network has none."""
    known = {
        "two.localhost": ["127.0.0.2", "127.0.0.1"],
        "mute.localhost": ["127.0.0.3", "127.0.0.1"],
    }
    original = socket.getaddrinfo

    def look_up(host: str, *args: Any, **options: Any) -> Any:
        return [
            info
            for address in known.get(host, [host])
            for info in original(address, *args, **options)
        ]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert http.send("GET", f"http://two.localhost:{server.port}/").status == 200
    with full("127.0.0.3", server.port):
        url = f"http://mute.localhost:{server.port}/"
        assert http.send("GET", url, timeout=3).status == 200, (
            "half of the time is left"
        )


NEVER = (Slow("answer"), Drip("headers"))
MALFORMED = "malformed or incomplete HTTP."
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LENGTHS = b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n"


def limit(fault: Any) -> float:
    """Return a short timeout for what never comes, and a long one for all else."""
    return 1.0 if isinstance(fault, Slow | Drip) else 20.0


def test_a_request_without_an_answer(server: FakeServer) -> None:
    raw = [Raw(LENGTHS), Raw(b"SSH-2.0-OpenSSH_9 secret\r\n")]
    for fault, problem in (
        (Slow("request"), "did not read the request within 1 s."),
        *((fault, "did not answer within 1 s.") for fault in NEVER),
        (Cut("answer"), "did not answer: Remote end closed connection"),
        *((fault, f"did not answer: {MALFORMED}") for fault in (Cut("status"), *raw)),
    ):
        server.fault, started = fault, time.monotonic()
        # Only a large body fills the buffers, so that a server has to read it.
        stage = "request" if fault == Slow("request") else "answer"
        body = b"x" * 30_000_000 if stage == "request" else None
        url = f"{server.origin}/secret"
        found, message = failure(url, body=body, timeout=limit(fault))
        assert time.monotonic() - started < 20
        assert found == stage
        assert message.startswith(f"{server.host} {problem}"), fault


def test_an_incomplete_body_does_not_void_the_status(server: FakeServer) -> None:
    for fault, flaw in (
        (Slow("body"), "did not finish its answer within 1 s."),
        (Drip("body"), "did not finish its answer within 1 s."),
        (Cut("body"), f"did not finish its answer: {MALFORMED}"),
        (Raw(CHUNKED + b"secret\r\n"), f"did not finish its answer: {MALFORMED}"),
    ):
        server.fault = fault
        response = http.send("GET", server.origin, timeout=limit(fault))
        assert (response.status, response.flaw) == (200, f"{server.host} {flaw}")


def test_malformed_headers_do_not_log_the_url(
    server: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    """By itself, urllib3 logs all of it, and there may be a key in the path."""
    server.fault = Raw(b"HTTP/1.1 200 OK\r\nX: 1\r\nno header\r\nY: 2\r\n\r\n")
    with caplog.at_level(logging.DEBUG):
        assert http.send("GET", f"{server.origin}/secret.txt").status == 200
    assert "secret" not in caplog.text
    logging.getLogger("urllib3.connection").warning("of the project")
    assert "of the project" in caplog.text


# TLS


@pytest.mark.parametrize(
    ("name", "is_trusted", "problem"),
    [
        ("localhost", True, ""),
        ("localhost", False, "unable to get local issuer certificate"),
        ("other.example", True, "Hostname mismatch"),
    ],
)
def test_certificates_are_verified(
    name: str,
    is_trusted: bool,
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    with secured(name) as (server, authority):
        file = tmp_path / "ca.pem"
        (authority if is_trusted else trustme.CA()).cert_pem.write_to_path(str(file))
        monkeypatch.setenv("SSL_CERT_FILE", str(file))  # as an administrator does
        url = f"https://localhost:{server.port}/secret"
        if problem:
            stage, message = failure(url)
            start = f"localhost:{server.port} did not finish the TLS handshake: "
            assert (stage, message.partition(problem)[0]) == ("tls", start)
        else:
            response = http.send("GET", url)
            assert response.status == 200
            assert response.valid is not None
            assert response.valid[0] < time.time() < response.valid[1]
    assert len(server.requests) == (0 if problem else 1)


def test_a_server_without_tls(server: FakeServer) -> None:
    stage, message = failure(f"https://127.0.0.1:{server.port}/secret")
    assert stage == "tls"
    assert re.search(r"TLS handshake: [a-z ]+\.$|it does not speak TLS", message)


def test_a_server_with_old_tls() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)
    with pytest.deprecated_call():
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with FakeServer(tls=context) as server:
        _, message = failure(f"https://localhost:{server.port}/secret")
    assert message.endswith("TLS handshake: it only offers TLS 1.1 or older.")


# URLs and addresses


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://engine.example/x", "uses plain http for engine.example, not https"),
        ("ftp://engine.example/", "does not start with https:// and a host"),
        ("https:///path", "does not start with https:// and a host"),
        ("https://u:secret@engine.example/", "contains a user name or a password"),
        ("https://engine.example:99999/", "has an invalid host or port"),
        ("https://[::1/", "has an invalid host or port"),
        ("https://bücher.example/", "is not a URL of printable ASCII characters"),
        (None, "is not a URL of printable ASCII characters"),
    ],
)
def test_an_invalid_url_is_refused(url: Any, problem: str) -> None:
    with pytest.raises(OptionError) as caught:
        check_url("endpoint", url)
    assert caught.value.option == "endpoint"
    assert caught.value.problem.startswith(f"{problem}; use 'https://")
    assert "secret" not in str(caught.value)
    assert failure(url) == ("url", f"The URL {problem}.")


def test_a_url_is_taken_apart() -> None:
    for host in ("127.0.0.1:9000", "localhost", "engine.localhost", "[::1]:9000"):
        check_url("endpoint", f"http://{host}/")

    def authority(url: str) -> str:
        return Target.parse(url, plain=True).authority

    assert authority("https://A.example:443/x") == "a.example"
    assert authority("http://a.example:443/") == "a.example:443"
    assert authority("http://[::1]:80?q") == "[::1]"
    assert Target.parse("https://a.example?q").path == "/?q"


PRIVATE = """
    127.0.0.1:8000 10.1.2.3 169.254.169.254 100.64.0.1 224.0.0.1 ::1 [::1]:8000
    fe80::1%eth0 fd00::1 ::ffff:100.64.0.1 64:ff9b::10.0.0.1
    intranet:8000 LOCALHOST. shop.test
    64:ff9b:1::8.8.8.8 2002:808:808::1 ::8.8.8.8 fec0::1 192.0.0.9 5f00::1 3fff:fff::1
"""
PUBLIC = """
    8.8.8.8:80 2606:4700::1111 [2606:4700::1111]:443 ::ffff:8.8.8.8 64:ff9b::8.8.8.8
    www.example.com:8000 contest.example. 192.0.1.1 2003::1 3fff:1000::1 64:ff9b:2::1
"""


def test_private_hosts_are_recognized() -> None:
    assert [host for host in PRIVATE.split() if not is_private(host)] == []
    assert [host for host in PUBLIC.split() if is_private(host)] == []
    assert is_private("")


def test_a_private_address_is_not_requested(server: FakeServer) -> None:
    def refused(host: str) -> tuple[str, str]:
        return failure(f"http://{host}:{server.port}/", plain=True, public=True)

    assert refused("127.0.0.1") == ("private", "127.0.0.1 is not a public address.")
    stage, message = refused("localhost")
    assert stage == "private"
    assert re.fullmatch(
        r"localhost \((127\.0\.0\.1|::1)\) is not a public address\.", message
    )
    assert server.requests == []


# Retry-After


def retry_after(value: str) -> float | None:
    headers = {"retry-after": value}
    return http.Response(status=503, headers=headers, body=b"").retry_after


def test_retry_after_is_a_number_or_a_date() -> None:
    assert http.Response(status=503, headers={}, body=b"").retry_after is None
    for value in ("", "soon", "-5", "1.5", "9" * 5000):
        assert retry_after(value) is None
    assert (retry_after(" 120 "), retry_after("86401")) == (120.0, 86_400.0)
    assert retry_after("Fri, 31 Dec 9999 23:59:59 GMT") == 86_400.0
    for past in ("Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"):
        assert retry_after(past) == 0.0


@given(st.text() | st.from_regex(r"\A\w*,? \d+[ -]\w+[ -]\d+ \d+:\d+:\d+ \w*\Z"))
def test_any_other_retry_after_is_ignored(value: str) -> None:
    seconds = retry_after(value)
    assert seconds is None or 0 <= seconds <= http.MAX_RETRY_AFTER
