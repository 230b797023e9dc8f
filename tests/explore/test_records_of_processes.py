"""MLIRDEV_EXPLORE records any program, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlirdev.explore.peaks import Peaks, peaks
from mlirdev.explore.record import Record, load_record

PROGRAM = """
import os, signal, subprocess, sys, torch
print((torch.ones(5, device="mlirdev") * 2).sum().item(), flush=True)
if sys.argv[1] == "raise":
    raise ValueError("odd")
if sys.argv[1] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def run(tmp_path: Path, how: str) -> Record:
    """The record of the program that ends in this way."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "MLIRDEV_EXPLORE": str(tmp_path / "out"), "MLIRDEV_QUIET": "1"}
    done = subprocess.run([sys.executable, str(script), how], env=environment, capture_output=True, text=True)
    assert done.stdout == "10.0\n", done.stderr
    return load_record(tmp_path / "out")


@pytest.mark.slow  # a process each
def test_a_program_that_raises(tmp_path: Path) -> None:
    record = run(tmp_path, "raise")
    assert record.end is not None
    assert record.end.error == "ValueError: odd"
    assert record.launches
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.slow  # a process each
def test_a_program_that_is_killed(tmp_path: Path) -> None:
    record = run(tmp_path, "kill")
    assert not record.is_whole
    assert len(record.runs) == 1
    assert record.launches


def test_peaks_are_the_best_of_a_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = iter([Peaks(90.0, 9.0), Peaks(100.0, 8.0), Peaks(), Peaks(80.0, 7.0), Peaks(70.0, 6.0)])
    monkeypatch.setattr("mlirdev.explore.peaks.cache_folder", lambda: tmp_path)
    monkeypatch.setattr("mlirdev.explore.peaks._measure", lambda threads: next(measured))
    found = [peaks("a processor", 2) for _ in range(6)]
    assert [(peak.gflops, peak.gbps) for peak in found] == [(90.0, 9.0)] + [(100.0, 9.0)] * 5
    assert found[-1].times == 4
    assert next(measured, None) is None
