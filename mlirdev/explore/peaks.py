"""The machine's peaks, against which a record tells utilisation: measured in a process of its own, kept on disk.

Other programs that run meanwhile make a measurement too low, never too high. So the best one is kept, and a few more
are made, one a record.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

import msgspec

from mlirdev.compiler.cache import cache_folder

# So many records measure again.
_MEASURED_OFTEN_ENOUGH = 4
_TIMEOUT_S = 30


class Peaks(msgspec.Struct, frozen=True):
    """10⁹ float32 operations and bytes a second; 0 where they couldn't be measured. `times` it was tried."""

    gflops: float = 0.0
    gbps: float = 0.0
    times: int = 0


def peaks(processor: str, threads: int) -> Peaks:
    """The best that was measured on this machine with so many threads, this time included."""
    file = cache_folder() / f"peaks-{_machine(processor, threads)}.json"
    known = _read(file)
    if known.times >= _MEASURED_OFTEN_ENOUGH:
        return known
    now = _measure(threads)
    best = Peaks(max(known.gflops, now.gflops), max(known.gbps, now.gbps), known.times + (now.gflops > 0))
    with contextlib.suppress(OSError):  # a folder that can't be written: measured again next time
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(msgspec.json.encode(best))
    return best


def _machine(processor: str, threads: int) -> str:
    words = f"{platform.node()} {processor} {os.cpu_count()} {threads}"
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def _read(file: Path) -> Peaks:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Peaks)
    except (OSError, msgspec.DecodeError):
        return Peaks()


def _measure(threads: int) -> Peaks:
    """Zeros where the child didn't come through: a processor that LLVM can't make this code for."""
    environment = {
        **os.environ,
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = [sys.executable, "-m", "mlirdev.jit.peaks", str(threads)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=_TIMEOUT_S, check=True)
        return msgspec.json.decode(done.stdout, type=Peaks)
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
        return Peaks()
