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
from django_sitemaps_plus.models import Change, EngineState, Page, Submission, UrlChange
from django_sitemaps_plus.testing import engines
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


def ping(*arguments: str) -> tuple[str, str, int]:
    return run_command("ping_sitemaps", *arguments)


def as_json(*arguments: str) -> dict[str, Any]:
    out, _err, _code = ping(*arguments, "--format", "json")
    found: dict[str, Any] = json.loads(out)
    return found


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


def test_it_rebuilds_the_pages_that_changed_first(settings: Any, register: Any) -> None:
    engine = use(settings, one="Scripted")
    register("article", ArticleSitemap)
    articles(3)
    run_command("build_sitemaps")
    assert ping() == ("No submission is due.\n", "", 0)
    article = Article.objects.order_by("pk")[0]
    former = article.get_absolute_url()
    article.slug = "moved"
    article.save()
    ping()
    assert sent(engine) == [["/articles/moved/", former]]
    assert not Change.objects.exists()


def test_what_was_not_accepted_is_a_failure(settings: Any) -> None:
    engine = use(settings, one="Scripted", two="Scripted")
    engine.answers.append(
        Answer(outcome=Outcome.UNAVAILABLE, status=503, message="It sleeps.")
    )
    happened("/a/")
    out, err, code = ping()
    assert code == 1
    assert "It sleeps." in out
    waits = r"CommandError: {}: one cannot be notified \(It sleeps\), next try \S+\.\n"
    assert re.fullmatch(waits.format("1 waits"), err)
    out, err, code = ping()
    assert (out, code) == ("No submission is due.\n", 1)
    assert re.fullmatch(waits.format("1 waits"), err)
    [waiting] = as_json()["waiting"]
    assert (waiting["count"], waiting["problem"]) == (1, "It sleeps.")
    happened("/b/")
    out, err, code = ping()
    assert code == 1, "the engine is paused"
    assert "It sleeps." in out
    assert re.fullmatch(waits.format("2 wait"), err)


def test_what_was_rejected_is_a_failure_once(settings: Any) -> None:
    engine = use(settings, one="Scripted")
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


def test_a_section_that_was_never_built_is_a_failure(
    settings: Any, register: Any
) -> None:
    use(settings, one="Scripted")
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    text = "Section 'article' was never built: manage.py build_sitemaps article"
    _out, err, code = ping()
    assert (err, code) == (f"CommandError: {text}\n", 1)
    assert as_json()["troubles"] == [text]
    assert ping("--section", "pages")[1:] == ("", 0)
    run_command("build_sitemaps")
    assert ping() == ("No submission is due.\n", "", 0)


def test_a_section_that_is_in_error_is_a_failure(settings: Any, register: Any) -> None:
    use(settings, one="Scripted")
    register("article", Titled)
    first = articles(1, title="bad")[0]
    run_command("build_sitemaps")
    _out, err, code = ping()
    assert code == 1
    assert err.startswith(
        "CommandError: Section 'article' is in error: 1 of 1 rows of page "
        f"article-1 cannot be listed. The first, {first.pk}: location 'bad': neither"
    )
    articles(12, title="bad")
    run_command("build_sitemaps", "--reconcile")
    _out, err, code = ping()
    assert code == 1
    text = "Section 'article' is in error: 13 of 13 rows of page article-1 cannot"
    assert err.startswith(f"CommandError: {text}")


def away(self: Any) -> Any:
    raise LookupError("They are away.")


def failing(self: Any) -> Any:
    return Article.objects.extra(where=["no_such_column = 1"])


@pytest.mark.django_db(transaction=True, databases=["default", "other"])
@pytest.mark.parametrize("items", [away, failing])
def test_a_section_whose_rows_cannot_be_read_is_a_failure(
    settings: Any, register: Any, items: Any
) -> None:
    """And keeps no other from the engines."""
    engine = use(settings, one="Scripted")
    register("article", ArticleSitemap)
    run_command("build_sitemaps")
    register("broken", type("Broken", (ArticleSitemap,), {"items": items}))
    Article.objects.create(slug="new")
    planned = ping("--dry-run")
    assert planned[2] == 1
    unread = "The rows of these sections cannot be read: broken. The log says why.\n"
    assert unread in planned[1]
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


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
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
    ],
)
def test_misuse_ends_with_two(
    settings: Any, register: Any, arguments: list[str], problem: str
) -> None:
    use(settings, one="Scripted", two="Scripted")
    register("article", ArticleSitemap)
    out, err, code = ping(*arguments)
    assert (out, code) == ("", 2)
    assert err.startswith(f"CommandError: {problem}")
    assert not Submission.objects.exists()


