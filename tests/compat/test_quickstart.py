"""The quick start works as written, from ``startproject`` to the saved article."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import venv
from pathlib import Path
from urllib.request import urlopen

import pytest
from lxml import etree

from tests.compat.environments import clean_environment
from tests.support.fakes.ports import free_port
from tests.support.processes import ROOT, within

PAGE = ROOT / "docs" / "quickstart.md"
#: What somebody who follows the page acts on: its blocks, and the addresses to open.
STEP = re.compile(
    r"^```(?P<language>\w+)\n(?P<block>.*?)^```$"
    r"|<http://127\.0\.0\.1:8000(?P<address>/[^>]*)>",
    re.MULTILINE | re.DOTALL,
)
#: Seconds that a command may take on a busy machine.
PATIENCE = 120


class Reader:
    """
    Somebody who types what the page says, beginning in an empty folder.

    "python" and "django-admin" are those in ``commands``. What ``pip install`` installs
    is ``wheel``; without it, the package is there already.
    """

    def __init__(
        self, folder: Path, commands: Path, path: list[Path], wheel: str = ""
    ) -> None:
        self.folder = folder
        self.wheel = wheel
        self.port = free_port()
        self.variables = clean_environment(
            path,
            {
                "PATH": os.pathsep.join([str(commands), os.environ["PATH"]]),
                "TMPDIR": str(folder),
            },
        )
        self.typed: list[str] = []
        self.page = ""
        self.server: subprocess.Popen[bytes] | None = None
        self.log = folder / "server.log"

    def follow(self, page: str) -> None:
        """Do all that the page says, in its order."""
        for step in STEP.finditer(page):
            block = step["block"]
            if step["address"]:
                self.open(step["address"])
            elif step["language"] == "python":
                self.write(block)
            elif step["language"] == "console":
                for line in block.splitlines():
                    self.type(line.removeprefix("$ "))
            else:
                assert step["language"] == "text"
                self.compare(block)

    def write(self, block: str) -> None:
        """Add lines at the end of the file that the first of them names."""
        first, _, lines = block.partition("\n")
        path = self.folder / first.removeprefix("# ")
        with path.open("a") as file:
            file.write(lines)

    def type(self, command: str) -> None:
        """Run a command of the page; it has to end well, and no check complains."""
        self.typed.append(command)
        words = shlex.split(command)
        if words[:4] == ["python", "-m", "pip", "install"]:
            if not self.wheel:
                return
            # A warning of pip's is none of the package's.
            words = ["python", "-W", "ignore", *words[1:4], self.wheel]
        if words[0] == "cd":
            self.folder /= words[1]
        elif words[-1] == "runserver":
            self.serve([*words, f"127.0.0.1:{self.port}"])
        else:
            done = subprocess.run(
                words,
                cwd=self.folder,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=PATIENCE,
            )
            assert done.returncode == 0, f"{command}:\n{done.stdout}"
            assert "sitemaps_plus.E" not in done.stdout, f"{command}:\n{done.stdout}"
            assert "sitemaps_plus.W" not in done.stdout, f"{command}:\n{done.stdout}"

    def serve(self, words: list[str]) -> None:
        """Start the server, which goes on running."""
        with self.log.open("wb") as log:
            self.server = subprocess.Popen(
                words,
                cwd=self.folder,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # With the process that its autoreloader starts, a group of its own.
                start_new_session=True,
            )
        assert within(PATIENCE, self.listens), self.log.read_text()

    def listens(self) -> bool:
        """Return whether the server can be connected to; it gets no request by that."""
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def open(self, address: str) -> None:
        """Open an address of the server."""
        with urlopen(f"http://127.0.0.1:{self.port}{address}", timeout=60) as answer:
            self.page = answer.read().decode()

    def compare(self, block: str) -> None:
        """The sitemap that was opened lists what the page says, and nothing else."""
        root = etree.fromstring(self.page.encode())
        assert [loc.text for loc in root.iter("{*}loc")] == block.split()

    def close(self) -> None:
        """Stop the server, if it was started."""
        if self.server is not None:
            os.killpg(self.server.pid, signal.SIGTERM)
            self.server.wait(30)


def follow_the_page(reader: Reader) -> None:
    try:
        reader.follow(PAGE.read_text())
    finally:
        reader.close()
    assert "django-admin startproject mysite" in reader.typed
    assert "python manage.py runserver" in reader.typed
    assert "https://www.example.com/articles/first/" in PAGE.read_text()


def test_the_quick_start_works_as_it_is_written(tmp_path: Path, package: Path) -> None:
    follow_the_page(Reader(tmp_path, Path(sys.executable).parent, [package]))


@pytest.mark.dist
def test_it_works_with_the_wheel_where_nothing_else_is_installed(
    tmp_path: Path, dist: Path
) -> None:
    """Without ``assert``, and where each warning is an error."""
    (wheel,) = dist.glob("*.whl")
    home, folder = tmp_path / "environment", tmp_path / "empty"
    folder.mkdir()
    venv.create(home, symlinks=os.name != "nt", with_pip=True)
    commands = home / ("Scripts" if os.name == "nt" else "bin")
    reader = Reader(folder, commands, [], str(wheel))
    reader.variables |= {"PYTHONOPTIMIZE": "1", "PYTHONWARNINGS": "error"}
    follow_the_page(reader)
