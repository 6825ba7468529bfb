"""The one transport: what each way of getting no answer is called."""

from __future__ import annotations

import email.utils
import logging
import re
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.engines import http
from django_sitemaps_plus.engines.addresses import Target, check_url, is_private
from django_sitemaps_plus.engines.errors import OptionError, TransportError
from tests.support.fakes.faults import Cut, Drip, Endless, Raw, Slow, reply
from tests.support.fakes.ports import deaf, free_port, full, secured
from tests.support.fakes.server import FakeServer


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


def failure(url: str, **options: Any) -> TransportError:
    """Return why there is no answer."""
    with pytest.raises(TransportError) as caught:
        http.send(options.pop("method", "GET"), url, **options)
    return caught.value


# Answers


def test_a_request_says_who_asks_and_gets_the_whole_answer(server: FakeServer) -> None:
    server.fault = reply(201, "made", x_thing="1")
    response = http.send("POST", f"{server.origin}/a?b=c", body=b"data")
    assert (response.status, response.text, response.flaw) == (201, "made", "")
    assert response.headers["x-thing"] == "1"
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("POST", "/a?b=c", b"data")
    assert re.fullmatch(r"django-sitemaps-plus/\d+\.\d+\.\d+", http.USER_AGENT)
    assert request.headers["user-agent"] == http.USER_AGENT
    assert request.headers["host"] == server.host


def test_a_redirect_is_an_answer_and_is_not_followed(server: FakeServer) -> None:
    server.fault = reply(302, location=f"{server.origin}/elsewhere")
    assert http.send("GET", f"{server.origin}/here").status == 302
    assert [request.path for request in server.requests] == ["/here"]


def test_an_endless_body_is_cut(server: FakeServer) -> None:
    server.fault = Endless()
    response = http.send("GET", server.origin, limit=1000, timeout=5)
    assert (response.status, len(response.body)) == (200, 1000)
    assert response.flaw == "The answer is longer than 1,000 bytes."


def test_a_body_of_just_the_limit_is_whole(server: FakeServer) -> None:
    server.fault = reply(200, "x" * 1000)
    response = http.send("GET", server.origin, limit=1000)
    assert (len(response.body), response.flaw) == (1000, "")


def test_half_an_answer_keeps_its_status(server: FakeServer) -> None:
    server.fault = Cut("body", status=202)
    response = http.send("GET", server.origin)
    assert (response.status, response.body) == (202, b"hal")
    assert response.flaw == (
        f"{server.host} closed the connection in the middle of its answer."
    )


def test_a_compressed_body_is_not_unpacked(server: FakeServer) -> None:
    """What unpacks to gigabytes stays small."""
    server.fault = reply(200, "not gzip at all", content_encoding="gzip")
    assert http.send("GET", server.origin).body == b"not gzip at all"


def test_the_answer_to_a_request_that_was_not_read_whole_is_read(
    server: FakeServer,
) -> None:
    early = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def refuse() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(100)
                connection.sendall(early)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65_536):
                    pass

        thread = threading.Thread(target=refuse)
        thread.start()
        response = http.send(
            "POST", f"http://127.0.0.1:{port}/", body=b"x" * 8_000_000, timeout=5
        )
        thread.join()
    assert (response.status, response.text) == (413, "big")


# No answers


def test_a_name_that_does_not_exist() -> None:
    error = failure("https://no-such-host.invalid/secret")
    assert error.stage == "name"
    assert str(error).startswith(
        "The name no-such-host.invalid cannot be resolved here: "
    )


def test_a_name_that_cannot_be_encoded() -> None:
    error = failure(f"https://{'a' * 64}.example/")
    assert error.stage == "name"


def test_a_resolver_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: time.sleep(3) or [])
    started = time.monotonic()
    error = failure("https://slow.example/", timeout=0.1)
    assert time.monotonic() - started < 2
    assert str(error) == "Looking up the name slow.example took more than 0.1 s."


def test_a_refused_connection() -> None:
    port = free_port()
    error = failure(f"http://127.0.0.1:{port}/secret")
    assert error.stage == "connection"
    assert str(error) == f"127.0.0.1:{port} refuses connections."


def test_a_connection_that_is_not_accepted() -> None:
    with full() as port:
        error = failure(f"http://127.0.0.1:{port}/", timeout=0.2)
    assert error.stage == "connection"
    assert str(error) == f"127.0.0.1:{port} did not accept a connection within 0.2 s."


