"""The example site, loaded and served on this machine as its README says."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.compat.environments import clean_environment
from tests.support.browser import Browser
from tests.support.fakes.ports import free_port

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "example_project"
#: The address that its sitemaps have: that of the server has another port each time.
PUBLIC = "http://unicode.example"
USER = PASSWORD = "admin"
#: Seconds that the server has to start.
_WAIT = 60


@contextmanager
def example_site(
    folder: Path, last: str, path: Path = ROOT, *, code: str = "pass"
) -> Iterator[str]:
    """
    Load characters up to ``last`` into ``folder``, and serve them; yields the address.

    ``path`` is where the package is found; ``code`` is run in the shell. Somebody may
    log in as "admin", "admin".
    """
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    variables = {
        "EXAMPLE_DATABASE": str(folder / "unicode.sqlite3"),
        "EXAMPLE_BASE_URL": PUBLIC,
        "DJANGO_SUPERUSER_USERNAME": USER,
        "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
        "DJANGO_SUPERUSER_EMAIL": "admin@example.com",
        "TMPDIR": str(folder),
    }
    variables = clean_environment([path], variables)
    manage = [sys.executable, str(EXAMPLE / "manage.py")]

    def run(*arguments: str) -> None:
        subprocess.run([*manage, *arguments], env=variables, check=True)

    run("load_unicode", "--last", last, "--verbosity", "0")
    run("createsuperuser", "--noinput", "--verbosity", "0")
    run("shell", "--command", code, "--verbosity", "0")
    log = (folder / "server.log").open("w")
    server = subprocess.Popen(
        [*manage, "runserver", "--noreload", f"127.0.0.1:{port}"],
        env=variables,
        stdout=log,
        stderr=log,
    )
    try:
        _await(address, server)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=30)
        log.close()


def _await(address: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _WAIT
    while True:
        try:
            with urlopen(f"{address}/robots.txt"):  # noqa: S310 (our own server)
                return
        except URLError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def log_in(tab: Browser, address: str) -> None:
    """Enter the admin."""
    tab.open(f"{address}/admin/login/")
    tab.run(
        f"document.querySelector('[name=username]').value = {USER!r};"
        f"document.querySelector('[name=password]').value = {PASSWORD!r}; 0"
    )
    tab.leave("document.querySelector('form').submit()")
