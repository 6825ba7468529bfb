"""The same work in workers of Celery and of Django Tasks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils.module_loading import import_string

from django_sitemaps_plus.delivery import background
from django_sitemaps_plus.models import Submission
from tests.conftest import REDIS
from tests.support.outbox_world import happened, rows, sent, use
from tests.support.processes import ROOT, given, within

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run some code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "PYTHONPATH": str(ROOT),
            **environment,
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("notify_after", "is_first", "comes_back"),
    [(30, True, True), (30, False, False), (600, True, False)],
)
def test_a_task_asks_for_one_more_if_something_is_due_soon(
    settings: Any, notify_after: float, is_first: bool, comes_back: bool
) -> None:
    use(settings, one="Scripted", NOTIFY_AFTER=notify_after)
    happened("/a/")
    wait = background.work_as_task(is_first=is_first)
    assert (wait is not None and 20 < wait <= 30) is comes_back


# Django Tasks


def test_the_work_is_a_task_of_django(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/")
    import_string(background.TASKS["tasks"])()
    assert sent(engine) == [["/a/"]]
    assert background.problem("tasks") == ""


NO_QUEUE = """
from tests import settings
settings.TASKS = {"default": {
    "BACKEND": "%s.backends.immediate.ImmediateBackend", "QUEUES": ["mine"]
}}
import django
django.setup()
from django_sitemaps_plus.delivery import background
print(background.problem("tasks"))
"""


def test_a_project_without_a_default_queue_starts() -> None:
    """``@task`` asks for the queue when its module is imported: nobody does."""
    module = type(import_string(background.TASKS["tasks"].replace("enqueue", "work")))
    name = module.__module__.rpartition(".")[0]
    done = python(NO_QUEUE % name)
    assert (done.returncode, done.stderr) == (0, "")
    assert "InvalidTask" in done.stdout


# Celery

NO_CELERY = """
import sys
sys.modules["celery"] = None
import django
django.setup()
from django_sitemaps_plus.delivery import background
from django_sitemaps_plus import tasks
assert not hasattr(tasks, "work")
print(background.problem("celery"))
"""


def test_without_celery_its_module_is_empty() -> None:
    """Other packages look for modules of this name, too."""
    done = python(NO_CELERY)
    assert (done.returncode, done.stderr) == (0, "")
    assert "does not define" in done.stdout


class Worker:
    """A real worker on a real broker, in a queue of its own."""

    def __init__(self, folder: Path, settings: Any) -> None:
        self.file = folder / "told"
        use(settings, NOTIFY_AFTER=0, log=("Log", {"file": str(self.file)}))
        told = given(**{**settings.SITEMAPS_PLUS, "BACKGROUND": "celery"})
        told |= {
            "broker": REDIS,
            "queue": f"sitemaps-plus-{uuid.uuid4().hex}",
        }
        self.environment = {"SITEMAPS_PLUS_TEST_CELERY": json.dumps(told)}
        command = "-m celery -A tests.support.celery_app worker -P solo -l WARNING"
        self.process = subprocess.Popen(
            [sys.executable, *command.split(), "--without-mingle", "--without-gossip"],
            env={**os.environ, **self.environment},
            cwd=ROOT,
        )

    def told(self) -> list[str]:
        if not self.file.exists():
            return []
        lines = self.file.read_text().splitlines()
        return [json.loads(line)["url"] for line in lines]


@pytest.fixture
def worker(tmp_path: Path, settings: Any) -> Iterator[Worker]:
    made = Worker(tmp_path, settings)
    yield made
    made.process.terminate()
    made.process.wait(30)


HAND_OVER = """
from tests.support.celery_app import app
app.set_default()
import django
django.setup()
from django.utils.module_loading import import_string
from django_sitemaps_plus.delivery import background
import_string(background.TASKS["celery"])()
"""


@pytest.mark.redis
def test_a_worker_of_celery_tells_engines(worker: Worker) -> None:
    happened("/a/")
    for path in ("/a/", "/b/"):
        if path == "/b/":
            happened(path)
        done = python(HAND_OVER, **worker.environment)
        assert done.returncode == 0, done.stderr
        assert within(30, lambda path=path: path in "".join(worker.told()))  # type: ignore[misc]
    assert within(5, lambda: not Submission.objects.filter(live=True).exists())
    assert rows() == [("/a/", "accepted"), ("/b/", "accepted")]
    assert len(worker.told()) == 2
