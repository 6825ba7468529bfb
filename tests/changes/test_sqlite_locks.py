"""Several processes write to one SQLite database: what recording costs them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.db import connection
from django.db.models import F
from django.db.models.signals import m2m_changed, pre_delete

from django_sitemaps_plus import Route, Sitemap
from tests.conftest import Register
from tests.support.recorded import changes
from tests.support.sqlite_writer import locks_met
from tests.testapp.models import Label, Spot

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


class Spots(Sitemap):
    """With a filter that reads a many-to-many relation."""

    location = Route("article", slug=F("name"))

    def items(self) -> Any:
        """Return those that have a label."""
        return Spot.objects.filter(labels__name="shown")


def warnings(*, deploy: bool) -> list[CheckMessage]:
    """Return W024's messages."""
    found = run_checks(tags=["sitemaps_plus"], include_deployment_checks=deploy)
    return [one for one in found if one.id == "sitemaps_plus.W024"]


if connection.vendor == "sqlite":

    @pytest.fixture
    def file(tmp_path: Path) -> str:
        """Return the path of a copy of the test's database, with labels."""
        Label.objects.bulk_create(Label(name=f"l{number}") for number in range(200))
        path = tmp_path / "copy.sqlite3"
        connection.ensure_connection()
        with sqlite3.connect(path) as copy:
            connection.connection.backup(copy)
            copy.execute("PRAGMA journal_mode = WAL")
        copy.close()
        return str(path)

    @pytest.mark.parametrize(("mode", "work"), [("", "adds"), ("IMMEDIATE", "deletes")])
    @pytest.mark.costly
    def test_recording_lets_no_writer_meet_a_lock(
        file: str, mode: str, work: str
    ) -> None:
        told: dict[str, Any] = {"file": file, "mode": mode, "work": work, "times": 30}
        assert locks_met(**told, watched=True) == 0

    @pytest.mark.parametrize("mode", ["", "deferred", "IMMEDIATE", "exclusive"])
    def test_late_locks_cost_relations_and_are_warned_of(
        register: Register, monkeypatch: pytest.MonkeyPatch, mode: str, settings: Any
    ) -> None:
        is_late = mode in ("", "deferred")
        options = connection.settings_dict["OPTIONS"]
        with monkeypatch.context() as patch:
            patch.setitem(options, "transaction_mode", mode or None)
            register("spots", Spots)
        assert pre_delete.has_listeners(Spot)
        assert m2m_changed.has_listeners(Spot.labels.through) != is_late
        spot = Spot.objects.create(name="a")
        changes()
        spot.labels.add(Label.objects.create(name="shown"))
        assert changes() == ([] if is_late else [("spots", str(spot.pk))])
        with monkeypatch.context() as patch:
            patch.setitem(options, "transaction_mode", mode or None)
            assert len(warnings(deploy=True)) == is_late
            assert warnings(deploy=False) == []
            settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BACKGROUND": "celery"}
            assert len(warnings(deploy=True)) == is_late
            found = warnings(deploy=False)
            assert len(found) == is_late
            for one in found:
                assert one.hint == (
                    "Add 'transaction_mode': 'IMMEDIATE' to "
                    "DATABASES['default']['OPTIONS']. "
                    'See "checks: W024" in the documentation.'
                )

else:

    def test_no_other_database_is_warned_of(register: Register) -> None:
        register("spots", Spots)
        assert m2m_changed.has_listeners(Spot.labels.through)
        assert warnings(deploy=True) == []
