"""Run one measurement in a fresh process, which answers with JSON; one that crashes or hangs is an `error`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

Row = dict[str, Any]
_CACHES = ("MLIRDEV_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")


def in_a_process(measurement: str, arguments: Row, folder: str, timeout: float) -> Row:
    """The row that `benchmarks.<measurement>.measure(**arguments)` returns; `folder` has all its caches."""
    threads = str(arguments.get("threads", 1))
    environment = {
        **os.environ,
        **{name: str(Path(folder, name)) for name in _CACHES},
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        # Inductor's compile workers stay busy after the first call and would take cores from the rounds.
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    command = [sys.executable, "-m", "benchmarks.processes", measurement, json.dumps(arguments)]
    with tempfile.TemporaryFile("w+") as log:
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, env=environment, text=True, start_new_session=True
        )
        try:
            answer, _ = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            return {"error": f"no end after {timeout:.0f} s"}
        finally:
            _end_group(child.pid)
            child.wait()
        if child.returncode:
            log.seek(0)
            return {"error": (log.read().strip().splitlines() or [f"exit code {child.returncode}"])[-1]}
    row: Row = json.loads(answer.splitlines()[-1])
    return row


def _end_group(pid: int) -> None:
    """End the child and the compile workers that it left behind."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def main() -> None:
    import importlib

    measurement, arguments = sys.argv[1:]
    module = importlib.import_module(f"benchmarks.{measurement}")
    print(json.dumps(module.measure(**json.loads(arguments))))


if __name__ == "__main__":
    main()
