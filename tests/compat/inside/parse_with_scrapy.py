"""Scrapy's parser of sitemaps: write what it reads in a file, of which kind."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from scrapy.utils.sitemap import Sitemap

given, report = map(Path, sys.argv[1:])
found = Sitemap(given.read_bytes())
Path(report).write_text(json.dumps({"kind": found.type, "entries": list(found)}))
