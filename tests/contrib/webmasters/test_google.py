"""Google Search Console, with a fake that checks signatures and reads sitemaps."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from google.auth.exceptions import TransportError

from django_sitemaps_plus.contrib.webmasters import google_auth
from django_sitemaps_plus.contrib.webmasters.google import SearchConsole
from django_sitemaps_plus.delivery.engines import reports_of
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import Answer, Batch, OptionError, Outcome
from django_sitemaps_plus.pagination.cutting import FILL
from django_sitemaps_plus.sitemaps.sections import source
from tests.support.fakes.faults import Reply, Slow, html, reply
from tests.support.fakes.google import ACCOUNT, REFRESH_TOKEN, SCOPE, FakeGoogle
from tests.support.fakes.site import FakeSite
from tests.support.helpers import ArticleSitemap

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


def submit(client: SearchConsole, location: str = SITEMAP) -> Answer:
    return asking.submit(
        client, Batch(origin=ORIGIN, urls=[location], are_sitemaps=True)
    )


def api_error(status: int, reason: str, **headers: str) -> Any:
    error = {"code": status, "errors": [{"domain": "global", "reason": reason}]}
    return reply(status, json.dumps({"error": error}), **headers)


def refused(google: FakeGoogle, fault: Any, **options: Any) -> Answer:
    """Return the answer to a submission that fails after a token was issued."""
    client = engine(google, **options)
    submit(client)
    google.fault = fault
    return submit(client)


# Submitting


def test_a_submission_encodes_the_property_and_the_sitemap(google: FakeGoogle) -> None:
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


def test_a_sitemap_must_be_part_of_the_property(site: FakeSite) -> None:
    with FakeGoogle({"sc-domain:example.com": "siteOwner"}) as google:
        client = engine(google, site="sc-domain:example.com")
        assert submit(client).outcome is Outcome.ACCEPTED
        foreign = submit(client, "https://notexample.com/s.xml")
        assert (foreign.outcome, foreign.status) == (Outcome.REJECTED, None)
        assert foreign.message.startswith("The sitemap is not part of the property sc")
    assert google.submitted == [SITEMAP]
    assert google.calls[0].path.startswith("/webmasters/v3/sites/sc-domain%3Aexample")


@pytest.mark.parametrize(
    ("name", "location", "is_part"),
    [
        ("sc-domain:example.com", "http://example.com/s.xml", True),
        ("sc-domain:example.com", "https://a.b.example.com:8443/s.xml", True),
        ("sc-domain:example.com", "https://example.com.example.org/s.xml", False),
        ("sc-domain:example.com", "https://example.org/example.com/s.xml", False),
        ("sc-domain:www.example.com", "https://example.com/s.xml", False),
        (SITE, f"{SITE}s.xml", True),
        (SITE, f"{SITE}shop/s.xml", True),
        (SITE, SITE.replace("https:", "http:") + "s.xml", False),
        (SITE, "https://www.example.com.example.org/s.xml", False),
        (SITE, "https://shop.example.com/s.xml", False),
        (f"{SITE}shop/", f"{SITE}shop/s.xml", True),
        (f"{SITE}shop/", f"{SITE}shop.xml", False),
        (f"{SITE}shop/", f"{SITE}blog/shop/s.xml", False),
    ],
)
@pytest.mark.costly
def test_a_sitemap_of_another_property_is_not_submitted(
    google: FakeGoogle, name: str, location: str, is_part: bool
) -> None:
    google.properties = {name: "siteOwner"}
    answer = submit(engine(google, site=name), location)
    wanted = Outcome.ACCEPTED if is_part else Outcome.REJECTED
    assert (answer.outcome, google.submitted) == (wanted, [location][:is_part])


# Tokens


def test_a_token_is_reused_until_it_expires(google: FakeGoogle) -> None:
    client = engine(google)
    submit(client)
    submit(client)
    assert google.grants == 1
    google.expire_tokens()
    assert submit(client).outcome is Outcome.ACCEPTED
    assert google.grants == 2


def test_a_token_is_renewed_only_once(google: FakeGoogle) -> None:
    client = engine(google)
    submit(client)
    before = len(google.calls)
    google.faults = [
        api_error(401, "authError"),
        reply(200, json.dumps({"access_token": "ya29.x", "expires_in": 3599})),
        api_error(401, "authError"),
    ]
    answer = submit(client)
    assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, 401)
    assert "rejects the access token" in answer.message
    assert len(google.calls) - before == 2


@pytest.mark.parametrize("kind", ["user", "path", "text", "default"])
def test_credentials(
    google: FakeGoogle, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "account.json"
    file.write_text(json.dumps(google.credentials))
    if kind == "default":
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    given = {"user": google.user_credentials, "path": file, "text": str(file)}
    client = engine(google, credentials=given.get(kind))
    assert submit(client).outcome is Outcome.ACCEPTED
    if kind == "default":
        file.unlink()
        answer = submit(engine(google, credentials=None))
        assert answer.message.startswith("There are no default credentials: ")


def test_default_credentials_on_google_cloud(
    google: FakeGoogle, tmp_path: Path
) -> None:
    """They come from the metadata server, whose address google-auth reads once."""
    code = f"""
