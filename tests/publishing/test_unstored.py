"""Pages that cannot be kept, read or compared just now: what is served all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import InMemoryStorage
from django.db import DatabaseError, connection
from django.db.models import F
from django.test import Client

from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.publishing import pages, storage
from tests.support.factories import TagFactory, articles
from tests.support.helpers import ArticleSitemap, locations, run_command, settle, urlset
from tests.testapp.models import Article, Tag

pytestmark = pytest.mark.django_db

PAGE = "/sitemap-article-1.xml"


class ServiceError(Exception):
    """What a remote storage's own library raises: no OSError."""


class Remote(InMemoryStorage):
    """A storage far away, of which one thing or another fails."""

    failing: tuple[str, ...] = ()

    def _try(self, what: str) -> None:
        if what in Remote.failing:
            raise ServiceError(f"{what}: 507 Insufficient Storage")

    def _save(self, name: str, content: Any) -> str:
        self._try("save")
        return str(super()._save(name, content))  # type: ignore[misc]  # no stub

    def _open(self, name: str, mode: str = "rb") -> Any:
        self._try("open")
        return super()._open(name, mode)  # type: ignore[misc]  # no stub

    def listdir(self, path: str) -> Any:
        self._try("list")
        return super().listdir(path)


@pytest.fixture
def remote(settings: Any) -> Iterator[type[Remote]]:
    """Keep pages far away; ``failing`` says what fails there."""
    settings.STORAGES = {
        **settings.STORAGES,
        "sitemaps": {"BACKEND": f"{__name__}.Remote"},
    }
    yield Remote
    Remote.failing = ()


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was logged as an error, and forget it."""
    found = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    caplog.clear()
    return found


def grow_older(seconds: float) -> None:
    """Let ``seconds`` go by since every page was compared with its rows."""
    Page.objects.update(verified_at=F("verified_at") - seconds)


# Bytes that cannot be kept


@pytest.mark.parametrize("address", [PAGE, f"{PAGE}.gz", "/sitemap-article.xml"])
def test_what_cannot_be_kept_is_served(
    client: Client,
    register: Any,
    tmp_path: Path,
    address: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    register("article", ArticleSitemap)
    articles(2)
    (tmp_path / "sitemaps").write_text("a file where the folder should be")
    first = client.get(address)
    assert len(locations(first)) == 2
    *_, said = errors(caplog)
    page = Page.objects.get()
    assert said.startswith("article/1/")
    assert "cannot be kept: " in said
    assert said.endswith(
        ". Make room there, or let this process write there, or set "
        "STORAGES['sitemaps'] to another storage. Until then it is made for each "
        "request."
    )
    assert (page.checksum, page.version, page.making_until) == ("", 0, 0)
    again = client.get(address, headers={"if-none-match": first.headers["ETag"]})
    assert again.status_code == 304
    articles(1)
    assert len(locations(client.get(address))) == 3, "made for each request"
    (tmp_path / "sitemaps").unlink()
    assert len(locations(client.get(address))) == 3
    assert Page.objects.get().version == 1
    assert len(list((tmp_path / "sitemaps").rglob("*.gz"))) == 1


def test_sections_together_that_cannot_be_kept_are_served(
    client: Client, register: Any, remote: type[Remote]
) -> None:
    register("article", ArticleSitemap)
    register("other", ArticleSitemap)
    articles(2)
    for number in (1, 2):
        client.get(f"/sitemap-{('article', 'other')[number - 1]}-1.xml")
    remote.failing = ("save", "open", "list")
    assert len(locations(client.get("/sitemap.xml"))) == 4


def test_the_ledger_names_only_what_is_kept(
    client: Client,
    register: Any,
    remote: type[Remote],
    caplog: pytest.LogCaptureFixture,
) -> None:
    register("article", ArticleSitemap)
    made = articles(3)
    client.get(PAGE)
    before = Page.objects.values().get()
    remote.failing = ("save",)
    made[0].delete()
    grow_older(4000)
    response = client.get(PAGE)
    assert len(urlset(response)) == 2
    (said,) = errors(caplog)
    assert "cannot be kept: ServiceError: save: 507 Insufficient Storage. " in said
    after = Page.objects.values().get()
    assert after == {**before, "verified_at": before["verified_at"] - 4000}
    name = f"article/1/{before['checksum']}"
    _, (file,) = storage.storages["sitemaps"].listdir("article/1")
    assert f"article/1/{file}".startswith(name)
    remote.failing = ()
    assert client.get(PAGE).headers["ETag"] == response.headers["ETag"]
    assert Page.objects.get().version == before["version"] + 1


def test_the_same_bytes_are_fresh_though_they_cannot_be_kept_again(
    client: Client, register: Any, remote: type[Remote]
) -> None:
    register("article", ArticleSitemap)
    articles(2)
    client.get(PAGE)
    settle()
    first = client.get(PAGE)
    remote.failing = ("open", "save")
    response = client.get(PAGE)
    assert (response.content, response.headers) == (first.content, first.headers)


def test_a_storage_that_cannot_be_read_costs_a_page_made_anew(
    client: Client,
    register: Any,
    remote: type[Remote],
    caplog: pytest.LogCaptureFixture,
) -> None:
    register("article", ArticleSitemap)
    articles(2)
    first = client.get(PAGE)
    assert errors(caplog) == []
    remote.failing = ("open",)
    assert client.get(PAGE).content == first.content
    said = errors(caplog)[0]
    assert "cannot be read: ServiceError: open: 507 Insufficient Storage. " in said
    assert "STORAGES['sitemaps']" in said


def test_what_was_before_may_stay_where_it_cannot_be_deleted(
    client: Client, register: Any, remote: type[Remote], caplog: Any
) -> None:
    register("article", ArticleSitemap)
    remote.failing = ("list",)
    articles(2)
    assert len(urlset(client.get(PAGE))) == 2
    assert Page.objects.get().version == 1
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        "What was kept before in article/1 cannot be deleted: ServiceError: list: 507 "
        "Insufficient Storage"
    )


def test_building_what_cannot_be_kept_fails(
    register: Any, remote: type[Remote]
) -> None:
    register("article", ArticleSitemap)
    articles(2)
    remote.failing = ("save",)
    out, err, code = run_command("build_sitemaps")
    assert out == "Section 'article': 1 page; 0 made, 0 unchanged.\n"
    assert err.startswith("  article/1/")
    assert "cannot be kept: ServiceError: save: 507 Insufficient Storage." in err
    assert err.endswith("CommandError: Could not make all pages of: article.\n")
    assert code == 1


def test_without_a_temporary_directory_pages_are_made_for_each_request(
    client: Client,
    register: Any,
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings.STORAGES = {
        name: value for name, value in settings.STORAGES.items() if name != "sitemaps"
    }
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    register("article", ArticleSitemap)
    for count in (1, 2):
        articles(1)
        assert len(urlset(client.get(PAGE))) == count
        (said,) = errors(caplog)
        assert (
            "cannot be kept: the temporary folder for kept pages cannot be written: "
            f"[Errno 20] Not a directory: '{tmp_path}/file/"
        ) in said
        assert said.endswith(
            ". Let this user write there, or set STORAGES['sitemaps'] to a storage of "
            "the project's own. Until then it is made for each request."
        )


# Rows that cannot be read


class Asking(ArticleSitemap):
    """Its priorities are asked of the database, which may fail."""

    failing = False

    def priority(self, item: Article) -> float:
        if Asking.failing:
            Article.objects.extra(where=["no_such_column = 1"]).count()
        return 0.5


@pytest.fixture
def asking(register: Any) -> Iterator[type[Asking]]:
    """A section whose rows can be read until it is said to fail."""
    yield register("article", Asking)
    Asking.failing = False


@pytest.mark.django_db(transaction=True)
def test_an_error_of_the_database_leaves_the_former_bytes(
    client: Client,
    asking: type[Asking],
    caplog: pytest.LogCaptureFixture,
) -> None:
    articles(2)
    client.get(PAGE)
    settle()
    before = client.get(PAGE)
    articles(1)
    grow_older(4000)
    asking.failing = True
    for _ in range(2):
        response = client.get(PAGE)
        assert (response.content, response.headers) == (before.content, before.headers)
    first, second = (r for r in caplog.records if r.name == "django_sitemaps_plus")
    assert first.levelname == second.levelname == "ERROR"
    assert first.getMessage().startswith(
        "Page article-1 keeps its former bytes: the database failed: "
    )
    assert "no_such_column" in (first.exc_text or ""), "with its traceback"
    assert Page.objects.get().making_until == 0
    out, err, code = run_command("build_sitemaps")
    assert out == "Section 'article': 1 page, 2 entries; 0 made, 0 unchanged.\n"
    assert err.startswith(f"  {first.getMessage().splitlines()[0]}")
    assert code == 1
    asking.failing = False
    assert len(urlset(client.get(PAGE))) == 3, "at once, when it is over"


@pytest.mark.django_db(transaction=True)
def test_an_error_of_the_database_is_raised_where_the_former_bytes_are_too_old(
    client: Client, asking: type[Asking]
) -> None:
    articles(2)
    client.get(PAGE)
    grow_older(pages.FORMER + 10)
    asking.failing = True
    with pytest.raises(DatabaseError):
        client.get(PAGE)
    assert Page.objects.get().making_until == 0


def lose_connection() -> None:
    """End the connection, as a server does that is started again."""
    if connection.vendor == "sqlite":
        assert connection.connection is not None
        connection.connection.close()
        return
    own, end = {
        "postgresql": ("pg_backend_pid()", "SELECT pg_terminate_backend(%s)"),
        "mysql": ("CONNECTION_ID()", "KILL %s"),
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {own}")
        (number,) = cursor.fetchone()
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute(end, [number])
    other.close()


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_is_lost_while_a_page_is_made(
    client: Client, register: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The former bytes need no database; the claim ends by itself."""

    class Lost(ArticleSitemap):
        lost = False

        def priority(self, item: Article) -> float:
            if Lost.lost:
                lose_connection()
                Article.objects.count()
            return 0.5

    register("article", Lost)
    articles(2)
    before = client.get(PAGE).content
    grow_older(4000)
    Lost.lost = True
    try:
        assert client.get(PAGE).content == before
    finally:
        connection.close()
    assert Page.objects.get().making_until > 0
    assert [r.levelname for r in caplog.records] == ["ERROR", "WARNING"]


