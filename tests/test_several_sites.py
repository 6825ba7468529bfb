"""Several sites on one database: each has its own sections, rows and submissions."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.checks import run_checks
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

import django_sitemaps_plus
from django_sitemaps_plus import Route, Sitemap, touch
from django_sitemaps_plus.changes import hints, url_changes
from django_sitemaps_plus.delivery import background, thread
from django_sitemaps_plus.models import Change, Section, Submission, UrlChange
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site as SiteToWorkFor
from tests.engines.setups import KEY
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.helpers import ArticleSitemap, later, locations, run_command
from tests.support.outbox_world import BASE, use
from tests.support.site_worker import SiteProcess
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(databases=["default", "other"])
committed = pytest.mark.django_db(transaction=True, databases=["default", "other"])

ONE, TWO = "https://one.example.com", "https://two.example.com"


class Processes:
    """Two processes with a Site each, and the engine that both notify."""

    def __init__(self, engine: FakeIndexNow) -> None:
        options = {"key": KEY, "endpoint": engine.url, "interval": 0}
        entry = {"BACKEND": "tests.support.outbox_engines.Trusted", "OPTIONS": options}
        settings = {"ENGINES": {"one": entry}}
        self.engine = engine
        self.one = SiteProcess(1, "article", **settings)
        self.two = SiteProcess(2, "article", "note", **settings)

    def heard(self, process: SiteProcess) -> list[str]:
        """Have a process notify the engine; return the URLs that it submitted."""
        before = len(self.engine.posts)
        out, err, code = process("ping")
        assert code == 0 or "was never built" in err, out
        return sorted(url for post in self.engine.posts[before:] for url in post.urls)

    def listed(self, process: SiteProcess, path: str) -> list[str]:
        status, text = process("get", path=path)
        assert status == 200, text
        return re.findall("<loc>(.*?)</loc>", text)


@pytest.fixture(autouse=True)
def unknown_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each save read which other Sites there are."""
    monkeypatch.setattr(hints, "READ_AGAIN", -1.0)
    monkeypatch.setattr(hints, "_other_sites", {})


@pytest.fixture
def two_sites() -> Iterator[None]:
    Site.objects.all().delete()
    Site.objects.create(pk=1, domain="one.example.com", name="one")
    Site.objects.create(pk=2, domain="two.example.com", name="two")
    Site.objects.clear_cache()
    yield
    Site.objects.clear_cache()


@pytest.fixture
def processes(two_sites: None) -> Iterator[Processes]:
    with FakeIndexNow("api") as engine:
        engine.trust("one.example.com", KEY)
        engine.trust("two.example.com", KEY)
        found = Processes(engine)
        yield found
        found.one.close()
        found.two.close()


def of(origin: str, *slugs: str) -> list[str]:
    return [f"{origin}/articles/{slug}/" for slug in sorted(slugs)]


@committed
def test_two_processes_never_speak_for_each_other(processes: Processes) -> None:
    one, two = processes.one, processes.two
    heard, listed = processes.heard, processes.listed
    one("save", slugs=["a", "b"])
    # The other had no rows by then: nothing is new to it.
    assert heard(one) == of(ONE, "a", "b")
    assert heard(two) == []
    assert listed(one, "/sitemap.xml") == of(ONE, "a", "b")
    assert listed(two, "/sitemap.xml") == of(TWO, "a", "b")
    # A save on one is news on both, each by its own process, and in any order.
    one("save", slugs=["a"])
    assert heard(two) == of(TWO, "a")
    assert heard(one) == of(ONE, "a")
    two("save", slugs=["b"])
    assert heard(two) == of(TWO, "b")
    # Both at once, and a removal; one of them is late.
    one("save", slugs=["c"])
    two("delete", slugs=["a"])
    assert heard(one) == of(ONE, "a", "b", "c")
    assert listed(one, "/sitemap-article-1.xml") == of(ONE, "b", "c")
    assert heard(two) == of(TWO, "a", "c")
    assert listed(two, "/sitemap-article-1.xml") == of(TWO, "b", "c")
    # Pages are divided, for each by itself.
    many = [f"n{number:02}" for number in range(15)]
    one("save", slugs=many)
    for process, origin in ((one, ONE), (two, TWO)):
        assert heard(process) == of(origin, *many)
        pages = [f"{origin}/sitemap-article-{n}.xml" for n in (1, 2)]
        assert listed(process, "/sitemap.xml") == pages
    assert heard(one) == heard(two) == []
    # A section that only one of them has.
    two("note", number=1)
    assert heard(two) == [f"{TWO}/numbers/1/"]
    assert heard(one) == []
    assert one("get", path="/sitemap-note.xml")[0] == 404
    assert listed(two, "/sitemap-note.xml") == [f"{TWO}/numbers/1/"]
    # What a process knows nothing of, the other's comparison finds.
    one("note", number=2)
    assert not Change.objects.exists()
    assert heard(two) == []
    later(7200, "verified_at")
    assert listed(two, "/sitemap-note.xml") == [f"{TWO}/numbers/{n}/" for n in (1, 2)]
    assert heard(two) == [f"{TWO}/numbers/2/"]
    rows = Section.objects.exclude(name="").order_by("site", "name")
    found = [("1", "article"), ("2", "article"), ("2", "note")]
    assert list(rows.values_list("site", "name")) == found
    urls = Submission.objects.values_list("site", "url")
    assert {(site, url[:23]) for site, url in urls} == {("1", ONE), ("2", TWO)}


