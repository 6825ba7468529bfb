"""
The example site notifies a fake of each engine.

One note is changed and one is deleted, and ``ping_sitemaps`` is run: each fake has what
its engine is for, and has checked it as strictly as the real one.
"""

from __future__ import annotations

import json
import shutil
import urllib.parse
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django_sitemaps_plus.contrib.webmasters import google_auth
from tests.compat.test_example_notifies import Example
from tests.engines.setups import found
from tests.support.fakes.bing import FakeBing
from tests.support.fakes.google_indexing import FakeIndexing
from tests.support.fakes.hub import FakeHub
from tests.support.fakes.webhook import FakeWebhook
from tests.support.fakes.websub import FakeWebSubHub
from tests.support.fakes.yandex import FakeYandex
from tests.support.processes import within
from tests.support.servers import SOON

TOKEN = "0123456789abcdef0123456789abcdef"
CHANGE = (
    "from unicode_book.models import Note; changed, deleted, *_ = Note.objects.all(); "
    "changed.title_en = 'Another'; changed.save(); deleted.delete(); "
    "print(changed.slug, deleted.slug)"
)
FEED = "/sitemap-note.rss"


class Everybody:
    """A fake of each engine, and what the site's settings have to say of it."""

    def __init__(self, site: str, stack: ExitStack) -> None:
        host = urllib.parse.urlsplit(site).netloc
        own = {f"{site}/": "siteOwner"}
        self.bing = stack.enter_context(FakeBing(TOKEN))
        self.bing.sites = {f"{site}/": True}
        self.yandex = stack.enter_context(FakeYandex(TOKEN))
        self.yandex.hosts = {f"http:{host}": True}
        self.ping = stack.enter_context(FakeHub())
        self.webhook = stack.enter_context(FakeWebhook(TOKEN))
        self.hub = stack.enter_context(FakeWebSubHub())
        self.indexing = stack.enter_context(FakeIndexing(properties=own))

    def settings(self, site: str) -> dict[str, Any]:
        """Return ``ENGINES``, besides the two that have variables of their own."""
        given: dict[str, dict[str, Any]] = {
            "bing": {"site": f"{site}/", "key": TOKEN, "endpoint": self.bing.endpoint},
            "ping": {"url": self.ping.url},
            "webhook": {"url": self.webhook.url, "secret": TOKEN},
            "websub": {"feeds": ["/sitemap.atom", FEED], "hub": self.hub.url},
            "yandex": {
                "token": TOKEN,
                "recrawl": True,
                "endpoint": self.yandex.endpoint,
            },
        }
        if google_auth.is_installed():
            given["google_indexing"] = {
                "sections": ["note"],
                "credentials": self.indexing.credentials,
                "endpoint": self.indexing.endpoint,
            }
        known = found()
        return {
            name: {
                "BACKEND": f"{known[name].__module__}.{known[name].__name__}",
                "OPTIONS": options,
            }
            for name, options in given.items()
        }


def test_the_example_site_notifies_a_fake_of_each_engine(
    few: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        example = Example(tmp_path, stack)
        site = example.server
        everybody = Everybody(site, stack)
        example.google.properties = {f"{site}/": "siteOwner"}
        engines = tmp_path / "engines.json"
        engines.write_text(json.dumps(everybody.settings(site)))
        example.notifying |= {
            "EXAMPLE_BASE_URL": site,
            "EXAMPLE_ENGINES": str(engines),
            "EXAMPLE_HUBS": everybody.hub.url,
        }
        shutil.copy(few, example.local["EXAMPLE_DATABASE"])
        with example.serving(tmp_path / "log"):
            assert within(SOON, example.answers)
            command = ("shell", "--no-imports", "-c", CHANGE)
            changed, deleted = example.manage(*command, **example.notifying).split()
            done = example.run("ping_sitemaps", "--force", **example.notifying)
        pages = [f"{site}/{language}/notes/" for language in ("en", "de")]
        quote = urllib.parse.quote
        new = sorted(f"{page}{quote(changed)}/" for page in pages)
        gone = sorted(f"{page}{quote(deleted)}/" for page in pages)
        sitemap = f"{site}/sitemap.xml"

        assert sorted(example.indexnow.accepted) == sorted(new + gone), done
        assert sorted(everybody.bing.urls) == sorted(new + gone)
        assert list(everybody.bing.feeds) == [sitemap]
        assert everybody.yandex.added == [sitemap]
        assert len(everybody.yandex.queue) == 3, "the quota of the day"
        assert everybody.ping.pinged == [sitemap]
        assert everybody.hub.published == [f"{site}/sitemap.atom", f"{site}{FEED}"]
        for body in everybody.hub.read.values():
            assert all(url.encode() in body for url in new), "the feeds are current"
        [heard] = everybody.webhook.received
        assert (sorted(heard["changed"]), sorted(heard["removed"])) == (new, gone)
        if google_auth.is_installed():
            assert example.google.submitted == [sitemap]
            # Of the pages that are there none declares a job or a livestream.
            published = sorted(everybody.indexing.published)
            assert published == [("URL_DELETED", url) for url in gone]
            assert everybody.indexing.unsupported == []
