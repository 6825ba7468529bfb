"""``manage.py check_sitemaps``: fetching, options, formats, and what rows show."""

from __future__ import annotations

import datetime as dt
import json
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models import F, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path
from django.utils import timezone

from django_sitemaps_plus import Sitemap
from django_sitemaps_plus.contrib.audit import asking, crawler, rows
from django_sitemaps_plus.contrib.audit.kinds import known
from django_sitemaps_plus.contrib.audit.management import progress
from django_sitemaps_plus.contrib.audit.models import Audit, Finding
from django_sitemaps_plus.contrib.audit.queries import last_audit, verdicts
from django_sitemaps_plus.health.alerts import alerts, errors
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.sitemaps.registry import registry
from tests.contrib.audit import kinds
from tests.contrib.audit.looked import audit, findings, kinds_found
from tests.support.factories import articles
from tests.support.fakes.faults import Cut, Reply, Slow
from tests.support.fakes.server import Request
from tests.support.fakes.site import FakeSite
from tests.support.helpers import ArticleSitemap, PagesSitemap, Titled, run_command
from tests.support.processes import in_a_process, within
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

SITE = "https://www.example.com"


#: What stops the process at the second page that is asked for.
STOPS: list[type[BaseException]] = []


def page(request: HttpRequest, number: int) -> HttpResponse:
    if number == 2:
        raise STOPS[0]
    return HttpResponse(status=404)


def streamed(request: HttpRequest, how: str) -> StreamingHttpResponse:
    """Answer as an asynchronous view does, or break off."""

    def broken() -> Iterator[bytes]:
        yield b"Begun"
        raise OSError("The file is gone.")

    async def steady() -> AsyncIterator[bytes]:
        if how == "late":
            yield b"<style>" + b"x" * 10**6
            yield b"</style><meta name=robots content=noindex>"
        yield b"<link rel=canonical href='/a\0b/'>Good"

    return StreamingHttpResponse(broken() if how == "broken" else steady())


urlpatterns = [path("<int:number>/", page), path("streamed/<how>/", streamed)]


@pytest.fixture
def listing(register: Any) -> Callable[..., None]:
    """Register and build a section that lists some URLs."""

    def build(*urls: str, **attributes: Any) -> None:
        register("article", type("Listing", (Titled,), attributes))
        for url in urls:
            articles(1, title=url)
        run_command("build_sitemaps")

    return build


@pytest.fixture
def served(listing: Any, settings: Any) -> Callable[..., Any]:
    """List some URLs of a site that answers, with a robots.txt, over HTTP."""

    @contextmanager
    def serve(
        pages: Any, *urls: str, kind: type[FakeSite] = FakeSite, **attributes: Any
    ) -> Iterator[FakeSite]:
        with kind({"/robots.txt": "", **pages}) as site:
            settings.SITEMAPS_PLUS = {"BASE_URL": site.origin}
            listing(*urls, **attributes)
            yield site

    return serve


# Over HTTP


GOOD = Reply(body=b"<html>Good", headers={"Content-Type": "text/html"})


def test_live_asks_the_site_over_http_and_says_how_long_it_took(served: Any) -> None:
    pages: dict[str, str | Reply] = {"/good/": GOOD, "/a&b/": GOOD}
    pages["/moved/"] = Reply(status=308, headers={"Location": "/good/"})
    pages["/robots.txt"] = "User-agent: *\nDisallow: /a&"
    with served(pages, "/good/", "/a&b/", "/moved/", "/missing/") as site:
        found = audit("--live", "--rate", "1000")
        requests = [request.path for request in site.requests[:5]]
    assert requests == ["/robots.txt", "/good/", "/a&b/", "/moved/", "/missing/"]
    moved, text = f"{site.origin}/moved/", f"redirects to {site.origin}/good/ (308)"
    assert {(one["id"], one["url"], one["text"]) for one in found["findings"]} == {
        (kinds.DISALLOWED, f"{site.origin}/a&b/", "by the rules for all crawlers"),
        (kinds.REDIRECTS, moved, text),
        (kinds.FAILS, f"{site.origin}/missing/", "answers 404"),
    }
    assert found["fetched"] == 4
    times = found["times"]["article"]
    assert 0 < times["p50"] <= times["p95"] <= times["max"]


