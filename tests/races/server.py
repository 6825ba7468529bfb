"""
The site of a race for real servers: ``tests.races.server`` and, for ASGI, ``:asgi``.

``SITEMAPS_PLUS_TEST_RACE`` is JSON: what the test has given. Each process that answers
requests puts a file there whose name is its id.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.races import site

GIVEN: dict[str, Any] = json.loads(os.environ["SITEMAPS_PLUS_TEST_RACE"])
site.set_up(GIVEN)

from django.core.asgi import get_asgi_application  # noqa: E402 (after the settings)
from django.core.wsgi import get_wsgi_application  # noqa: E402

application = get_wsgi_application()
asgi = get_asgi_application()

if "pids" in GIVEN:
    (Path(GIVEN["pids"]) / str(os.getpid())).touch()
