"""A site whose state of health is looked at."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.factories import articles
from tests.support.helpers import Small, run_command
from tests.support.outbox_world import happened, run, use


@pytest.fixture
def sound(register: Any, settings: Any) -> None:
    """A site with nothing wrong, in the core."""
    use(settings, one="Few")
    register("article", Small)
    articles(25)
    run_command("build_sitemaps")
    happened("/a/")
    run()
