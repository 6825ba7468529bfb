"""
Processes that notify engines, and die where they are told.

Run as a module, this is ``fault_worker`` with other commands:

- ``{"do": "deliver", "options": {…}, "times": 5}`` enqueues what happened and submits
  it to the engine ``outbox_engines.Log`` with these options, again and again;
- ``"kill": 7`` kills the process before its seventh step;
- ``{"do": "change", "times": 5}`` writes what happens to URLs, again and again.
"""

from __future__ import annotations

import time
from typing import Any

from tests.support.fault_worker import COMMANDS, kill_before, main


def _deliver(command: dict[str, Any]) -> dict[str, Any]:
    from django_sitemaps_plus.delivery import dispatcher, gate

    _use(command["options"])
    steps = kill_before(command.get("kill", 0))
    accepted = 0
    for _ in range(command.get("times", 1)):
        gate.pass_on()
        accepted += dispatcher.deliver().total("accepted")
    return {"steps": steps(), "accepted": accepted}


def _change(command: dict[str, Any]) -> dict[str, Any]:
    from tests.support.outbox_world import happened

    for turn in range(command["times"]):
        happened(*(f"/{command['name']}-{turn}-{number}/" for number in range(10)))
        time.sleep(0.01)
    return {}


def _use(options: dict[str, Any]) -> None:
    """Configure the engine in this process."""
    from django.conf import settings

    from django_sitemaps_plus import conf
    from django_sitemaps_plus.delivery.engines import engines
    from tests.support.outbox_world import use

    conf._memory.clear()
    engines.cache_clear()
    use(settings, log=("Log", options))


if __name__ == "__main__":
    COMMANDS.update(deliver=_deliver, change=_change)
    main()
