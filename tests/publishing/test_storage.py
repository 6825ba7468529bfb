"""Where bytes are kept, and that nobody else can put them there."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, InMemoryStorage
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.publishing import compression
from django_sitemaps_plus.publishing import storage as page_storage
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, urlset


@pytest.fixture(params=["folder", "storage", "bounded folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> page_storage.Shelf:
    """Each kind of place."""
    if request.param == "storage":
        return page_storage.Stored(InMemoryStorage())
    most = 1_000_000 if request.param == "bounded folder" else None
    return page_storage.Folder(tmp_path / "kept", most)


# Any place


def test_what_is_written_can_be_read(place: page_storage.Shelf) -> None:
    place.write("статьи/1/a.xml.gz", b"abc")
    assert place.read("статьи/1/a.xml.gz") == b"abc"


def test_what_is_not_there_is_none(place: page_storage.Shelf) -> None:
    assert place.read("a/1/x") is None
    place.write("a/1/y", b"")
    assert place.read("a/1/x") is None
    assert place.read("a/1/y") == b""


def test_a_file_is_never_written_over(place: page_storage.Shelf) -> None:
    place.write("a/1/x", b"first")
    place.write("a/1/x", b"second")
    assert place.read("a/1/x") == b"first"
    place.keep_only("a/1", lambda name: name == "x")
    assert place.read("a/1/x") == b"first"


def test_only_what_is_wanted_stays_and_other_folders_are_left_alone(
    place: page_storage.Shelf,
) -> None:
    for name in ("a/1/old", "a/1/new", "a/2/old", "b/1/old"):
        place.write(name, b"x")
    place.keep_only("a/1", lambda name: name == "new")
    assert place.read("a/1/old") is None
    for name in ("a/1/new", "a/2/old", "b/1/old"):
        assert place.read(name) == b"x"


def test_tidying_a_folder_that_is_not_there_does_nothing(
    place: page_storage.Shelf,
) -> None:
    place.keep_only("nothing/here", lambda name: False)


def test_of_two_who_write_at_once_one_file_stays() -> None:
    class Racing(InMemoryStorage):
        """Says once too often that there is no such file."""

        late = True

        def exists(self, name: str) -> bool:
            if self.late:
                self.late = False
                return False
            return super().exists(name)

    storage = Racing()
    with ContentFile(b"first") as content:
        storage.save("a/1/x", content)
    storage.late = True
    page_storage.Stored(storage).write("a/1/x", b"second")
    assert storage.listdir("a/1") == ([], ["x"])
    assert page_storage.Stored(storage).read("a/1/x") == b"first"


# A folder


def test_no_reader_sees_a_file_that_is_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = page_storage.Folder(tmp_path)
    renamed = os.replace

    def replace(source: Path, target: Path) -> None:
        assert folder.read("a/1/x") is None
        assert Path(source).read_bytes() == b"whole"
        folder.keep_only("a/1", lambda name: False)  # another writer tidies up
        renamed(source, target)

    monkeypatch.setattr(os, "replace", replace)
    folder.write("a/1/x", b"whole")
    assert folder.read("a/1/x") == b"whole"


def test_a_write_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        page_storage.Folder(tmp_path).write("a/x", b"whole")
    assert list((tmp_path / "a").iterdir()) == []


def test_the_oldest_files_make_room(tmp_path: Path) -> None:
    folder = page_storage.Folder(tmp_path, most=25)
    for age, name in enumerate(["a/1", "a/2", "a/3"]):
        folder.write(name, b"0123456789")
        if (path := tmp_path / name).exists():
            os.utime(path, (age, age))
    assert [folder.read(f"a/{n}") is not None for n in (1, 2, 3)] == [
        False,
        True,
        True,
    ]


def test_a_file_larger_than_all_the_room_is_kept_until_the_next(
    tmp_path: Path,
) -> None:
    folder = page_storage.Folder(tmp_path, most=5)
    folder.write("a/1", b"0123456789")
    assert folder.read("a/1") == b"0123456789"


def test_a_long_build_looks_through_the_folder_now_and_then_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each write it would cost a build of 10,000 files a hundred million looks."""
    walk, walks = Path.rglob, []

    def rglob(self: Path, pattern: str) -> Iterator[Path]:
        walks.append(self)
        return iter(walk(self, pattern))

    monkeypatch.setattr(Path, "rglob", rglob)
    folder = page_storage.Folder(tmp_path, most=100_000)
    for number in range(1_000):
        folder.write(f"a/{number}/x", bytes(1_000))
        if number == 50:
            assert len(walks) <= 6, "nor before it is full"
    assert len(walks) <= 100
    sizes = [path.stat().st_size for path in walk(tmp_path, "*") if path.is_file()]
    assert 90_000 <= sum(sizes) <= 100_000
    assert folder.read("a/999/x") is not None


def test_several_processes_that_write_do_not_pass_the_bound_by_much(
    tmp_path: Path,
) -> None:
    processes = [page_storage.Folder(tmp_path, most=100_000) for _ in range(3)]
    for number in range(600):
        processes[number % 3].write(f"a/{number}/x", bytes(1_000))
        if number % 20 == 0:
            sizes = [path.stat().st_size for path in tmp_path.rglob("x")]
            assert sum(sizes) <= 130_000
    assert sum(path.stat().st_size for path in tmp_path.rglob("x")) >= 70_000


# Which place


@pytest.fixture
def no_storage(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without STORAGES["sitemaps"]; returns its temporary directory."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    settings.STORAGES = {
        name: value for name, value in settings.STORAGES.items() if name != "sitemaps"
    }
    return temporary


