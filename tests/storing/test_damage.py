"""Stored bytes that are damaged or missing: never sent, rebuilt, logged and shown."""

from __future__ import annotations

import gzip
from itertools import product
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from django_sitemaps_plus.models import Page, PageFile
from django_sitemaps_plus.storing import storage
from tests.conftest import Register
from tests.support.factories import articles, dated_anew
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    later,
    locations,
    run_command,
    told,
)
from tests.support.ledger_world import HOURS
from tests.support.processes import THOROUGH
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

SITE = "https://www.example.com"
#: With the entries themselves, and with an index.
PATHS = [
    "/sitemap.xml",
    "/sitemap-article.xml",
    "/sitemap-article-1.xml",
    "/sitemap-article-1.xml.gz",
]


class ByTwo(PagesSitemap):
    """Two pages by position."""

    limit = 1


@pytest.fixture
def site(register: Register, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page by key, stored in small pieces; and two by position."""
    monkeypatch.setattr(storage, "PIECE", 60)
    settings.SITEMAPS_PLUS = {"BASE_URL": SITE}
    register("article", ArticleSitemap)
    register("pages", ByTwo)
    articles(3)
    run_command("build_sitemaps")
    for path in PATHS:
        read(path, "")
    later(100, "changed_at")
    told()


def read(path: str, encoding: str) -> bytes:
    """Ask for a path; return what the client has when it has unpacked it."""
    response = Client().get(path, headers={"accept-encoding": encoding})
    assert response.status_code == 200, path
    is_packed = path.endswith(".gz") or response.headers.get("Content-Encoding")
    assert bool(is_packed) == (path.endswith(".gz") or encoding == "gzip")
    content: bytes = response.content
    return gzip.decompress(content) if is_packed else content


def check_is_stored() -> None:
    """Check that all bytes are there again, and that nobody was told of it."""
    for page in Page.objects.all():
        assert storage.read_bytes(page, page.checksum) is not None
    assert told() == []


def damage(row: PageFile, kind: str, bit: int) -> None:
    """Do to a stored piece what disks and people do."""
    data = bytes(row.data) or b"?"
    if kind == "lose":
        row.delete()
        return
    if kind == "flip":
        place = bit // 8 % len(data)
        flipped = data[place] ^ 1 << bit % 8
        row.data = data[:place] + bytes([flipped]) + data[place + 1 :]
    elif kind == "cut the end":
        row.data = data[: bit % len(data)]
    elif kind == "cut the start":
        row.data = data[1 + bit % len(data) :]
    elif kind == "origin":
        row.origin = row.origin.replace("example", "another")
    elif kind == "checksum":
        row.checksum = f"damaged-{row.pk}"
    else:
        row.crc ^= 1 << bit % 32
    row.save()


KINDS = ["flip", "cut the end", "cut the start", "lose", "origin", "checksum", "crc"]


@settings(max_examples=1000 if THOROUGH else 20)
@given(
    kind=st.sampled_from(KINDS),
    row=st.integers(0, 100),
    bit=st.integers(0, 1000),
    asked=st.permutations([*product(PATHS, ("", "gzip"))]),
)
def test_what_is_damaged_is_never_sent_and_is_rebuilt(
    site: None, kind: str, row: int, bit: int, asked: list[tuple[str, str]]
) -> None:
    right = {path: read(path, "") for path in PATHS}
    rows = list(PageFile.objects.order_by("page", "checksum", "part"))
    damage(rows[row % len(rows)], kind, bit)
    for path, encoding in asked:
        assert read(path, encoding) == right[path], (path, encoding)
    check_is_stored()


@pytest.mark.parametrize(
    "stray", [{"part": 99}, {"checksum": "another"}, {"checksum": "", "part": 1}]
)
@pytest.mark.costly
def test_a_stray_piece_does_not_keep_a_page_from_being_rebuilt(
    site: None, stray: dict[str, Any]
) -> None:
    first = PageFile.objects.filter(page__section__name="article").earliest("part")
    for name, value in stray.items():
        setattr(first, name, value)
    first.pk = None
    first.save()
    dated_anew(Article.objects.earliest("pk")).save()
    later(100, "changed_at")
    read(PATHS[2], "")
    [page] = Page.objects.all()
    assert storage.read_bytes(page, page.checksum) is not None
    assert not page.files.exclude(checksum=page.checksum).exists()


def test_a_stray_piece_does_not_keep_a_page_from_being_built(site: None) -> None:
    right = read(PATHS[2], "")
    Page.objects.update(checksum="", entries=None, verified_at=0)
    assert run_command("build_sitemaps")[2] == 0
    assert read(PATHS[2], "") == right


def test_no_page_is_there_twice(site: None) -> None:
    [page] = Page.objects.all()
    page.pk, page.number = None, 2
    with pytest.raises(IntegrityError), transaction.atomic():
        page.save()


def break_all(kind: str) -> None:
    """Damage each stored file."""
    for row in PageFile.objects.filter(part=0):
        damage(row, kind, 99)


@pytest.mark.parametrize("kind", ["flip", "cut the end", "lose"])
@pytest.mark.parametrize(
    "arguments",
    [(), ("--reconcile",), ("--reconcile", "--deep")],
    ids=["", "reconcile", "deep"],
)
@pytest.mark.costly
def test_build_sitemaps_rebuilds_what_is_damaged(
    site: None, kind: str, arguments: tuple[str, ...]
) -> None:
    break_all(kind)
    out, err, code = run_command("build_sitemaps", *arguments)
    assert (err, code) == ("", 0), out
    check_is_stored()
    assert not Page.objects.filter(lost_at=0).exists()


@pytest.mark.parametrize("kind", ["flip", "cut the end", "lose"])
@pytest.mark.costly
def test_the_other_commands_get_through(site: None, settings: Any, kind: str) -> None:
    memory = {"BACKEND": "django_sitemaps_plus.engines.memory.Memory"}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ENGINES": {"memory": memory}}
    for command in (
        ("ping_sitemaps", "--dry-run", "--all"),
        ("ping_sitemaps", "--all", "--force"),
        ("ping_sitemaps",),
    ):
        break_all(kind)
        Article.objects.first().save()  # type: ignore[union-attr]  # there are three
        assert run_command(*command)[2] == 0, (command, run_command(*command))
    break_all(kind)
    status, err, code = run_command("ping_sitemaps", "--status")
    said = " ".join(status.split())
    assert "Section 'article': the stored bytes of 1 page were missing or dam" in said
    assert (err, code) == ("", 0), "they were built again"


@pytest.mark.parametrize("is_stale", [False, True])
def test_damage_is_logged_once(
    site: None, client: Client, caplog: pytest.LogCaptureFixture, is_stale: bool
) -> None:
    before = client.get(PATHS[2])
    if is_stale:
        later(HOURS, "verified_at")
    break_all("flip")
    for _ in range(3):
        after = client.get(PATHS[2])
        assert (after.content, after.headers) == (before.content, before.headers)
    assert caplog.messages == [
        "The stored bytes of page article-1 were missing or damaged; it was rebuilt."
    ]
    page = Page.objects.get(section__name="article")
    assert not page.error
    assert page.lost_at > 0


def test_what_a_damaged_page_listed_is_not_known(site: None, client: Client) -> None:
    """What was saved meanwhile is told all the same; what SQL did is not."""
    first, second, _ = Article.objects.order_by("pk")
    Article.objects.filter(pk=first.pk).update(slug="unseen")
    second.slug = "saved"
    second.save()
    break_all("flip")
    assert f"{SITE}/articles/unseen/" in locations(client.get(PATHS[2]))
    assert told() == [("changed", "/articles/saved/")]