@pytest.mark.parametrize("asked", [["--url", "/a/"], ["--all"], ["--since", "1:00:00"]])
def test_engines_that_take_no_urls_are_asked_for_none(
    settings: Any, asked: list[str]
) -> None:
    use(settings, one="Scripted", maps="Sitemaps")
    assert ping("--engine", "one", *asked)[2] == 0
    out, err, code = ping("--engine", "maps", *asked)
    assert (out, code) == ("", 2)
    problem = "No URL of a page can be submitted to maps. Leave out --url"
    assert err.startswith(f"CommandError: {problem}")


def test_engines_and_sections_can_be_chosen(settings: Any, register: Any) -> None:
    use(settings, one="Scripted", two="Scripted")
    register("article", ArticleSitemap)
    happened("/a/", section="article")
    happened("/b/", section="pages")
    ping("--engine", "two", "--section", "article")
    done = Submission.objects.filter(state="accepted")
    assert list(done.values_list("engine", "url")) == [("two", f"{BASE}/a/")]


def test_a_url_can_be_submitted(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    ping("--url", "/a/", "--url", f"{BASE}/b/")
    assert sent(engine) == [["/a/", "/b/"]]
    assert {row.kind for row in Submission.objects.all()} == {"requested"}
    ping("--url", "/a/")
    assert len(engine.sent) == 1, "not twice within the interval"


def test_all_that_is_listed_can_be_submitted(settings: Any, register: Any) -> None:
    engine = use(settings, one="Scripted")
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    articles(3)
    _out, err, code = ping("--all", "--section", "pages")
    assert code == 0
    assert "quotas" in err
    assert sorted(sent(engine)[0]) == ["/", "/about/"]
    ping("--all")
    assert len(sent(engine)[1]) == 3


def test_what_happened_since_can_be_submitted_again(settings: Any) -> None:
    engine = use(settings, one="Scripted")
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


def test_a_dry_run_counts_what_would_be_sent_and_sends_nothing(
    settings: Any,
) -> None:
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
    happened("/0/", "/waits/")
    gate.pass_on()
    [_maps, few] = as_json("--dry-run", "--url", "/1/", "--url", "/new/")["plan"]
    assert (few["urls"], few["requests"], few["postponed"]) == (2, 1, 2)


def planned() -> dict[str, Any]:
    """Return what a dry run counts for the engine."""
    [plan] = as_json("--dry-run")["plan"]
    return {"urls": plan["urls"], "requests": plan["requests"]}


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
    expected = planned()
    assert not Change.objects.exists(), "the pages are rebuilt"
    assert engine.sent == []
    ping()
    urls = [url for batch in sent(engine) for url in batch]
    assert len(urls) == len(set(urls)) == 7
    assert expected == {"urls": 7, "requests": len(engine.sent)}


@pytest.mark.django_db(transaction=True)
def test_what_was_built_before_an_engine_is_named_is_not_told_to_it(
    settings: Any, register: Any
) -> None:
    use(settings)
    register("article", ArticleSitemap)
    rows = articles(3)
    for row in rows:
        row.save()
    run_command("build_sitemaps")
    engine = use(settings, one="Scripted")
    dated_anew(rows[0]).save()
    ping()
    assert sent(engine) == [[rows[0].get_absolute_url()]]


def test_a_dry_run_counts_what_splits_a_page(settings: Any, register: Any) -> None:
    engine = use(settings, one="Scripted")
    register("article", Few)
    rows = articles(3)
    run_command("build_sitemaps")
    Article.objects.bulk_create(Article(slug=f"new-{n}") for n in range(9))
    dated_anew(rows[0]).save()
    touch(Article.objects.all())
    Article.objects.filter(pk=rows[1].pk).update(slug="updated")
    # With the one that was only touched: perhaps while the page was first built.
    assert planned() == {"urls": 13, "requests": 1}
    ping()
    assert [len(urls) for urls in sent(engine)] == [13]
    assert Page.objects.count() > 1


def test_a_dry_run_leaves_out_what_is_on_hold(settings: Any, register: Any) -> None:
    use(settings, one="Scripted", MAX_REMOVED=2)
    register("article", ArticleSitemap)
    rows = articles(9)
    run_command("build_sitemaps")
    for row in rows[:3]:
        row.delete()
    dated_anew(rows[5]).save()
    assert planned() == {"urls": 1, "requests": 1}
    ping()
    assert UrlChange.objects.filter(on_hold=True).count() == 3


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


def test_check_says_what_is_wrong_and_how_to_mend_it(
    site: Mirror,
) -> None:
    engine: Any = engines()["one"]
    out, err, code = ping("--check", "--force")
    assert (err, code) == ("", 0)
    found = [line.split()[:2] for line in out.splitlines()]
    # Behind them stands what apps looked at.
    assert found[:5] == [*[["ok", "site:"]] * 4, ["ok", "one:"]]
    engine.findings.append(
        CheckResult(is_good=False, text="Not there.", fix="Deploy it.")
    )
    out, err, code = ping("--check", "--force")
    assert code == 1
    assert "WRONG  one: Not there. Deploy it." in out
    assert err == NOT_READY
    engine.findings.append(LookupError("They are away: abc12345."))
    out, _err, code = ping("--check", "--force")
    text = "WRONG  one: Memory cannot be checked: LookupError: They are away: …."
    assert (code, out.splitlines()[-2]) == (1, f"{text} Correct its class.")


@pytest.mark.parametrize("base", ["http://localhost:{}", "http://www.example.com:{}"])
def test_a_forced_check_advises_no_force(
    site: Mirror, settings: Any, base: str
) -> None:
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
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings, one="Scripted")
    assert "Health   ready, nothing sent yet" in ping("--status")[0]
    happened("/a/")
    ping()

    def status(self: Any, locations: Any) -> Any:
        return [
            SitemapStatus(location=one, is_pending=True, submitted={"web": 3})
            for one in locations
        ]

    monkeypatch.setattr(Scripted, "status", status)
    out, err, code = ping("--status")
    assert (err, code) == ("", 0)
    assert "web 3" in out
    assert f"{BASE}/sitemap.xml" in out
    assert "Due for more than 15 minutes: 0 submissions." in out
    [state] = as_json("--status")["engines"]
    assert (state["engine"], state["waiting"], state["status"]) == ("one", 0, 200)
    assert state["last_success"].endswith("Z")


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

    def status(self: Any, locations: Any) -> Any:
        read = "2026-01-02T03:04:05.000Z"
        return [
            SitemapStatus(location=f"{BASE}/{'long' * 30}.xml", last_downloaded=read),
            SitemapStatus(location=f"{BASE}/sitemap.xml", problem="Not there."),
        ]

    monkeypatch.setattr(Scripted, "status", status)
    out = ping("--status")[0]
    lines = out.splitlines()
    assert max(map(len, lines)) <= int(columns)
    for line in (
        "one for www.example.com",
        "  Health        works",
        "  Last success  8 minutes ago",
        "  Last answer   2 hours ago, with status 200",
        "  Ownership     verified 3 days ago",
        "  Problem  Not there.",
    ):
        assert line in lines
    text = " ".join(out.split())
    assert "needs attention: The key file is missing. The key" in text
    assert "Next try in 1 minute." in text
    assert " ago" in out.partition("Last read")[2][:40]


