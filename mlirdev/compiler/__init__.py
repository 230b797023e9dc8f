"""The compiler: a Graph in, an Executable out.

executable_for   the graph cache, else compile          executables.py, graph_cache.py, difference.py
  widened        which sizes become inputs              generalise.py, varying.py
  Compilation    split, front, back, join               driver.py, partition.py, verdicts.py
    jobs         the stages, in compile workers         stages.py, jobs.py, worker.py, pool.py
    cache        objects and plans on disk              cache.py, fingerprint.py
  Executable     kernels + plan                         executable.py
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlirdev.compiler.driver import expect_compiles
    from mlirdev.compiler.executable import Executable, HostExecutor, set_host_executor, set_inspector
    from mlirdev.compiler.executables import executable_for, forget
    from mlirdev.compiler.graph_cache import Found
    from mlirdev.compiler.varying import Place

__all__ = [
    "Executable", "Found", "HostExecutor", "Place", "executable_for", "expect_compiles", "forget", "set_host_executor",
    "set_inspector",
]  # fmt: skip

# Loaded when asked for: a worker, which is a module of this package, needs none of it, and starts twice as fast.
_HOMES = {
    "Executable": "executable",
    "Found": "graph_cache",
    "HostExecutor": "executable",
    "Place": "varying",
    "executable_for": "executables",
    "expect_compiles": "driver",
    "forget": "executables",
    "set_host_executor": "executable",
    "set_inspector": "executable",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found  # launches ask for it
    return found
