"""Google Search Console against a server that checks signatures and reads sitemaps."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth.exceptions import TransportError

from django_sitemaps_plus.engines import google_auth
from django_sitemaps_plus.engines.base import Answer, Batch, Outcome
from django_sitemaps_plus.engines.errors import OptionError
from django_sitemaps_plus.engines.google import SearchConsole
from tests.support.fakes.faults import Cut, Reply, Slow, html, reply
from tests.support.fakes.google import ACCOUNT, SCOPE, FakeGoogle
from tests.support.fakes.site import FakeSite

ROOT = Path(__file__).parent.parent.parent
ORIGIN = "https://www.example.com"
SITE = f"{ORIGIN}/"
SITEMAP = f"{ORIGIN}/sitemap.xml"


@pytest.fixture
def google(site: FakeSite) -> Iterator[FakeGoogle]:
    with FakeGoogle(resolve={"www.example.com": site.host}) as server:
        yield server


def engine(server: FakeGoogle, **options: Any) -> SearchConsole:
    given = {
        "site": SITE,
        "credentials": server.credentials,
        "endpoint": server.endpoint,
        "timeout": 5.0,
    }
    return SearchConsole(alias="google", **{**given, **options})


def submit(told: SearchConsole, location: str = SITEMAP) -> Answer:
    return told.submit(Batch(origin=ORIGIN, urls=[location], are_sitemaps=True))


def api_error(status: int, reason: str, **headers: str) -> Any:
    error = {"code": status, "errors": [{"domain": "global", "reason": reason}]}
    return reply(status, json.dumps({"error": error}), **headers)


def refused(google: FakeGoogle, fault: Any, **options: Any) -> Answer:
    """Return the answer to a submission that the API, not the token, fails."""
    told = engine(google, **options)
    submit(told)
    google.fault = fault
    return submit(told)


# Submitting


def test_a_sitemap_is_put_with_both_parts_encoded(google: FakeGoogle) -> None:
    answer = submit(engine(google), f"{SITEMAP}?a=b&c=d%20e")
    assert (answer.outcome, answer.status) == (Outcome.ACCEPTED, 204)
    assert google.submitted == [f"{SITEMAP}?a=b&c=d%20e"]
    (call,) = google.calls
    assert (call.method, call.body) == ("PUT", b"")
    assert call.headers["content-length"] == "0"
    assert call.path == (
        "/webmasters/v3/sites/https%3A%2F%2Fwww.example.com%2F/sitemaps/"
        "https%3A%2F%2Fwww.example.com%2Fsitemap.xml%3Fa%3Db%26c%3Dd%2520e"
    )


def test_a_domain_property_takes_the_sitemaps_of_all_its_hosts(site: FakeSite) -> None:
    with FakeGoogle({"sc-domain:example.com": "siteOwner"}) as google:
        told = engine(google, site="sc-domain:example.com")
        assert submit(told).outcome is Outcome.ACCEPTED
        assert submit(told, "https://example.com/s.xml").outcome is Outcome.ACCEPTED
        foreign = submit(told, "https://notexample.com/s.xml")
        assert (foreign.outcome, foreign.status) == (Outcome.REJECTED, None)
    assert google.calls[0].path.startswith("/webmasters/v3/sites/sc-domain%3Aexample")


def test_a_sitemap_of_another_host_is_not_sent(google: FakeGoogle) -> None:
    answer = submit(engine(google), "https://example.com/sitemap.xml")
    assert answer.outcome is Outcome.REJECTED
    assert answer.message.startswith(f"The sitemap is not of the property {SITE}.")
    assert google.requests == []


@pytest.mark.parametrize("status", [200, 201, 204])
def test_any_success_is_one_and_its_body_is_not_read(
    google: FakeGoogle, status: int
) -> None:
    body = "" if status == 204 else "no json"
    answer = refused(google, reply(status, body))
    assert (answer.outcome, answer.excerpt) == (Outcome.ACCEPTED, "")


# Tokens


def test_one_token_serves_many_requests(google: FakeGoogle) -> None:
    told = engine(google)
    for _ in range(3):
        assert submit(told).outcome is Outcome.ACCEPTED
    assert google.grants == 1


def test_a_token_that_ended_is_renewed_once(google: FakeGoogle) -> None:
    told = engine(google)
    submit(told)
    google.expire_tokens()
    assert submit(told).outcome is Outcome.ACCEPTED
    assert google.grants == 2


def test_tokens_that_are_never_taken_are_no_endless_circle(google: FakeGoogle) -> None:
    told = engine(google)
    submit(told)
    before = len(google.calls)
    google.faults = [
        api_error(401, "authError"),
        reply(200, json.dumps({"access_token": "ya29.x", "expires_in": 3599})),
        api_error(401, "authError"),
    ]
    answer = submit(told)
    assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, 401)
    assert len(google.calls) - before == 2


def test_the_credentials_of_a_user(google: FakeGoogle) -> None:
    told = engine(google, credentials=google.user_credentials)
    assert submit(told).outcome is Outcome.ACCEPTED


@pytest.mark.parametrize("as_text", [True, False])
def test_credentials_in_a_file(
    google: FakeGoogle, tmp_path: Path, as_text: bool
) -> None:
    file = tmp_path / "account.json"
    file.write_text(json.dumps(google.credentials))
    told = engine(google, credentials=str(file) if as_text else file)
    assert submit(told).outcome is Outcome.ACCEPTED


def test_default_credentials(
    google: FakeGoogle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "account.json"
    file.write_text(json.dumps(google.credentials))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    assert submit(engine(google, credentials=None)).outcome is Outcome.ACCEPTED


def test_default_credentials_that_are_not_there(
    google: FakeGoogle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tmp_path / "nothing.json"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(missing))
    answer = submit(engine(google, credentials=None))
    assert answer.outcome is Outcome.UNAVAILABLE
    assert answer.message.startswith("There are no default credentials here: ")


def test_default_credentials_of_a_machine_of_googles(
    google: FakeGoogle, tmp_path: Path
) -> None:
    """They come from the machine's metadata, whose address google-auth reads once."""
    code = f"""
from django_sitemaps_plus.engines.base import Batch
from django_sitemaps_plus.engines.google import SearchConsole
told = SearchConsole(
    alias="google", site={SITE!r}, endpoint={google.endpoint!r}, timeout=5.0
)
print(told.submit(Batch(origin={ORIGIN!r}, urls=[{SITEMAP!r}], are_sitemaps=True)))
"""
    granted = {"access_token": "ya29.machine", "expires_in": 3599, "token_type": "B"}
    pages = {
        "/": "computeMetadata/",
        "/computeMetadata/v1/project/project-id": "project",
        "/computeMetadata/v1/universe/universe-domain": "googleapis.com",
        "/computeMetadata/v1/instance/service-accounts/default/": json.dumps(
            {"email": ACCOUNT, "scopes": [SCOPE], "aliases": ["default"]}
        ),
        "/computeMetadata/v1/instance/service-accounts/default/token": json.dumps(
            granted
        ),
    }
    replies = {
        path: Reply(
            body=text.encode(),
            headers={
                "Metadata-Flavor": "Google",
                "Content-Type": "application/json" if "{" in text else "text/plain",
            },
        )
        for path, text in pages.items()
    }
    google.trust("ya29.machine")
    with FakeSite(replies) as machine:
        result = subprocess.run(
            [sys.executable, "-c", code],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "PYTHONPATH": str(ROOT),
                "GCE_METADATA_HOST": machine.host,
                "GCE_METADATA_IP": machine.host,
            },
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert "Outcome.ACCEPTED" in result.stdout, result.stderr
    assert google.submitted == [SITEMAP]


