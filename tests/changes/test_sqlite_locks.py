"""What recording costs where transactions take SQLite's lock late, and who is told."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.db import connection
from django.db.models.signals import m2m_changed, pre_delete

from tests.conftest import Register
from tests.support.recorded import Spots, changes
from tests.testapp.models import Label, Spot

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


def warnings(*, deploy: bool) -> list[CheckMessage]:
    """Return W024's messages."""
    found = run_checks(tags=["sitemaps_plus"], include_deployment_checks=deploy)
    return [one for one in found if one.id == "sitemaps_plus.W024"]


if connection.vendor == "sqlite":

    @pytest.mark.parametrize("mode", ["", "deferred", "IMMEDIATE", "exclusive"])
    def test_late_locks_cost_relations_and_are_warned_of(
        register: Register, monkeypatch: pytest.MonkeyPatch, mode: str, settings: Any
    ) -> None:
        """Two of the modes are others in the case of their letters alone."""
        is_late = mode in ("", "deferred")
        options = connection.settings_dict["OPTIONS"]
        monkeypatch.setitem(options, "transaction_mode", mode or None)
        register("spots", Spots)
        assert pre_delete.has_listeners(Spot)
        assert m2m_changed.has_listeners(Spot.labels.through) != is_late
        spot = Spot.objects.create(name="a")
        changes()
        spot.labels.add(Label.objects.create(name="shown"))
        assert changes() == ([] if is_late else [("spots", str(spot.pk))])
        if mode in ("", "IMMEDIATE"):
            assert len(warnings(deploy=True)) == is_late
            assert warnings(deploy=False) == []
            settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BACKGROUND": "celery"}
            assert len(warnings(deploy=True)) == is_late
            assert [one.hint for one in warnings(deploy=False)] == is_late * [
                "Add 'transaction_mode': 'IMMEDIATE' to "
                "DATABASES['default']['OPTIONS']. "
                'See "checks: W024" in the documentation.'
            ]

else:

    def test_no_other_database_is_warned_of(register: Register) -> None:
        register("spots", Spots)
        assert m2m_changed.has_listeners(Spot.labels.through)
        assert warnings(deploy=True) == []
