"""
The documentation as a site: ``sphinx-build docs FOLDER``.

The pages are plain Markdown, which can be read as files, too. What a site needs besides
comes from here: the navigation, from the lists in ``index.md``, and pages that stand
elsewhere in the repository.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from os.path import relpath
from pathlib import Path

import django
from django.conf import settings
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

DOCS = Path(__file__).parent
ROOT = DOCS.parent
#: Pages of the site that are not in this folder.
ELSEWHERE = {
    DOCS / "project" / name: ROOT / path
    for name, path in (
        ("benchmarks.md", "benchmarks/README.md"),
        ("changelog.md", "CHANGELOG.md"),
        ("code-of-conduct.md", "CODE_OF_CONDUCT.md"),
        ("contributing.md", "CONTRIBUTING.md"),
        ("example.md", "example_project/README.md"),
        ("security.md", "SECURITY.md"),
    )
}

project = "django-sitemaps-plus"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
author = copyright = f"the contributors of {project}"  # noqa: A001 (Sphinx's name)
extensions = ["myst_parser", "sphinx.ext.autodoc"]
nitpicky = True
# The types of arguments: Django's, and those that the page does not describe.
nitpick_ignore_regex = [("py:.*", ".*")]

html_theme = "furo"
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_search_scorer = str(DOCS / "scorer.js")
html_show_sourcelink = html_copy_source = False

# As forges make them.
myst_heading_anchors = 4

autodoc_mock_imports = ["cms", "django_tenants", "wagtail"]
autodoc_member_order = "bysource"
autodoc_default_options = {"show-inheritance": True}
autodoc_typehints_format = "short"

settings.configure(INSTALLED_APPS=["django_sitemaps_plus"])
django.setup()


def _place_elsewhere(app: Sphinx) -> None:
    shutil.rmtree(DOCS / "project", ignore_errors=True)
    for page, source in ELSEWHERE.items():
        page.parent.mkdir(exist_ok=True)
        page.write_text(source.read_text())


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    page = DOCS / f"{docname}.md"
    source[0] = _links_of_the_site(source[0], page, ELSEWHERE.get(page, page))
    if docname == "index":
        source[0] += "".join(_navigation(source[0]))


def _links_of_the_site(text: str, page: Path, source: Path) -> str:
    """Return a page with the links of the site; its source has those of files."""
    shown = {original: page for page, original in ELSEWHERE.items()}

    def link(found: re.Match[str]) -> str:
        label, path, anchor = found.groups()
        target = (source.parent / path).resolve()
        target = shown.get(target, target)
        return f"{label}({relpath(target, page.parent)}{anchor})"

    return re.sub(r"(!?\[[^\]]+\])\((?!\w+:|#)([^)#\s]+)([^)\s]*)\)", link, text)


def _navigation(index: str) -> list[str]:
    """Return the index's lists as trees of contents, each with its heading."""
    sections = re.split(r"^## (.+)\n", index, flags=re.MULTILINE)[1:]
    trees = []
    for heading, text in zip(sections[::2], sections[1::2], strict=True):
        links = re.findall(r"^- \[(.+?)\]\((.+?)\.md\)", text, re.MULTILINE)
        pages = [f"{label.replace('`', '')} <{page}>" for label, page in links]
        options = ("```{toctree}", ":hidden:", f":caption: {heading}")
        trees.append("\n".join(["", *options, *pages, "```", ""]))
    return trees


class Anchors(SphinxTransform):
    """Let links lead to ``<a id="W011"></a>``, and the search find it."""

    default_priority = 10

    def apply(self) -> None:
        """Make each a target, and an entry of the index."""
        for node in list(self.document.findall(nodes.raw)):
            if found := re.fullmatch('<a id="(.+)">', node.astext()):
                (name,) = found.groups()
                entry = ("single", name, name, "main", None)
                target = nodes.target(ids=[name])
                node.next_node(siblings=True, descend=False).replace_self(target)
                node.replace_self(addnodes.index(entries=[entry]))
                self.document.myst_slugs[name] = (node.line, name, name)


def setup(app: Sphinx) -> None:
    """Hook in."""
    app.add_transform(Anchors)
    app.connect("builder-inited", _place_elsewhere)
    app.connect("source-read", _read)
