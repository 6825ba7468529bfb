"""
The bytes of pages, made once per version and kept.

They lie gzipped in the storage that ``STORAGES`` calls "sitemaps" (a folder, S3,
…) or, without one, in a bounded folder of this host's temporary directory. A
file's name holds the checksum of its contents: what is there under a name is
right, and is never written over.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import logging
import os
import shutil
import stat
import tempfile
import uuid
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings as django_settings
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage, storages
from django.core.signals import setting_changed
from django.db import connections, router

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError, UnwritableFolder
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.sitemaps.site import SiteAddress

ALIAS = "sitemaps"

logger = logging.getLogger("django_sitemaps_plus")

_REMEDY = (
    "Make room there, or let this process write there, or set "
    f"STORAGES[{ALIAS!r}] to another storage."
)


class Shelf(Protocol):
    """Where files are kept, by name."""

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes; None if there is no such file."""

    def write(self, name: str, data: bytes) -> None:
        """Put a whole file there at once; one that is there already stays."""

    def keep_only(self, folder: str, keep: Callable[[str], bool]) -> None:
        """Delete the files of ``folder`` whose names ``keep`` does not want."""

    def remove(self, folder: str) -> None:
        """Delete all files in ``folder``, and in the folders in it."""


class Folder:
    """
    A folder of this host, written by temporary file and rename.

    With ``most`` bytes, the oldest files make room for new ones. The folder is looked
    through once for each tenth of that written, so every process that writes may pass
    it by a tenth.
    """

    def __init__(self, root: Path, most: int | None = None) -> None:
        self._root = root
        self._most = most
        #: Bytes that may be written before the folder is looked through again.
        self._left = 0

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes; None if there is no such file."""
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Put a whole file there at once; one that is there already stays."""
        path = self._root / name
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{uuid.uuid4().hex}")
        try:
            temporary.write_bytes(data)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        if self._most is not None:
            self._left -= len(data)
            if self._left < 0:
                self._left = self._make_room(self._most, path)

    def keep_only(self, folder: str, keep: Callable[[str], bool]) -> None:
        """Delete the files of ``folder`` whose names ``keep`` does not want."""
        with contextlib.suppress(FileNotFoundError):
            for path in (self._root / folder).iterdir():
                if not path.name.startswith(".") and not keep(path.name):
                    path.unlink(missing_ok=True)

    def remove(self, folder: str) -> None:
        """Delete ``folder`` and all that is in it."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._root / folder)

    def _make_room(self, most: int, newest: Path) -> int:
        """Delete the oldest files of a full folder; returns how much may be added."""
        step = most // 10
        files = []
        for path in self._root.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                if stat.S_ISREG(status.st_mode):
                    files.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in files)
        if total <= most:
            return min(step, most - total)
        for _, size, path in sorted(files, key=lambda entry: entry[0]):
            if total <= most - step:
                break
            if path != newest:
                path.unlink(missing_ok=True)
                total -= size
        return step


class Stored:
    """Any Django storage, for example S3: one put for each file."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes; None if there is no such file."""
        try:
            with self._storage.open(name) as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Put a whole file there; one that is there already stays."""
        if self._storage.exists(name):
            return
        written = self._storage.save(name, ContentFile(data))
        if written != name:
            # Another process wrote the same bytes first.
            self._storage.delete(written)

    def keep_only(self, folder: str, keep: Callable[[str], bool]) -> None:
        """Delete the files of ``folder`` whose names ``keep`` does not want."""
        try:
            _, names = self._storage.listdir(folder)
        except FileNotFoundError:
            return
        for name in names:
            if not keep(name):
                self._storage.delete(f"{folder}/{name}")

    def remove(self, folder: str) -> None:
        """Delete all files in ``folder``, and in the folders in it."""
        try:
            folders, names = self._storage.listdir(folder)
        except FileNotFoundError:
            return
        for name in names:
            self._storage.delete(f"{folder}/{name}")
        for name in folders:
            self.remove(f"{folder}/{name}")


def file_name(name: str, number: int, checksum: str, place: SiteAddress) -> str:
    """Return the name under which a page's bytes are kept for ``place``."""
    return f"{name}/{number}/{checksum}-{place.tag}.xml.gz"


