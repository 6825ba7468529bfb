"""``urls_changed``: the project's own code hears what happened to URLs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from django_sitemaps_plus import urls_changed
from django_sitemaps_plus.delivery import announcing, background, gate
from django_sitemaps_plus.delivery.announcing import announce
from django_sitemaps_plus.models import UrlChange
from tests.conftest import Register
from tests.delivery.test_gate import Live
from tests.support import outbox_world
from tests.support.factories import articles
from tests.support.helpers import run_command
from tests.support.outbox_world import BASE, Kind, use
from tests.support.processes import at_once
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

Heard = list[tuple[str, dict[str, list[str]]]]


@pytest.fixture
def listen() -> Iterator[Callable[[Callable[..., object]], None]]:
    """Connect receivers until the test ends."""
    receivers = []

    def connect(receiver: Callable[..., object]) -> None:
        receivers.append(receiver)
        urls_changed.connect(receiver, weak=False)

    yield connect
    for receiver in receivers:
        urls_changed.disconnect(receiver)


@pytest.fixture
def heard(listen: Any, settings: Any) -> Heard:
    """What a receiver heard: sections, and paths by what happened to them."""
    use(settings)
    found: Heard = []

    def receiver(section: str, **given: Any) -> None:
        assert not connection.in_atomic_block
        kinds = {
            kind: [url.removeprefix(BASE) for url in given[kind]]
            for kind in ("added", "changed", "removed")
        }
        found.append((section, {kind: urls for kind, urls in kinds.items() if urls}))

    listen(receiver)
    return found


def happened(*kinds_and_paths: str, section: str = "article") -> None:
    """Have it happen, and be passed on: "added /a/"."""
    for text in kinds_and_paths:
        kind, path = text.split()
        outbox_world.happened(path, kind=Kind(kind), section=section)
    gate.pass_on()


def test_what_happened_is_heard_once_by_section_and_kind(heard: Heard) -> None:
    happened("added /a/", "changed /b/", "removed /c/", "changed /d/")
    happened("removed /x/", section="news")
    assert announce()
    assert announce()
    assert heard == [
        ("article", {"added": ["/a/"], "changed": ["/b/", "/d/"], "removed": ["/c/"]}),
        ("news", {"removed": ["/x/"]}),
    ]
    assert not UrlChange.objects.exclude(announce_at=None).exists()


def test_of_several_events_of_a_url_the_last_is_heard(heard: Heard) -> None:
    """In the order in which it was passed on, not in that of the sections."""
    happened("added /a/", "changed /a/", "added /b/", "removed /b/")
    happened("removed /c/")
    happened("changed /c/")
    happened("removed /d/", section="news")
    happened("added /d/")
    announce()
    expected = {"added": ["/a/", "/d/"], "changed": ["/c/"], "removed": ["/b/"]}
    assert heard == [("article", expected)]


def test_batches_are_bounded_and_two_processes_do_not_send_the_same(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "BATCH", 3)
    happened(*(f"changed /{n}/" for n in range(7)))
    assert not announce(lambda: bool(heard))
    announce()
    assert [len(kinds["changed"]) for _, kinds in heard] == [3, 3, 1]
    heard.clear()
    paths = [f"/{n}/" for n in range(10)]
    happened(*(f"changed {path}" for path in paths))
    at_once(2, lambda _: announce())
    assert sorted(url for _, kinds in heard for url in kinds["changed"]) == paths


def test_what_a_killed_process_sent_is_sent_again_and_no_error_stops_others(
    heard: Heard, listen: Any, caplog: Any
) -> None:
    faults: list[Any] = [SystemExit, LookupError("the cache is away")]

    def broken(**kwargs: Any) -> None:
        raise faults.pop(0)

    listen(broken)
    happened("added /a/")
    with pytest.raises(SystemExit):
        announce()
    assert announce()
    assert len(heard) == 1, "its claim has not ended"
    UrlChange.objects.update(announce_at=time.time())
    assert announce()
    assert announce()
    assert [kinds for _, kinds in heard] == [{"added": ["/a/"]}] * 2
    assert "the cache is away" in caplog.text


def test_nothing_waits_for_a_later_receiver(settings: Any, listen: Any) -> None:
    use(settings)
    happened("added /a/")
    heard: list[Any] = []
    listen(lambda **kwargs: heard.append(kwargs))
    announce()
    assert heard == []


def test_a_save_is_heard_without_any_engine_and_in_debug(
    heard: Heard, settings: Any, register: Register, client: Any
) -> None:
    """What is published is added."""
    settings.DEBUG = True
    register("article", Live)
    articles(2)
    Article.objects.create(slug="draft", live=False)
    client.get("/sitemap-article-1.xml")
    first, second, draft = Article.objects.order_by("pk")
    former, first.slug, draft.live = first.slug, "saved", True
    first.save()
    draft.save()
    background.work()
    announce()
    [(section, kinds)] = heard
    assert (section, kinds.keys()) == ("article", {"added", "removed"})
    assert sorted(kinds["added"]) == ["/articles/draft/", "/articles/saved/"]
    assert kinds["removed"] == [f"/articles/{former}/"]
    second.delete()
    assert run_command("ping_sitemaps")[2] == 0
    assert heard[1:] == [("article", {"removed": [f"/articles/{second.slug}/"]})]
    refused = run_command("ping_sitemaps", "--url", "/articles/saved/")
    assert "No engine is configured" in refused[1]
