"""The same work in workers of Celery and of Django Tasks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps_plus.delivery import background, workers
from tests.conftest import REDIS
from tests.support.outbox_world import happened, rows, sent, use
from tests.support.processes import ROOT, given, within

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

SETUP = """
import django
django.setup()
from django_sitemaps_plus.delivery import workers
"""


def python(before: str, after: str, **environment: str) -> str:
    """Run some code before and after Django is set up, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{before}{SETUP}{after}"],
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
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("interval", "is_first", "comes_back"),
    [(30, True, True), (30, False, False), (600, True, False)],
)
def test_a_task_asks_for_one_more_if_something_is_due_soon(
    settings: Any, interval: float, is_first: bool, comes_back: bool
) -> None:
    use(settings, one=("Scripted", {"interval": interval}))
    happened("/a/")
    background.work()
    happened("/a/")
    wait = background.work_as_task(is_first=is_first)
    assert (wait is not None and 20 < wait <= 30) is comes_back


# Django Tasks


def test_the_work_is_a_task_of_django(settings: Any) -> None:
    engine = use(settings, one="Scripted")
    happened("/a/")
    workers.function("tasks")("")
    assert sent(engine) == [["/a/"]]
    assert workers.problem("tasks") == ""


NO_QUEUE = """
import sys
sys.modules["celery"] = None
from tests import settings
settings.TASKS = {"default": {
    "BACKEND": "%s.backends.immediate.ImmediateBackend", "QUEUES": ["mine"]
}}
"""


def test_a_project_without_celery_or_a_default_queue_starts() -> None:
    """
    ``@task`` asks for the queue when its module is imported: nobody does.

    Other packages look for modules called ``tasks``: that of Celery is empty then.
    """
    module = type(workers.function("tasks", "work"))
    package = module.__module__.rpartition(".")[0]
    said = python(
        NO_QUEUE % package,
        "from django_sitemaps_plus import tasks\n"
        'print(workers.problem("tasks"))\n'
        'print(hasattr(tasks, "work"), workers.problem("celery"))',
    )
    queue, _, celery = said.partition("\nFalse ")
    assert "InvalidTask" in queue
    assert "does not define" in celery


# Celery


if find_spec("celery"):

    def test_the_work_of_a_tenant_is_a_task_of_celery(
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        asked: list[Any] = []
        work = workers.function("celery", "work")
        monkeypatch.setattr(work, "apply_async", lambda given, _: asked.append(given))
        for tenant in ("one", None):
            workers.function("celery")(tenant)
        assert asked == [("one",), (None,)]


class Worker:
    """A real worker on a real broker, in a queue of its own."""

    def __init__(self, folder: Path, settings: Any) -> None:
        self.file = folder / "told"
        use(settings, log=("Log", {"file": str(self.file)}), BACKGROUND="celery")
        told = given(**settings.SITEMAPS_PLUS)
        told |= {"broker": REDIS, "queue": f"sitemaps-plus-{uuid.uuid4().hex}"}
        self.environment = {"SITEMAPS_PLUS_TEST_CELERY": json.dumps(told)}
        command = "-m celery -A tests.support.celery_app worker -P solo -l WARNING"
        self.process = subprocess.Popen(
            [sys.executable, *command.split(), "--without-mingle", "--without-gossip"],
            env={**os.environ, **self.environment},
            cwd=ROOT,
        )

    def hand_over(self) -> None:
        """Hand the work over, as the server's thread does."""
        python(
            "from tests.support.celery_app import app; app.set_default()",
            'workers.function("celery")("")',
            **self.environment,
        )


@pytest.fixture
def worker(tmp_path: Path, settings: Any) -> Iterator[Worker]:
    made = Worker(tmp_path, settings)
    yield made
    made.process.terminate()
    made.process.wait(30)


@pytest.mark.redis
def test_a_worker_of_celery_notifies_engines(worker: Worker) -> None:
    expected: list[tuple[str, str]] = []
    for path in ("/a/", "/b/"):
        happened(path)
        expected.append((path, "accepted"))
        worker.hand_over()
        assert within(30, lambda: rows() == expected)
    assert len(worker.file.read_text().splitlines()) == 2