def read(name: str) -> bytes | None:
    """
    Return a kept file's bytes; None if it is not there, or cannot be read.

    What cannot be read is logged, and can be made again.
    """
    try:
        return shelf().read(name)
    except Exception as error:  # a storage raises errors of its own
        logger.error("%s cannot be read: %s", name, _advised(error))
        return None


def keep(name: str, data: bytes) -> str:
    """
    Keep a whole file; returns why it could not be kept, empty if it is.

    That is logged too: whoever has the bytes can send them all the same.
    """
    try:
        shelf().write(name, data)
    except Exception as error:  # a storage raises errors of its own
        problem = (
            f"{name} cannot be kept: {_advised(error)} Until then it is made for each "
            "request."
        )
        logger.error(problem)
        return problem
    return ""


def tidy(folder: str, wanted: Callable[[str], bool]) -> None:
    """Delete the files of ``folder`` whose names are not ``wanted``, if possible."""
    try:
        shelf().keep_only(folder, wanted)
    except Exception as error:  # a storage raises errors of its own
        logger.warning(
            "What was kept before in %s cannot be deleted: %s", folder, _said(error)
        )


def remove(folder: str) -> bool:
    """Delete a folder and all that is in it; tells whether it could be done."""
    try:
        shelf().remove(folder)
    except Exception as error:  # a storage raises errors of its own
        logger.warning("%s cannot be deleted: %s", folder, _said(error))
        return False
    return True


def _advised(error: Exception) -> str:
    """Say what happened, and what to do about it."""
    if isinstance(error, ConfigurationError):
        return str(error)
    return f"{_said(error)}. {_REMEDY}"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def shelf() -> Shelf:
    """
    Return where this process keeps its files.

    Raises ``ConfigurationError`` if the temporary folder belongs to someone else,
    ``UnwritableFolder`` if it cannot be made.
    """
    return _shelf(_database())


def try_temporary_folder() -> None:
    """Raise ``UnwritableFolder`` if pages would be kept where nobody can write."""
    if ALIAS in django_settings.STORAGES:
        return
    path = temporary_folder(_database())
    try:
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise _unwritable(error) from error


def _unwritable(error: OSError) -> UnwritableFolder:
    return UnwritableFolder(
        f"the temporary folder for kept pages cannot be written: {error}. Let this "
        f"user write there, or set STORAGES[{ALIAS!r}] to a storage of the project's "
        "own."
    )


@lru_cache(maxsize=8)
def _shelf(database: str) -> Shelf:
    if ALIAS in django_settings.STORAGES:
        storage = storages[ALIAS]
        # Exactly Django's class: one made of it may save and open in its own way.
        if type(storage) is FileSystemStorage:
            return Folder(Path(storage.location))
        return Stored(storage)
    return Folder(temporary_folder(database), most=get_settings().KEEP_BYTES)


def _database() -> str:
    """Say which database the ledger is in: a test's is another than the site's."""
    settings = connections[router.db_for_write(Page)].settings_dict
    return " ".join(str(settings[name]) for name in ("ENGINE", "NAME", "HOST", "PORT"))


def temporary_folder(database: str) -> Path:
    """
    Return the folder in the temporary directory for a ledger, made if need be.

    Nobody else may write there, or they could choose what the site serves. Raises
    ``ConfigurationError`` if they may, ``UnwritableFolder`` if it cannot be made.
    """
    project = hashlib.blake2b(
        f"{django_settings.SECRET_KEY}\n{database}".encode(), digest_size=6
    ).hexdigest()
    user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    try:
        path = Path(tempfile.gettempdir()) / f"sitemaps-plus-{user}-{project}"
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        status = path.lstat()
    except OSError as error:
        raise _unwritable(error) from error
    ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    if not stat.S_ISDIR(status.st_mode) or not ours or status.st_mode & 0o077:
        raise ConfigurationError(
            f"{path} is not a folder that only this user can open. Remove it, or set "
            f"STORAGES[{ALIAS!r}] to a storage of the project's own."
        )
    return path


def _forget(*, setting: str, **kwargs: Any) -> None:
    """Choose the place again after a test has overridden the settings."""
    if setting in ("STORAGES", "SITEMAPS_PLUS", "SECRET_KEY"):
        _shelf.cache_clear()


setting_changed.connect(_forget, dispatch_uid="django_sitemaps_plus.publishing.storage")
