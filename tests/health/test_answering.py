"""What answers a path, as other rooms and apps ask for it."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.sitemaps.site import Site


@pytest.mark.parametrize("path", ["/en/notes/1/", "/de/notes/1/", "/numbers/1/"])
def test_a_path_is_of_the_language_that_it_begins_with(path: str) -> None:
    match = Site.current().resolved(path)
    assert match is not None
    assert match.view_name == ("number" if "number" in path else "note")
    assert Site.current().resolved(f"{path}not-there/") is None
