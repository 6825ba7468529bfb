"""
A Celery application on the site of the races, for a worker of its own process.

``SITEMAPS_PLUS_TEST_RACE`` is JSON: what the test has given, with broker and queue.
"""

from __future__ import annotations

import json
import os
import sys

from celery import Celery

from tests.races import site

GIVEN = json.loads(os.environ["SITEMAPS_PLUS_TEST_RACE"])
site.set_up(GIVEN)

app = Celery("races", broker=GIVEN["broker"])
app.conf.task_default_queue = GIVEN["queue"]
app.conf.broker_connection_retry_on_startup = True
# As a project does; it finds django_sitemaps_plus.tasks.
app.autodiscover_tasks()

if __name__ == "__main__":
    # After "manage" comes a command of the project's manage.py, else one of Celery's.
    if sys.argv[1] == "manage":
        from django.core.management import execute_from_command_line

        app.set_default()
        execute_from_command_line(["manage.py", *sys.argv[2:]])
    else:
        app.start(sys.argv[1:])