@committed
def test_a_save_reads_the_other_sites_once_in_a_while(
    register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("article", Articles)
    Section.objects.create(site="2", name="article")
    monkeypatch.setattr(hints, "_read_at", -math.inf)
    monkeypatch.setattr(hints, "READ_AGAIN", 180.0)

    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            Article.objects.create(slug="a")
        return len(queries)

    assert statements() == 3
    Section.objects.create(site="3", name="article")
    assert statements() == 2
    monkeypatch.setattr(hints, "_read_at", time.monotonic() - 181)
    assert statements() == 3
    sites = sorted(Change.objects.values_list("site", flat=True))
    assert sites == ["1", "1", "1", "2", "2", "2", "3"]


@committed
def test_a_save_is_recorded_for_every_site_by_one_statement(
    settings: Any, register: Any
) -> None:
    register("article", Articles)
    for site_id, sites, count in ((None, [""], 2), (1, ["1"], 3), (1, [*"123"], 3)):
        settings.SITE_ID = site_id
        Section.objects.all().delete()
        for other in sites if len(sites) > 1 else ():
            Section.objects.create(site=other, name="article")
            Section.objects.create(site=other, name="note")
        with CaptureQueriesContext(connection) as queries:
            made = Article.objects.create(slug="a")
        # Those of the object, perhaps of the other sites, and of the changes.
        assert len(queries) == count
        rows = Change.objects.order_by("site").values_list("site", "section", "key")
        assert list(rows) == [(site, "article", f'["{made.pk}"]') for site in sites]
        Change.objects.all().delete()


# One process for several hosts


class Posts(Sitemap):
    model = Article
    location = Route("post", slug=F("slug"))

    def items(self) -> Any:
        return Article.objects.filter(title="blog")


class Articles(ArticleSitemap):
    def items(self) -> Any:
        return Article.objects.exclude(title="blog")


BLOG = {"BASE_URL": "https://blog.example.com", "URLCONF": "tests.support.blog_urls"}


@pytest.fixture
def hosts(settings: Any, register: Any) -> Iterator[Any]:
    """A shop, and a blog on a host of its own, both with a section "article"."""
    settings.ALLOWED_HOSTS = ["www.example.com", "blog.example.com"]
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "tests.support.blog_urls.ByHost"]
    register("article", Articles)
    for name in ("article", "post"):
        registry.add(name, Posts, "blog")
    yield use(settings, one=("Scripted", {"interval": 0}), SITES={"blog": BLOG})
    for name in ("article", "post"):
        registry.remove(name, "blog")


def ask(host: str, path: str) -> Any:
    return Client(headers={"host": host}).get(path)


def submitted(engine: Any) -> list[tuple[str, list[str]]]:
    """Have everything notified; return the origin and the URLs of each request."""
    before = len(engine.sent)
    assert run_command("ping_sitemaps")[1:] == ("", 0)
    return [(batch.origin, sorted(batch.urls)) for batch in engine.sent[before:]]