def test_status_fails_where_something_is_late(settings: Any) -> None:
    use(settings, one="Scripted")
    happened("/a/")
    gate.pass_on()
    later(1000)
    out, err, code = ping("--status")
    late = "1 submission to one has been due for more than 15 minutes"
    assert (err, code) == (f"CommandError: {late}: manage.py ping_sitemaps\n", 1)
    assert "Due for more than 15 minutes: 1 submission." in out
    since = time.time() - 1000
    EngineState.objects.update(message="It sleeps.", failures=5, failing_since=since)
    sleeps = (
        "one cannot be notified: It sleeps. It began {} ago. 1 change or submission"
    )
    assert sleeps.format("16 minutes") in ping("--status")[1].replace("\xa0", " ")
    assert ping("--status")[2] == 1
    alerts = as_json("--status")["alerts"]
    [alert] = [one for one in alerts if one["level"] != "note"]
    assert (alert["level"], alert["name"], alert["waiting"]) == ("error", "one", 1)
    assert alert["since"].endswith("Z")
    EngineState.objects.update(failing_since=time.time() - 800)
    out, err, code = ping("--status")
    assert sleeps.format("13 minutes") in " ".join(out.split())
    assert (err, code) == ("", 0), "a few failures are no alarm"
    EngineState.objects.update(problem="No key.")
    Submission.objects.all().delete()
    _out, err, code = ping("--status")
    assert err.startswith("CommandError: one cannot be notified: No key. It began")
    assert code == 1


def test_status_and_check_say_the_same(
    settings: Any, register: Any, site: Mirror
) -> None:
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


def test_with_nothing_to_do_it_takes_eleven_statements(
    settings: Any, register: Any
) -> None:
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


def test_an_engine_whose_status_raises_is_shown(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings, one=("Keyed", {"key": "abc12345"}), two="Scripted")

    def status(self: Any, locations: Any) -> Any:
        raise LookupError("no abc12345")

    monkeypatch.setattr(Keyed, "status", status)
    out, err, code = ping("--status")
    assert (err, code) == ("", 0)
    assert "LookupError: no …" in out


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


