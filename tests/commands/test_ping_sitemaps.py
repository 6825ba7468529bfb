"""``manage.py ping_sitemaps``: what it submits, what it says, and how it ends."""

from __future__ import annotations

import datetime as dt
import json
import re
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import touch
from django_sitemaps_plus.delivery import gate
from django_sitemaps_plus.engines.base import (
    Answer,
    CheckResult,
    Outcome,
    SitemapStatus,
)
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.models import Change, EngineState, Submission, UrlChange
from django_sitemaps_plus.testing import engines
from tests.commands.test_build_sitemaps import Away, Misspelt
from tests.support.factories import articles, dated_anew
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    Titled,
    later,
    remove_sites,
    run_command,
)
from tests.support.mirror import Mirror
from tests.support.outbox_engines import Keyed, Scripted
from tests.support.outbox_world import BASE, Kind, happened, sent, use
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(databases=["default", "other"])


@pytest.fixture
def engine(settings: Any) -> Any:
    """The only engine: it gives the answers that a test puts into ``answers``."""
    return use(settings, one="Scripted")


def ping(*arguments: str) -> tuple[str, str, int]:
    return run_command("ping_sitemaps", *arguments)


def as_json(*arguments: str) -> Any:
    return json.loads(ping(*arguments, "--format", "json")[0])


def test_it_submits_what_is_due_and_says_so(settings: Any) -> None:
    engine = use(settings, one="Scripted", NOTIFY_AFTER=60)
    happened("/a/", "/b/")
    out, err, code = ping()
    assert (err, code) == ("", 0)
    head, line = out.splitlines()
    assert head.split()[:4] == ["engine", "host", "requests", "accepted"]
    assert line.split() == ["one", "www.example.com", "1", "2", "0", "0", "0"]
    assert sorted(sent(engine)[0]) == ["/a/", "/b/"]
    assert ping() == ("No submission is due.\n", "", 0)
    happened("/c/")
    submitted = as_json()
    assert submitted["refusal"] == ""
    [line] = submitted["lines"]
    assert (line["engine"], line["requests"], line["accepted"]) == ("one", 1, 1)


def test_what_was_not_accepted_is_a_failure(settings: Any) -> None:
    engine = use(settings, one="Scripted", two="Scripted")
    sleeps = Answer(outcome=Outcome.UNAVAILABLE, status=503, message="It sleeps.")
    engine.answers.append(sleeps)
    waits = r"CommandError: {}: one cannot be notified \(It sleeps\), next try \S+\.\n"
    happened("/a/")
    out, err, code = ping()
    assert ("It sleeps." in out, code) == (True, 1)
    assert re.fullmatch(waits.format("1 waits"), err)
    out, err, code = ping()
    assert (out, code) == ("No submission is due.\n", 1)
    assert re.fullmatch(waits.format("1 waits"), err)
    [waiting] = as_json()["waiting"]
    assert (waiting["count"], waiting["problem"]) == (1, "It sleeps.")
    happened("/b/")
    out, err, code = ping()
    assert ("It sleeps." in out, code) == (True, 1), "the engine is paused"
    assert re.fullmatch(waits.format("2 wait"), err)


def test_what_was_rejected_is_a_failure_once(engine: Any) -> None:
    engine.bad.add(f"{BASE}/b/")
    happened("/a/", "/b/")
    _out, err, code = ping()
    text = "Not everything was accepted: one: 1 rejected, 0 given up."
    assert (err, code) == (f"CommandError: {text}\n", 1)
    assert ping() == ("No submission is due.\n", "", 0)


def test_what_an_interval_postpones_is_said_and_no_failure(settings: Any) -> None:
    use(settings, one=("Scripted", {"interval": 100_000}))
    ping("--url", "/a/")
    out, err, code = ping("--url", "/a/")
    assert (err, code) == ("", 0)
    day = r"\d{4}-\d\d-\d\d \d\d:\d\d"
    waits = rf"No submission is due\.\n1 waits for one, the first until {day}\.\n"
    assert re.fullmatch(waits, out)


# Sections of which nothing can be submitted


