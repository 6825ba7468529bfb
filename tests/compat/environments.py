"""
Other people's packages, each in a place of its own.

An environment is a virtual environment of the running Python, made once for a set
of requirements and kept between runs in the user's cache folder (or in the folder
that ``SITEMAPS_PLUS_TEST_CACHE`` names); it may be deleted at any time. pip is used
as it is configured on the machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import uuid
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where two runs at once must not begin together
    fcntl = None

#: What other Pythons run: settings, a test runner, crawlers.
INSIDE = Path(__file__).parent / "inside"

#: Test names, each with "passed", "skipped" or the traceback of its failure.
Outcomes = dict[str, str]


def cache() -> Path:
    """Return the folder that is kept between runs."""
    named = os.environ.get("SITEMAPS_PLUS_TEST_CACHE")
    if named:
        return Path(named)
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "django-sitemaps-plus-tests"


def made_once(path: Path, make: Callable[[Path], object]) -> Path:
    """Return ``path``, made by ``make`` if it is not there: whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        if fcntl is not None:
            # Released when the process ends, however it does.
            fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            building = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
            try:
                make(building)
                building.rename(path)
            finally:
                shutil.rmtree(building, ignore_errors=True)
    return path


def key(*parts: str) -> str:
    """Return a file name for ``parts`` and the running Python."""
    text = "\n".join([*parts, sys.version, platform.platform()])
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


@dataclass(frozen=True)
class Environment:
    """A Python, and the packages that it can import."""

    python: Path

    def run(
        self,
        *arguments: str,
        path: Sequence[Path] = (),
        variables: Mapping[str, str] | None = None,
        cwd: Path,
    ) -> str:
        """Run Python with some folders on its path; return what it printed."""
        done = subprocess.run(
            [str(self.python), *arguments],
            cwd=cwd,
            env=clean_environment(path, variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, f"{' '.join(arguments)}:\n{done.stdout}"
        return done.stdout

    def run_suite(
        self,
        *labels: str,
        settings: str,
        path: Sequence[Path],
        cwd: Path,
        variables: Mapping[str, str] | None = None,
        runner: str = "json_runner.JsonRunner",
    ) -> Outcomes:
        """Run tests by Django's runner; return what became of each."""
        report = cwd / f"{uuid.uuid4().hex}.json"
        self.run(
            *("-m", "django", "test", *labels, "--noinput"),
            *("--settings", settings, "--testrunner", runner),
            path=[INSIDE, *path],
            variables={**(variables or {}), "SUITE_REPORT": str(report)},
            cwd=cwd,
        )
        outcomes: Outcomes = json.loads(report.read_text())
        return outcomes


#: The Python that runs these tests, with the Django that it has.
OWN = Environment(Path(sys.executable))


def clean_environment(
    path: Sequence[Path], variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return this process's variables without what it told its own Python."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYTEST", "DJANGO", "EXAMPLE"))
        and name.lower() not in {"http_proxy", "all_proxy"}
    }
    return {**kept, "PYTHONPATH": os.pathsep.join(map(str, path)), **(variables or {})}


def environment(*requirements: str) -> Environment:
    """Return a virtual environment that has ``requirements``, made if need be."""

    def make(folder: Path) -> None:
        venv.create(folder, symlinks=os.name != "nt", with_pip=False)
        pip("--python", str(_python(folder)), "install", *requirements)

    return Environment(_python(made_once(cache() / key(*requirements), make)))


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def sdist(name: str, version: str) -> Path:
    """Return the folder of a package's unpacked source distribution."""

    def make(folder: Path) -> None:
        folder.mkdir()
        pip(
            *("download", "--no-deps", "--no-binary", ":all:"),
            *("--dest", str(folder), f"{name}=={version}"),
        )
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
        archive.unlink()

    (unpacked,) = made_once(cache() / f"{name}-{version}", make).iterdir()
    return unpacked


def pip(*arguments: str) -> None:
    """Run pip as it is configured on the machine."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments, "--quiet", "--no-input"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, f"pip {' '.join(arguments)}:\n{done.stdout}"
