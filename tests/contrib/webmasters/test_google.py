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
from google.auth.exceptions import TransportError

from django_sitemaps_plus.contrib.webmasters import google_auth
from django_sitemaps_plus.contrib.webmasters.google import SearchConsole
from django_sitemaps_plus.delivery.engines import reports_of
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import Outcome, SitemapStatus
from django_sitemaps_plus.pagination.cutting import FILL
from django_sitemaps_plus.sitemaps.sections import source
from tests.checks.test_checks import found
from tests.contrib.webmasters.setups import search_console as engine
from tests.engines.setups import SITE as ORIGIN
from tests.engines.setups import SITEMAP
from tests.engines.setups import submit_sitemap as submit
from tests.support.fakes.faults import Reply, Slow, html, reply
from tests.support.fakes.google import ACCOUNT, REFRESH_TOKEN, SCOPE, FakeGoogle
from tests.support.fakes.site import FakeSite
from tests.support.helpers import ArticleSitemap

ROOT = Path(__file__).parent.parent.parent
SITE = f"{ORIGIN}/"


@pytest.fixture
def google(site: FakeSite) -> Iterator[FakeGoogle]:
    with FakeGoogle(resolve={"www.example.com": site.host}) as server:
        yield server


def api_error(status: int, reason: str, **headers: str) -> Any:
    error = {"code": status, "errors": [{"domain": "global", "reason": reason}]}
    return reply(status, json.dumps({"error": error}), **headers)


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


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        (
            "sc-domain:example.com",
            ["http://example.com/s.xml", "https://a.b.example.com:8443/s.xml"],
            [
                "https://example.com.example.org/s.xml",
                "https://example.org/example.com/s.xml",
                "https://notexample.com/s.xml",
            ],
        ),
        ("sc-domain:www.example.com", [], ["https://example.com/s.xml"]),
        (
            SITE,
            [f"{SITE}s.xml", f"{SITE}shop/s.xml"],
            [
                "http://www.example.com/s.xml",
                "https://www.example.com.example.org/s.xml",
                "https://shop.example.com/s.xml",
            ],
        ),
        (
            f"{SITE}shop/",
            [f"{SITE}shop/s.xml"],
            [f"{SITE}shop.xml", f"{SITE}blog/shop/s.xml"],
        ),
    ],
)
def test_a_sitemap_of_another_property_is_not_submitted(
    google: FakeGoogle, name: str, inside: list[str], outside: list[str]
) -> None:
    google.properties = {name: "siteOwner"}
    client = engine(google, site=name)
    for location in inside:
        assert submit(client, location).outcome is Outcome.ACCEPTED
    for location in outside:
        answer = submit(client, location)
        assert (answer.outcome, answer.status) == (Outcome.REJECTED, None), location
        assert answer.message.startswith(
            f"The sitemap is not part of the property {name}"
        )
    assert google.submitted == inside


# Tokens


def test_a_token_is_reused_until_it_expires_and_renewed_only_once(
    google: FakeGoogle,
) -> None:
    client = engine(google)
    submit(client)
    submit(client)
    assert google.grants == 1
    google.expire_tokens()
    assert submit(client).outcome is Outcome.ACCEPTED
    assert google.grants == 2
    before, refused = len(google.calls), api_error(401, "authError")
    token = json.dumps({"access_token": "ya29.x", "expires_in": 3599})
    google.faults = [refused, reply(200, token), refused]
    answer = submit(client)
    assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, 401)
    assert "rejects the access token" in answer.message
    assert len(google.calls) - before == 2