def test_a_section_that_was_never_built_or_is_in_error_is_a_failure(
    engine: Any, register: Any
) -> None:
    register("article", Titled)
    register("pages", PagesSitemap)
    text = "Section 'article' was never built: manage.py build_sitemaps article"
    assert ping()[1:] == (f"CommandError: {text}\n", 1)
    assert as_json()["troubles"] == [text]
    assert ping("--section", "pages")[1:] == ("", 0)
    [first] = articles(1, title="bad")
    run_command("build_sitemaps")
    text = (
        "CommandError: Section 'article' is in error: {} rows of page article-1 cannot"
    )
    _out, err, code = ping()
    assert code == 1
    assert err.startswith(
        f"{text.format('1 of 1')} be listed. The first, {first.pk}: location 'bad': "
        "neither"
    )
    articles(12, title="bad")
    run_command("build_sitemaps", "--reconcile")
    _out, err, code = ping()
    assert code == 1
    assert err.startswith(text.format("13 of 13"))


@pytest.mark.django_db(transaction=True, databases=["default", "other"])
@pytest.mark.parametrize("cls", [Away, Misspelt])
def test_a_section_whose_rows_cannot_be_read_is_a_failure(
    engine: Any, register: Any, cls: type
) -> None:
    """And keeps no other from the engines."""
    register("article", ArticleSitemap)
    run_command("build_sitemaps")
    register("broken", cls)
    Article.objects.create(slug="new")
    unread = "The rows of these sections cannot be read: broken. The log says why.\n"
    _out, err, code = ping("--dry-run")
    assert (unread in err, code) == (True, 1)
    _out, err, code = ping()
    assert sent(engine) == [["/articles/new/"]]
    assert err.endswith(f"CommandError: {unread}")
    assert code == 1


ASKED = [["--url", "/a/"], ["--all"], ["--since", "2026-01-31"]]
SECTION, ENGINE = ["--section", "article"], ["--engine", "one"]
#: Options that do nothing beside another.
IDLE = {
    "--check": [*ASKED, SECTION],
    "--status": [*ASKED, SECTION, ["--force"]],
    "--confirm": [*ASKED, ENGINE, ["--force"]],
}


MISUSE = [
    (["--section", "no"], "There is no section 'no'. There are: article."),
    (["--engine", "three"], "There is no engine 'three'. There are: one, two."),
    (["--url", "https://elsewhere.example/a/"], "--url: "),
    (["--since", "lately"], "--since 'lately': give a date (2026-01-31), a time"),
    (["--since", "2026-13-01"], "--since '2026-13-01': give a date"),
    (["--since", "nan"], "--since 'nan': give a date"),
    (["--since", "2999-01-01"], "--since '2999-01-01' is in the future."),
    (["--since", "-1 00:00:00"], "--since '-1 00:00:00' is in the future."),
    (["--url", ""], "--url: "),
    (["--url", "ftp://www.example.com/"], "--url: "),
    *(
        ([mode, *idle], f"{idle[0]} does nothing with {mode}: leave one of them")
        for mode, idles in IDLE.items()
        for idle in idles
    ),
    (["--url", "/a/", "--section", "article"], "--section does nothing with --url"),
]


def test_misuse_ends_with_two(settings: Any, register: Any) -> None:
    use(settings, one="Scripted", two="Scripted")
    register("article", ArticleSitemap)
    for arguments, problem in MISUSE:
        out, err, code = ping(*arguments)
        assert (out, code) == ("", 2)
        assert err.startswith(f"CommandError: {problem}")
    assert not Submission.objects.exists()


def test_engines_that_take_no_urls_are_asked_for_none(settings: Any) -> None:
    use(settings, one="Scripted", maps="Sitemaps")
    problem = "No URL of a page can be submitted to maps. Leave out --url"
    for asked in (["--url", "/a/"], ["--all"], ["--since", "1:00:00"]):
        assert ping("--engine", "one", *asked)[2] == 0
        out, err, code = ping("--engine", "maps", *asked)
        assert (out, code) == ("", 2)
        assert err.startswith(f"CommandError: {problem}")