def test_plain_http_is_for_that_metadata_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*args: Any, **options: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    fetch = google_auth._Fetch(1.0)
    with pytest.raises(TransportError, match="cannot be resolved"):
        fetch("http://metadata.google.internal/computeMetadata/v1/x")
    with pytest.raises(TransportError, match=r"169\.254\.169\.254 cannot be resolved"):
        fetch("http://169.254.169.254")
    for url in ("http://metadata.google.internal.evil.example/", "http://a.example/"):
        with pytest.raises(TransportError, match="Nothing is sent to"):
            fetch(url)


def test_the_project_that_is_charged_is_named(google: FakeGoogle) -> None:
    """Default credentials of a user are refused without it."""
    given = {**google.user_credentials, "quota_project_id": "charged"}
    submit(engine(google, credentials=given))
    assert google.calls[0].headers["x-goog-user-project"] == "charged"


def test_the_token_endpoint_is_an_option(google: FakeGoogle) -> None:
    for given in (google.credentials, google.user_credentials):
        elsewhere = {**given, "token_uri": "https://no-such-host.invalid/token"}
        told = engine(
            google, credentials=elsewhere, token_endpoint=google.token_endpoint
        )
        assert submit(told).outcome is Outcome.ACCEPTED


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "The file of 'credentials' cannot be read: No such file or directory."),
        ("{", "The file of 'credentials' is no JSON."),
        ("[]", "The file of 'credentials' is no JSON object."),
        ("{}", "The credentials are neither of a service account nor of an authorised"),
        (
            '{"type": "service_account", "private_key": "no key"}',
            "The credentials cannot be used: they are not as Google wrote them.",
        ),
        (
            '{"type": "authorized_user"}',
            "The credentials cannot be used: they are not as Google wrote them.",
        ),
    ],
)
def test_credentials_that_cannot_be_used(
    google: FakeGoogle, tmp_path: Path, text: str | None, problem: str
) -> None:
    file = tmp_path / "account.json"
    if text is not None:
        file.write_text(text)
    answer = submit(engine(google, credentials=file))
    assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, None)
    assert answer.message.startswith(problem)
    assert google.requests == []