def test_credentials_are_a_path_their_contents_or_the_machines(
    google: FakeGoogle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Google refuses a user's default credentials without the project to charge."""
    file = tmp_path / "account.json"
    file.write_text(json.dumps(google.credentials))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    user = {**google.user_credentials, "quota_project_id": "charged"}
    for given, project in (
        (file, None),
        (str(file), None),
        (user, "charged"),
        (None, None),
    ):
        client, before = engine(google, credentials=given), len(google.requests)
        assert client.check_machine() == []
        assert len(google.requests) == before
        assert submit(client).outcome is Outcome.ACCEPTED
        assert google.calls[-1].headers.get("x-goog-user-project") == project
    file.unlink()
    client = engine(google, credentials=None)
    assert client.check_machine() == [], "nobody is asked"
    answer = submit(client)
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

    def answer(page: object) -> Reply:
        is_json = isinstance(page, dict)
        kind = "application/json" if is_json else "text/plain"
        headers = {"Metadata-Flavor": "Google", "Content-Type": kind}
        text = json.dumps(page) if is_json else str(page)
        return Reply(body=text.encode(), headers=headers)

    google.trust("ya29.machine")
    with FakeSite({path: answer(page) for path, page in pages.items()}) as machine:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        env |= dict.fromkeys(["GCE_METADATA_HOST", "GCE_METADATA_IP"], machine.host)
        command = [sys.executable, "-c", code]
        output = subprocess.check_output(command, env=env, cwd=ROOT, text=True)
    assert "Outcome.ACCEPTED" in output
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


def test_the_token_endpoint_is_an_option(google: FakeGoogle) -> None:
    for given in (google.credentials, google.user_credentials):
        elsewhere = {**given, "token_uri": "https://no-such-host.invalid/token"}
        client = engine(
            google, credentials=elsewhere, token_endpoint=google.token_endpoint
        )
        assert submit(client).outcome is Outcome.ACCEPTED


def test_credentials_that_cannot_be_used(google: FakeGoogle, tmp_path: Path) -> None:
    file = tmp_path / "account.json"
    for text, problem in (
        (None, "Cannot read the credentials file: No such file or directory ("),
        ("{", "The credentials file is not JSON (option 'credentials')."),
        ("[]", "The credentials file is not a JSON object (option 'credentials')."),
        ("{}", "The 'type' of the credentials is not 'service_account' or "),
        ('{"type": "service_account", "private_key": "x"}', "The credentials are mal"),
        ('{"type": "authorized_user"}', "The credentials are malformed: "),
    ):
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


def test_a_system_check_names_what_a_machine_lacks(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"site": SITE, "credentials": "/no/such.json"}
    backend = "django_sitemaps_plus.contrib.webmasters.google.SearchConsole"
    settings.SITEMAPS_PLUS = {
        "BASE_URL": ORIGIN,
        "ENGINES": {"google": {"BACKEND": backend, "OPTIONS": given}},
    }
    assert found() == [
        (
            "W031",
            "SITEMAPS_PLUS['ENGINES']['google'] cannot be used on this machine: Cannot "
            "read the credentials file: No such file or directory (option "
            "'credentials').",
            "Set 'credentials' to the path of the JSON file that Google issued.",
        )
    ]
    monkeypatch.setattr(google_auth, "_auth", None)
    assert found() == [
        (
            "E031",
            "SITEMAPS_PLUS['ENGINES']['google']['BACKEND'] needs a package that is not "
            "installed: pip install 'django-sitemaps-plus[google]'.",
            "Type that command, or remove the engine.",
        )
    ]


def test_revoked_credentials(google: FakeGoogle) -> None:
    google.is_revoked = True
    for given in (google.credentials, google.user_credentials):
        client = engine(google, credentials=given)
        answer = submit(client)
        assert answer.outcome is Outcome.UNAVAILABLE
        assert "The service account's key may have been deleted" in answer.message
        assert answer.message.endswith("Invalid grant: account not found")
        assert REFRESH_TOKEN not in answer.message
        (finding,) = asking.check_engine(client, ORIGIN)
        assert "account not found" in finding.text
        assert finding.fix == "Check the option 'credentials'."


def test_a_token_endpoint_that_fails_is_asked_once(google: FakeGoogle) -> None:
    no_token = "The token endpoint's answer is not a token."
    for fault, status, problem in (
        (reply(429), None, "The token endpoint is unavailable (429)."),
        (Slow("answer"), None, "did not answer within 1 s."),
        (html(), None, "unavailable (200): it answers with a web page."),
        (html(400), None, "unavailable (400): it answers with a web page."),
        (reply(200, "[]"), 0, no_token),
        (reply(200, '{"access_tok'), 0, no_token),
        (reply(200, "{}"), 0, "No access token"),
    ):
        google.fault = fault
        google.requests.clear()
        answer = submit(engine(google, timeout=1.0 if status is None else 20.0))
        assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, status)
        assert problem in answer.message
        assert answer.is_unsent
        assert len(google.requests) == 1


# Failures


def test_a_failure_is_explained(google: FakeGoogle) -> None:
    client = engine(google)
    submit(client)
    for status, reason, outcome, words in (
        (403, "quotaExceeded", Outcome.THROTTLED, "asks for fewer requests (403)"),
        (403, "rateLimitExceeded", Outcome.THROTTLED, "asks for fewer requests (403)"),
        (403, "forbidden", Outcome.UNAVAILABLE, "Search Console's dialog"),
        (403, "accessNotConfigured", Outcome.UNAVAILABLE, "API is not enabled"),
        (403, "insufficientPermissions", Outcome.UNAVAILABLE, "lacks the scope"),
        (404, "notFound", Outcome.UNAVAILABLE, "does not know the property"),
        (500, "backendError", Outcome.UNAVAILABLE, "internal error (500)"),
        (302, "", Outcome.UNAVAILABLE, "a redirect (302): check 'endpoint'"),
    ):
        google.fault = api_error(status, reason, retry_after="40")
        answer = submit(client)
        assert (answer.outcome, answer.retry_after) == (outcome, 40.0), reason
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
    assert status.last_submitted is not None
    assert status.last_downloaded is not None
    assert status == SitemapStatus(
        location=SITEMAP,
        last_submitted=status.last_submitted,
        last_downloaded=status.last_downloaded,
        is_pending=False,
        errors=0,
        warnings=0,
        submitted={"web": 2, "rssfeed": 1, "atomfeed": 3},
    )


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
    unknown = "Google answers not as its protocol says (200): check 'endpoint'."
    for status, body, problem in (
        (500, "", "Google has an internal error (500)."),
        *((200, no_report, unknown) for no_report in ("", "[1]", "[" * 10_000)),
        (200, '{"error": 401}', unknown),
    ):
        google.fault, before = reply(status, body), len(google.calls)
        found = reports_of(client, [f"{ORIGIN}/{number}.xml" for number in range(5)])
        assert len(google.calls) - before == 1
        assert [status.problem for status in found] == [problem] * 5


# Checks


def test_the_account_must_be_an_owner(google: FakeGoogle) -> None:
    for name, level, property_, text, fix in (
        (SITE, "siteOwner", SITE, f"The account is an owner of {SITE}.", None),
        (SITE, "siteFullUser", SITE, f"{SITE}, but siteFullUser.", "Add an owner"),
        (SITE, "", "sc-domain:a.b", "It sees: sc-domain:a.b.", "add the account"),
        ("https://b.a/", "", SITE, "is not part of the property", "Correct 'site'."),
        (f"{SITE}shop/", "siteOwner", f"{SITE}shop/", "is an owner of", None),
    ):
        google.properties = {property_: level}
        (finding,) = asking.check_engine(engine(google, site=name), ORIGIN)
        assert finding.is_good is (fix is None)
        assert text in finding.text
        assert (fix or "") in finding.fix


# Options and secrets


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