from django_sitemaps_plus.engines.base import Batch
from django_sitemaps_plus.contrib.webmasters.google import SearchConsole
client = SearchConsole(
    alias="google", site={SITE!r}, endpoint={google.endpoint!r}, timeout=5.0
)
print(client.submit(Batch(origin={ORIGIN!r}, urls=[{SITEMAP!r}], are_sitemaps=True)))
"""
    account = "/computeMetadata/v1/instance/service-accounts/default/"
    pages: dict[str, object] = {
        "/": "",
        "/computeMetadata/v1/project/project-id": "project",
        "/computeMetadata/v1/universe/universe-domain": "googleapis.com",
        account: {"email": ACCOUNT, "scopes": [SCOPE], "aliases": ["default"]},
        f"{account}token": {"access_token": "ya29.machine", "expires_in": 3599},
    }
    replies = {}
    for path, page in pages.items():
        is_json = isinstance(page, dict)
        kind = "application/json" if is_json else "text/plain"
        headers = {"Metadata-Flavor": "Google", "Content-Type": kind}
        text = json.dumps(page) if is_json else str(page)
        replies[path] = Reply(body=text.encode(), headers=headers)
    google.trust("ya29.machine")
    with FakeSite(replies) as machine:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "GCE_METADATA_HOST": machine.host,
            "GCE_METADATA_IP": machine.host,
        }
        command = [sys.executable, "-c", code]
        result = subprocess.run(
            command, env=env, cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert "Outcome.ACCEPTED" in result.stdout, result.stderr
    assert google.submitted == [SITEMAP]


def test_plain_http_is_allowed_for_the_metadata_server_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere(*args: Any, **options: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    fetch = partial(google_auth._fetch, 1.0)
    for host in ("metadata.google.internal", "169.254.169.254"):
        with pytest.raises(TransportError, match=f"{host} could not be resolved"):
            fetch(f"http://{host}/computeMetadata/v1/x")
    with pytest.raises(TransportError, match="uses plain http"):
        fetch("http://metadata.google.internal.evil.example/")


def test_a_request_for_a_token_never_takes_longer(google: FakeGoogle) -> None:
    google.fault = Slow("answer")
    with pytest.raises(TransportError, match="did not answer within 1 s"):
        google_auth._fetch(1.0, google.token_endpoint, timeout=5.0)


def test_a_request_names_the_project_to_charge(google: FakeGoogle) -> None:
    """Google refuses a user's default credentials without it."""
    given = {**google.user_credentials, "quota_project_id": "charged"}
    submit(engine(google, credentials=given))
    assert google.calls[0].headers["x-goog-user-project"] == "charged"


def test_the_token_endpoint_is_an_option(google: FakeGoogle) -> None:
    for given in (google.credentials, google.user_credentials):
        elsewhere = {**given, "token_uri": "https://no-such-host.invalid/token"}
        client = engine(
            google, credentials=elsewhere, token_endpoint=google.token_endpoint
        )
        assert submit(client).outcome is Outcome.ACCEPTED


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "Cannot read the credentials file: No such file or directory ("),
        ("{", "The credentials file is not JSON (option 'credentials')."),
        ("[]", "The credentials file is not a JSON object (option 'credentials')."),
        ("{}", "The 'type' of the credentials is not 'service_account' or "),
        ('{"type": "service_account", "private_key": "x"}', "The credentials are mal"),
        ('{"type": "authorized_user"}', "The credentials are malformed: "),
    ],
)
def test_credentials_that_cannot_be_used(
    google: FakeGoogle, tmp_path: Path, text: str | None, problem: str
) -> None:
    file = tmp_path / "account.json"
    if text is not None:
        file.write_text(text)
    client = engine(google, credentials=file)
    (finding,) = client.check_machine()
    answer = submit(client)
    assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, 0)
    assert answer.message == finding.text
    assert finding.text.startswith(problem)
    assert finding.fix.startswith("Set 'credentials' to the path of the JSON file")
    assert google.requests == []