def test_a_key_that_google_does_not_know(google: FakeGoogle) -> None:
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = other.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
    answer = submit(
        engine(google, credentials={**google.credentials, "private_key": pem})
    )
    assert answer.outcome is Outcome.UNAVAILABLE
    assert "Invalid JWT Signature" in answer.message
    assert "may have been deleted" in answer.message


def test_a_consent_that_ended(google: FakeGoogle) -> None:
    given = {**google.user_credentials, "refresh_token": "1//ended-long-ago-and-gone"}
    answer = submit(engine(google, credentials=given))
    assert "the refresh token of a user ends with the consent" in answer.message
    assert "ended-long-ago" not in answer.message


@pytest.mark.parametrize("fault", [reply(503), reply(429), Cut("answer")])
def test_no_token_just_now_is_asked_for_once(google: FakeGoogle, fault: Any) -> None:
    google.fault = fault
    answer = submit(engine(google))
    assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, None)
    assert answer.message.startswith("There is no token. ")
    assert len(google.requests) <= 1


@pytest.mark.parametrize("fault", [html(), reply(200, "[]"), reply(200, "{}")])
def test_no_token_in_the_answer(google: FakeGoogle, fault: Any) -> None:
    google.fault = fault
    assert submit(engine(google)).outcome is Outcome.UNAVAILABLE


def test_a_slow_token_endpoint(google: FakeGoogle) -> None:
    google.fault = Slow("answer")
    answer = submit(engine(google, timeout=0.2))
    assert "did not answer within 0.2 s" in answer.message


# Refusals


def test_an_account_that_is_not_there_is_told_the_way_in(google: FakeGoogle) -> None:
    del google.properties[SITE]
    answer = submit(engine(google))
    assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, 403)
    for words in (
        "refuses service accounts",
        "https://www.google.com/webmasters/verification/home",
        "'sc-domain:example.com'",
    ):
        assert words in answer.message
    assert "sufficient permission" in answer.excerpt


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize("reason", ["quotaExceeded", "rateLimitExceeded"])
def test_too_many_requests(google: FakeGoogle, status: int, reason: str) -> None:
    answer = refused(google, api_error(status, reason, retry_after="40"))
    assert (answer.outcome, answer.retry_after) == (Outcome.THROTTLED, 40.0)


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        (403, "accessNotConfigured", "API is not enabled"),
        (403, "insufficientPermissions", "lacks the scope"),
        (404, "notFound", "does not know the property"),
        (500, "backendError", "an error of its own (500)"),
        (302, "", "a redirect in place"),
    ],
)
def test_a_refusal_in_words(
    google: FakeGoogle, status: int, reason: str, words: str
) -> None:
    answer = refused(google, api_error(status, reason))
    assert answer.outcome is Outcome.UNAVAILABLE
    assert words in answer.message


# What became of it


def test_the_status_is_read_back(google: FakeGoogle) -> None:
    told = engine(google)
    submit(told)
    (status,) = told.status([SITEMAP])
    assert status.problem == ""
    assert status.last_submitted is not None
    assert status.last_downloaded is not None
    assert status.is_pending is False
    assert (status.errors, status.warnings) == (0, 0)
    assert status.submitted == {"web": 2}


def test_a_sitemap_that_google_cannot_read_has_an_error(google: FakeGoogle) -> None:
    told = engine(google)
    submit(told, f"{ORIGIN}/missing.xml")
    (status,) = told.status([f"{ORIGIN}/missing.xml"])
    assert status.errors == 1


def test_the_spellings_of_kinds_are_one(google: FakeGoogle) -> None:
    told = engine(google)
    submit(told)
    google.settle()
    kinds = ["WEB", "rssFeed", "ATOM_FEED", "image"]
    contents = [{"type": kind, "submitted": "1"} for kind in kinds]
    google.sitemaps[SITE, SITEMAP]["contents"] = [
        *contents,
        {"type": "VIDEO", "submitted": "many"},
        {"type": "NEWS"},
        "nonsense",
    ]
    (status,) = told.status([SITEMAP])
    assert status.submitted == dict.fromkeys(["web", "rssfeed", "atomfeed", "image"], 1)


