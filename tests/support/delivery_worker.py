"""
Processes that tell engines, and die where they are told.

Run as a module, this is ``ledger_worker`` with other commands:

- ``{"do": "deliver", "options": {…}}`` puts into the outbox what happened, and tells
  the engine ``outbox_engines.Log`` with these options;
- ``"kill": 7`` kills the process before its seventh step, as in ``fault_worker``;
- ``{"do": "change", "times": 5}`` writes down what happens to URLs, again and again.
"""

from __future__ import annotations

import time
from typing import Any

from tests.support import ledger_worker
from tests.support.fault_worker import _kill_before, register_section


def use(options: dict[str, Any], **more: Any) -> None:
    """Name the engine in this process's settings."""
    from django.conf import settings

    from django_sitemaps_plus.conf import get_settings
    from django_sitemaps_plus.delivery.engines import engines

    entry = {"BACKEND": "tests.support.outbox_engines.Log", "OPTIONS": options}
    settings.SITEMAPS_PLUS = {
        "BASE_URL": "https://www.example.com",
        "NOTIFY_AFTER": 0,
        "ENGINES": {"log": entry},
        **more,
    }
    get_settings.cache_clear()
    engines.cache_clear()


def _deliver(command: dict[str, Any]) -> dict[str, Any]:
    from django_sitemaps_plus.delivery import dispatcher, outbox

    use(command["options"])
    steps = _kill_before(command.get("kill", 0))
    for _ in range(command.get("times", 1)):
        outbox.enqueue()
        report = dispatcher.deliver()
    return {"steps": steps(), "accepted": report.total("accepted")}


def _change(command: dict[str, Any]) -> dict[str, Any]:
    from tests.support.outbox_world import happened

    use(command["options"])
    for turn in range(command["times"]):
        happened(*(f"/{command['name']}-{turn}-{number}/" for number in range(10)))
        time.sleep(0.01)
    return {}


if __name__ == "__main__":
    ledger_worker.COMMANDS.update(deliver=_deliver, change=_change)
    ledger_worker.main(register_section)
