"""The documentation lists the settings and the checks of this app."""

from __future__ import annotations

from tests.support.app_docs import tables_list_what_is_added


def test_the_tables_list_what_the_app_adds() -> None:
    tables_list_what_is_added("edge")