@pytest.mark.django_db
@pytest.mark.parametrize(
    "backend",
    [
        "django.core.files.storage.FileSystemStorage",
        "django.core.files.storage.InMemoryStorage",
    ],
)
def test_pages_are_kept_in_the_storage_of_the_settings(
    client: Client,
    register: Any,
    settings: Any,
    tmp_path: Path,
    backend: str,
    django_assert_num_queries: Any,
) -> None:
    settings.STORAGES = {
        **settings.STORAGES,
        "sitemaps": {"BACKEND": backend, "OPTIONS": {"location": str(tmp_path / "s")}},
    }
    register("article", ArticleSitemap)
    articles(2)
    first = client.get("/sitemap-article-1.xml")
    with django_assert_num_queries(1):
        assert client.get("/sitemap-article-1.xml").content == first.content
    files = [path for path in (tmp_path / "s").rglob("*") if path.is_file()]
    if backend.endswith("FileSystemStorage"):
        (file,) = files
        assert gzip.decompress(file.read_bytes()) == first.content
    else:
        assert files == []


@pytest.mark.django_db
def test_without_a_storage_pages_are_kept_in_a_folder_of_this_user_only(
    client: Client, register: Any, no_storage: Path
) -> None:
    register("article", ArticleSitemap)
    articles(2)
    assert len(urlset(client.get("/sitemap-article-1.xml"))) == 2
    (folder,) = no_storage.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(list(folder.rglob("*.gz"))) == 1


@pytest.mark.django_db
def test_the_bytes_that_may_be_kept_there_can_be_set(
    client: Client, register: Any, no_storage: Path, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "KEEP_BYTES": 1}
    register("article", ArticleSitemap)
    register("other", type("Other", (ArticleSitemap,), {}))
    articles(2)
    client.get("/sitemap-article-1.xml")
    client.get("/sitemap-other-1.xml")
    (file,) = no_storage.rglob("*.gz")
    assert "other" in str(file)


def test_each_project_and_each_database_has_a_folder_of_its_own(
    no_storage: Path, settings: Any
) -> None:
    folders = {
        page_storage.temporary_folder("one"),
        page_storage.temporary_folder("two"),
    }
    settings.SECRET_KEY = "another project's"
    folders.add(page_storage.temporary_folder("one"))
    assert len(folders) == 3
    assert page_storage.temporary_folder("one") in folders


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o755])
def test_a_folder_that_others_can_open_is_refused(no_storage: Path, mode: int) -> None:
    folder = page_storage.temporary_folder("one")
    folder.chmod(mode)
    with pytest.raises(ConfigurationError) as caught:
        page_storage.temporary_folder("one")
    assert str(caught.value) == (
        f"{folder} is not a folder that only this user can open. Remove it, or set "
        "STORAGES['sitemaps'] to a storage of the project's own."
    )


def test_a_link_to_somewhere_else_is_refused(no_storage: Path, tmp_path: Path) -> None:
    folder = page_storage.temporary_folder("one")
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError):
        page_storage.temporary_folder("one")


def test_a_file_in_the_folder_s_place_is_refused(no_storage: Path) -> None:
    folder = page_storage.temporary_folder("one")
    folder.rmdir()
    folder.write_text("mine")
    with pytest.raises(ConfigurationError):
        page_storage.temporary_folder("one")


def test_a_storage_of_files_is_used_as_a_folder(settings: Any, tmp_path: Path) -> None:
    """So that a file appears at once, by renaming, not while it is written."""
    place = page_storage.shelf()
    assert isinstance(place, page_storage.Folder)
    place.write("a/1/x", b"abc")
    storage = FileSystemStorage(**settings.STORAGES["sitemaps"]["OPTIONS"])
    with storage.open("a/1/x") as file:
        assert file.read() == b"abc"


class Sealed(FileSystemStorage):
    """A project's own way to keep files: no byte lies on the disk as it is."""

    def _save(self, name: str, content: Any) -> str:
        sealed = bytes(byte ^ 0xFF for byte in content.read())
        return str(super()._save(name, ContentFile(sealed)))

    def _open(self, name: str, mode: str = "rb") -> Any:
        with super()._open(name, mode) as file:
            return ContentFile(bytes(byte ^ 0xFF for byte in file.read()))


@pytest.mark.django_db
def test_a_storage_made_of_django_s_saves_and_opens_in_its_own_way(
    client: Client, register: Any, settings: Any, tmp_path: Path
) -> None:
    settings.STORAGES = {
        **settings.STORAGES,
        "sitemaps": {
            "BACKEND": f"{__name__}.Sealed",
            "OPTIONS": {"location": str(tmp_path / "sealed")},
        },
    }
    register("article", ArticleSitemap)
    articles(2)
    first = client.get("/sitemap-article-1.xml")
    assert client.get("/sitemap-article-1.xml").content == first.content
    (file,) = (path for path in (tmp_path / "sealed").rglob("*") if path.is_file())
    assert gzip.decompress(bytes(byte ^ 0xFF for byte in file.read_bytes())) == (
        first.content
    )


# gzip


@given(st.lists(st.binary(max_size=2000), max_size=5))
def test_what_is_packed_piece_by_piece_is_unpacked_whole(pieces: list[bytes]) -> None:
    packer = compression.compressor()
    packed = b"".join(packer.compress(piece) for piece in pieces) + packer.flush()
    assert compression.unpack(packed) == gzip.decompress(packed) == b"".join(pieces)


def test_the_same_bytes_are_packed_the_same() -> None:
    def pack() -> bytes:
        packer = compression.compressor()
        return packer.compress(b"abc" * 1000) + packer.flush()

    assert pack() == pack()
