"""A PostgreSQL server of a test's own, which may be killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection

from tests.support.fakes.ports import free_port
from tests.support.processes import ROOT, within

#: Where Debian's packages have the server's programs.
_PROGRAMS = Path("/usr/lib/postgresql")
#: Seconds within which a server starts, after a crash too.
_SOON = 60


class Cluster:
    """A server on loopback, with its data in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._data, self._log = folder / "data", folder / "log"
        # The server refuses to run as root.
        self._as_whom = ["runuser", "-u", "postgres", "--"] if not os.getuid() else []
        if self._as_whom:
            shutil.chown(folder, "postgres")
        self._run("initdb", "--auth=trust", "--username=root", "--no-sync", "-EUTF8")
        self._start()

    def kill(self) -> None:
        """Kill the server, and start it again."""
        pid = int((self._data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        # Its children end when they notice; until then it does not start.
        assert within(_SOON, self._starts), self._log.read_text()

    def stop(self) -> None:
        """End the server."""
        self._run("pg_ctl", "stop", "-w", "-m", "immediate")

    def _starts(self) -> bool:
        try:
            self._start()
        except subprocess.CalledProcessError:
            return False
        return True

    def _start(self) -> None:
        options = (
            f"-c listen_addresses=127.0.0.1 -c port={self.port} -k '' -c fsync=off"
        )
        self._run("pg_ctl", "start", "-w", "-l", str(self._log), "-o", options)

    def _run(self, program: str, *options: str) -> None:
        path = max(_PROGRAMS.glob("*/bin"), key=lambda found: int(found.parent.name))
        command = [*self._as_whom, str(path / program), "-D", str(self._data), *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")


@contextmanager
def own_cluster(monkeypatch: Any) -> Iterator[Cluster]:
    """Have the default database on a server of its own, with all tables."""
    folder = Path(tempfile.mkdtemp())
    cluster = Cluster(folder)
    try:
        with monkeypatch.context() as patch:
            forget_connections()
            for name, value in (("HOST", "127.0.0.1"), ("PORT", str(cluster.port))):
                patch.setitem(connection.settings_dict, name, value)
            # Here it is the server that is killed: commits wait.
            patch.delitem(connection.settings_dict["OPTIONS"], "options")
            _create_tables(cluster.port)
            yield cluster
        forget_connections()
    finally:
        cluster.stop()
        shutil.rmtree(folder)


def forget_connections() -> None:
    """Let the next statement open a connection."""
    connection.close()
    connection.close_pool()


def _create_tables(port: int) -> None:
    """Do so in another process: Django remembers types of content by database."""
    name = connection.settings_dict["NAME"]
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {connection.ops.quote_name(name)}")
    migrate = (
        "from tests import settings; "
        f"settings.use_given({{'databases': {{'default': {name!r}}}}}); "
        "import django; django.setup(); "
        "from django.core.management import call_command; "
        "call_command('migrate', run_syncdb=True, verbosity=0)"
    )
    environ = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "TEST_DATABASE_URL": f"postgres://root@127.0.0.1:{port}/any",
    }
    subprocess.run([sys.executable, "-c", migrate], check=True, cwd=ROOT, env=environ)