def test_engines_and_sections_can_be_chosen(settings: Any, register: Any) -> None:
    register("article", ArticleSitemap)
    use(settings, one="Scripted", two="Scripted")
    happened("/a/", section="article")
    happened("/b/", section="pages")
    ping("--engine", "two", "--section", "article")
    done = Submission.objects.filter(state="accepted")
    assert list(done.values_list("engine", "url")) == [("two", f"{BASE}/a/")]


def test_a_url_can_be_submitted(engine: Any) -> None:
    ping("--url", "/a/", "--url", f"{BASE}/b/")
    assert sent(engine) == [["/a/", "/b/"]]
    assert {row.kind for row in Submission.objects.all()} == {"requested"}
    ping("--url", "/a/")
    assert len(engine.sent) == 1, "not twice within the interval"


def test_all_that_is_listed_can_be_submitted(engine: Any, register: Any) -> None:
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    articles(3)
    _out, err, code = ping("--all", "--section", "pages")
    assert code == 0
    assert "quotas" in err
    assert sorted(sent(engine)[0]) == ["/", "/about/"]
    ping("--all")
    assert len(sent(engine)[1]) == 3


def test_what_happened_since_can_be_submitted_again(engine: Any) -> None:
    now = time.time()
    happened("/old/", at=now - 3 * 86_400, queued_at=now)
    happened("/new/", at=now - 3600, queued_at=now)
    happened("/held/", at=now - 3600, on_hold=True)
    ping("--since", "2 00:00:00")
    assert sent(engine) == [["/new/"]]
    day = dt.datetime.fromtimestamp(now - 4 * 86_400, dt.UTC).date()
    later(1000)
    ping("--since", str(day))
    assert sorted(sent(engine)[1]) == ["/new/", "/old/"]
    _, err, code = run_command("ping_sitemaps", "--since", "2020-01-01")
    assert (err.splitlines()[0], code) == ("Changes are kept for 7 days only.", 0)


def test_a_dry_run_counts_what_would_be_sent_and_sends_nothing(settings: Any) -> None:
    engine = use(settings, one="Few", maps="Sitemaps")
    happened(*(f"/{n}/" for n in range(4)))
    happened("/0/")
    out, err, code = ping("--dry-run", "--url", "/a/")
    assert (err, code) == ("", 0)
    head, maps, few = out.splitlines()
    names = ["engine", "host", "urls", "requests", "postponed", "examples"]
    assert head.split() == names
    assert few.split()[:5] == ["one", "www.example.com", "5", "2", "0"]
    sitemap = f"{BASE}/sitemap.xml"
    assert maps.split() == ["maps", "www.example.com", "1", "1", "0", sitemap]
    assert f"{BASE}/0/, {BASE}/1/, {BASE}/2/" in few
    assert engine.sent == []
    assert not UrlChange.objects.filter(queued_at=None).exists()
    assert not Submission.objects.filter(url=f"{BASE}/a/").exists(), "it was asked for"
    told = as_json("--dry-run")
    assert {one["engine"]: one["urls"] for one in told["plan"]} == {"one": 4, "maps": 1}
    ping()
    assert ping("--dry-run") == ("Nothing to send.\n", "", 0)
    happened("/0/", "/waits/", "/waits/")
    gate.pass_on()
    # What waits and what is asked for are often the same.
    asked = [f"--url={path}" for path in ("/1/", "/waits/", "/new/", f"{BASE}/new/")]
    [_maps, few] = as_json("--dry-run", *asked)["plan"]
    assert (few["urls"], few["requests"], few["postponed"]) == (2, 1, 2)
    assert Submission.objects.filter(live=True).count() == 3, "what is asked is counted"


class Few(ArticleSitemap):
    limit = 5


def test_a_dry_run_counts_what_was_just_saved(settings: Any, register: Any) -> None:
    """As what is sent then: new, changed, moved, deleted, and found on the page."""
    engine = use(settings, one="Few")
    register("article", Few)
    rows = articles(12)
    run_command("build_sitemaps")
    Article.objects.create(slug="new")
    dated_anew(rows[0]).save()
    rows[1].slug = "moved"
    rows[1].save()
    rows[7].delete()
    Article.objects.filter(pk=rows[2].pk).update(slug="updated")
    [plan] = as_json("--dry-run")["plan"]
    assert not Change.objects.exists(), "the pages are rebuilt"
    assert engine.sent == []
    ping()
    urls = [url for batch in sent(engine) for url in batch]
    assert len(urls) == len(set(urls)) == plan["urls"] == 7
    assert len(engine.sent) == plan["requests"] == 3