def test_a_second_address_is_tried(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a name that has an IPv6 address, and a network that has none."""
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0))
        for address in ("127.0.0.2", "127.0.0.1")
    ]
    original = socket.getaddrinfo

    def look_up(host: str, *args: Any, **options: Any) -> Any:
        two = host == "two.localhost"
        return found if two else original(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert http.send("GET", f"http://two.localhost:{server.port}/").status == 200


def test_a_handshake_that_is_not_finished() -> None:
    with deaf() as port:
        error = failure(f"https://127.0.0.1:{port}/", timeout=0.2)
    assert error.stage == "tls"
    assert str(error) == (
        f"127.0.0.1:{port} did not finish the TLS handshake within 0.2 s."
    )


def test_a_request_that_is_not_read(server: FakeServer) -> None:
    server.fault = Slow("request")
    error = failure(server.origin, method="POST", body=b"x" * 30_000_000, timeout=0.3)
    assert error.stage == "request"
    assert str(error) == f"{server.host} did not take the request within 0.3 s."


def test_an_answer_that_does_not_come(server: FakeServer) -> None:
    server.fault = Slow("answer")
    error = failure(f"{server.origin}/secret", timeout=0.2)
    assert error.stage == "answer"
    assert str(error) == f"{server.host} did not answer within 0.2 s."


def test_a_body_that_does_not_come(server: FakeServer) -> None:
    server.fault = Slow("body")
    response = http.send("GET", server.origin, timeout=0.5)
    assert response.status == 200
    assert response.flaw == f"The answer of {server.host} stopped in its middle."


def test_headers_that_drip_end_with_the_time_for_all(server: FakeServer) -> None:
    server.fault = Drip("headers")
    started = time.monotonic()
    error = failure(server.origin, timeout=0.5, total=0.8)
    assert 0.7 < time.monotonic() - started < 5
    assert str(error) == f"{server.host} was too slow: more than 0.8 s in all."


def test_a_body_that_drips_ends_with_the_time_for_all(server: FakeServer) -> None:
    server.fault = Drip("body")
    started = time.monotonic()
    response = http.send("GET", server.origin, timeout=0.5)
    assert 1.4 < time.monotonic() - started < 5
    assert response.flaw == f"{server.host} was too slow: more than 1.5 s in all."


@pytest.mark.parametrize("fault", [Cut("request"), Cut("answer")])
def test_a_connection_that_is_closed_instead_of_an_answer(
    server: FakeServer, fault: Cut
) -> None:
    server.fault = fault
    error = failure(f"{server.origin}/secret")
    assert str(error) == f"{server.host} closed the connection without an answer."


@pytest.mark.parametrize(
    "fault",
    [Cut("status"), Raw(b"SSH-2.0-OpenSSH_9\r\n"), Raw(b"HTTP/1.1 abc\r\n\r\n")],
)
def test_what_is_not_http(server: FakeServer, fault: Any) -> None:
    server.fault = fault
    assert str(failure(server.origin)) == f"What {server.host} answers is not HTTP."


# TLS


def trust(monkeypatch: pytest.MonkeyPatch, folder: Path, authority: trustme.CA) -> None:
    """Let this process trust an authority, as an administrator does."""
    file = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    monkeypatch.setenv("SSL_CERT_FILE", str(file))


def test_a_certificate_of_an_authority_that_is_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with secured("localhost") as (server, authority):
        trust(monkeypatch, tmp_path, authority)
        assert http.send("GET", f"https://localhost:{server.port}/").status == 200


def test_a_certificate_of_an_unknown_authority() -> None:
    with secured("localhost") as (server, _):
        error = failure(f"https://localhost:{server.port}/secret")
    assert error.stage == "tls"
    assert str(error).startswith(
        f"The certificate of localhost:{server.port} is not valid: "
    )
    assert server.requests == []


def test_a_certificate_of_another_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with secured("other.example") as (server, authority):
        trust(monkeypatch, tmp_path, authority)
        error = failure(f"https://localhost:{server.port}/")
    assert "Hostname mismatch" in str(error)
    assert server.requests == []


def test_a_certificate_that_has_expired(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    past = datetime.now(UTC) - timedelta(days=1)
    with secured("localhost", not_after=past) as (server, authority):
        trust(monkeypatch, tmp_path, authority)
        error = failure(f"https://localhost:{server.port}/")
    assert "certificate has expired" in str(error)


def test_a_server_that_speaks_no_tls(server: FakeServer) -> None:
    error = failure(f"https://127.0.0.1:{server.port}/secret")
    assert error.stage == "tls"
    assert str(error).startswith(f"TLS with 127.0.0.1:{server.port} failed: ")
    assert "secret" not in str(error)


# Where requests may go


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://engine.example/x", "is plain http to engine.example; write https://."),
        ("ftp://engine.example/", "is no URL that begins with https:// and a host"),
        ("https:///path", "is no URL that begins with https:// and a host"),
        ("https://u:secret@engine.example/", "has a user or a password"),
        ("https://engine.example:99999/", "has no legal host or port"),
        ("https://[::1/", "has no legal host or port"),
        ("https://engine.example/a b", "is no URL of printable ASCII"),
        ("https://bücher.example/", "is no URL of printable ASCII"),
        (None, "is no URL of printable ASCII"),
    ],
)
def test_an_address_that_is_refused(url: Any, problem: str) -> None:
    with pytest.raises(OptionError) as caught:
        check_url("endpoint", url)
    assert caught.value.option == "endpoint"
    assert caught.value.problem.startswith(problem)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://engine.example/x",
        "http://127.0.0.1:9000/",
        "http://localhost/",
        "http://engine.localhost/",
        "http://[::1]:9000/",
    ],
)
def test_an_address_that_is_allowed(url: str) -> None:
    check_url("endpoint", url)


def test_plain_http_is_for_this_host_and_where_it_is_allowed() -> None:
    assert str(failure("http://engine.example/secret")) == (
        "Nothing is sent to engine.example over plain http."
    )
    check_url("url", "http://hub.example/", plain=True)


def test_the_header_host_has_the_port_that_is_not_the_schemes_own() -> None:
    def authority(url: str) -> str:
        return Target.parse(url).authority

    assert authority("https://A.example:443/x") == "a.example"
    assert authority("http://a.example:443/") == "a.example:443"
    assert authority("http://[::1]:80?q") == "[::1]"
    assert Target.parse("http://a.example?q").path == "/?q"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104 no server listens here
        "224.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:127.0.0.1",
        "64:ff9b::10.0.0.1",
        "ff02::1",
    ],
)
def test_private_addresses(address: str) -> None:
    assert is_private(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"]
)
def test_public_addresses(address: str) -> None:
    assert not is_private(address)


def test_a_private_address_gets_no_request_where_a_public_one_is_asked_for(
    server: FakeServer,
) -> None:
    error = failure(f"http://localhost:{server.port}/", plain=True, public=True)
    assert error.stage == "name"
    assert re.fullmatch(
        r"localhost is (127\.0\.0\.1|::1) here, which is no public address\.",
        str(error),
    )
    error = failure(f"{server.origin}/", plain=True, public=True)
    assert str(error) == "127.0.0.1 is no public address."
    assert server.requests == []


# Logs


def test_malformed_headers_put_no_url_into_the_log(
    server: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    """urllib3 would log the whole of it, with the key in its path."""
    server.fault = Raw(b"HTTP/1.1 200 OK\r\nX: 1\r\nno header\r\nY: 2\r\n\r\n")
    with caplog.at_level(logging.DEBUG):
        assert http.send("GET", f"{server.origin}/secret.txt").status == 200
    assert "secret" not in caplog.text


# Retry-After

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("0", 0.0),
        (" 120 ", 120.0),
        ("86401", 86_400.0),
        ("9" * 5000, 86_400.0),
        (email.utils.formatdate(NOW + 90, usegmt=True), 90.0),
        (email.utils.formatdate(NOW - 90, usegmt=True), 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0.0),
        ("Sun Nov  6 08:49:37 1994", 0.0),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert http.retry_after(value, NOW) == seconds


@given(st.text())
def test_whatever_stands_in_retry_after_is_a_time_or_nothing(value: str) -> None:
    seconds = http.retry_after(value, NOW)
    assert seconds is None or 0 <= seconds <= http.MAX_RETRY_AFTER


@given(st.integers(min_value=0, max_value=86_400))
def test_both_forms_of_retry_after_say_the_same(seconds: int) -> None:
    date = email.utils.formatdate(NOW + seconds, usegmt=True)
    assert http.retry_after(str(seconds), NOW) == seconds
    assert http.retry_after(date, NOW) == seconds