def test_live_asks_no_more_often_than_it_may(
    served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = {f"/{n}/": GOOD for n in range(4)}
    now, waited = 100.0, list[float]()

    def sleep(seconds: float) -> None:
        nonlocal now
        waited.append(seconds)
        now += seconds

    clock = SimpleNamespace(sleep=sleep, monotonic=lambda: now)
    monkeypatch.setattr(asking, "time", clock)
    with served(pages, *pages):
        audit("--live", "--rate", "4")
    assert waited[:4] == [0, 0.25, 0.25, 0.25]
    # And so reads who reads as a crawler.
    assert (len(waited) > 5, set(waited)) == (True, {0, 0.25})


def test_a_site_that_refuses_is_not_said_to_be_silent(served: Any) -> None:
    pages = {f"/{n}/": Reply(status=429) for n in range(5)}
    with served(pages, *pages):
        missed = audit("--live", "--rate", "1000")["missed"]
    assert missed == (
        "3 URLs in a row were refused (answers 429: too many requests, see --rate): 3 "
        "of 5 URLs were asked for."
    )


def test_a_site_that_does_not_answer_is_not_asked_for_all_its_urls(served: Any) -> None:
    with served({}, *(f"/{n}/" for n in range(20))):
        pass  # it stops before it is asked
    out, err, code = run_command("check_sitemaps", "--live", "--rate", "1000")
    assert "error A107: URLs that could not be reached (4)" in out, "not a view's error"
    said = "No answer to 3 URLs in a row: 3 of 20 URLs were asked for."
    crawled = "Reading the sitemaps as crawlers do found 2 errors."
    said = f"CommandError: The audit found 4 errors. {said} {crawled}\n"
    assert (err, code) == (said, 1)
    assert out.count("did not accept a connection") == 4 + 2
    assert "Audit: 20 URLs, 0 of them fetched; 4 errors and 0 warnings." in out
    audit = last_audit()
    assert audit is not None
    assert (audit.fetched_urls, audit.sections) == (0, {"article": [20, 0]})
    # The next one that fetches nothing is in order, and does not say more than that.
    assert [one.number("error") for one in verdicts() if one.section] == [0]


def test_an_answer_that_is_cut_off_is_an_error(served: Any) -> None:
    with served({"/cut/": "", "/whole/": "Good"}, "/cut/", "/whole/") as site:
        site.faults = [Slow("nothing"), Cut("body")]
        (found,) = audit("--live", "--rate", "1000")["findings"]
    assert (found["id"], found["url"]) == (kinds.CUT_OFF, f"{site.origin}/cut/")
    assert "did not finish its answer" in found["text"]


def test_a_host_that_is_not_allowed_is_named_as_the_cause(
    listing: Any, settings: Any
) -> None:
    settings.MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
    settings.ALLOWED_HOSTS = ["testserver"]
    listing(*(f"/{n}/" for n in range(9)))
    found = audit("--fetch")
    text = (
        "ALLOWED_HOSTS does not have 'www.example.com'; behind a front end, use --live"
    )
    said = {(one["id"], one["text"]) for one in found["findings"]}
    assert said == {(kinds.UNREACHABLE, text)}
    assert (found["errors"], found["fetched"]) == (3, 0)


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Note how long is waited, without waiting."""
    seconds: list[float] = []
    monkeypatch.setattr(asking.time, "sleep", seconds.append)
    return seconds


def test_a_site_that_wants_a_rest_gets_it_or_is_left_alone(
    served: Any, waited: list[float]
) -> None:
    class Tired(FakeSite):
        """Answers each second request only."""

        def answer(self, request: Request) -> Reply:
            if request.path == "/c/":
                return Reply(status=429, headers={"Retry-After": "3600"})
            if len(self.requests) % 2 or request.path == "/robots.txt":
                return super().answer(request)
            return Reply(status=503, headers={"Retry-After": "20"})

    pages, urls = {"/a/": "<p>A", "/b/": "<p>B"}, ("/a/", "/b/", "/c/", "/d/")
    with served(pages, *urls, kind=Tired) as site:
        found = audit("--live", "--rate", "100000")
        requests = [request.path for request in site.requests]
    assert requests == ["/robots.txt", "/a/", "/a/", "/b/", "/b/", "/c/"]
    assert [seconds for seconds in waited if seconds > 1] == [20, 20]
    assert (found["errors"], found["fetched"]) == (0, 2)
    assert found["missed"] == (
        f"{site.origin}/c/ answers 429 and asks for 3,600 seconds of rest "
        "(Retry-After): 2 of 4 URLs were asked for."
    )


def test_a_site_that_is_down_with_retry_after_is_red(
    served: Any, waited: list[float]
) -> None:
    """As one that nobody took out of maintenance: crawlers meet it so."""
    down = Reply(status=503, headers={"Retry-After": "20"})
    with served({"/a/": down, "/sitemap.xml": down}, "/a/", "/b/"):
        options = "--live", "--rate", "100000", "--format", "json"
        found = json.loads(run_command("check_sitemaps", *options)[0])
    assert [seconds for seconds in waited if seconds > 1] == [20, 20]
    said, crawled = (
        [(one["id"], one["text"]) for one in found[way]["findings"]]
        for way in ("audit", "crawl")
    )
    assert said == [(kinds.FAILS, "answers 503")]
    assert (kinds.NOT_SERVED, "answers 503") in crawled
    red = "\n".join(["", *(alert.text for alert in errors(alerts()))])
    assert "\nThe last audit of article found 1 error" in red
    assert "\nThe last audit of the site found" in red


def test_the_first_image_of_a_url_is_fetched_over_http(served: Any) -> None:
    pages = {"/a/": "<p>A", "/b/": "<p>B"}
    with served(pages, *pages, images=Value("/i.png")) as site:
        found = audit("--live", "--rate", "1000")
        requests = [request.path for request in site.requests[:4]]
    assert requests == ["/robots.txt", "/a/", "/i.png", "/b/"]
    assert [(one["id"], one["text"]) for one in found["findings"]] == [
        (kinds.MISSING_IMAGE, f"{site.origin}/i.png answers 404")
    ]
    assert found["fetched"] == 2


# Stopped half way


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_was_found_until_a_stop_is_printed_and_stored(
    listing: Any, settings: Any, stop: type[BaseException]
) -> None:
    settings.ROOT_URLCONF = __name__
    STOPS[:] = [stop]
    listing("/1/", "/2/", "/3/")
    out, err, code = run_command("check_sitemaps", "--fetch")
    said = "The audit was stopped: 1 of 3 URLs were asked for."
    assert (err, code) == (f"CommandError: The audit found 1 error. {said}\n", 1)
    numbers = "3 URLs, 1 of them fetched; 1 error and 0 warnings."
    assert f"{numbers} {said}" in " ".join(out.split())
    stored = Audit.objects.get()
    assert (stored.missed, stored.sections) == (said, {"article": [3, 1]})
    assert stored.findings.get().url == f"{SITE}/1/"


LIVE = """
import json, os
from tests import settings
settings.use_given(json.loads(os.environ["GIVEN"]))
import django
django.setup()
from django.core.management import execute_from_command_line
from django_sitemaps_plus.sitemaps.registry import registry
from tests.support.helpers import Titled
registry.add("article", Titled)
execute_from_command_line(["manage.py", "check_sitemaps", "--live"])
"""


@pytest.mark.django_db(transaction=True, databases=["default", "other"])
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.costly
def test_a_process_that_is_told_to_stop_prints_and_stores_what_it_found(
    served: Any, stop: signal.Signals
) -> None:
    asked, stopped = threading.Event(), threading.Event()

    class Waits(FakeSite):
        """Answers its second page only when the audit was told to stop."""

        def answer(self, request: Request) -> Reply:
            if request.path == "/2/":
                asked.set()
                stopped.wait(120)
            return super().answer(request)

    with (
        served({}, "/1/", "/2/", "/3/", kind=Waits) as site,
        in_a_process(LIVE, BASE_URL=site.origin) as process,
    ):
        assert within(120, lambda: asked.is_set() or process.poll() is not None)
        process.send_signal(stop)
        stopped.set()
        out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert "answers 404" in out
    assert "The audit was stopped: 1 of 3 URLs were asked for." in err
    assert Finding.objects.get(kind=kinds.FAILS).url == f"{site.origin}/1/"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_stop_of_the_crawler_s_view_leaves_the_audit(
    served: Any, monkeypatch: pytest.MonkeyPatch, stop: type[BaseException]
) -> None:
    def stopped(*_: Any, **__: Any) -> Any:
        raise stop

    monkeypatch.setattr(crawler, "crawl_and_store", stopped)
    with served({}, "/1/"):
        out, err, code = run_command("check_sitemaps", "--live")
    assert "error A100: URLs that do not answer 200 (1)" in out
    said = "The audit found 1 error. The crawler's view was stopped, and is not stored."
    assert (err, code) == (f"CommandError: {said}\n", 1)


def test_a_stop_ends_the_audits_of_all_sites(listing: Any, settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    blog = {"BASE_URL": "https://blog.example.com"}
    settings.SITEMAPS_PLUS = {"BASE_URL": SITE, "SITES": {"blog": blog}}
    registry.add("post", Titled, "blog")
    try:
        STOPS[:] = [KeyboardInterrupt]
        listing("/2/", "/3/")
        assert run_command("check_sitemaps", "--fetch")[2] == 1
        assert [one.fetched_urls for one in Audit.objects.all()] == [0]
    finally:
        registry.remove("post", "blog")


def test_pages_that_were_not_read_before_a_stop_are_not_said_to_be_in_order(
    listing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def standing() -> list[tuple[bool, int]]:
        found = [one for one in verdicts() if one.section]
        return [(one.is_complete, one.number("warning")) for one in found]

    listing("/1/?utm_source=x", "/2/", "/3/", "/4/?utm_source=x", limit=2)
    run_command("check_sitemaps")
    assert standing() == [(True, 2)]

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(progress, "_lines", lambda command, text: stop)
    said = "The audit was stopped: 1 of 3 pages were read, not compared with each other"
    found = audit()
    assert (found["missed"], found["warnings"]) == (f"{said}.", 1)
    # The whole audit before stands beside it.
    assert standing() == [(False, 1), (True, 2)]


# In process


def test_fetching_in_process_logs_nobody_in_and_sends_no_mail(
    listing: Any, settings: Any, mailoutbox: list[Any], caplog: Any
) -> None:
    settings.ROOT_URLCONF = "tests.support.audited_urls"
    settings.ADMINS = ["a@example.com"]
    listing("/broken/", "/good/1/")
    assert kinds_found("--fetch") == [kinds.FAILS]
    assert mailoutbox == []
    assert [one for one in caplog.records if one.name == "django.request"] == []


def test_streams_are_read_to_their_end_whoever_writes_them(
    listing: Any, settings: Any
) -> None:
    settings.ROOT_URLCONF = __name__
    listing(*(f"/streamed/{how}/" for how in ("broken", "steady", "late")))
    found = audit("--fetch")
    assert found["fetched"] == 3
    assert {(one["id"], one["text"]) for one in found["findings"]} == {
        (kinds.NOINDEX, "noindex in its meta element"),
        (kinds.CUT_OFF, "ends too early: OSError after 5 bytes: The file is gone"),
        # Not every database can store the character.
        (kinds.CANONICAL, f"its canonical is {SITE}/a\\x00b/"),
    }


def test_a_sample_fetches_so_many_urls_and_the_same_again(
    listing: Any, settings: Any
) -> None:
    settings.ROOT_URLCONF = "tests.support.audited_urls"
    listing(*(f"/missing/{n}/" for n in range(20)))

    def urls(*arguments: str) -> list[str]:
        found = audit("--fetch", "--sample", "5", *arguments)
        assert found["fetched"] == 5
        return [one["url"] for one in found["findings"]]

    assert urls() == urls("--seed", "0") != urls("--seed", "1")


def test_a_site_under_a_prefix_is_asked_below_it(listing: Any, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.support.audited_urls"
    settings.SITEMAPS_PLUS = {"BASE_URL": f"{SITE}/shop"}
    listing("/shop/good/1/", "/shop/missing/1/")
    [found] = findings("--fetch")
    assert (found["id"], found["url"]) == (kinds.FAILS, f"{SITE}/shop/missing/1/")


# Stored pages


def test_pages_are_judged_with_the_address_that_they_are_served_with(
    listing: Any, settings: Any
) -> None:
    listing("/a/")
    settings.SITEMAPS_PLUS = {"BASE_URL": "http://example.org"}
    assert kinds_found() == []


def test_all_rows_that_are_left_out_are_counted(register: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": SITE, "MAX_BAD": 1.0}
    register("article", ArticleSitemap)
    articles(25, slug="no slug")
    articles(3)
    run_command("build_sitemaps")
    found = audit()
    assert found["counts"] == {kinds.LEFT_OUT: {"article": 25}}
    keys = Article.objects.order_by("pk").values_list("pk", flat=True)
    assert [one["row"] for one in found["findings"]] == [str(pk) for pk in keys[:20]]


def test_pages_by_position_are_built_and_judged_too(register: Any) -> None:
    class Lines(Sitemap):
        limit = 1

        def items(self) -> list[str]:
            return [*(f"/{n}/" for n in range(12)), "no path", "/0/"]

        def location(self, item: str) -> str:
            return item

        def priority(self, item: str) -> int:
            return 7 if item == "/1/" else 1

    register("lines", Lines)
    found = audit()
    assert found["urls"] == 13, "on more than ten pages"
    said = (kinds.NOT_BUILT, kinds.TAG_LEFT_OUT, kinds.REPEATED)
    assert found["counts"] == {kind: {"lines": 1} for kind in said}
    assert sorted(
        (one["page"], one["row"], one["url"].removeprefix(SITE), one["text"][:29])
        for one in found["findings"]
    ) == [
        ("lines-1", "'/0/'", "/0/", "listed twice: on lines-1 and "),
        ("lines-13", "", "", "1 of 1 rows of page lines-13 "),
        ("lines-2", "'/1/'", "/1/", "listed without priority 7: no"),
    ]
    register("lines", type("Away", (Lines,), {"items": lambda self: self.nothing}))
    assert "In error" in run_command("check_sitemaps")[1]


# Dates that say nothing


def test_a_lastmod_that_is_always_now_is_told_from_rows_just_saved(
    listing: Any, register: Any
) -> None:
    now = {"lastmod": lambda self, item: timezone.now()}
    listing(*(f"/{n}/" for n in range(12)), **now)
    assert kinds_found() == [kinds.ALWAYS_NOW]
    # Saved just before the page was built: the next reading says the same.
    Article.objects.all().delete()
    register("article", type("Saved", (Titled,), {"lastmod": F("updated")}))
    start = timezone.now()
    for n in range(12):
        articles(1, title=f"/{n}/", updated=start - dt.timedelta(seconds=n % 2))
    run_command("build_sitemaps", "--reconcile", "--deep")
    assert kinds_found() == []


def save(number: int, corrected: int = 0) -> None:
    """Save so many articles with a later date, and some with another title too."""
    for place, article in enumerate(Article.objects.order_by("pk")[:number]):
        article.updated += dt.timedelta(days=1)
        article.title += " corrected" if place < corrected else ""
        article.save()
    run_command("build_sitemaps")


@pytest.mark.parametrize(
    "lastmod",
    [
        F("updated"),
        Coalesce(F("updated"), F("updated")),
        lambda self, item: item.updated,
        lambda self, item: item.updated.date(),
    ],
)
@pytest.mark.costly
def test_a_lastmod_that_moves_while_the_rows_do_not_is_found_by_the_next_audit(
    register: Any, lastmod: Any
) -> None:
    register("article", type("Moving", (ArticleSitemap,), {"lastmod": lastmod}))
    articles(12)
    run_command("build_sitemaps")
    assert kinds_found() == []
    assert kinds_found() == []
    # As a job that saves everything does, with a field that is set by save().
    save(12)
    assert kinds_found() == [kinds.MOVES_ALONE]
    # A few may be corrected in what their pages show besides.
    save(5)
    assert kinds_found() == []
    save(12, corrected=12)
    assert kinds_found() == []


def test_lastmods_that_move_because_something_else_did_are_no_finding(
    register: Any,
) -> None:
    """Most rows were edited, some only saved; then another class says another time."""
    register("article", ArticleSitemap)
    articles(20)
    run_command("build_sitemaps")
    assert kinds_found() == []
    save(20, corrected=10)
    assert kinds_found() == [], "10 of 20 moved alone"
    hour = dt.timedelta(hours=1)
    for name, more in (("Earlier", -hour), ("Later", hour)):
        lastmod = {"lastmod": lambda self, item, more=more: item.updated + more}
        register("article", type(name, (ArticleSitemap,), lastmod))
        run_command("build_sitemaps", "--reconcile", "--deep")
        assert kinds_found() == [], name


def test_rows_are_compared_also_after_an_audit_of_another_section(
    register: Any,
) -> None:
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    articles(30)
    run_command("build_sitemaps")
    run_command("check_sitemaps", "article")
    assert run_command("check_sitemaps", "pages")[1:] == ("", 0)
    audit = last_audit()
    assert audit is not None
    assert len(audit.remembered["article"]["rows"]) == 30 <= rows.REMEMBERED


# Options and formats


def test_what_fails_is_said_by_the_option_and_may_be_silenced(
    listing: Any, settings: Any
) -> None:
    listing("/a/?utm_source=x")
    strict = "check_sitemaps", "--fail-on", "warning"
    assert run_command("check_sitemaps")[1:] == ("", 0)
    _, err, code = run_command(*strict)
    assert (err, code) == ("CommandError: The audit found 0 errors and 1 warning.\n", 1)
    settings.SILENCED_SYSTEM_CHECKS = [kinds.TRACKING]
    assert audit()["counts"] == {}
    assert run_command(*strict)[2] == 0
    # Warnings of system checks fail, too.
    settings.ROOT_URLCONF = "tests.support.catch_all_urls"
    assert run_command("check_sitemaps")[1:] == ("", 0)
    said = "CommandError: Warnings: sitemaps_plus.W015.\n"
    assert run_command(*strict)[1:] == (said, 1)


def test_github_is_told_each_finding_beside_the_commit(
    listing: Any, register: Any
) -> None:
    listing("/100%25/?gclid=1")
    out, _, code = run_command("check_sitemaps", "--format", "github")
    row = Article.objects.get().pk
    assert (out, code) == (
        f"::warning title=sitemaps_plus.A017::{SITE}/100%2525/?gclid=1 article-1 "
        f"(row {row}): has the parameter gclid. Next: list the URL "
        "without utm_source, gclid and the like: they make copies of a page. "
        'See "audit: A017" in the documentation.\n',
        0,
    )
    register("article", type("Wrong", (Titled,), {"appears": "updated"}))
    out, _, code = run_command("check_sitemaps", "--format", "github")
    assert out.startswith("::error title=sitemaps_plus.E020::")
    assert code == 1


def test_options_that_do_nothing_are_refused(register: Any) -> None:
    register("article", ArticleSitemap)
    for options, reason in [
        ("--sample 5", "--sample does nothing without --fetch or --live."),
        ("--fetch --rate 5", "--rate does nothing without --live."),
        ("--fetch --seed 5", "--seed does nothing without --sample."),
        ("--compare x --fetch", "--fetch does nothing with --compare: leave"),
        ("--compare x --format github", "--format github does nothing with"),
        ("--compare x --fail-on warning", "--fail-on does nothing with --compare"),
        ("--fetch --live", "not allowed with argument"),
        ("--live --rate 0", "not above 0"),
        ("--fetch --sample 0", "not above 0"),
    ]:
        out, err, code = run_command("check_sitemaps", *options.split())
        assert (out, reason in err) == ("", True)
        assert code == (2 if err.startswith("CommandError: --") else code)
        assert code != 0


def test_progress_says_rate_and_rest_without_rich(
    listing: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ROOT_URLCONF = "tests.support.audited_urls"
    monkeypatch.setattr(utils, "LINE_EVERY", 0)
    listing("/good/1/", "/good/2/")
    _, err, _ = run_command("check_sitemaps", "--fetch")
    # A busy machine has time for the rate and the rest.
    assert [line.partition(",")[0] for line in err.splitlines()] == [
        "1 of 1 pages read",
        "1 of 2 URLs fetched",
        "2 of 2 URLs fetched",
    ]
    assert progress.per_second(30, 20) == "1.5 a second"
    durations = [progress.remaining(seconds) for seconds in (8, 200, 3900)]
    assert durations == ["8 s", "3 min 20 s", "1 h 5 min"]


def test_the_table_of_findings_is_what_can_be_found() -> None:
    docs = Path(__file__).parents[3] / "docs"
    listed = [
        tuple(cell.strip() for cell in line.strip("|").split(" | "))
        for line in (docs / "audit.md").read_text().splitlines()
        if line.startswith("| <a id=")
    ]
    assert sorted(listed) == sorted(
        (
            f'<a id="{kind.id[-4:]}"></a>`{kind.id}`',
            kind.level,
            kind.title[0].upper() + kind.title[1:],
        )
        for kind in known().values()
    )
