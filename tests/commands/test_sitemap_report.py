"""``manage.py sitemap_report``: what it says, to whom, and how it ends."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.audit.queries import store
from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.engines.base import Answer, Outcome
from django_sitemaps_plus.models import Audit, Finding
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, PagesSitemap, run_command
from tests.support.outbox_world import BASE, happened, run, use
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(databases=["default", "other"])

REFUSED = Answer(outcome=Outcome.REJECTED, status=422, message="The host is another.")


@pytest.fixture
def section(register: Any) -> list[Article]:
    """A section that was built."""
    register("article", ArticleSitemap)
    made = articles(3)
    assert run_command("build_sitemaps")[2] == 0
    UrlChange.objects.all().delete()
    return made


def audited(errors: int, warnings: int) -> None:
    counts = {kinds.SESSION: {"article": errors}}
    counts |= {kinds.TRACKING: {"article": warnings}} if warnings else {}
    store(
        Audit(
            started_at=1,
            finished_at=2,
            sections={"article": [1234, 0]},
            urls=1234,
            counts=counts,
        ),
        [Finding(kind=kinds.SESSION, level="error", section="article")] * errors,
    )


def line(text: str, label: str) -> str:
    """Return what stands behind a label."""
    (found,) = [row for row in text.splitlines() if row.startswith(f"{label} ")]
    return found.removeprefix(label).strip()


def test_where_all_is_well_it_says_what_there_is_and_ends_with_0(
    section: list[Article],
) -> None:
    out, err, code = run_command("sitemap_report")
    assert (err, code) == ("", 0)
    assert out.startswith(f"Sitemaps of {BASE}\n")
    assert "TO LOOK AT" not in out
    assert line(out, "article") == "1 page, 3 entries"
    assert "Not looked at         No audit has looked at article" in out
    assert "no changes" in out


def test_it_names_what_changed_what_failed_and_what_the_audit_found(
    section: list[Article], settings: Any
) -> None:
    engine = use(settings, one="Few")
    happened("/fine/")
    run()
    engine.answers.append(REFUSED)
    happened("/bad/", kind=UrlChange.Kind.REMOVED)
    run()
    UrlChange.objects.filter(kind="removed").update(on_hold=True, queued_at=None)
    audited(errors=2, warnings=1)
    out, err, code = run_command("sitemap_report")
    assert code == 1
    assert err == "CommandError: There is something to look at: 3 problems.\n"
    to_look_at = out.partition("TO LOOK AT\n")[2].partition("\n\n")[0].split("\n- ")
    failed, hold, audit = [" ".join(text.split()) for text in to_look_at]
    assert "1 removed URL is on hold" in hold
    assert failed.startswith("- one: 1 submission failed.")
    assert failed.endswith("The host is another.")
    assert "The last audit of article found 2 errors" in audit
    assert line(out, "one") == "1 accepted, 1 failed, 0 waiting"
    assert "1 changed, 1 removed" in out or "1 added, 0 changed, 1 removed" in out
    assert "article: what is listed" in out
    assert line(out, "Found") == "2 errors, 1 warning"
    assert f"2 × {kinds.KINDS[kinds.SESSION].title[:20]}" in out
    assert max(map(len, out.splitlines())) <= 80


def test_what_is_older_than_the_days_is_left_out(
    section: list[Article], settings: Any
) -> None:
    use(settings, one="Few")
    happened("/old/")
    UrlChange.objects.update(at=1, queued_at=1)
    assert "no changes" in run_command("sitemap_report", "--days", "3")[0]


def test_a_section_that_was_never_built_or_cannot_be_used_is_named(
    register: Any,
) -> None:
    class Broken(ArticleSitemap):
        def items(self) -> Any:
            raise LookupError("no such thing")

    register("broken", Broken)
    register("article", ArticleSitemap)
    out, _, code = run_command("sitemap_report")
    assert code == 1
    said = " ".join(out.split())
    assert "Section 'broken' cannot be used: LookupError: no such thing" in said
    assert "was never built" in out


class Outline(HTMLParser):
    """The elements that are open, and the texts of an HTML document."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_as_html_it_says_the_same_and_escapes(
    section: list[Article], settings: Any
) -> None:
    engine = use(settings, one="Few")
    message = "<script>alert(1)</script>"
    engine.answers.append(Answer(outcome=Outcome.REJECTED, status=1, message=message))
    happened("/bad/")
    run()
    html, _, code = run_command("sitemap_report", "--format", "html")
    assert code == 1
    assert message not in html
    outline = Outline(html)
    assert outline.open == []
    assert any(message in text for text in outline.texts)
    for text in ("article", "1 page, 3 entries", "0 accepted, 1 failed, 0 waiting"):
        assert text in outline.texts


def test_a_mail_has_text_and_html_and_says_in_its_subject_how_it_went(
    section: list[Article],
) -> None:
    out, _, code = run_command("sitemap_report", "--email", "a@example.com")
    assert (out, code) == ("Sent to a@example.com.\n", 0)
    (message,) = mail.outbox
    assert message.subject == f"[Django] Sitemaps of {BASE}: nothing wrong was found"
    assert message.to == ["a@example.com"]
    assert isinstance(message, mail.EmailMultiAlternatives)
    assert message.body == run_command("sitemap_report")[0].rstrip("\n") + "\n"
    html, kind = message.alternatives[0]
    assert kind == "text/html"
    assert "<h2>Sections</h2>" in str(html)
    audited(errors=1, warnings=0)
    assert run_command("sitemap_report", "--email", "a@example.com")[2] == 1
    assert mail.outbox[1].subject.endswith(": 1 problem")


def test_without_an_address_the_managers_get_it(section: list[Article]) -> None:
    with override_settings(MANAGERS=["boss@example.com"]):
        run_command("sitemap_report", "--email")
    assert [message.to for message in mail.outbox] == [["boss@example.com"]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--days", "8"], "--days 8: use 1 to 7."),
        (["--days", "0"], "--days 0: use 1 to 7."),
        (["--email", "nobody"], "--email: 'nobody' is not an address."),
        (["--email"], "--email: name an address, or set MANAGERS"),
    ],
)
def test_misuse_ends_with_2(
    section: list[Article], arguments: list[str], sentence: str
) -> None:
    out, err, code = run_command("sitemap_report", *arguments)
    assert (out, code) == ("", 2)
    assert sentence in err
    assert mail.outbox == []


def test_its_queries_do_not_grow_with_what_happened(
    section: list[Article], register: Any, settings: Any
) -> None:
    register("pages", PagesSitemap)
    use(settings, one="Few")
    counts = []
    for number in range(2):
        for index in range(20):
            happened(f"/{number}/{index}/")
        run()
        with CaptureQueriesContext(connection) as queries:
            run_command("sitemap_report")
        counts.append(len(queries))
    assert counts[0] == counts[1]