@pytest.mark.django_db(transaction=True)
def test_what_was_built_before_an_engine_is_named_is_not_told_to_it(
    settings: Any, register: Any
) -> None:
    register("article", ArticleSitemap)
    use(settings)
    rows = articles(3)
    for row in rows:
        row.save()
    run_command("build_sitemaps")
    engine = use(settings, one="Scripted")
    dated_anew(rows[0]).save()
    ping()
    assert sent(engine) == [[rows[0].get_absolute_url()]]


# How it stands


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Mirror]:
    """
    The site's own address leads to this machine: a private one, for --force.

    It is to be verified by the engine "one".
    """
    look_up = socket.getaddrinfo

    def here(host: str, *args: Any, **options: Any) -> Any:
        host = "127.0.0.1" if host == "www.example.com" else host
        return look_up(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    with Mirror() as running:
        base = f"http://www.example.com:{running.port}"
        use(settings, one=("Keyed", {"key": "abc12345"}), BASE_URL=base)
        running.record()
        yield running


NOT_READY = "CommandError: Not ready: see the lines marked WRONG.\n"


def test_check_says_what_is_wrong_and_how_to_mend_it(site: Mirror) -> None:
    engine: Any = engines()["one"]
    check = "--check", "--force"
    out, err, code = ping(*check)
    assert (err, code) == ("", 0)
    found = [line.split()[:2] for line in out.splitlines()]
    # Behind them stands what apps looked at.
    assert found[:5] == [*[["ok", "site:"]] * 4, ["ok", "one:"]]
    wrong = CheckResult(is_good=False, text="Not there.", fix="Deploy it.")
    engine.findings.extend([wrong, wrong, LookupError("They are away: abc12345.")])
    line = "WRONG  one: Not there. Deploy it.\n"
    out, err, code = ping(*check)
    assert (line in out, err, code) == (True, NOT_READY, 1)
    assert ping(*check, "-v0") == ("", line + NOT_READY, 1), "what is wrong alone"
    out, _err, code = ping(*check)
    text = "WRONG  one: Memory cannot be checked: LookupError: They are away: …."
    assert (code, out.splitlines()[-2]) == (1, f"{text} Correct its class.")
    assert ping(*check, "-v0") == ("", "", 0)


@pytest.mark.parametrize("base", ["http://localhost:{}", "http://www.example.com:{}"])
def test_who_forces_is_advised_no_force(site: Mirror, settings: Any, base: str) -> None:
    given = {"BASE_URL": base.format(site.port), "ROBOTS": [{"disallow": "/"}]}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **given}
    site.pages["/robots.txt"] = "User-agent: *\nDisallow: /\n"
    with override_settings(DEBUG=True):
        out, err, code = ping("--check")
        assert (err, code) == (NOT_READY, 1)
        assert "WRONG  site: DEBUG is on: this is not a public site." in out
        out, err, code = ping("--check", "--force")
    assert (err, code) == ("", 0)
    assert "ok     site: DEBUG is on: this is not a public site. Ignored by" in out
    everybody = "robots.txt disallows everything for all crawlers. Ignored by --force."
    assert f"ok     site: {everybody}" in out
    assert "robots.txt blocks all crawlers. Ignored by --force." in out
    assert "use --force" not in out
    with override_settings(SITEMAPS_PLUS={**settings.SITEMAPS_PLUS, "BASE_URL": None}):
        settings.SITE_ID = None
        remove_sites(settings)
        out, err, code = ping("--check", "--force")
    assert code == 1
    assert "WRONG  site: The site's address is not known." in out