# Rows that begin to repeat


class Tagged(ArticleSitemap):
    """A join, of which nobody thought that it might list an article twice."""

    def items(self) -> Any:
        return Article.objects.filter(tags__name="t")


def test_rows_that_begin_to_repeat_leave_the_former_bytes(
    client: Client, register: Any, caplog: pytest.LogCaptureFixture
) -> None:
    register("article", Tagged)
    for article in articles(3):
        TagFactory(article=article, name="t")
    client.get(PAGE)
    settle()
    before = client.get(PAGE)
    twice = TagFactory(article=Article.objects.first(), name="t")
    grow_older(4000)
    for address in (PAGE, "/sitemap.xml", PAGE):
        response = client.get(address)
        assert (response.content, response.headers) == (before.content, before.headers)
    problem = (
        "Section 'article': items() returns rows more than once, because it joins a "
        "relation that has several rows for one item. Add .distinct(), or filter with "
        "Exists(). The page keeps its former bytes."
    )
    assert errors(caplog) == [problem], "said once, not at each request"
    assert Page.objects.get().error == problem
    out, err, code = run_command("build_sitemaps")
    assert out == "Section 'article': 1 page, 3 entries; 0 made, 0 unchanged.\n"
    assert (err.splitlines()[0], code) == (f"  {problem}", 1)
    Tag.objects.filter(pk=twice.pk).delete()
    grow_older(70)
    assert client.get(PAGE).content == before.content
    assert Page.objects.get().error == ""


def test_rows_that_repeat_from_the_beginning_are_an_error(
    client: Client, register: Any
) -> None:
    register("article", Tagged)
    (article,) = articles(1)
    for _ in range(2):
        TagFactory(article=article, name="t")
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="rows more than once"):
            client.get(PAGE)
