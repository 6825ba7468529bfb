"""The table of bytes UNLOGGED, as docs/deploying.md says, and a killed server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from django_sitemaps_plus.models import Page, PageFile
from tests.conftest import Register
from tests.support.factories import CategoryFactory, articles
from tests.support.helpers import (
    ArticleSitemap,
    crawled,
    run_command,
    told,
)
from tests.support.postgresql_cluster import Cluster, forget_connections, own_cluster
from tests.support.processes import ROOT
from tests.testapp.models import Article

ORIGIN = "https://www.example.com"


class ByThree(ArticleSitemap):
    """Several pages."""

    limit = 3


@pytest.fixture
def cluster(
    transactional_db: None,
    register: Register,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Cluster]:
    """A server whose table of bytes is not logged, with pages that were built."""
    engine = {"BACKEND": "django_sitemaps_plus.engines.memory.Memory"}
    settings.SITEMAPS_PLUS = {"BASE_URL": ORIGIN, "ENGINES": {"engine": engine}}
    text = (ROOT / "docs" / "deploying.md").read_text()
    (statement,) = re.findall(r"^ALTER TABLE \w+ SET UNLOGGED;$", text, re.MULTILINE)
    with own_cluster(monkeypatch) as running:
        with connection.cursor() as cursor:
            cursor.execute(statement)
        register("article", ByThree)
        articles(10)
        run_command("build_sitemaps")
        assert told() == []
        yield running


def shown() -> list[str]:
    """Return the paths that all pages show, as a crawler finds them."""
    entries = [entry for page in crawled(Client(), "/sitemap.xml") for entry in page]
    return sorted(entry.loc.removeprefix(ORIGIN) for entry in entries)


def listed() -> list[str]:
    """Return the paths that should be shown."""
    return sorted(article.get_absolute_url() for article in Article.objects.all())


def work() -> None:
    """Report what was saved and rebuild pages, as the background does."""
    _, complaints, code = run_command("ping_sitemaps")
    assert (complaints, code) == ("", 0)


def check_life_goes_on() -> None:
    """Rename one object, delete another; both are reported, and nothing else."""
    changed, deleted = Article.objects.order_by("pk")[1:9:6]
    former, gone = changed.get_absolute_url(), deleted.get_absolute_url()
    changed.slug = "later"
    changed.save()
    deleted.delete()
    work()
    later = changed.get_absolute_url()
    assert sorted(told()) == sorted(
        [("added", later), ("removed", former), ("removed", gone)]
    )
    assert shown() == listed()


if connection.vendor == "postgresql":

    def test_pages_heal_after_a_crash_and_nothing_false_is_told(
        cluster: Cluster,
    ) -> None:
        cluster.kill()
        forget_connections()
        assert not PageFile.objects.exists()
        assert Page.objects.count() > 2
        assert shown() == listed()
        run_command("build_sitemaps", "--reconcile")
        work()
        assert told() == []
        assert PageFile.objects.count() == Page.objects.count()
        check_life_goes_on()

    def test_what_waits_at_a_crash_is_told_except_removals(cluster: Cluster) -> None:
        first, second, third, *_ = Article.objects.order_by("pk")
        first.delete()
        second.slug = "renamed"
        second.save()
        third.save()
        # Unlike the changes' own commits, this one waits for the disk.
        CategoryFactory()
        cluster.kill()
        forget_connections()
        work()
        assert shown() == listed()
        saved = [second.get_absolute_url(), third.get_absolute_url()]
        assert told() == [("changed", path) for path in saved]
        check_life_goes_on()
