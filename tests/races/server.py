"""
The site of a race for real servers: ``tests.races.server`` and, for ASGI, ``:asgi``.

``SITEMAPS_PLUS_TEST_RACE`` is JSON: what the test has given.
"""

from __future__ import annotations

import json
import os

from tests.races import site

site.set_up(json.loads(os.environ["SITEMAPS_PLUS_TEST_RACE"]))

from django.core.asgi import get_asgi_application  # noqa: E402 (after the settings)
from django.core.wsgi import get_wsgi_application  # noqa: E402 (after the setup)

application = get_wsgi_application()
asgi = get_asgi_application()
