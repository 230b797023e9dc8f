"""The most memory that an engine's process takes for a workload's steps, over what it had before the model.

The process is fresh and has done one small computation, so that libraries are loaded.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch

from benchmarks.engines import ENGINES
from benchmarks.workloads import WORKLOADS

WARM_STEPS, STEPS = 3, 5


def measure(workload: str, threads: int, engine: str) -> dict[str, Any]:
    """A row with `peak_mb`: weights, inputs, what steps keep and need, machine code."""
    torch.set_num_threads(threads)
    chosen = ENGINES[engine]
    small = torch.ones(8, 8, device=chosen.device)
    (small @ small).sum().item()
    before = _status("VmRSS")
    job = WORKLOADS[workload].make(chosen.device, chosen.wrap)
    for step in range(WARM_STEPS):
        kept = job.step(step)
        chosen.synchronize()
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    for step in range(STEPS):
        kept = job.step(step)
        chosen.synchronize()
    del kept
    return {"workload": workload, "engine": engine, "threads": threads, "peak_mb": _status("VmHWM") - before}


def _status(key: str) -> float:
    """A size in Linux's /proc/self/status, in MB."""
    found = re.search(rf"^{key}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"/proc/self/status has no {key}")
    return int(found[1]) / 1024