def test_status_shows_engines_and_what_they_say(
    settings: Any, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Health   ready, nothing sent yet" in ping("--status")[0]
    happened("/a/")
    ping()
    address = f"{BASE}/sitemap.xml"
    found = SitemapStatus(location=address, is_pending=True, submitted={"web": 3})
    monkeypatch.setattr(Scripted, "status", lambda self, _: [found])
    out, err, code = ping("--status")
    assert (err, code) == ("", 0)
    for text in ("web 3", address, "Due for more than 15 minutes: 0 submissions."):
        assert text in out
    [state] = as_json("--status")["engines"]
    assert (state["engine"], state["waiting"], state["status"]) == ("one", 0, 200)
    assert state["last_success"].endswith("Z")

    def fail(self: Any, locations: Any) -> Any:
        raise LookupError(f"no abc12345 at {locations}")

    use(settings, one=("Keyed", {"key": "abc12345"}), two="Few")
    monkeypatch.setattr(Keyed, "status", fail)
    out, err, code = ping("--status")
    assert (err, code) == ("", 0)
    assert f"LookupError: no … at ['{address}']" in " ".join(out.split())


@pytest.mark.parametrize("columns", ["80", "60"])
def test_status_is_readable_in_a_narrow_terminal(
    settings: Any, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    use(settings, one="Scripted", two="Few")
    happened("/a/")
    ping()
    now = time.time()
    EngineState.objects.filter(engine="one").update(
        succeeded_at=now - 500, answered_at=now - 7300, verified_at=now - 3 * 86_400
    )
    EngineState.objects.filter(engine="two").update(
        problem="The key file is missing. " * 5, paused_until=now + 100
    )
    read = "2026-01-02T03:04:05.000Z"
    reports = [
        SitemapStatus(location=f"{BASE}/{'long' * 30}.xml", last_downloaded=read),
        SitemapStatus(location=f"{BASE}/sitemap.xml", problem="Not there."),
    ]
    monkeypatch.setattr(Scripted, "status", lambda self, locations: reports)
    out = ping("--status")[0]
    lines = out.splitlines()
    assert max(map(len, lines)) <= int(columns)
    assert {
        "one for www.example.com",
        "  Health        works",
        "  Last success  8 minutes ago",
        "  Last answer   2 hours ago, with status 200",
        "  Ownership     verified 3 days ago",
        "  Problem  Not there.",
    } <= set(lines)
    text = " ".join(out.split())
    assert "needs attention: The key file is missing. The key" in text
    assert "Next try in 1 minute." in text
    assert " ago" in out.partition("Last read")[2][:40]


def test_status_fails_where_something_is_late(engine: Any) -> None:
    happened("/a/")
    gate.pass_on()
    later(1000)
    out, err, code = ping("--status")
    late = "1 submission to one has been due for more than 15 minutes"
    assert (err, code) == (f"CommandError: {late}: manage.py ping_sitemaps\n", 1)
    assert "Due for more than 15 minutes: 1 submission." in out
    since = time.time() - 1000
    EngineState.objects.update(message="It sleeps.", failures=5, failing_since=since)
    [alert] = [a for a in as_json("--status")["alerts"] if a["level"] != "note"]
    assert (alert["level"], alert["name"], alert["waiting"]) == ("error", "one", 1)
    assert alert["since"].endswith("Z")


def test_status_and_check_agree(settings: Any, register: Any, site: Mirror) -> None:
    """Of sections, engines and URLs on hold."""
    engine: Any = engines()["one"]
    register("article", ArticleSitemap)
    happened("/gone/", kind=Kind.REMOVED, on_hold=True)
    happened("/a/")
    engine.findings.append(CheckResult(is_good=False, text="No key file."))
    with override_settings(ALLOWED_HOSTS=["*"]):
        ping("--force")
    texts = [
        "Section 'article' was never built",
        "cannot be notified: No key file.",
        "Section 'article': 1 removed URL is on hold until you confirm it",
    ]
    for said in (ping("--status")[1], ping("--check", "--force")[0]):
        for text in texts:
            assert text in said
    assert "WRONG  one: cannot be notified: No key file." in said


def test_with_nothing_to_do_it_asks_eleven_times(settings: Any, register: Any) -> None:
    """However many sections and engines there are."""
    use(settings, one="Scripted", two="Few")
    register("article", ArticleSitemap)
    register("other", ArticleSitemap)
    articles(3)
    run_command("build_sitemaps")
    Article.objects.create(slug="new")
    ping()
    with CaptureQueriesContext(connection) as queries:
        assert ping() == ("No submission is due.\n", "", 0)
    # Apps are called within savepoints where a transaction is open, as in a test.
    sql = [one["sql"] for one in queries if "SAVEPOINT" not in one["sql"]]
    assert len(sql) <= 11, "\n".join(sql)


@pytest.mark.parametrize(
    "arguments",
    [[], ["--url", "/b/"], ["--all"], ["--dry-run"], ["--status"], ["--confirm"]],
)
@pytest.mark.costly
def test_quiet_it_prints_errors_only(
    settings: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(utils, "LINE_EVERY", 0)
    engine = use(settings, one="Scripted")
    happened("/a/")
    if "--confirm" in arguments:
        happened("/held/", kind=Kind.REMOVED, on_hold=True)
    assert ping(*arguments, "-v0") == ("", "", 0)
    assert as_json("--dry-run", "-v0")
    if not arguments:
        engine.answers.append(Answer(outcome=Outcome.UNAVAILABLE, message="No."))
        happened("/c/")
        out, err, code = ping("-v0")
        assert (out, code) == ("", 1)
        assert err.startswith("CommandError: 1 waits: one cannot be notified (No), ")


def test_confirm_submits_what_is_on_hold(engine: Any, register: Any) -> None:
    register("article", ArticleSitemap)
    run_command("build_sitemaps")
    assert ping("--confirm") == ("Nothing is on hold.\n", "", 0)
    happened("/a/", "/b/", kind=Kind.REMOVED, on_hold=True)
    happened("/c/", kind=Kind.REMOVED, on_hold=True, section="other")
    said = "Section 'article': 2 removed URLs are on hold until you confirm them: "
    for options in (["--dry-run"], []):
        out, err, _ = ping(*options)
        assert err.startswith(f"{said}manage.py ping_sitemaps --confirm"), "first"
    assert out == "No submission is due.\n"
    out = "Section 'article': 2 URLs will be submitted.\n"
    assert ping("--confirm", "--section", "article") == (out, "", 0)
    ping()
    assert sent(engine) == [["/a/", "/b/"]]
    assert as_json("--confirm") == {"confirmed": {"other": 1}}


# When nothing is sent


@pytest.mark.parametrize("arguments", [[], ["--url", "/b/"], ["--dry-run"]])
def test_with_debug_nothing_is_sent_unforced(engine: Any, arguments: list[str]) -> None:
    happened("/a/")
    with override_settings(DEBUG=True):
        _out, err, code = ping(*arguments)
        assert code == 1
        assert "DEBUG is on" in err
        assert not Submission.objects.exists(), "nor is anything put on a list"
        assert "DEBUG is on" in as_json(*arguments)["refusal"]
        ping(*arguments, "--force")
    assert bool(engine.sent) is ("--dry-run" not in arguments)


def test_without_an_engine_to_use_or_an_address_it_fails(settings: Any) -> None:
    use(settings)
    _out, err, code = ping()
    assert code == 2
    assert "No engine is configured: set SITEMAPS_PLUS['ENGINES']" in err
    # What needs attention, and how the sitemaps arrive, can be asked for without one.
    assert ping("--status")[1:] == ("", 0)
    out, _err, code = ping("--check")
    assert "The site's address is" in out
    assert code != 2
    settings.SITE_ID = None
    use(settings, one="Scripted", BASE_URL=None)
    _out, err, code = ping()
    assert ("BASE_URL" in err, code) == (True, 2)
    backend = {"BACKEND": "no.such"}
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ENGINES": {"one": backend}}
    _out, err, code = ping()
    assert ("['ENGINES']['one']['BACKEND']" in err, code) == (True, 1)


def test_long_work_shows_how_far_it_is(
    settings: Any, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings, one="Few")
    register("article", Few)
    articles(12)
    run_command("build_sitemaps")
    monkeypatch.setattr(utils, "LINE_EVERY", 0)
    happened(*(f"/{n}/" for n in range(7)))
    _out, err, code = ping()
    assert code == 0
    assert "one, www.example.com: 3 requests, 6 URLs accepted" in err
    touch(Article.objects.all())
    _out, err, code = ping("--dry-run")
    assert code == 0
    assert "3 pages rebuilt so far\n" in err