def test_a_quiet_check_prints_what_is_wrong(site: Mirror) -> None:
    engine: Any = engines()["one"]
    assert ping("--check", "--force", "-v0") == ("", "", 0)
    engine.findings.append(CheckResult(is_good=False, text="Gone.", fix="Mend it."))
    wrong = "WRONG  one: Gone. Mend it.\n"
    assert ping("--check", "--force", "-v0") == ("", wrong + NOT_READY, 1)


def test_confirm_submits_what_is_on_hold(settings: Any, register: Any) -> None:
    engine = use(settings, one="Scripted")
    register("article", ArticleSitemap)
    run_command("build_sitemaps")
    assert ping("--confirm") == ("Nothing is on hold.\n", "", 0)
    happened("/a/", "/b/", kind=Kind.REMOVED, on_hold=True)
    happened("/c/", kind=Kind.REMOVED, on_hold=True, section="other")
    assert ping()[0] == "No submission is due.\n"
    out = "Section 'article': 2 URLs will be submitted.\n"
    assert ping("--confirm", "--section", "article") == (out, "", 0)
    ping()
    assert sent(engine) == [["/a/", "/b/"]]
    assert as_json("--confirm") == {"confirmed": {"other": 1}}


# When nothing is sent


@pytest.mark.parametrize("arguments", [[], ["--url", "/b/"], ["--dry-run"]])
def test_nothing_is_sent_with_debug_unless_it_is_forced(
    settings: Any, arguments: list[str]
) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/")
    with override_settings(DEBUG=True):
        _out, err, code = ping(*arguments)
        assert code == 1
        assert "DEBUG is on" in err
        assert not Submission.objects.exists(), "nor is anything put on a list"
        assert "DEBUG is on" in as_json(*arguments)["refusal"]
        ping(*arguments, "--force")
    assert bool(engine.sent) is ("--dry-run" not in arguments)


def test_without_an_engine_to_use_or_an_address_it_fails(
    settings: Any,
) -> None:
    use(settings)
    _out, err, code = ping()
    assert code == 2
    assert "No engine is configured: set SITEMAPS_PLUS['ENGINES']" in err
    # What needs attention, and how the sitemaps arrive, can be asked for without one.
    _out, err, code = ping("--status")
    assert (err, code) == ("", 0)
    out, _err, code = ping("--check")
    assert "The site's address is" in out
    assert code != 2
    use(settings, one="Scripted")
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BASE_URL": None}
    settings.SITE_ID = None
    _out, err, code = ping()
    assert code == 2
    assert "BASE_URL" in err
    settings.SITEMAPS_PLUS = {
        "BASE_URL": BASE,
        "ENGINES": {"one": {"BACKEND": "no.such"}},
    }
    _out, err, code = ping()
    assert code == 1
    assert "['ENGINES']['one']['BACKEND']" in err


def test_long_work_shows_how_far_it_is(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utils, "LINE_EVERY", 0)
    use(settings, one="Few")
    happened(*(f"/{n}/" for n in range(7)))
    _out, err, code = ping()
    assert code == 0
    assert "one, www.example.com: 3 requests, 6 URLs accepted" in err


def test_long_work_on_pages_shows_how_far_it_is(
    settings: Any, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings, one="Scripted")
    register("article", Few)
    articles(12)
    run_command("build_sitemaps")
    monkeypatch.setattr(utils, "LINE_EVERY", 0)
    touch(Article.objects.all())
    _out, err, code = ping("--dry-run")
    assert code == 0
    assert "3 pages rebuilt so far\n" in err


def test_a_project_can_test_what_is_submitted(settings: Any, register: Any) -> None:
    """As docs/notifying.md has it, within the transaction of a test."""
    register("article", ArticleSitemap)
    settings.SITEMAPS_PLUS = {
        "BASE_URL": "https://www.example.com",
        "ENGINES": {
            "memory": {"BACKEND": "django_sitemaps_plus.engines.memory.Memory"}
        },
    }
    run_command("build_sitemaps")
    article = Article.objects.create(slug="new")
    run_command("ping_sitemaps")
    memory: Any = engines()["memory"]
    submitted = [url for batch in memory.sent for url in batch.urls]
    assert f"https://www.example.com{article.get_absolute_url()}" in submitted


def test_removals_on_hold_are_said_first(settings: Any, register: Any) -> None:
    use(settings, one="Few")
    register("article", ArticleSitemap)
    gone = [f"/{number}/" for number in range(40)]
    happened(*gone, kind=Kind.REMOVED, on_hold=True)
    said = "Section 'article': 40 removed URLs are on hold until you confirm them: "
    for options in ((), ("--dry-run",)):
        assert ping(*options)[1].startswith(f"{said}manage.py ping_sitemaps --confirm")
