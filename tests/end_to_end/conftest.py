"""A program's whole way through the device, compiled for real: fixtures."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Program = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Runs code as a user's script `program.py` in a folder of its own, with these environment variables.

    Quiet, as nobody knows how long a compile takes on a busy machine.
    """

    def run(code: str, *, before: tuple[str, ...] = (), **variables: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "program.py").write_text(code)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "MLIRDEV_QUIET": "1", **variables}
        command = [sys.executable, *before, "program.py"]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, cwd=tmp_path)

    return run
