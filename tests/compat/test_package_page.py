"""What a package index shows of the README: no link or picture of it is dead."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest
from lxml import html

pytestmark = pytest.mark.dist

#: Of a project that has one.
HOME = "https://github.com/someone/something"


@pytest.fixture
def source(dist: Path, tmp_path: Path) -> Path:
    """The unpacked sdist."""
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "source", filter="data")
    (folder,) = (tmp_path / "source").iterdir()
    return folder


def metadata(folder: Path) -> Message:
    """Return what the wheel in a folder says of itself."""
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        return message_from_bytes(archive.read(name))


def links(found: Message, folder: Path) -> list[str]:
    """Return where the page's links and pictures lead; those within it exist."""
    page = folder / "page.md"
    page.write_bytes(found.get_payload(decode=True))
    rendered = subprocess.run(
        [sys.executable, "-m", "readme_renderer", str(page)],
        capture_output=True,
        text=True,
        check=True,
    )
    root = html.fromstring(rendered.stdout)
    anchors = {f"#{name}" for name in root.xpath("//@id")}
    leads = root.xpath("//a/@href | //img/@src")
    return [lead for lead in leads if lead not in anchors]


def test_its_links_are_whole_addresses(dist: Path, tmp_path: Path) -> None:
    found = metadata(dist)
    addresses = links(found, tmp_path)
    addresses += [url.partition(", ")[2] for url in found.get_all("Project-URL", [])]
    assert all(address.startswith("https://") for address in addresses), addresses
    assert "Quick start" in found.get_payload()


def test_they_lead_to_the_files_of_the_version(source: Path, tmp_path: Path) -> None:
    """As soon as pyproject.toml names the project's home."""
    project = source / "pyproject.toml"
    text, times = re.subn(
        r'^home = ".*"$', f'home = "{HOME}"', project.read_text(), flags=re.MULTILINE
    )
    assert times == 1
    project.write_text(text)
    subprocess.run(
        [sys.executable, "-m", "build", "--quiet", "--wheel", "--no-isolation"],
        cwd=source,
        check=True,
    )
    found = metadata(source / "dist")
    tree = re.compile(rf"{HOME}/(?:blob|raw)/v{re.escape(found['Version'])}/")
    urls = dict(url.split(", ") for url in found.get_all("Project-URL", []))
    assert urls["Source"] == HOME
    addresses = [*links(found, tmp_path), urls["Documentation"], urls["Changelog"]]
    own = [address for address in addresses if address.startswith(HOME)]
    assert f"{HOME}/blob/v{found['Version']}/docs/quickstart.md" in own
    for address in own:
        path, _, _ = tree.sub("", address).partition("#")
        assert (source / path).is_file(), address