def test_credentials_that_can_be_read(google: FakeGoogle, tmp_path: Path) -> None:
    file = tmp_path / "account.json"
    file.write_text(json.dumps(google.credentials))
    for given in (file, google.user_credentials, None):
        assert engine(google, credentials=given).check_machine() == []
    assert google.requests == []


def test_a_system_check_names_what_a_machine_lacks(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"site": SITE, "credentials": "/no/such.json"}
    backend = "django_sitemaps_plus.contrib.webmasters.google.SearchConsole"
    settings.SITEMAPS_PLUS = {
        "BASE_URL": ORIGIN,
        "ENGINES": {"google": {"BACKEND": backend, "OPTIONS": given}},
    }
    (found,) = run_checks(tags=["sitemaps_plus"], databases=[])
    assert (found.id, found.msg, found.hint) == (
        "sitemaps_plus.W031",
        "SITEMAPS_PLUS['ENGINES']['google'] cannot be used on this machine: Cannot "
        "read the credentials file: No such file or directory (option 'credentials').",
        "Set 'credentials' to the path of the JSON file that Google issued. "
        'See "checks: W031" in the documentation.',
    )
    monkeypatch.setattr(google_auth, "_auth", None)
    (found,) = run_checks(tags=["sitemaps_plus"], databases=[])
    assert (found.id, found.msg, found.hint) == (
        "sitemaps_plus.E031",
        "SITEMAPS_PLUS['ENGINES']['google']['BACKEND'] needs a package that is not "
        "installed: pip install 'django-sitemaps-plus[google]'.",
        "Type that command, or remove the engine. "
        'See "checks: E031" in the documentation.',
    )


@pytest.mark.parametrize("is_user", [False, True])
def test_revoked_credentials(google: FakeGoogle, is_user: bool) -> None:
    google.is_revoked = True
    given = google.user_credentials if is_user else google.credentials
    answer = submit(engine(google, credentials=given))
    assert answer.outcome is Outcome.UNAVAILABLE
    assert "The service account's key may have been deleted" in answer.message
    assert answer.message.endswith("Invalid grant: account not found")
    assert REFRESH_TOKEN not in answer.message
    (finding,) = asking.check_engine(engine(google, credentials=given), ORIGIN)
    assert "account not found" in finding.text
    assert finding.fix == "Check the option 'credentials'."


@pytest.mark.parametrize(
    ("fault", "status", "problem"),
    [
        (reply(429), None, "The token endpoint is unavailable (429)."),
        (Slow("answer"), None, "did not answer within 1 s."),
        (html(), None, "unavailable (200): it answers with a web page."),
        (html(400), None, "unavailable (400): it answers with a web page."),
        (reply(200, "[]"), 0, "The token endpoint's answer is not a token."),
        (reply(200, '{"access_tok'), 0, "The token endpoint's answer is not a token."),
        (reply(200, "{}"), 0, "No access token"),
    ],
    ids=repr,
)
@pytest.mark.costly
def test_a_token_endpoint_that_fails_is_asked_once(
    google: FakeGoogle, fault: Any, status: int | None, problem: str
) -> None:
    google.fault = fault
    answer = submit(engine(google, timeout=1.0 if isinstance(fault, Slow) else 20.0))
    assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, status)
    assert problem in answer.message
    assert answer.is_unsent
    assert len(google.requests) <= 1


# Failures


@pytest.mark.parametrize("reason", ["quotaExceeded", "rateLimitExceeded"])
def test_too_many_requests(google: FakeGoogle, reason: str) -> None:
    answer = refused(google, api_error(403, reason, retry_after="40"))
    assert (answer.outcome, answer.retry_after) == (Outcome.THROTTLED, 40.0)


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        (403, "forbidden", "Search Console's dialog"),
        (403, "accessNotConfigured", "API is not enabled"),
        (403, "insufficientPermissions", "lacks the scope"),
        (404, "notFound", "does not know the property"),
        (500, "backendError", "internal error (500)"),
        (302, "", "a redirect (302): check 'endpoint'"),
    ],
)
@pytest.mark.costly
def test_a_failure_is_explained(
    google: FakeGoogle, status: int, reason: str, words: str
) -> None:
    answer = refused(google, api_error(status, reason))
    assert answer.outcome is Outcome.UNAVAILABLE
    assert words in answer.message


# Status


