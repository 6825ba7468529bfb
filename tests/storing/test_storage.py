"""Where bytes are stored: in the ledger's database, in its transactions, once."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from django_sitemaps_plus.models import Change, Page, PageFile, UrlChange
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.sitemaps.site import SiteAddress
from django_sitemaps_plus.storing import storage
from django_sitemaps_plus.storing.segments import segment_of
from django_sitemaps_plus.storing.storage import StoredBytes
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    later,
    locations,
    remove_sites,
    told,
    urlset,
)
from tests.support.ledger_world import HOURS
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

PAGE = "/sitemap-article-1.xml"


@pytest.fixture
def article(register: Register) -> list[Article]:
    register("article", ArticleSitemap)
    return articles(3)


def stored() -> list[tuple[int, str, int]]:
    """Return what is stored: the page's number, the version, the piece."""
    rows = PageFile.objects.order_by("page", "checksum", "part")
    return list(rows.values_list("page__number", "checksum", "part"))


# With the page's row


def test_the_bytes_of_a_page_are_stored_once_however_often_it_changes(
    client: Client, article: list[Article]
) -> None:
    for _ in range(3):
        articles(1)
        later(HOURS, "verified_at")
        response = client.get(PAGE)
        assert stored() == [(1, Page.objects.get().checksum, 0)]
        page = Page.objects.get()
        found = storage.read_bytes(page, page.checksum)
        assert found is not None
        assert found.segment.text() in response.content
        assert found.entries == len(urlset(response))


def test_the_bytes_of_many_pages_are_read_some_at_a_time(
    client: Client,
    register: Register,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: Any,
) -> None:
    monkeypatch.setattr(storage, "PAGES_AT_ONCE", 2)
    articles(5)
    register("article", type("Small", (ArticleSitemap,), {"limit": 1}))
    for number in range(1, 5):
        client.get(f"/sitemap-article-{number}.xml")
    rows = list(Page.objects.order_by("number"))
    with django_assert_num_queries(3):
        read = list(storage.read_each(rows))
    assert [page for page, _ in read] == rows
    assert [found and found.entries for _, found in read] == [1, 1, 1, 1, None]


def test_large_pages_are_stored_in_pieces(
    client: Client,
    article: list[Article],
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: Any,
) -> None:
    """MariaDB refuses packets that are larger than its setting; others take it all."""
    assert storage.PIECE == 1_000_000
    monkeypatch.setattr(storage, "PIECE", 100)
    articles(40)
    first = client.get(PAGE)
    sizes = [len(piece.data) for piece in PageFile.objects.order_by("part")]
    if connection.vendor == "mysql":
        assert len(sizes) > 3
        assert set(sizes[:-1]) == {100}
    else:
        assert len(sizes) == 1
    with django_assert_num_queries(1):
        assert client.get(PAGE).content == first.content
    # A smaller page leaves no piece of the larger one.
    Article.objects.exclude(pk=article[0].pk).delete()
    assert len(urlset(client.get(PAGE))) == 1
    assert len(stored()) <= len(sizes)
    assert {checksum for _, checksum, _ in stored()} == {Page.objects.get().checksum}


@pytest.mark.django_db(transaction=True)
def test_a_build_that_is_rolled_back_leaves_nothing(
    client: Client, article: list[Article]
) -> None:
    client.get(PAGE)
    former = stored(), Page.objects.values().get()
    article[0].delete()
    with transaction.atomic():
        assert len(urlset(client.get(PAGE))) == 2
        assert stored() != former[0]
        assert UrlChange.objects.exists()
        transaction.set_rollback(True)
    assert (stored(), Page.objects.values().get()) == former
    assert not UrlChange.objects.exists()
    assert Change.objects.count() == 1, "it still waits"
    assert len(urlset(client.get(PAGE))) == 2


# Origins


@pytest.fixture
def by_host(settings: Any) -> Any:
    """Neither BASE_URL nor Sites: the address is the request's."""
    settings.SITEMAPS_PLUS = {}
    settings.SITE_ID = None
    settings.ALLOWED_HOSTS = ["*"]
    remove_sites(settings)


HOSTS = ["example.org", "example.org:8000", "example.com", "[::1]:8000", "[::1]"]


@pytest.mark.usefixtures("by_host")
@pytest.mark.parametrize("first", HOSTS)
@pytest.mark.costly
def test_every_host_is_served_from_one_stored_copy(
    client: Client, article: list[Article], first: str
) -> None:
    seen = set()
    for host in [first, *HOSTS]:
        response = client.get(PAGE, headers={"host": host})
        start = f"http://{host}/articles/"
        assert locations(response) == [f"{start}{one.slug}/" for one in article]
        seen.add(response.headers["ETag"])
        again = {"host": host, "if-none-match": response.headers["ETag"]}
        assert client.get(PAGE, headers=again).status_code == 304
        assert (len(stored()), Page.objects.get().version) == (1, 1)
    assert len(seen) == len(HOSTS)
    # A port that anybody may invent is not what stored bytes carry.
    origin = first if first.endswith("]") else first.removesuffix(":8000")
    assert PageFile.objects.get().origin == f"http://{origin}/"
    # Another host that changes the page is no news to the first.
    later(HOURS, "verified_at")
    client.get(PAGE, headers={"host": "example.com"})
    assert (len(stored()), Page.objects.get().version) == (1, 1)
    article[0].delete()
    client.get(PAGE, headers={"host": "example.com"})
    assert told() == [("removed", f"/articles/{article[0].slug}/")]
    found = locations(client.get(PAGE, headers={"host": "example.org"}))
    assert found == [f"http://example.org/articles/{one.slug}/" for one in article[1:]]


def test_only_what_begins_a_location_is_readdressed() -> None:
    body = (
        '<url><loc>{0}/x/</loc><xhtml:link rel="alternate" hreflang="de" href="{0}/de/'
        '"/><image:image><image:loc>http://a.example.org/y.jpg</image:loc>'
        "</image:image><video:video><video:title>http://a.example/x/</video:title>"
        "<video:player_loc>{0}/p</video:player_loc></video:video></url>"
    )
    segment = segment_of(body.format("http://a.example").encode())
    kept = StoredBytes("http://a.example/", segment, entries=1)
    site = SiteAddress(Origin(scheme="https", host="b.example:8000"))
    assert kept.text_for(site).decode() == body.format("https://b.example:8000")
    under = SiteAddress(Origin(scheme="http", host="a.example"), prefix="/shop/")
    assert b"<loc>http://a.example/shop/x/</loc>" in kept.text_for(under)
    assert kept.for_site(under).segment.text() == kept.text_for(under)
