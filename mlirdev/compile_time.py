"""What compiling spends its time on: seconds of work by stage, over all processes that take part.

    worker: with spent("codegen"): …  ─► take() ─► with the answer ─► parent: add() ─► take() per graph ─► metrics

A leaf: the stages lie in rooms that don't know each other. A process adds up on its own; only seconds travel.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

# Every stage with what it is, in the order of a compile.
STAGES: dict[str, str] = {
    "start": "a worker loads MLIR and LLVM",
    "import": "graph to linalg",
    "graph passes": "fusion and clean-up on the whole graph",
    "forming": "kernel groups and the plan",
    "kernel passes": "each kernel to loops on buffers, scheduled",
    "translation": "each kernel to the LLVM dialect and LLVM IR",
    "optimise": "LLVM's passes",
    "codegen": "machine code",
    "link": "objects into this process",
    "watching": "stages printed and kept for a dump or a record",
}

_lock = threading.Lock()
_seconds: dict[str, float] = {}
# What `apart` took in this process so far.
_apart = [0.0]


@contextmanager
def spent(stage: str) -> Iterator[None]:
    """Count the time inside as the stage's, but for what is `apart`."""
    start, before = time.perf_counter(), _apart[0]
    try:
        yield
    finally:
        add({stage: time.perf_counter() - start - (_apart[0] - before)})


@contextmanager
def apart(stage: str) -> Iterator[None]:
    """Count the time inside as this stage's, and not as that of the stage around it."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds = time.perf_counter() - start
        _apart[0] += seconds
        add({stage: seconds})


def add(seconds: Mapping[str, float]) -> None:
    """Count seconds by stage, such as a worker's."""
    with _lock:
        for stage, amount in seconds.items():
            _seconds[stage] = _seconds.get(stage, 0.0) + amount


def take() -> dict[str, float]:
    """The seconds by stage since this was last asked."""
    with _lock:
        taken = {stage: _seconds[stage] for stage in STAGES if stage in _seconds}
        _seconds.clear()
        return taken
