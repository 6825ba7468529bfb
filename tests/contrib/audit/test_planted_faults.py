"""Faults of every kind that a site can have are all found, and nothing is invented."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.contrib.audit.models import Audit
from django_sitemaps_plus.contrib.audit.queries import findings_of
from tests.contrib.audit import kinds
from tests.support.factories import FIRST, CategoryFactory, articles
from tests.support.helpers import Titled, run_command
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

SITE = "https://www.example.com"


class OfKind(Titled):
    """Articles whose title is their URL, by the name of a category."""

    kind = ""

    def items(self) -> Any:
        return Article.objects.filter(slug=self.kind)


def titled(name: str, **attributes: Any) -> type[OfKind]:
    return type("Of", (OfKind,), {"kind": name, **attributes})


def add(name: str, *urls: str, **fields: Any) -> list[Article]:
    made = [articles(1, slug=name, title=url, **fields)[0] for url in urls]
    for number, one in enumerate(made):
        # All different, as equal ones would be a fault; and none in the future, however
        # many rows the tests before had.
        if "updated" not in fields:
            one.updated = FIRST + dt.timedelta(hours=(one.pk + number) % 5_000)
            one.save()
    return made


#: URLs that a build leaves out, by what is wrong with them.
ROWS = {
    kinds.FOREIGN_HOST: "https://shop.example/item-{}/",
    kinds.FOREIGN_SCHEME: "http://www.example.com/insecure-{}/",
    kinds.BAD_URL: "no/slash-{}/",
    kinds.SESSION: "/visit-{}/?PHPSESSID=1",
}
#: URLs that are listed; the first folder says how they answer.
URLS = {
    kinds.TRACKING: ["/ad-{}/?a=1&utm_source=letter", "/ad-{}/?GCLID=1"],
    kinds.DISALLOWED: ["/cart/{}/"],
    kinds.DISALLOWED_FOR_ONE: ["/no-google/{}/"],
    kinds.REDIRECTS: ["/moved/{}/"],
    kinds.CANONICAL: ["/copy/{}/"],
    kinds.EMPTY: ["/empty/{}/"],
    kinds.FAILS: ["/missing/{}/", "/broken/{}/"],
    kinds.LOGIN: ["/private/{}/"],
    kinds.LOGIN_FORM: ["/login/{}/"],
    kinds.NOINDEX: ["/hidden/{}/", "/meta/{}/", "/none/{}/", "/no-googlebot/{}/"],
    kinds.NOINDEX_FOR_ONE: ["/no-bing/{}/"],
}


def plant(register: Any) -> Counter[tuple[str, str]]:
    """Build a site with faults among what is good; return them by kind and place."""
    planted: Counter[tuple[str, str]] = Counter()
    for name in ("rows", "good", "shared", "dates", "equal"):
        register(name, titled(name))
    register("tags", titled("tags", changefreq=F("category__slug")))

    def note(kind: str, url: str) -> str:
        planted[kind, f"{SITE}{url}"] += 1
        return url

    # A section of which all rows are bad is in error.
    add("rows", "/good/row/")
    for kind, pattern in ROWS.items():
        # They are left out, so they have rows, and no URLs.
        for row in add("rows", pattern.format(1), pattern.format(2)):
            planted[kind, str(row.pk)] += 1
    category = CategoryFactory(slug="sometimes")
    add("tags", note(kinds.TAG_LEFT_OUT, "/good/tag/"), category=category)
    good = [f"/good/{n}/" for n in range(9)]
    good += ["/no-google/but/this/", "/no-openai/1/", "/visit/?session=spring"]
    good += ["/good/?utm=1", "/good/search?q=a&page=2", "/carts/"]
    for kind, patterns in URLS.items():
        good += [note(kind, one.format(n)) for one in patterns for n in range(2)]
    twice = [note(kinds.REPEATED, f"/good/twice-{n}/") for n in range(2)]
    both = [note(kinds.SHARED, f"/good/both-{n}/") for n in range(2)]
    add("good", *good, *twice, *twice, *both)
    add("shared", *both)
    now = timezone.now().replace(microsecond=0)
    # Above a day the build omits the date; below it is written.
    for hours in (12, 48):
        later = now + dt.timedelta(hours=hours)
        add("dates", note(kinds.FUTURE, f"/good/later-{hours}/"), updated=later)
    add("equal", *(f"/good/equal-{n}/" for n in range(12)), updated=FIRST)
    planted[kinds.ALL_EQUAL, "equal"] += 1
    return planted


def test_all_faults_are_found_and_none_is_invented(
    register: Any, settings: Any
) -> None:
    settings.ROOT_URLCONF = "tests.support.audited_urls"
    settings.SITEMAPS_PLUS = {"BASE_URL": SITE, "MAX_BAD": 1.0}
    planted = plant(register)
    run_command("build_sitemaps")
    out, err, code = run_command("check_sitemaps", "--fetch", "--format", "json")
    document = json.loads(out)["audit"]
    found = Counter(
        (one["id"], one["url"] or one["row"] or one["section"])
        for one in document["findings"]
    )
    assert found == planted
    assert document["errors"] + document["warnings"] == planted.total()
    assert document["fetched"] == document["urls"]
    assert (code, "The audit found" in err) == (1, True)
    audit = Audit.objects.get()
    assert (audit.errors, audit.warnings) == (document["errors"], document["warnings"])
    stored = Counter(audit.findings.values_list("kind", flat=True))
    assert stored == Counter(kind for kind, _ in planted.elements())
    of_several_rows = [kinds.REPEATED, kinds.SHARED]
    for finding in audit.findings.filter(section="good"):
        row = Article.objects.filter(title=finding.url.removeprefix(SITE), slug="good")
        if finding.kind not in of_several_rows:
            assert finding.row == str(row.get().pk), finding
    assert [one.kind for one in findings_of("/cart/1/")] == [kinds.DISALLOWED]
