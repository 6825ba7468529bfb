"""Where there is no Unix, as on Windows: modules, servers and commands."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.models import Submission
from tests.delivery.conftest import Serve, keys, serve
from tests.engines.setups import KEY
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.outbox_world import BASE
from tests.support.processes import in_a_process, within
from tests.support.servers import SOON

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

__all__ = ["keys", "serve"]  # fixtures

ABSENT = "from tests.support import without_unix\n"
SERVER = ["-c", f"{ABSENT}from tests.support.server_app import serve; serve({{port}})"]

COMMANDS = """
import json, os, pkgutil
from importlib import import_module
from tests import settings
settings.use_given(json.loads(os.environ["GIVEN"]))
import django
django.setup()
import django_sitemaps_plus
from django.core.management import call_command
from django_sitemaps_plus.sitemaps.registry import registry
from tests.support.helpers import ArticleSitemap
from tests.testapp.models import Article

registry.add("article", ArticleSitemap)
Article.objects.create(slug="new")
for command in (
    ["check"],
    ["build_sitemaps"],
    ["ping_sitemaps", "--force"],
    ["ping_sitemaps", "--status"],
):
    call_command(*command)
# These import other packages, which may need Unix.
OTHERS = "djangocms", "django_tenants", "tasks", "wagtail"
prefix = "django_sitemaps_plus."
for found in pkgutil.walk_packages(django_sitemaps_plus.__path__, prefix):
    if not found.name.endswith(OTHERS):
        import_module(found.name)
"""


def engine_options(engine: FakeIndexNow) -> dict[str, object]:
    """Return ``ENGINES`` with an engine of the tests."""
    options = {"key": KEY, "endpoint": engine.url}
    backend = "tests.support.outbox_engines.Trusted"
    return {"one": {"BACKEND": backend, "OPTIONS": options}}


def test_commands_work_and_every_module_can_be_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What its programs write into a file or a pipe.
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    with FakeIndexNow("api") as engine:
        engine.trust("www.example.com", KEY)
        process = in_a_process(ABSENT + COMMANDS, ENGINES=engine_options(engine))
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, out + err
        assert f"{BASE}/articles/new/".encode() in engine.requests[0].body


def test_a_server_s_background_notifies_engines(serve: Serve, keys: list[int]) -> None:
    with FakeIndexNow("api") as engine:
        engine.trust("www.example.com", KEY)
        server = serve(SERVER, ENGINES=engine_options(engine))
        server.get(f"/save/{keys[0]}/b/")
        assert within(SOON, Submission.objects.filter(state="accepted").exists)
    assert "Traceback" not in server.log.read_text()
