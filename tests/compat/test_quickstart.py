"""The quick start works as written, from ``startproject`` to the saved article."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
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
    """Somebody who types what the page says, beginning in an empty folder."""

    def __init__(self, folder: Path, package: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.variables = clean_environment(
            [package],
            {
                # "python" and "django-admin" are those of the tests.
                "PATH": os.pathsep.join(
                    [str(Path(sys.executable).parent), os.environ["PATH"]]
                ),
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
            return  # the tests have the package already
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


@pytest.fixture
def reader(tmp_path: Path, package: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path, package)
    yield reader
    reader.close()


def test_the_quick_start_works_as_it_is_written(reader: Reader) -> None:
    reader.follow(PAGE.read_text())
    assert "django-admin startproject mysite" in reader.typed
    assert "python manage.py runserver" in reader.typed
    assert "https://www.example.com/articles/first/" in PAGE.read_text()
