"""ultimate-sitemap-parser: write the URLs it finds, and what it complains of."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import own_address  # noqa: F401 (resolves the site's name)
from usp.objects.sitemap import InvalidSitemap
from usp.tree import sitemap_tree_for_homepage

address, report = sys.argv[1:]
# It also tries addresses that sites often have, such as /sitemap.xml.gz.
urls = [page.url for page in sitemap_tree_for_homepage(address).all_pages()]
# What robots.txt names must be without a fault.
named = sitemap_tree_for_homepage(address, use_known_paths=False)
complaints = [
    f"{sitemap.url}: {sitemap.reason}"
    for sitemap in named.all_sitemaps()
    if isinstance(sitemap, InvalidSitemap)
]
Path(report).write_text(json.dumps({"urls": urls, "complaints": complaints}))
