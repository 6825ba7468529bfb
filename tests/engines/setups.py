"""
Each engine with its fake, for the tests that all engines must pass.

The engines of an app stand in ``tests/contrib/<app>/setups.py``, with the same names.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from django_sitemaps_plus import engines
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import Answer, Batch, Engine
from django_sitemaps_plus.engines.console import Console
from django_sitemaps_plus.engines.indexnow import IndexNow
from django_sitemaps_plus.engines.memory import Memory
from django_sitemaps_plus.engines.ping import Ping
from django_sitemaps_plus.engines.webhook import Webhook
from tests import contrib
from tests.support.fakes.hub import FakeHub
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.fakes.server import FakeServer
from tests.support.fakes.site import FakeSite
from tests.support.fakes.webhook import FakeWebhook

KEY = "0123456789abcdef0123456789abcdef"
OLD_KEY = "fedcba9876543210fedcba9876543210"
HOST_KEY = "aaaabbbbccccddddeeeeffff00001111"
SITE = "https://www.example.com"
SITEMAP = f"{SITE}/sitemap.xml"
TOKEN = "token+of the/hub"
A_SITEMAP = Batch(origin=SITE, urls=[SITEMAP], are_sitemaps=True)


@dataclass
class Setup:
    """An engine, a batch for it, and its fake; None for those without network."""

    engine: Engine
    batch: Batch
    server: FakeServer | None = None
    #: Must not be in any text.
    secrets: list[str] = field(default_factory=list)


def submit_sitemap(engine: Engine, location: str = SITEMAP) -> Answer:
    batch = Batch(origin=SITE, urls=[location], are_sitemaps=True)
    return asking.submit(engine, batch)


SetUp = Callable[[FakeSite, float], contextlib.AbstractContextManager[Setup]]


@contextlib.contextmanager
def indexnow(site: FakeSite, timeout: float) -> Iterator[Setup]:
    site.pages[f"/{KEY}.txt"] = KEY
    batch = Batch(origin=site.origin, urls=[f"{site.origin}/a", f"{site.origin}/b"])
    with FakeIndexNow() as server:
        server.trust("127.0.0.1", KEY)
        engine = IndexNow(
            alias="it",
            timeout=timeout,
            key=KEY,
            keys={"other.example": HOST_KEY},
            old_keys=[OLD_KEY],
            endpoint=server.url,
        )
        secrets = [KEY, OLD_KEY, HOST_KEY]
        yield Setup(engine, batch, server, secrets)


@contextlib.contextmanager
def ping(site: FakeSite, timeout: float) -> Iterator[Setup]:
    with FakeHub(resolve={"www.example.com": site.host}) as server:
        url = f"{server.origin}/ping?k={KEY}&token={{token}}&sitemap={{sitemap}}"
        engine = Ping(alias="it", timeout=timeout, url=url, token=TOKEN)
        yield Setup(engine, A_SITEMAP, server, [TOKEN, KEY])


@contextlib.contextmanager
def webhook(site: FakeSite, timeout: float) -> Iterator[Setup]:
    batch = Batch(origin=SITE, urls=[f"{SITE}/a"], kinds=["removed"])
    with FakeWebhook(KEY) as server:
        engine = Webhook(alias="it", timeout=timeout, url=server.url, secret=KEY)
        yield Setup(engine, batch, server, [KEY])


@contextlib.contextmanager
def local(engine: type[Engine]) -> Iterator[Setup]:
    batch = Batch(origin=SITE, urls=[f"{SITE}/a"])
    yield Setup(engine(alias="it"), batch)


#: By the name of the engine's module.
SETUPS: dict[str, SetUp] = {
    "console": lambda site, timeout: local(Console),
    "indexnow": indexnow,
    "memory": lambda site, timeout: local(Memory),
    "ping": ping,
    "webhook": webhook,
}
#: Those whose protocol says what is in the body of an answer.
STRICT: list[str] = []
#: The option by which some of them prove who they are.
PROOFS = {"webhook": "secret"}
#: Those that need an extra which is not installed.
ABSENT: list[str] = []


def own() -> list[ModuleType]:
    """Return this module, and its like of each app."""
    apps = [
        f"tests.contrib.{path.parent.name}.setups"
        for path in sorted(Path(contrib.__path__[0]).glob("*/setups.py"))
    ]
    return [importlib.import_module(name) for name in (__name__, *apps)]


def setups() -> dict[str, SetUp]:
    """Return the setups of all engines whose extras are installed, by their names."""
    return {name: one for module in own() for name, one in module.SETUPS.items()}


def named(what: str) -> list[str]:
    """Return the names in the lists of all modules, such as ``STRICT``."""
    return [name for module in own() for name in getattr(module, what)]


def found() -> dict[str, type[Engine]]:
    """Return the engines of the package, by the name of their module."""
    package, classes = Path(engines.__path__[0]).parent, {}
    for path in [*package.glob("engines/*.py"), *package.glob("contrib/*/*.py")]:
        if "def submit(" in path.read_text():
            parts = path.relative_to(package.parent).with_suffix("").parts
            module = importlib.import_module(".".join(parts))
            for value in vars(module).values():
                is_own = getattr(value, "__module__", "") == module.__name__
                is_engine = isinstance(value, type) and issubclass(value, Engine)
                if is_own and is_engine and not inspect.isabstract(value):
                    classes[path.stem] = value
    return classes
