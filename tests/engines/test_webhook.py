"""The webhook: what it sends, and how a receiver knows whose it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps_plus.engines import asking, webhook
from django_sitemaps_plus.engines.base import Answer, Batch, Outcome
from django_sitemaps_plus.engines.webhook import Webhook
from tests.engines.setups import KEY as SECRET
from tests.engines.setups import SITE
from tests.support.fakes.faults import reply
from tests.support.fakes.webhook import FakeWebhook

DOCS = Path(__file__).parent.parent.parent / "docs" / "engines.md"


@pytest.fixture
def receiver() -> Iterator[FakeWebhook]:
    with FakeWebhook(SECRET) as server:
        yield server


def submit(receiver: FakeWebhook, secret: str = SECRET, **kinds: str) -> Answer:
    """Submit paths, given with their kinds."""
    engine = Webhook(alias="it", url=receiver.url, secret=secret, timeout=5.0)
    urls = [f"{SITE}/{name}/" for name in kinds]
    return asking.submit(
        engine, Batch(origin=SITE, urls=urls, kinds=list(kinds.values()))
    )


def test_urls_are_sent_by_what_happened_to_them(receiver: FakeWebhook) -> None:
    answer = submit(receiver, a="added", b="changed", c="removed", d="added")
    assert (answer.outcome, answer.status) == (Outcome.ACCEPTED, 204)
    assert receiver.received == [
        {
            "site": SITE,
            "added": [f"{SITE}/a/", f"{SITE}/d/"],
            "changed": [f"{SITE}/b/"],
            "removed": [f"{SITE}/c/"],
            "requested": [],
        }
    ]


def test_another_secret_an_old_request_or_too_much_is_refused(
    receiver: FakeWebhook,
) -> None:
    answer = submit(receiver, "another-secret-of-theirs", a="added")
    assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, 401)
    assert "check 'secret', and the clocks" in answer.message
    receiver.ahead = 400
    assert submit(receiver, a="added").status == 401
    assert receiver.received == []
    receiver.fault = reply(413)
    answer = submit(receiver, a="added")
    assert (answer.outcome, answer.is_divisible) == (Outcome.REJECTED, True)


def test_each_batch_has_an_id_that_its_retries_keep(receiver: FakeWebhook) -> None:
    """And one without kinds was requested."""
    engine = Webhook(alias="it", url=receiver.url, secret=SECRET, timeout=5.0)
    first, second = (Batch(origin=SITE, urls=[f"{SITE}/a/"]) for _ in range(2))
    for batch in (first, first, second):
        asking.submit(engine, batch)
    assert receiver.received[0]["requested"] == [f"{SITE}/a/"]
    assert receiver.ids == [first.id, first.id, second.id]
    assert first.id != second.id


def test_the_time_is_signed_too() -> None:
    first, second = (webhook.signature(SECRET, "id", at, b"{}") for at in (1, 2))
    assert first.startswith("t=1,v1=")
    assert first.partition(",")[2] != second.partition(",")[2]


def test_the_receiver_of_the_documentation_knows_whose_a_request_is() -> None:
    text = DOCS.read_text().partition("\n## Webhook\n")[2]
    block = re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    known: dict[str, Any] = {}
    exec(block[1], known)  # noqa: S102 (our own)
    header = webhook.signature(SECRET, "id", 1_000, b"{}")
    assert known["is_ours"](SECRET, "id", header, b"{}", now=1_299)
    assert not known["is_ours"](SECRET, "id", header, b"{}", now=1_301)
    assert not known["is_ours"](SECRET, "id", header, b"[]", now=1_000)
    assert not known["is_ours"](SECRET, "di", header, b"{}", now=1_000)
    assert not known["is_ours"]("another", "id", header, b"{}", now=1_000)
    assert not known["is_ours"](SECRET, "id", "", b"{}", now=1_000)
