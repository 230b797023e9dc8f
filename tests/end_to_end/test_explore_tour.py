"""The explorer's tour of ten minutes, as its reader runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_tour_runs_and_shows_what_it_says(tmp_path: Path) -> None:
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "MLIRDEV_CACHE_DIR": str(tmp_path / "cache"), "MLIRDEV_QUIET": "1",
    }  # fmt: skip
    command = [sys.executable, str(ROOT / "examples" / "explore_tour.py"), str(tmp_path / "tour")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for said in (
        "utilisation", "sizes: 16 is now 32", "return torch.relu(h) * 2 + 1", "+    scf.for", "Execution time report",
        "+  tour_passes:fewer", "mlirdev override: ", "pass 'tour_passes:fewer' of stage 'kernel' is the first",
    ):  # fmt: skip
        assert said in done.stdout
    assert (tmp_path / "tour" / "out" / "report.html").stat().st_size > 10_000
