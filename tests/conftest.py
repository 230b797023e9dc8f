"""What all tests share: one cache folder of their own, so that a kernel is compiled once in the whole session."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

_folder: str | None = None


def pytest_configure(config: pytest.Config) -> None:
    """Neither use nor fill the user's cache; the workers of pytest-xdist inherit the folder."""
    global _folder
    if "MLIRDEV_CACHE_DIR" not in os.environ:
        _folder = os.environ["MLIRDEV_CACHE_DIR"] = tempfile.mkdtemp(prefix="mlirdev-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if _folder is not None:
        shutil.rmtree(_folder, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First the tests that fork: once autograd has started threads in a process, its forks can't run autograd."""
    items.sort(key=lambda item: not hasattr(getattr(item, "module", None), "isolated"))


@pytest.fixture
def happened() -> Iterator[list[Any]]:
    """The events of this test, as they come."""
    from mlirdev import events

    seen: list[events.Event] = []
    unsubscribe = events.subscribe(seen.append)
    yield seen
    unsubscribe()
