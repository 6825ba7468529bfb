"""What the audit says of each wrong that is planted, and of what is in order."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.contrib.audit.models import Audit
from tests.compat.planted import CASES
from tests.compat.stage import Stage

pytestmark = pytest.mark.nginx

#: The findings, and a text that names the cause. Any other case is in order.
EXPECTED = {
    "soft_404": ("A109", "is called 'Page not found | Shop'"),
    "javascript_shell": ("A115", "40 URLs have the same text"),
    "bot_challenge": ("A204", "Cloudflare challenges this machine (403)"),
    "consent_wall": ("A101", "/consent/?next=/articles/article-"),
    "sign_in_form": ("A108", "is called 'Sign in' and has a login form"),
    "staging_canonical": ("A105", "its canonical is https://staging.example.com/"),
    "cut_off": ("A206", "ends inside <h1>"),
    "fatal_error": ("A109", "says 'Fatal error: Uncaught mysqli_sql_exc"),
    "meta_refresh": ("A101", "refreshes to "),
    "second_robots_meta": ("A103", "noindex in its meta element"),
    "staging_robots": ("A212", "disallows the whole site, and so /sitemap.xml, for"),
    "former_domain": ("A213", "names https://old.example.com/sitemap.xml, and not"),
    "robots_unavailable": ("A020 A205", "answers 503"),
    "robots_is_html": ("A209", "is a web page"),
    "stale_sitemap": ("A208 A210", "is an old copy: 30 days old"),
    "staging_urls": ("A208 A209", "lists https://staging.example.com/"),
    "cut_off_sitemap": ("A209", "is not well-formed XML: no element found"),
    "compressed_twice": ("A207", "is still gzipped after it was decompressed"),
    "blank_line_first": ("A209", "XML or text declaration not at start of entity"),
    "index_of_gone_files": ("A205 A208 A209", "answers 404"),
    "rate_limit": ("A100 A205", "says the web server: in maintenance, or asked too"),
    "bots_refused": ("A119", "answers 403 as Googlebot, and 200 otherwise"),
    "robots_header": ("A103 A208", "noindex in the header X-Robots-Tag"),
    "errors_as_home": ("A105 A120", "answers 200, although no page has this address"),
    "protocol_loop": ("A202", "redirects to itself, without an end (301)"),
    "slash_removed": ("A101", "/articles/article-"),
    "false_encoding": ("A207", "was not read: "),
    "other_host": ("A101 A202", "redirects to http://localhost:"),
    "static_location": ("A205", "answers 404"),
    "canonical_header": ("A105", "its canonical is http://127.0.0.1:"),
    # It lacks X-Robots-Tag, which Django's own view sends: a warning.
    "text_xml": ("A208", "X-Robots-Tag is missing"),
}
#: How much of it is refused depends on how fast the machine asks.
BY_SPEED = {"rate_limit": {"A205"}}


def test_each_wrong_is_named_and_what_is_in_order_is_no_error(stage: Stage) -> None:
    mistaken = []
    for case in CASES:
        Audit.objects.all().delete()
        stage.answers.clear()
        with pytest.MonkeyPatch.context() as patch:
            directives = case.plant(stage, patch)
            with stage.served(**directives):
                said = stage.look()
        codes, named = EXPECTED.get(case.name, ("", ""))
        texts = [text for found in said.texts.values() for _, text in found]
        is_named = not named or any(named in text for text in texts)
        wrong = said.codes ^ {*codes.split()}
        is_ordinary = case.group == "ordinary" and said.exit_code != 0
        if wrong - BY_SPEED.get(case.name, set()) or not is_named or is_ordinary:
            mistaken.append((case.name, said.codes, said.exit_code, texts[:2]))
    assert mistaken == []