def test_a_sitemap_that_was_never_submitted(google: FakeGoogle) -> None:
    first, second = engine(google).status([f"{ORIGIN}/a.xml", f"{ORIGIN}/b.xml"])
    assert (
        first.problem
        == second.problem
        == (f"Google was never told of it, or not for {SITE}.")
    )
    assert first.errors is None


def test_after_a_failure_the_others_are_not_asked_for(google: FakeGoogle) -> None:
    told = engine(google)
    submit(told)
    before = len(google.calls)
    google.fault = reply(500)
    found = told.status([f"{ORIGIN}/{number}.xml" for number in range(50)])
    assert len(google.calls) - before == 1
    assert {status.problem for status in found} == {
        "Google has an error of its own (500)."
    }


@pytest.mark.parametrize("body", ["", "null", "[1]", "{", "[" * 100_000])
def test_a_status_that_cannot_be_read(google: FakeGoogle, body: str) -> None:
    told = engine(google)
    submit(told)
    google.fault = reply(200, body)
    (status,) = told.status([SITEMAP])
    assert status.problem == "Google's answer cannot be read."


# Looking at what is needed


def check(told: SearchConsole) -> tuple[bool, str, str]:
    (finding,) = told.check(ORIGIN)
    return finding.is_good, finding.text, finding.fix


def test_an_owner_is_all_that_is_needed(google: FakeGoogle) -> None:
    assert check(engine(google)) == (True, f"The account is an owner of {SITE}.", "")


@pytest.mark.parametrize("level", ["siteFullUser", "siteUnverifiedUser"])
def test_less_than_an_owner(google: FakeGoogle, level: str) -> None:
    google.properties[SITE] = level
    is_good, text, fix = check(engine(google))
    assert not is_good
    assert text == f"The account is no owner of {SITE}, but: {level}."
    assert "Add an owner" in fix


def test_the_other_form_of_the_property_is_shown(google: FakeGoogle) -> None:
    google.properties = {"sc-domain:example.com": "siteOwner"}
    is_good, text, fix = check(engine(google))
    assert not is_good
    assert text.endswith("It sees: sc-domain:example.com.")
    assert fix.startswith("Correct 'site', or add the account.")


def test_a_site_of_another_property(google: FakeGoogle) -> None:
    is_good, text, _ = check(engine(google, site="https://example.com/"))
    assert not is_good
    assert text == f"{ORIGIN} is not of the property https://example.com/."


def test_a_property_may_be_a_folder_of_the_site(google: FakeGoogle) -> None:
    folder = f"{SITE}shop/"
    google.properties[folder] = "siteOwner"
    is_good, text, _ = check(engine(google, site=folder))
    assert is_good, text


def test_no_token_is_found_out(google: FakeGoogle) -> None:
    google.is_revoked = True
    is_good, text, fix = check(engine(google))
    assert not is_good
    assert "account not found" in text
    assert fix == "See 'credentials'."


# Options and secrets


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"site": "https://www.example.com"}, "site"),
        ({"site": "www.example.com"}, "site"),
        ({"site": "sc-domain:https://example.com"}, "site"),
        ({"site": None}, "site"),
        ({"credentials": 5}, "credentials"),
        ({"endpoint": "http://api.example/v3"}, "endpoint"),
        ({"token_endpoint": "http://api.example/token"}, "token_endpoint"),
    ],
)
def test_an_impossible_option(
    google: FakeGoogle, options: dict[str, Any], option: str
) -> None:
    with pytest.raises(OptionError) as caught:
        engine(google, **options)
    assert caught.value.option == option


@pytest.mark.parametrize("in_file", [True, False])
def test_nothing_of_the_key_or_a_token_is_shown(
    google: FakeGoogle, tmp_path: Path, in_file: bool
) -> None:
    given: Any = google.credentials
    if in_file:
        given = tmp_path / "account.json"
        given.write_text(json.dumps(google.credentials))
    told = engine(google, credentials=given)
    submit(told)
    token = google.calls[0].headers["authorization"].removeprefix("Bearer ")
    key = google.credentials["private_key"]
    jwt = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJl"
    google.fault = reply(403, f"{token} {key.splitlines()[3]} {jwt} {ACCOUNT}")
    answer = submit(told)
    shown = f"{answer} {told!r} {told.status([SITEMAP])}"
    for secret in (token, key, key.splitlines()[3], jwt):
        assert secret not in shown
    assert ACCOUNT in answer.excerpt, "the name of the account is no secret"
