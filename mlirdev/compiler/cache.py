"""What outlives a process: objects, plans and verdicts in one folder, shared by processes.

A folder that can't be written, a full disk or a damaged entry cost a compile and a word, never a result.
"""

from __future__ import annotations

import pickle
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from mlirdev.compiler.stages import Back
from mlirdev.options import options
from mlirdev.plan import Plan, Signature

if TYPE_CHECKING:
    from mlirdev.jit import ObjectCache


@dataclass(frozen=True)
class CompiledPlan:
    """A graph's plan with the signatures and names of its kernels, by kernel key; `host` says why a node runs on the
    host."""

    plan: Plan
    signatures: dict[str, Signature]
    names: dict[str, str]
    host: dict[int, str]


def cache_folder() -> Path:
    """The folder of `MLIRDEV_CACHE_DIR`, else the user's cache folder, else a temporary one."""
    if options.cache_dir:
        return Path(options.cache_dir)
    try:
        return Path(platformdirs.user_cache_dir("mlirdev"))
    except RuntimeError:  # no home folder
        return Path(tempfile.gettempdir()) / "mlirdev"


def is_empty() -> bool:
    """Whether nothing is kept, so that whatever comes must be compiled."""
    folder = cache_folder()
    return not options.cache or not folder.is_dir() or next(folder.iterdir(), None) is None


def load_object(key: str) -> Back | None:
    """A kernel's object, if the cache has it."""
    entry = _load(f"kernel-{key}")
    return entry if isinstance(entry, Back) else None


def store_object(key: str, back: Back) -> None:
    _store(f"kernel-{key}", back)


def load_plan(key: str) -> CompiledPlan | None:
    """A graph's plan, if the cache has it."""
    entry = _load(f"plan-{key}")
    return entry if isinstance(entry, CompiledPlan) else None


def store_plan(key: str, compiled: CompiledPlan) -> None:
    _store(f"plan-{key}", compiled)


def load_verdicts(key: str) -> dict[str, dict[str, str]]:
    """What is known not to lower: op → (single-node graph as text) → why."""
    entry = _load(f"verdicts-{key}")
    return entry if isinstance(entry, dict) else {}


def store_verdicts(key: str, verdicts: dict[str, dict[str, str]]) -> None:
    _store(f"verdicts-{key}", verdicts)


def _load(key: str) -> object | None:
    data = _objects(str(cache_folder())).get(key) if options.cache else None
    return None if data is None else pickle.loads(data)


def _store(key: str, entry: object) -> None:
    if options.cache:
        _objects(str(cache_folder())).put(key, pickle.dumps(entry))


@lru_cache
def _objects(folder: str) -> ObjectCache:
    from mlirdev.jit import ObjectCache

    return ObjectCache(Path(folder), options.cache_size_mb << 20)