def test_the_status_is_read_back(google: FakeGoogle) -> None:
    client = engine(google)
    submit(client)
    google.settle()
    contents = google.sitemaps[SITE, SITEMAP]["contents"]
    contents += [
        {"type": "rssFeed", "submitted": "1"},
        {"type": "ATOM_FEED", "submitted": "3"},
        {"type": "VIDEO", "submitted": "many"},
        {"type": "NEWS"},
        "nonsense",
    ]
    (status,) = reports_of(client, [SITEMAP])
    assert status.problem == ""
    assert status.last_submitted is not None
    assert status.last_downloaded is not None
    assert status.is_pending is False
    assert (status.errors, status.warnings) == (0, 0)
    assert status.submitted == {"web": 2, "rssfeed": 1, "atomfeed": 3}


def test_a_sitemap_that_was_never_submitted_or_cannot_be_read(
    google: FakeGoogle,
) -> None:
    client = engine(google)
    submit(client, f"{ORIGIN}/missing.xml")
    never, missing = reports_of(client, [f"{ORIGIN}/a.xml", f"{ORIGIN}/missing.xml"])
    assert never.problem == f"The sitemap was never submitted for {SITE}."
    assert (never.errors, missing.errors, missing.problem) == (None, 1, "")


def test_a_failure_ends_the_requests_for_reports(google: FakeGoogle) -> None:
    client = engine(google)
    submit(client)
    before = len(google.calls)
    google.fault = reply(500)
    found = reports_of(client, [f"{ORIGIN}/{number}.xml" for number in range(5)])
    assert len(google.calls) - before == 1
    problems = [status.problem for status in found]
    assert problems == ["Google has an internal error (500)."] * 5


@pytest.mark.parametrize("body", ["", "[1]", "[" * 10_000, '{"error": 401}'])
def test_what_is_no_report(google: FakeGoogle, body: str) -> None:
    client = engine(google)
    submit(client)
    google.fault = reply(200, body)
    (status,) = reports_of(client, [SITEMAP])
    problem = "Google answers not as its protocol says (200): check 'endpoint'."
    assert status.problem == problem


# Checks


OWNED = {SITE: "siteOwner"}


@pytest.mark.parametrize(
    ("name", "properties", "found", "fix"),
    [
        (SITE, OWNED, f"The account is an owner of {SITE}.", None),
        (SITE, {SITE: "siteFullUser"}, f"{SITE}, but siteFullUser.", "Add an owner"),
        (SITE, {"sc-domain:a.b": ""}, "It sees: sc-domain:a.b.", "add the account"),
        ("https://b.a/", OWNED, "is not part of the property", "Correct 'site'."),
        (f"{SITE}shop/", {f"{SITE}shop/": "siteOwner"}, "is an owner of", None),
    ],
)
def test_the_account_must_be_an_owner(
    google: FakeGoogle,
    name: str,
    properties: dict[str, str],
    found: str,
    fix: str | None,
) -> None:
    google.properties = properties
    (finding,) = asking.check_engine(engine(google, site=name), ORIGIN)
    assert finding.is_good is (fix is None)
    assert found in finding.text
    assert (fix or "") in finding.fix


# Options and secrets


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"site": "https://www.example.com"}, "site"),
        ({"site": "sc-domain:https://example.com"}, "site"),
        ({"site": None}, "site"),
        ({"credentials": 5}, "credentials"),
        ({"endpoint": "http://api.example/v3"}, "endpoint"),
        ({"token_endpoint": "http://api.example/token"}, "token_endpoint"),
    ],
)
def test_an_invalid_option_is_refused(
    google: FakeGoogle, options: dict[str, Any], option: str
) -> None:
    with pytest.raises(OptionError) as caught:
        engine(google, **options)
    assert caught.value.option == option


def test_keys_and_tokens_are_never_shown(google: FakeGoogle, tmp_path: Path) -> None:
    given = tmp_path / "account.json"
    given.write_text(json.dumps(google.credentials))
    client = engine(google, credentials=given)
    submit(client)
    token = google.calls[0].headers["authorization"].removeprefix("Bearer ")
    key = google.credentials["private_key"]
    signed = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJl"
    google.fault = reply(403, f"{token} {key.splitlines()[3]} {signed} {ACCOUNT}")
    answer = submit(client)
    shown = f"{answer} {client!r} {reports_of(client, [SITEMAP])}"
    for secret in (token, key, key.splitlines()[3], signed):
        assert secret not in shown
    assert ACCOUNT in answer.excerpt, "the name of the account is not a secret"


def test_search_console_lists_a_thousand_files_of_nine_million_urls(
    register: Any,
) -> None:
    """Within a section pages are filled to nine tenths."""
    register("article", ArticleSitemap)
    urls = SearchConsole.shows_files * source("article").limit * FILL
    assert urls == 9_000_000
