"""Bytes by key on disk, shared by processes: compiled objects, pickled plans.

    folder/ab/abcd….entry = MAGIC, sha256(key, data), data

A reader never sees a half-written entry (temporary file, then rename), and believes none without its
checksum. Entries beyond the limit go, the longest unread first; reading renews an entry's time stamp.
The cache never fails its user: a damaged entry is a miss, a folder that can't be used is no cache, and
each says so through `warn`.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

MAGIC = b"mlirdev cache entry 1\n"
_HEADER_BYTES = len(MAGIC) + hashlib.sha256().digest_size

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{3,64}")
_SUFFIX, _TEMPORARY = ".entry", ".part"
_TEMPORARY_LIFE_S = 3600
# Evict to below the limit by this much, so that not every put evicts.
_EVICT_TO = 0.9
_REMEDY = "going on without it; MLIRDEV_CACHE_DIR names another"
# Other processes add entries too: the folder is measured again after this many bytes of our own.
_MEASURE_AGAIN = 1 / 16


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=3)


class ObjectCache:
    """A bounded cache in `folder`, which is made on the first put; `limit_bytes` counts data and headers."""

    def __init__(self, folder: str | os.PathLike[str], limit_bytes: int, warn: Callable[[str], None] = _warn) -> None:
        self.folder = Path(folder)
        self.limit_bytes = limit_bytes
        self._warn = warn
        self._told: set[str] = set()
        self._can_write = True
        self._size: int | None = None
        self._written_since = 0

    def get(self, key: str) -> bytes | None:
        """The data last put under the key, or None."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._tell("read", f"the cache in {self.folder} can't be read ({error.strerror}); {_REMEDY}")
            return None
        if content[:_HEADER_BYTES] != _header(key, content[_HEADER_BYTES:]):
            self._tell(key, f"the cache entry {path} is damaged; it is removed and made again")
            self._remove(path)
            return None
        self._renew(path)
        return content[_HEADER_BYTES:]

    def put(self, key: str, data: bytes) -> None:
        """Keep the data under the key, for this and other processes."""
        size = _HEADER_BYTES + len(data)
        if not self._can_write or size > self.limit_bytes:
            return
        try:
            self._write(self._path(key), _header(key, data) + data)
            self._account(size)
        except OSError as error:
            self._can_write = False
            self._tell("write", f"the cache in {self.folder} can't be written ({error.strerror}); {_REMEDY}")

    def _path(self, key: str) -> Path:
        name = key if _PLAIN_NAME.fullmatch(key) else hashlib.sha256(key.encode()).hexdigest()
        return self.folder / name[:2] / (name + _SUFFIX)

    def _tell(self, subject: str, message: str) -> None:
        """Warn, once per subject."""
        if subject not in self._told:
            self._told.add(subject)
            self._warn(message)

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(suffix=_TEMPORARY, dir=path.parent)
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise

    def _renew(self, path: Path) -> None:
        if not self._can_write:
            return
        try:
            os.utime(path)
        except OSError:  # read-only, or evicted by another process just now: the data read is good all the same
            return

    @staticmethod
    def _remove(path: Path) -> None:
        try:
            path.unlink()
        except OSError:  # gone already, or read-only: it stays a miss
            return

    # --- the limit ---------------------------------------------------------------------------------

    def _account(self, size: int) -> None:
        self._written_since += size
        if self._size is None or self._written_since > self.limit_bytes * _MEASURE_AGAIN:
            self._size, self._written_since = sum(bytes_ for _, bytes_, _ in self._entries()), 0
        else:
            self._size += size
        if self._size > self.limit_bytes:
            self._evict()

    def _evict(self) -> None:
        entries = sorted(self._entries())
        self._size, self._written_since = sum(bytes_ for _, bytes_, _ in entries), 0
        for _, bytes_, path in entries:
            if self._size <= self.limit_bytes * _EVICT_TO:
                return
            self._remove(path)
            self._size -= bytes_

    def _entries(self) -> Iterator[tuple[float, int, Path]]:
        """(last read, bytes, path) of every entry; what crashed writers left behind is removed."""
        forgotten = time.time() - _TEMPORARY_LIFE_S
        for path in self.folder.glob("??/*"):
            try:
                status = path.stat()
            except FileNotFoundError:  # evicted by another process meanwhile
                continue
            if path.suffix == _SUFFIX:
                yield status.st_mtime, status.st_size, path
            elif path.suffix == _TEMPORARY and status.st_mtime < forgotten:
                self._remove(path)


def _header(key: str, data: bytes) -> bytes:
    return MAGIC + hashlib.sha256(key.encode() + b"\0" + data).digest()
