"""Published files in a real bucket's server, and behind a real nginx."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from django_sitemaps_plus.contrib.audit import crawler
from django_sitemaps_plus.contrib.audit.queries import last_crawls
from django_sitemaps_plus.contrib.edge.publish import publish
from django_sitemaps_plus.contrib.edge.published import published_files
from django_sitemaps_plus.sitemaps.site import Site
from tests.compat.stage import nginx
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.fakes.ports import free_port
from tests.support.helpers import ArticleSitemap, run_command
from tests.support.published import urls
from tests.testapp.models import Article

pytestmark = [pytest.mark.published, pytest.mark.django_db(transaction=True)]

FILES = "django.core.files.storage.FileSystemStorage"
RECIPES = Path(__file__).parent.parent.parent / "docs" / "edge.md"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a bucket, and the environment that lets boto3 use it."""
    import boto3
    from moto.server import ThreadedMotoServer

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    server_url = f"http://{host}:{port}"
    client = boto3.client("s3", endpoint_url=server_url, region_name="us-east-1")
    client.create_bucket(Bucket="maps")
    client.put_bucket_acl(Bucket="maps", ACL="public-read")
    yield f"{server_url}/maps"
    client.close()
    server.stop()


def use(settings: Any, backend: str, options: dict[str, Any], **ours: Any) -> None:
    """Publish into a storage."""
    storage = {"BACKEND": backend, "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "sitemaps": storage}
    own = {"STORAGE": "sitemaps", "OPTIONS": ours.pop("publish", {})}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "PUBLISH": own, **ours}


def use_bucket(settings: Any, bucket: str, **ours: Any) -> None:
    options = {
        "bucket_name": "maps",
        "endpoint_url": bucket.removesuffix("/maps"),
        "region_name": "us-east-1",
        "object_parameters": {"CacheControl": "max-age=60", "StorageClass": "STANDARD"},
        "default_acl": "public-read",
    }
    use(settings, "storages.backends.s3.S3Storage", options, **ours)


def read(address: str, **headers: str) -> tuple[bytes, Any]:
    """Return the bytes and the headers of an answer."""
    try:
        request = Request(address, headers=headers)  # noqa: S310 (this machine's)
        with urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.read(), answer.headers
    except HTTPError as error:
        error.close()
        raise LookupError(address) from None


@contextmanager
def behind(folder: Path, recipe: str) -> Iterator[dict[str, Any]]:
    """Run nginx with a recipe of the documentation; yield settings with its address."""
    port = free_port()
    with nginx(folder, port, "127.0.0.1:1", recipe):
        yield {"BASE_URL": f"http://127.0.0.1:{port}"}


@contextmanager
def serving_files(settings: Any, folder: Path, more: str = "") -> Iterator[Any]:
    """Publish into a folder that nginx serves by the recipe, and more directives."""
    options = {"location": str(folder / "files")}
    recipe = recipes()[0].replace("/srv/sitemaps", options["location"])
    with behind(folder, f"{more}\n{recipe}") as own:
        use(settings, FILES, options, **own)
        built()
        yield partial(use, settings, FILES, options)


def recipes() -> list[str]:
    """Return the nginx blocks of the documentation: a folder's, a bucket's."""
    return re.findall(r"^```nginx\n(.*?)^```$", RECIPES.read_text(), re.M | re.S)


def built(*arguments: str) -> str:
    """Build and publish; return what was printed."""
    said = ""
    for command in (["build_sitemaps", *arguments], ["publish_sitemaps"]):
        out, err, code = run_command(*command)
        assert (err, code) == ("", 0)
        said += out
    return said


def looked() -> list[tuple[str, str]]:
    """Return what the crawler's view finds."""
    site = Site.current().address()
    assert site is not None
    crawler.check_as_crawler(site, private=True)
    return [(one.kind, one.text) for one in last_crawls()[0].findings.order_by("pk")]


@pytest.fixture(autouse=True)
def section(register: Register) -> None:
    register("article", ArticleSitemap)
    articles(5)


def test_s3_has_each_file_with_its_headers(bucket: str, settings: Any) -> None:
    tags = ["Surrogate-Key"]
    use_bucket(settings, bucket, publish={"gzip": "encoding"}, CACHE_TAGS=tags)
    built()
    body, headers = read(f"{bucket}/sitemap-article-1.xml")
    assert gzip.decompress(body).count(b"<url>") == 5
    assert headers["Content-Type"] == "application/xml"
    assert headers["Content-Encoding"] == "gzip"
    assert headers["Cache-Control"] == "no-cache"
    named = headers["x-amz-meta-surrogate-key"]
    assert named == "sitemap-article-1.xml sitemaps"
    body, headers = read(f"{bucket}/robots.txt")
    assert body.startswith(b"User-agent")
    assert headers["x-amz-meta-surrogate-key"] == "robots.txt sitemaps"
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert headers["Content-Encoding"] is None

    use_bucket(settings, bucket, publish={"gzip": "file"}, CACHE_CONTROL=None)
    built()
    body, headers = read(f"{bucket}/sitemap-article-1.xml.gz")
    assert gzip.decompress(body).count(b"<url>") == 5
    assert headers["Content-Type"] == "application/gzip"
    assert headers["Content-Encoding"] is None
    assert headers["Cache-Control"] == "max-age=60"


def test_a_bucket_follows_the_site(bucket: str, settings: Any) -> None:
    use_bucket(settings, bucket)
    built()
    first = Article.objects.order_by("pk").first()
    assert first is not None
    first.delete()
    out = built("--reconcile")
    assert out.endswith("Published: 4 files; 3 put.\n")
    left = {
        f"https://www.example.com/articles/{a.slug}/" for a in Article.objects.all()
    }
    assert urls(lambda name: read(f"{bucket}/{name}")[0]) == left
    published_files().create(name="sitemap-gone-1.xml", gone_since=1, first_at=1)
    site = Site.current().address()
    assert site is not None
    done = publish(site, at_once=True)
    assert done is not None
    assert (done.deleted, done.puts, done.errors) == (1, 0, [])


def test_the_recipe_for_a_folder_gives_crawlers_what_django_sends(
    settings: Any, tmp_path: Path
) -> None:
    with serving_files(settings, tmp_path) as use_files:
        assert looked() == []
        Article.objects.filter(pk=Article.objects.latest("pk").pk).delete()
        run_command("build_sitemaps", "--reconcile")
        assert looked() == [], "what is not due to be published is no fault"
        use_files(publish={"gzip": "file"})
        built()
        assert looked() == []


def test_the_recipe_for_a_bucket_gives_crawlers_what_django_sends(
    bucket: str, settings: Any, tmp_path: Path
) -> None:
    host = bucket.removeprefix("http://").removesuffix("/maps")
    recipe = recipes()[1]
    amazon = "example-sitemaps.s3.eu-central-1.amazonaws.com"
    recipe = recipe.replace(f"proxy_pass https://{amazon}", f"proxy_pass http://{host}")
    recipe = recipe.replace(amazon, f"maps.{host}")
    with behind(tmp_path, recipe) as own:
        use_bucket(settings, bucket, publish={"gzip": "encoding"}, **own)
        built()
        assert looked() == []


def test_a_redirect_to_the_bucket_is_reported(settings: Any, tmp_path: Path) -> None:
    moved = "location = /sitemap.xml { return 302 https://maps.s3.amazonaws.com/a; }"
    with serving_files(settings, tmp_path, moved):
        assert "redirects to https://maps.s3.amazonaws.com/a" in str(looked())
