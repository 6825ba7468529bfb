"""What a package page shows: the README with links that work there, and addresses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: A link or a picture of Markdown that leads to a file of the repository.
RELATIVE = re.compile(r"(!?)\[([^]]*)\]\((?!https?://|#)([^)\s]+)\)")


class PackagePage(MetadataHookInterface):
    """Fill in what pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        home, tag = self.config["home"], f"v{metadata['version']}"
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_links(readme, home, tag),
        }
        if home:
            metadata["urls"] = {
                "Documentation": f"{home}/blob/{tag}/docs/index.md",
                "Changelog": f"{home}/blob/{tag}/CHANGELOG.md",
                "Source": home,
                "Issues": f"{home}/issues",
            }


def with_links(text: str, home: str, tag: str) -> str:
    """Make links absolute; without a home, leave their words only."""

    def replaced(match: re.Match[str]) -> str:
        mark, words, path = match.groups()
        if home:
            return f"{mark}[{words}]({home}/{'raw' if mark else 'blob'}/{tag}/{path})"
        return "" if mark else words

    return RELATIVE.sub(replaced, text)
