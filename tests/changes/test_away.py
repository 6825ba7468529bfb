"""Saves while the ledger's database is away, and what is written once it is back."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from django_sitemaps_plus.changes import hints
from tests.conftest import Register
from tests.support.fakes.ports import Proxy, deaf
from tests.support.processes import within
from tests.support.recorded import There, changes
from tests.testapp.models import Elsewhere

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


def move(patch: pytest.MonkeyPatch, place: dict[str, Any]) -> None:
    """Have the ledger's database looked for elsewhere."""
    for name, value in place.items():
        patch.setitem(connection.settings_dict, name, value)


class Away:
    """Takes the ledger's database away for a while, and counts who looks for it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.attempts = 0
        self._open = connection.get_new_connection
        patch.setattr(connection, "get_new_connection", self._count)

    def _count(self, params: Any) -> Any:
        self.attempts += 1
        return self._open(params)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        connection.close()
        with deaf() as port, pytest.MonkeyPatch.context() as patch:
            if connection.vendor == "sqlite":
                place: dict[str, Any] = {"NAME": "/there/is/no/such/folder/db.sqlite3"}
            else:
                options = {**connection.settings_dict["OPTIONS"], "connect_timeout": 2}
                place = {"HOST": "127.0.0.1", "PORT": str(port), "OPTIONS": options}
            move(patch, place)
            self.attempts = 0
            yield
        connection.close()


@pytest.fixture
def away(
    register: Register,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> Iterator[Away]:
    """Have a section, and what takes the ledger away from it."""
    register("there", There)
    hints._logged.clear()
    caplog.set_level(logging.WARNING)
    yield Away(monkeypatch)
    hints._late.clear()
    hints._away_until.clear()


def save(number: int) -> list[tuple[str, ...]]:
    """Save objects, half of them in autocommit; return what is to be recorded."""
    made = [Elsewhere.objects.create(slug="a") for _ in range(number)]
    with transaction.atomic(using="other"):
        made += [Elsewhere.objects.create(slug="b") for _ in range(number)]
    return [("there", str(one.pk)) for one in made]


def test_one_save_tries_and_says_so_and_nothing_is_lost(
    away: Away, caplog: pytest.LogCaptureFixture
) -> None:
    with away():
        made = save(5)
        assert away.attempts == 1
    [record] = caplog.records
    assert record.getMessage().startswith("Changes cannot be recorded: ")
    assert record.exc_info is None
    # The background's thread tries whenever it works.
    hints.write_late()
    assert changes() == made
    # Then nobody pauses any more.
    made = save(1)
    assert changes() == made


def test_a_save_after_the_pause_tries_again_and_takes_along_what_waits(
    away: Away, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hints, "PAUSE", 0.0)
    monkeypatch.setattr(hints, "PAUSES", 0)
    with away():
        made = [("there", str(Elsewhere.objects.create(slug="a").pk)) for _ in "ab"]
        assert away.attempts == 2
    made += save(1)
    assert changes() == made
    assert len(caplog.records) == 1


def test_so_many_that_wait_become_whole_sections(
    away: Away, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hints, "MOST_KEYS", 5)
    with away():
        save(3)
        assert [len(late) for late in hints._late.values()] == [1]
    hints.write_late()
    assert changes() == [("there", "*")]


if connection.vendor != "sqlite":

    def test_a_connection_that_was_lost_is_opened_anew(
        away: Away, caplog: pytest.LogCaptureFixture
    ) -> None:
        """No request ends in a command, after which Django would do so."""
        connection.ensure_connection()
        # As where a server is restarted.
        with socket.socket(fileno=os.dup(connection.connection.fileno())) as own:
            own.shutdown(socket.SHUT_RDWR)
        made = save(2)
        [record] = caplog.records
        assert record.exc_info is None
        hints.write_late()
        assert changes() == made

    @pytest.fixture
    def proxy(away: Away, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
        """The ledger's database behind a port that may hang."""
        former = connection.settings_dict
        default = {"postgresql": 5432, "mysql": 3306}[connection.vendor]
        made = Proxy((former["HOST"], int(former["PORT"] or default)))
        connection.close()
        with monkeypatch.context() as patch:
            options = dict(former["OPTIONS"])
            options.pop("connect_timeout", None)
            place = {"HOST": "127.0.0.1", "PORT": str(made.port), "OPTIONS": options}
            move(patch, place)
            yield made
            connection.close()
        made.close()

    @pytest.mark.parametrize("is_connected", [True, False])
    def test_a_ledger_that_accepts_everything_and_answers_nothing_delays_one_save(
        proxy: Proxy, caplog: pytest.LogCaptureFixture, is_connected: bool
    ) -> None:
        """Though neither the driver nor the network says that it hangs."""
        assert changes() == []
        if not is_connected:
            connection.close()
        begun = time.monotonic()
        with proxy.hanging():
            made = save(3)
            assert time.monotonic() - begun < 3 * hints.PATIENCE
            [record] = caplog.records
            assert record.getMessage().startswith("Changes cannot be recorded: ")
            # Nor does the background's thread hang.
            hints.write_late()
            assert time.monotonic() - begun < 6 * hints.PATIENCE
        # What was sent may have come through: then it is recorded twice.
        hints.write_late()
        assert within(9, lambda: set(changes()) == set(made)), changes()
        assert not hints._late

    def test_a_slow_save_is_not_ended_and_nothing_is_left_of_the_bound(
        proxy: Proxy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hints, "PATIENCE", 0.5)
        made = save(1)
        time.sleep(0.7)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        assert changes() == made

    def test_a_request_waits_once_for_a_ledger_that_cannot_be_reached(
        away: Away, client: Client
    ) -> None:
        with away():
            begun = time.monotonic()
            assert client.get("/sitemap-there-1.xml").status_code == 503
            assert away.attempts == 1
            assert time.monotonic() - begun < 4


def test_a_database_that_is_not_supported_harms_no_save(
    register: Register,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    register("there", There)
    monkeypatch.setattr(connection, "vendor", "microsoft")
    monkeypatch.setattr(hints, "_logged", {})
    for number in range(3):
        Elsewhere.objects.create(slug=f"a{number}")
    said = "databases of the vendor 'microsoft' are not supported"
    assert [one for one in caplog.messages if said in one] == caplog.messages
    assert len(caplog.messages) == 1
    assert Elsewhere.objects.count() == 3
    assert client.get("/sitemap-there-1.xml").status_code == 503
    assert not hints._late
