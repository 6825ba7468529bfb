"""
A site behind a real nginx, whose pages and sitemaps a test may replace.

The fixture ``stage`` gives one::

    def test_a_page_that_forbids_to_be_indexed(stage: Stage) -> None:
        path = stage.paths[3]
        stage.answers[path] = stage.page(path, head="<meta name=robots content=none>")
        with stage.served():
            said = stage.look()
        assert (said.codes, said.exit_code) == ({"A103"}, 1)
"""

from __future__ import annotations

import http.client
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from django_sitemaps_plus.contrib.audit.kinds import known
from django_sitemaps_plus.contrib.audit.models import Audit, Finding
from tests.support.fakes.faults import Reply
from tests.support.fakes.ports import free_port
from tests.support.fakes.server import Request
from tests.support.helpers import run_command
from tests.support.mirror import Mirror
from tests.support.processes import within

#: Status, headers, body.
Answer: TypeAlias = tuple[int, Mapping[str, str], str | bytes]
HTML = {"Content-Type": "text/html; charset=utf-8"}

CONFIGURATION = """\
daemon off; user root; pid {folder}/pid; error_log {folder}/error.log;
events {}
http {
  access_log off; types {}
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  proxy_cache_path {folder}/cache keys_zone=old:1m;
  proxy_set_header Host $http_host;
  {http}
  server {
    listen 127.0.0.1:{port};
    {server}
    location / { proxy_pass http://{behind}; {location} }
  }
}
"""


@contextmanager
def nginx(
    folder: Path,
    port: int,
    behind: str,
    server: str = "",
    location: str = "",
    http: str = "",
) -> Iterator[None]:
    """Run nginx in front of another server, with more directives."""
    text = CONFIGURATION
    given = {"http": http, "server": server, "location": location, "behind": behind}
    for name, value in {**given, "folder": folder, "port": port}.items():
        text = text.replace(f"{{{name}}}", str(value))
    (folder / "nginx.conf").write_text(text)
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    assert program is not None
    command = [program, "-e", "stderr", "-p", folder, "-c", folder / "nginx.conf"]
    process = subprocess.Popen(command)
    try:
        assert within(30, lambda: (folder / "pid").exists() or process.poll())
        assert process.poll() is None, "nginx refuses the directives: see stderr"
        yield
    finally:
        process.terminate()
        process.wait(30)


class Said(NamedTuple):
    """What ``check_sitemaps --live`` said."""

    #: Ids of findings, as ``tests.contrib.audit.kinds`` names them, and only their
    #: numbers: "A103".
    kinds: set[str]
    codes: set[str]
    #: URL and text of each finding, by number: ``{"A103": [(url, text), …]}``.
    texts: dict[str, list[tuple[str, str]]]
    #: 0 if it found no error.
    exit_code: int
    #: All that it printed.
    output: str


class Stage(Mirror):
    """
    A site with one section of 40 articles, all in order, and nginx in front of it.

    Django answers for robots.txt and the sitemaps, and for each URL that it lists there
    is a page of its own. ``answers`` replaces any of them, or adds to them, by path,
    also while it is served: with ``(status, headers, body)``, or with a function that
    is given the request (its ``headers`` have lower-case names) and returns that, or
    None where the site itself is to answer.
    A path with a query is for that address alone. Other sections (the fixture
    ``register`` and the test app's models), rows and settings hold from when it is
    served, or from ``build()``.
    """

    def __init__(self, folder: Path, settings: Any) -> None:
        super().__init__()
        self._folder, self._port = folder, free_port()
        self.answers: dict[str, Answer | Callable[[Request], Answer | None]] = {}
        #: The paths of all listed URLs.
        self.paths: list[str] = []
        #: The public address: scheme, host and port.
        self.public = f"http://127.0.0.1:{self._port}"
        settings.SITEMAPS_PLUS = {"BASE_URL": self.public}

    def page(
        self, path: str, *, title: str = "", head: str = "", text: str = ""
    ) -> tuple[int, dict[str, str], str]:
        """Return an ordinary page, with another ``title`` or ``text``, and more."""
        name = path.strip("/").rpartition("/")[2]
        words = " ".join(f"Word {number} of {name}." for number in range(20))
        body = (
            f"<!doctype html><html lang=en><head><title>{title or name}</title>"
            f'<link rel=canonical href="{self.public}{path}">{head}</head>'
            f"<body><h1>{title or name}</h1><p>{text or words}</p></body></html>"
        )
        return 200, HTML, body

    @contextmanager
    def served(
        self, *, server: str = "", location: str = "", http: str = "", behind: str = ""
    ) -> Iterator[None]:
        """
        Build the sitemaps and run nginx, with more directives.

        These may have ``{behind}``, the host that answers, ``{folder}`` and ``{port}``;
        there is a cache, ``proxy_cache old;``. ``behind`` is another server's host that
        answers in place of this one.
        """
        self.build()
        with nginx(
            self._folder, self._port, behind or self.host, server, location, http
        ):
            yield

    def build(self) -> None:
        """Have the sitemaps built anew, and sent from now on."""
        run_command("build_sitemaps", "--reconcile")
        self.record()
        found = [path for path in self.pages if path.startswith("/sitemap")]
        text = "".join(self.text(path) for path in found if path.endswith(".xml"))
        listed = re.findall(f"<loc>{self.public}(/[^<]*)</loc>", text)
        self.paths = [one for one in dict.fromkeys(listed) if one not in self.pages]
        self.pages |= {path: _reply(self.page(path)) for path in self.paths}

    def answer(self, request: Request) -> Reply:
        """Answer with what is planted, or as the site does."""
        planted = self.answers.get(request.path) or self.answers.get(request.route)
        if callable(planted):
            planted = planted(request)
        return super().answer(request) if planted is None else _reply(planted)

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """
        Return what nginx answers: ``get("/", User_Agent="Googlebot")``.

        So ``stage.answers[path] = stage.get(path)`` lets it stay as it is.
        """
        headers = {"User_Agent": "Mozilla/5.0", **headers}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        where = urlsplit(self.public).netloc
        with closing(http.client.HTTPConnection(where, timeout=30)) as connection:
            connection.request("GET", path, headers=named)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def look(self, *options: str) -> Said:
        """Run ``check_sitemaps --live`` and return what it says."""
        before = max(Audit.objects.values_list("pk", flat=True), default=0)
        command = "check_sitemaps", "--live", "--rate", "1000"
        output, errors, code = run_command(*command, *options)
        texts: dict[str, list[tuple[str, str]]] = {}
        for one in Finding.objects.filter(audit__gt=before).order_by("pk"):
            texts.setdefault(known()[one.kind].number, []).append((one.url, one.text))
        kinds = {one.id for one in known().values() if one.number in texts}
        return Said(kinds, {*texts}, texts, code, output + errors)


def _reply(answer: Answer) -> Reply:
    status, headers, body = answer
    # These are the server's own.
    kept = {
        name: value
        for name, value in headers.items()
        if name.lower() not in ("content-length", "connection", "transfer-encoding")
    }
    data = body.encode() if isinstance(body, str) else body
    return Reply(status=status, headers=kept, body=data)
