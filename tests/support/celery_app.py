"""
A Celery application on the test's database, for a worker of its own process.

``SITEMAPS_PLUS_TEST_CELERY`` is JSON: the databases, the broker, the queue, and the
options of the engine.
"""

from __future__ import annotations

import json
import os

from celery import Celery

GIVEN = json.loads(os.environ["SITEMAPS_PLUS_TEST_CELERY"])
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"

from tests import settings  # noqa: E402 (which must be changed before it is used)

settings.use_given(GIVEN)

app = Celery("tests", broker=GIVEN["broker"])
app.conf.task_default_queue = GIVEN["queue"]
app.conf.broker_connection_retry_on_startup = True
# As a project does; it finds django_sitemaps_plus.tasks.
app.autodiscover_tasks()
