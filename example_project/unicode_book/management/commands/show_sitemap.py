"""``manage.py show_sitemap``: ask the site for its sitemaps and say what came."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.http import HttpResponseBase
from django.test import Client

from unicode_book.models import Character

TAG = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


class Command(BaseCommand):
    """Read the sitemap and all of its pages, as a crawler would."""

    help = (
        "Ask this site for /robots.txt, /sitemap.xml and each page that the sitemap "
        "names, in this process and without a server, and say what is in them. Ends "
        "with 0 when all could be read and no URL came twice, 1 otherwise, 2 when an "
        "argument is wrong."
    )

    def handle(self, **options: Any) -> None:
        origin = urlsplit(settings.BASE_URL)
        self.client = Client(
            raise_request_exception=False, headers={"host": origin.netloc}
        )
        self.secure = origin.scheme == "https"
        self.require_characters()
        self.fetch("/robots.txt")
        locations = list(self.read("/sitemap.xml"))
        repeated = len(locations) - len(set(locations))
        if repeated:
            raise CommandError(f"{repeated:,} URLs came more than once.")
        self.stdout.write(
            f"{len(locations):,} URLs, each of them once; the last is\n"
            f"  {locations[-1]}\n"
            f"To look at the site, type: {sys.executable} {sys.argv[0]} runserver\n"
            f"and open {settings.BASE_URL}/"
        )

    def require_characters(self) -> None:
        """Refuse to show the sitemap of an empty book."""
        try:
            problem = "" if Character.objects.exists() else "there are no characters"
        except DatabaseError as error:
            problem = str(error)
        if problem:
            raise CommandError(
                f"There is nothing to show ({problem}). First, type: "
                f"{sys.executable} {sys.argv[0]} load_unicode"
            )

    def read(self, address: str) -> Iterator[str]:
        """Yield the URLs of a sitemap, through its index if it is one."""
        started = perf_counter()
        body = self.fetch(address)
        seconds = perf_counter() - started
        try:
            root = ElementTree.fromstring(body)  # noqa: S314  this site's own
        except ElementTree.ParseError as error:
            raise CommandError(f"{address} is not XML: {error}") from error
        # Alternates are not counted: each has an entry of its own.
        found = [found.text or "" for found in root.iterfind(f"*/{TAG}loc")]
        is_index = root.tag == f"{TAG}sitemapindex"
        self.stdout.write(
            f"{address}: {len(found):,} {'pages' if is_index else 'URLs'}, "
            f"{len(body):,} bytes, {seconds:.2f} s"
        )
        if not is_index:
            yield from found
            return
        for page in found:
            yield from self.read(page)

    def fetch(self, address: str) -> bytes:
        """Return the body of an address of this site, or say what is wrong with it."""
        path = urlsplit(address).path
        response: HttpResponseBase = self.client.get(path, secure=self.secure)
        if response.status_code != 200:
            raise CommandError(f"{address} answers {response.status_code}.")
        return response.getvalue()
