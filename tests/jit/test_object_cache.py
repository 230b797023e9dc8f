"""The disk cache: round trips, two processes, damage, the limit, folders that can't be used."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlirdev.jit.object_cache import ObjectCache


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def cache(tmp_path: Path, told: list[str]) -> ObjectCache:
    return ObjectCache(tmp_path / "cache", 1 << 20, told.append)


def entries(cache: ObjectCache) -> list[Path]:
    return sorted(cache.folder.glob("??/*"))


@pytest.mark.parametrize("key", ["0123abcd", "k", "", "../../outside", "a b/c\n", "x" * 300])
@pytest.mark.parametrize("data", [b"", b"object", bytes(range(256)) * 100])
def test_round_trip(cache: ObjectCache, key: str, data: bytes) -> None:
    assert cache.get(key) is None
    cache.put(key, data)
    assert cache.get(key) == data
    assert ObjectCache(cache.folder, 1 << 20).get(key) == data
    assert [p.parent.parent for p in entries(cache)] == [cache.folder]


def test_the_last_put_wins(cache: ObjectCache) -> None:
    cache.put("key", b"old")
    cache.put("key", b"new")
    assert cache.get("key") == b"new"
    assert len(entries(cache)) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content[:5],
        lambda content: b"",
        lambda content: content[:-1] + b"?",
        lambda content: b"another program's file",
        lambda content: content + b"more",
    ],
)
def test_a_damaged_entry_is_a_miss_told_once(cache: ObjectCache, told: list[str], damage) -> None:
    cache.put("key", b"data")
    (path,) = entries(cache)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("key") is None
    assert not path.exists()
    assert cache.get("key") is None
    assert len(told) == 1
    assert "damaged" in told[0]
    cache.put("key", b"again")
    assert cache.get("key") == b"again"


def test_an_entry_under_another_key_is_a_miss(cache: ObjectCache, told: list[str]) -> None:
    cache.put("key1", b"data")
    (path,) = entries(cache)
    os.replace(path, path.with_name("key2.entry"))
    assert cache.get("key2") is None
    assert "damaged" in told[0]


def test_the_longest_unread_goes_first(cache: ObjectCache) -> None:
    cache.limit_bytes = 10_600
    for i in range(10):
        cache.put(f"key{i}", bytes(1000))
        os.utime(cache._path(f"key{i}"), (i, i))
    assert cache.get("key0") is not None  # read now, so the newest
    cache.put("key10", bytes(1000))
    assert cache.get("key0") is not None
    assert cache.get("key1") is None
    assert cache.get("key10") is not None
    assert sum(p.stat().st_size for p in entries(cache)) <= 10_600


def test_the_limit_holds_over_many_puts(cache: ObjectCache) -> None:
    cache.limit_bytes = 50_000
    for i in range(300):
        cache.put(f"key{i}", bytes(i * 7 % 3000))
        assert sum(p.stat().st_size for p in entries(cache)) <= 50_000
    assert len(entries(cache)) > 10


def test_what_is_larger_than_the_limit_is_not_kept(cache: ObjectCache) -> None:
    cache.limit_bytes = 100
    cache.put("key", bytes(100))
    assert cache.get("key") is None


def test_what_a_crashed_writer_left_is_removed(cache: ObjectCache) -> None:
    cache.put("key", b"data")
    left = entries(cache)[0].with_name("left.part")
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    ObjectCache(cache.folder, 1 << 20).put("other", b"data")
    assert not left.exists()


def test_a_folder_that_is_a_file_is_no_cache(tmp_path: Path, told: list[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = ObjectCache(tmp_path / "file", 1 << 20, told.append)
    for key in ("key1", "key2"):
        assert cache.get(key) is None
        cache.put(key, b"data")
    assert len(told) == 1
    assert "can't be written" in told[0]


def test_a_read_only_folder_is_read_and_told_once(
    cache: ObjectCache, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write everywhere, so the system's refusal is played."""

    def refuse(*arguments: object, **keywords: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    cache.put("key", b"data")
    for name in ("utime", "mkdir", "unlink", "open"):
        monkeypatch.setattr(os, name, refuse)
    cache = ObjectCache(cache.folder, 1 << 20, told.append)
    assert cache.get("key") == b"data"
    cache.put("key1", b"data")
    cache.put("key2", b"data")
    assert cache.get("key") == b"data"
    assert len(told) == 1
    assert "Read-only" in told[0]


def test_a_folder_that_may_not_be_read_is_no_cache(
    cache: ObjectCache, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert cache.get("key1") is None
    assert cache.get("key2") is None
    (line,) = told
    assert line.startswith(f"the cache in {cache.folder} can't be read (Permission denied); going on without it")


def test_a_full_disk_is_no_cache(cache: ObjectCache, told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, destination: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.put("key1", b"data")
    cache.put("key2", b"data")
    (line,) = told
    assert line.startswith(f"the cache in {cache.folder} can't be written (No space left on device); going on without")
    assert "MLIRDEV_CACHE_DIR" in line
    assert entries(cache) == []


def test_the_default_warning_is_a_warning(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, 1 << 20)
    cache.put("key", b"data")
    entries(cache)[0].write_bytes(b"damaged")
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert cache.get("key") is None


HAMMER = """
import sys
from mlirdev.jit.object_cache import ObjectCache

folder, seed = sys.argv[1], int(sys.argv[2])
told = []
cache = ObjectCache(folder, 40_000, told.append)
for i in range(500):
    number, other = (i * 13 + seed) % 60, (i * 7) % 60
    cache.put(f"key{number}", str(number).encode() * 300)
    found = cache.get(f"key{other}")
    if found not in (None, str(other).encode() * 300):
        told.append(f"wrong data under key{other}")
print(told)
"""


def test_two_processes_share_a_folder(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", HAMMER, str(tmp_path), str(seed)], stdout=subprocess.PIPE, text=True)
        for seed in (0, 1)
    ]
    assert [process.communicate()[0].strip() for process in processes] == ["[]", "[]"]
    assert sum(p.stat().st_size for p in tmp_path.glob("??/*")) <= 50_000