def test_two_hosts_of_one_project(hosts: Any) -> None:
    assert run_command("build_sitemaps")[2] == 0
    Article.objects.create(slug="sold")
    Article.objects.create(slug="told", title="blog")
    www, blog = "https://www.example.com", "https://blog.example.com"
    sold, told = [f"{www}/articles/sold/"], [f"{blog}/posts/told/"]
    assert submitted(hosts) == [(www, sold), (blog, told)]
    for host, path, found in (
        ("blog.example.com", "/sitemap-article-1.xml", told),
        ("blog.example.com", "/sitemap.xml", told * 2),
        ("www.example.com", "/sitemap-article-1.xml", sold),
        ("www.example.com", "/sitemap.xml", sold),
    ):
        assert locations(ask(host, path)) == found
    assert ask("www.example.com", "/sitemap-post-1.xml").status_code == 404
    robots = ask("blog.example.com", "/robots.txt").content.decode()
    assert f"Sitemap: {blog}/sitemap.xml" in robots
    # Moved from one to the other: removed there, added here.
    moved = Article.objects.get(slug="sold")
    moved.title = "blog"
    moved.save()
    assert submitted(hosts) == [(www, sold), (blog, [f"{blog}/posts/sold/"])]
    kinds = UrlChange.objects.order_by("-pk").values_list("site", "kind", "location")
    assert ("1", "removed", "/articles/sold/") in kinds
    assert ("blog", "added", "/posts/sold/") in kinds
    touch(Article.objects.filter(slug="told"))
    assert submitted(hosts) == [(blog, told)]


def test_a_command_works_for_all_sites_or_for_one(hosts: Any) -> None:
    Article.objects.create(slug="told", title="blog")
    article, post = (f"Section '{n}': 1 page, 1 entry;" for n in ("article", "post"))
    built, unchanged = "1 built, 0 unchanged.\n", "0 built, 1 unchanged.\n"
    said = (
        f"Site '1':\nSection 'article': 1 page, 0 entries; {built}"
        f"Site 'blog':\n{article} {built}{post} {built}"
    )
    for arguments, out in (
        ([], said),
        (["--site", "blog", "article"], f"{article} {unchanged}"),
        # Only one site has it.
        (["post"], f"{post} {unchanged}"),
    ):
        assert run_command("build_sitemaps", *arguments) == (out, "", 0)
    _out, err, code = run_command("build_sitemaps", "--site", "blgo")
    assert "--site: There is no site 'blgo'. There are: 1, blog." in err
    assert code == 2
    # As the page on monitoring writes it.
    with pytest.raises(LookupError, match=r"'blgo'\. There are: 1, blog\."):
        SiteToWorkFor.called("blgo")


def test_sites_without_numbers_are_called_by_hosts(hosts: Any, settings: Any) -> None:
    settings.SITE_ID = None
    out, err, code = run_command("build_sitemaps")
    assert (err, code) == ("", 0)
    assert re.findall("^Site '(.*)':$", out, re.M) == ["www.example.com", "blog"]
    status = "ping_sitemaps", "--status", "--format", "json"
    assert "There are: www.example.com, blog." in run_command(*status)[1]
    out, err, code = run_command(*status, "--site", "www.example.com")
    assert (json.loads(out)["late"], err, code) == (0, "", 0)
    # Which of them is wrong is said, and nothing else if only errors are wanted.
    Section.objects.filter(site="blog", name="post").delete()
    out, err, code = run_command("ping_sitemaps", "--status", "-v0")
    assert (out, code) == ("", 1)
    assert "CommandError: Site blog: Section 'post' was never built" in err
    assert "Site www" not in err


# Sites that the request decides


@pytest.fixture
def by_request(settings: Any, register: Any, two_sites: None) -> Any:
    settings.SITE_ID = None
    settings.ALLOWED_HOSTS = ["*"]
    register("article", Articles)
    return use(settings, one="Scripted", BASE_URL=None)


@committed
def test_each_request_decides_for_which_site_it_is(by_request: Any) -> None:
    Article.objects.create(slug="a")
    for number, host in enumerate(("one.example.com", "two.example.com"), 1):
        found = ask(host, "/sitemap-article-1.xml")
        assert locations(found) == [f"http://{host}/articles/a/"]
        assert Section.objects.filter(name="article").count() == number
    # The background works for none of them; a command does, for the one it is told.
    assert not thread.is_allowed()
    assert background.notify_all() is None
    Article.objects.create(slug="b")
    assert set(Change.objects.values_list("site", flat=True)) == {"1", "2"}
    _out, err, code = run_command("ping_sitemaps")
    assert code == 2
    assert "There are: 1 (one.example.com), 2 (two.example.com)." in err
    for given, origin in (("two.example.com", TWO), ("1", ONE)):
        assert run_command("ping_sitemaps", "--site", given)[1:] == ("", 0)
        [batch] = by_request.sent
        assert (batch.origin, batch.urls) == (origin, of(origin, "b"))
        by_request.sent.clear()
    assert not Change.objects.exists()


