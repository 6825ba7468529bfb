"""
Take the screenshots of README.md, by Chromium without a window.

From the repository's root: ``python example_project/take_screenshots.py``. It loads a
site of its own into a temporary folder, serves it, and writes the pictures to
``example_project/screenshots/``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.browser import browser  # noqa: E402 (found only now)
from tests.support.example_site import example_site, log_in  # noqa: E402 (found only now)

FOLDER = Path(__file__).parent / "screenshots"
#: By the name of the picture: what is shown, whether in the dark, and how high.
PAGES = {
    "languages": ("/sitemap-note-1.xml", True, 500),
    "site-map": ("/sitemap/", False, 600),
    "admin": ("/admin/sitemaps_plus/", False, 1100),
}


def main() -> None:
    """Take them all."""
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        # More characters than one file may list.
        example_site(Path(folder), "U+FFFF") as address,
        browser() as tab,
    ):
        log_in(tab, address)
        for name, (path, dark, height) in PAGES.items():
            tab.show_as(width=1000, height=height, dark=dark)
            tab.open(f"{address}{path}")
            tab.screenshot(FOLDER / f"{name}.png")
            sys.stdout.write(f"{FOLDER / name}.png\n")


if __name__ == "__main__":
    main()
