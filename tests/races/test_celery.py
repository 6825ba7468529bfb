"""A worker of Celery that is stopped; only where there is Redis, and Celery."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.conftest import REDIS
from tests.support.processes import ROOT, within

from .ground import START
from .slow import begin_slowly, check_given_back, ground, stop

pytestmark = [
    pytest.mark.redis,
    pytest.mark.django_db(transaction=True, databases=["default", "other"]),
]


def test_a_worker_that_is_stopped_gives_back_what_it_holds(tmp_path: Path) -> None:
    with ground(tmp_path, "slow") as site:
        begin_slowly(site)
        queue = f"sitemaps-plus-{uuid.uuid4().hex}"
        told = json.dumps({**site.given, "broker": REDIS, "queue": queue})
        environment = {**os.environ, "SITEMAPS_PLUS_TEST_RACE": told}
        celery = [sys.executable, "-m", "celery", "-A", "tests.races.celery_app"]
        options = ["-c", "1", "--without-mingle", "--without-gossip"]
        worker = subprocess.Popen(
            [*celery, "worker", *options], env=environment, cwd=ROOT
        )
        try:
            call = [*celery, "call", "django_sitemaps_plus.work"]
            subprocess.run(call, env=environment, cwd=ROOT, check=True)
            assert within(START, lambda: len(site.built()) == 1)
            stop(site, worker)
        finally:
            worker.kill()
            worker.wait()
        check_given_back(site)
