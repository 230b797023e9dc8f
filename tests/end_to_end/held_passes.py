"""Passes that hold a compile up or end it, named in pipelines as held_passes:function; compile workers import them."""

from __future__ import annotations

import ctypes
import os
import tempfile
import time
from pathlib import Path
from typing import Any


def flag(parent: int) -> Path:
    """The file by which a held worker of process `parent` says that it is there; it holds the worker's process id."""
    return Path(tempfile.gettempdir()) / f"mlirdev-held-{parent}"


def hold(module: Any, target: Any) -> None:
    """Stand still, for whoever comes first; later ones pass."""
    try:
        handle = os.open(flag(os.getppid()), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return
    os.write(handle, f"{os.getpid()}\n".encode())
    os.close(handle)
    time.sleep(120)


def segfault(module: Any, target: Any) -> None:
    """Read where there is nothing, as MLIR does when a handle outlives its op."""
    ctypes.string_at(0)