@committed
def test_what_nobody_wants_is_deleted_in_the_end(
    by_request: Any, settings: Any
) -> None:
    settings.SITE_ID = 1
    Section.objects.create(site="3", name="article")
    Article.objects.create(slug="a")
    assert sorted(Change.objects.values_list("site", flat=True)) == ["1", "3"]
    later(UrlChange.KEEP + 1, "at")
    url_changes.prune_url_changes()
    assert list(Change.objects.values_list("site", flat=True)) == ["1"]


# Checks


def said(*args: Any, **kwargs: Any) -> dict[str, Any]:
    found = run_checks(tags=["sitemaps_plus"], databases=["default"])
    return {one.id.rpartition(".")[2]: one for one in found}


def test_a_site_that_nobody_serves_is_an_error(hosts: Any, settings: Any) -> None:
    assert not {"E040", "W005"} & said().keys()
    settings.SITEMAPS_PLUS = {"SITES": {"blogs": {"BASE_URL": "https://b.example.com"}}}
    found = said()["E040"]
    assert "for the site 'blog'" in found.msg
    assert "Did you mean 'blogs'?" in found.msg
    blog = {**BLOG, "URLCONF": "tests.urls"}
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "SITES": {"blog": blog}}
    # Its addresses are the other site's; and what its sections say is wrong is said.
    found = said()
    assert found["W005"].msg.startswith("Site 'blog': ")
    assert '{"site": "blog"}' in found["W005"].hint
    assert found["E007"].msg.startswith("Site 'blog': ")


def test_a_site_is_known_and_there_and_its_own(by_request: Any, settings: Any) -> None:
    assert "--site www.example.com" in said()["W040"].hint
    settings.SITE_ID = 3
    assert "Site.objects.create(pk=3" in said()["E041"].hint
    settings.SITE_ID = 1
    assert not {"E041", "W041", "W042"} & said().keys()
    Site.objects.filter(pk=1).update(domain="example.com")
    assert "update(domain='www.your-site.com')" in said()["W041"].hint
    settings.SITEMAPS_PLUS = {"BASE_URL": TWO}
    assert "of the Site 2" in said()["W042"].msg
    settings.SITEMAPS_PLUS = {"BASE_URL": ONE}
    Site.objects.filter(pk=1).update(domain="one.example.com")
    assert "W042" not in said(), "that is its own"


def test_wrong_sites_are_refused(settings: Any) -> None:
    for sites, problem in (
        ([], "['SITES'] must be a dict, for example {"),
        ({"2": BLOG}, "['SITES']['2'] cannot name a site"),
        ({"blog": "x"}, "['SITES']['blog'] must be a dict, for example {"),
        ({"blog": {}}, "['SITES']['blog'] needs a 'BASE_URL'"),
        ({"blog": {**BLOG, "URLCONV": "a"}}, "Did you mean 'URLCONF'?"),
        ({"blog": {**BLOG, "URLCONF": None}}, "['URLCONF'] must be text, not None."),
    ):
        settings.SITEMAPS_PLUS = {"SITES": sites}
        assert problem in said()["E001"].msg


# No query forgets the site

#: Where rows are looked up by a condition with the site, or by the row of one page.
CAREFUL = {"storing/freshness.py"}
PACKAGE = Path(django_sitemaps_plus.__file__).parent


def test_rows_are_asked_for_by_the_functions_that_know_the_site() -> None:
    for path in PACKAGE.rglob("*.py"):
        name = str(path.relative_to(PACKAGE))
        if name in CAREFUL or name.startswith("contrib/"):
            continue
        text = path.read_text()
        named = r"(?<!section__site=key, )\bsection__name(__in)?="
        assert not re.search(named, text), name
        if not name.endswith("queries.py"):
            models = "Section|Page|Change|UrlChange|RelatedState|Submission|EngineState"
            # A page is its section's, and that is one site's.
            page = r"filter\(\s*(pk|section_id)=Slot"
            known = rf"((on_site|of_all_sites)\(\)|{page})"
            assert not re.search(rf"\b({models})\.objects\b(?!\.{known})", text), name
