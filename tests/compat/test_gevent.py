"""The worker of gevent, which patches threads after gunicorn preloaded, or before."""

from __future__ import annotations

from pathlib import Path

import pytest

from django_sitemaps_plus.models import Submission
from tests.compat.environments import environment
from tests.delivery.conftest import Serve, keys, serve
from tests.engines.setups import KEY
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.processes import within
from tests.support.servers import SOON
from tests.test_without_unix import engine_options

pytestmark = [
    pytest.mark.network,
    pytest.mark.django_db(transaction=True, databases=["default", "other"]),
]

__all__ = ["keys", "serve"]  # fixtures

GUNICORN = "-m gunicorn tests.support.server_app --bind 127.0.0.1:{port} -k gevent"
SAID = "gevent patched threads after the project was imported: no page is rebuilt"


@pytest.fixture
def gevent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have servers find gevent."""
    python = environment("gevent==26.9.0")
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    monkeypatch.setenv("PYTHONPATH", python.run("-c", where, cwd=tmp_path).strip())


@pytest.mark.usefixtures("gevent")
def test_where_the_project_was_preloaded_views_answer_and_the_log_says_what_is_missing(
    serve: Serve,
) -> None:
    """No view can use a database there: greenlets share Django's connections."""
    server = serve([*GUNICORN.split(), "--preload"])
    for _ in range(3):
        server.get("/about/")
        assert server.rests()
    assert server.log.read_text().count(SAID) == 1
    assert "Traceback" not in server.log.read_text()


@pytest.mark.usefixtures("gevent")
def test_elsewhere_the_background_is_a_greenlet(serve: Serve, keys: list[int]) -> None:
    with FakeIndexNow("api") as engine:
        engine.trust("www.example.com", KEY)
        server = serve(GUNICORN.split(), ENGINES=engine_options(engine))
        for number in range(3):
            server.get(f"/save/{keys[number]}/b{number}/")
            assert f"/articles/b{number}/" in server.get("/sitemap-news-1.xml")
        assert within(SOON, Submission.objects.filter(state="accepted").exists)
    assert SAID not in server.log.read_text()
    assert "Traceback" not in server.log.read_text()
