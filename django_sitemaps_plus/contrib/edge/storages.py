"""Files in a storage of the project: put whole, and with their headers."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage, storages

from django_sitemaps_plus.exceptions import SitemapsPlusError

#: The module of django-storages that takes headers for each object.
_S3 = "storages.backends.s3"
#: A file that is written aside, and the seconds after which nobody writes it any more.
_PART = re.compile(r"\.[0-9a-f]{32}\.part\Z")
_LONG_AGO = 3600.0


class StorageError(SitemapsPlusError):
    """A storage that cannot have what is published, and what to change."""


@dataclass(frozen=True)
class Headers:
    """What is sent with a file, where the storage stores that with it."""

    content_type: str
    encoding: str = ""
    cache_control: str = ""
    #: The headers of ``CACHE_TAGS``.
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_packed(self) -> bool:
        """Whether the file is gzipped: as its type, or as its encoding says."""
        return "gzip" in (self.encoding, self.content_type.rpartition("/")[2])


def takes_headers(storage: Storage) -> bool:
    """Return whether a storage stores headers with each file."""
    return any(kind.__module__ == _S3 for kind in type(storage).__mro__)


def storage_place(alias: str) -> str:
    """Return the folder or the bucket of a storage, as far as it says."""
    try:
        storage = storages[alias]
    except Exception:  # a backend raises whatever it likes
        return ""
    names = "bucket_name", "azure_container", "location"
    return "/".join(str(found) for one in names if (found := getattr(storage, one, "")))


class StorageTarget:
    """A storage to put files into: each replaces the former one of its name at once."""

    def __init__(self, alias: str) -> None:
        self.storage = storages[alias]
        self._with_headers: Any = None

    def put(self, name: str, body: bytes, headers: Headers) -> None:
        """Put a file; raises ``StorageError``, and whatever the storage raises."""
        content: Any = ContentFile(body)
        # Most storages take it from there.
        content.content_type = headers.content_type
        if isinstance(self.storage, FileSystemStorage):
            self._replace(self.storage, name, content)
            return
        storage: Storage = self.storage
        if takes_headers(storage):
            storage = self._for_s3(headers)
        saved = storage.save(name, content)
        if saved != name:
            storage.delete(saved)
            raise StorageError(
                f"The storage saved {saved!r} instead of {name!r}: it must replace "
                'files of the same name. Set its option, such as "file_overwrite": '
                "True for S3."
            )

    def _replace(self, storage: FileSystemStorage, name: str, content: Any) -> None:
        """Write a file aside and rename it: no reader sees half of it."""
        aside = f"{name}.{uuid.uuid4().hex}.part"
        try:
            aside = storage.save(aside, content)
            os.replace(storage.path(aside), storage.path(name))
        except OSError:
            # Of a full disk it is half a file.
            storage.delete(aside)
            raise

    def sweep(self, folder: str) -> None:
        """Delete what killed processes had written aside in a folder."""
        storage = self.storage
        if not isinstance(storage, FileSystemStorage):
            return
        with suppress(FileNotFoundError):
            _, names = storage.listdir(folder)
            for name in filter(_PART.search, names):
                path = os.path.join(folder, name)
                if os.path.getmtime(storage.path(path)) < time.time() - _LONG_AGO:
                    storage.delete(path)

    def _for_s3(self, headers: Headers) -> Storage:
        """Return the storage with the headers of one object."""
        if self._with_headers is None:
            # A copy of our own: the project may use the alias as well.
            self._with_headers = copy(self.storage)
        parameters: dict[str, Any] = {"ContentType": headers.content_type}
        if headers.encoding:
            parameters["ContentEncoding"] = headers.encoding
        if headers.cache_control:
            parameters["CacheControl"] = headers.cache_control
        project: Any = self.storage

        def of_object(name: str) -> dict[str, Any]:
            given = project.get_object_parameters(name)
            metadata = {**given.get("Metadata", {}), **headers.tags}
            own = {**parameters, "Metadata": metadata} if metadata else parameters
            return {**given, **own}

        self._with_headers.get_object_parameters = of_object
        found: Storage = self._with_headers
        return found
