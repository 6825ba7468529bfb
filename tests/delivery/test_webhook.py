"""A webhook: what it hears of a URL is the difference, and each delivery has an id."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus import Sitemap
from django_sitemaps_plus.delivery import gate, outbox
from django_sitemaps_plus.models import Submission
from tests.conftest import Register
from tests.support.fakes.faults import reply
from tests.support.fakes.webhook import FakeWebhook
from tests.support.helpers import later
from tests.support.ledger_world import place
from tests.support.outbox_world import BASE, happened, run, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


WEBHOOK = "django_sitemaps_plus.engines.webhook.Webhook"
#: The paths that the site lists.
LISTED: set[str] = set()


class Listed(Sitemap):
    """What is there, by the events that happened."""

    def items(self) -> list[str]:
        return sorted(LISTED)

    def location(self, item: str) -> str:
        return item


@pytest.fixture
def receiver(settings: Any, register: Register) -> Iterator[FakeWebhook]:
    LISTED.clear()
    register("listed", Listed)
    with FakeWebhook("0123456789abcdef") as server:
        options = {"url": server.url, "secret": server.secret, "interval": 0}
        use(settings, hook=(WEBHOOK, options))
        yield server


def happen(kinds: str, path: str = "/a/", *, together: bool = True) -> None:
    """Have events of a URL happen: "added changed"; queue them together or apart."""
    for kind in kinds.split():
        if kind == "requested":
            gate.pass_on()
            outbox.request([(path, "")], place(), ["hook"])
        else:
            happened(path, kind=kind)
            (LISTED.discard if kind == "removed" else LISTED.add)(path)
        if not together:
            gate.pass_on()


def heard(receiver: FakeWebhook) -> list[str]:
    """Return what it heard, an item for each URL: "added /a/"."""
    return [
        f"{kind} {url.removeprefix(BASE)}"
        for document in receiver.received
        for kind in ("added", "changed", "removed", "requested")
        for url in document[kind]
    ]


def again(receiver: FakeWebhook, seconds: float = 100) -> None:
    """Deliver some time later, when it accepts."""
    later(seconds)
    receiver.fault = None
    run()


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ("added changed", ["added /a/"]),
        ("added removed", ["removed /a/"]),
        ("added changed removed", ["removed /a/"]),
        ("added removed added changed", ["changed /a/"]),
        ("added requested changed", ["added /a/"]),
        ("changed removed", ["removed /a/"]),
        ("removed added", ["changed /a/"]),
        ("removed added removed", ["removed /a/"]),
        ("removed requested", ["removed /a/"]),
        ("requested removed", ["removed /a/"]),
    ],
)
@pytest.mark.costly
def test_what_happens_before_it_is_sent_is_one_event(
    receiver: FakeWebhook, kinds: str, said: list[str], together: bool
) -> None:
    happen(kinds, together=together)
    run()
    assert heard(receiver) == said
    assert not Submission.objects.filter(live=True).exists()


def test_nothing_is_heard_of_a_url_before_it_is_added(receiver: FakeWebhook) -> None:
    """Though the first attempts fail, and more happens before and meanwhile."""
    receiver.fault = reply(503)
    happen("added", "/a/")
    happen("added", "/b/")

    def change(result: Any) -> None:
        """Happens before the answer is stored."""
        happen("changed requested", "/a/")
        gate.pass_on()

    run(progress=change)
    happen("changed", "/b/", together=False)
    again(receiver)
    assert heard(receiver) == ["added /a/", "added /b/"]
    happen("removed", "/a/")
    run()
    assert heard(receiver)[2:] == ["removed /a/"]
    assert receiver.strange == []


def test_a_url_that_was_added_is_said_to_be_removed(receiver: FakeWebhook) -> None:
    """Though it was deleted and created again, and so "added" once more, before."""
    for together, told, never in ((True, "/a/", "/b/"), (False, "/c/", "/d/")):
        receiver.received.clear()
        happen("added", told)
        run()
        happen("added removed", told, together=together)
        # Of this it may know from the sitemap that stood before.
        happen("added removed", never, together=together)
        run()
        said = [f"added {told}", f"removed {told}", f"removed {never}"]
        assert heard(receiver) == said


def test_what_is_removed_while_it_is_sent_is_heard_of_twice(
    receiver: FakeWebhook,
) -> None:
    happen("added")
    rest = ["added removed"]
    run(progress=lambda _: happen(rest.pop() if rest else "", together=False))
    assert heard(receiver) == ["added /a/", "removed /a/"]


def test_what_may_have_been_heard_is_not_taken_back(receiver: FakeWebhook) -> None:
    receiver.fault = reply(503)
    happen("added", "/a/")
    happen("removed", "/b/")
    happen("added", "/c/")
    run(progress=lambda result: happen("removed", "/c/", together=False))
    happen("removed", "/a/")
    happen("added", "/b/")
    again(receiver)
    assert heard(receiver) == ["added /b/", "removed /a/", "removed /c/"]


def test_who_takes_no_changes_hears_of_none(
    receiver: FakeWebhook, settings: Any
) -> None:
    options = {"url": receiver.url, "secret": receiver.secret}
    use(settings, hook=(WEBHOOK, {**options, "events": ["added", "removed"]}))
    happen("removed added", "/a/")
    happen("removed added removed", "/b/", together=False)
    happen("added changed", "/c/")
    happen("added removed added", "/d/", together=False)
    run()
    # /a/ was there all the time. /b/ it may have: nobody knows what it took from the
    # sitemap.
    assert heard(receiver) == ["added /c/", "added /d/", "removed /b/"]


def test_a_retry_has_the_id_and_the_urls_of_the_first(receiver: FakeWebhook) -> None:
    for number in range(3):
        happen("changed", f"/{number}/")
    receiver.fault = reply(503)
    run()
    later(30)
    for number in range(3, 6):
        happen("changed", f"/{number}/")
    gate.pass_on()
    later(1000)
    run()
    again(receiver, 1000)
    bodies = [json.loads(request.body)["changed"] for request in receiver.requests]
    first, second = ([f"{BASE}/{n}/" for n in some] for some in (range(3), range(3, 6)))
    assert sorted(bodies) == [first, first, second, second]
    known = set(zip(receiver.ids, map(tuple, bodies), strict=True))
    assert len(known) == len(set(receiver.ids)) == 2
    for _ in range(2):
        happen("changed", "/0/")
        run()
    assert len(set(receiver.ids)) == 4, "the same words of another event"
