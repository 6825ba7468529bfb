"""The tables of the audit: created by a migration of its own."""

from __future__ import annotations

import pytest
from django.db import connection

from django_sitemaps_plus.db import tables_exist
from tests.support.helpers import run_command


@pytest.mark.django_db(transaction=True)
def test_who_has_not_migrated_the_audit_is_told_and_the_sitemaps_are_served() -> None:
    done = run_command("migrate", "sitemaps_plus_audit", "zero", "-v", "0")
    try:
        assert tables_exist(connection.alias), "those of the core"
        _, checked, _ = run_command("check", "--database", "default")
        _, status, code = run_command("ping_sitemaps", "--status")
    finally:
        again = run_command("migrate", "sitemaps_plus_audit", "-v", "0")
    assert done == again == ("", "", 0)
    assert "tables of django_sitemaps_plus are missing" in checked
    assert "'manage.py migrate' creates them." in checked
    assert "Tables of django_sitemaps_plus are missing: manage.py migrate" in status
    assert code == 1
