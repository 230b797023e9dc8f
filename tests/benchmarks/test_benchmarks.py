"""The benchmarks' own arithmetic, and one measurement of each kind run for real, small."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from benchmarks import tables
from benchmarks.__main__ import main
from benchmarks.processes import Row, in_a_process
from benchmarks.steady import apart


def row(apart: float = 0.0, ours: float = 1.0) -> Row:
    def engine(seconds: float, off: float = 0.0) -> Row:
        return {"rounds_s": [seconds] * 3, "cores": 1.0, "first_s": 1.0, "apart": off, "steady_compiles": 0}

    engines = {"eager": engine(2.0), "inductor": engine(1.5), "device": engine(ours, apart)}
    return {"workload": "w", "group": "rows", "threads": 1, "tolerance": 1e-4, "fallbacks": 0, "engines": engines}


def test_a_ratio_is_the_others_time_over_ours() -> None:
    table = tables.steady([row(), row(ours=2.0)], "device", 1)
    assert table.rows[0][4:6] == ["2.00", "1.50"]
    assert "1.06 × the best" in table.note
    assert "1 under 0.9" in table.note


def test_a_wrong_row_has_no_ratio_and_an_error_is_shown() -> None:
    table = tables.steady([row(apart=1e-2), {"workload": "dead", "error": "boom"}], "device", 1)
    assert table.rows[0][4].startswith("WRONG")
    assert table.rows[1][1] == "boom"
    assert table.note == ""


def test_apart_sees_one_large_and_many_small_errors() -> None:
    ones = torch.ones(100)
    assert apart(ones * 1.01, ones) == pytest.approx(0.01)
    assert apart(torch.tensor([float("nan")]), torch.ones(1)) == float("inf")
    assert apart(torch.ones(2), torch.ones(3)) == float("inf")


def test_a_process_that_fails_is_a_row_with_its_last_line(tmp_path: Path) -> None:
    failed = in_a_process("steady", {"workload": "no such"}, str(tmp_path), timeout=60)
    assert "TypeError" in failed["error"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measurement", "arguments"),
    [
        ("steady", {"workload": "linear_m1", "engines": ["eager", "device"], "rounds": 1, "round_ms": 1}),
        ("memory", {"workload": "linear_m1", "engine": "device"}),
        ("first", {"model": "tanh", "engine": "device"}),
    ],
)
def test_measurements_run(measurement: str, arguments: Row, tmp_path: Path) -> None:
    measured = in_a_process(measurement, {**arguments, "threads": 1}, str(tmp_path), timeout=120)
    assert "error" not in measured
    if measurement == "steady":
        assert tables.is_right(measured, "device")


def test_an_unknown_workload_is_refused_with_the_known_ones() -> None:
    refused = CliRunner().invoke(main, ["steady", "--only", "matmul"])
    assert refused.exit_code == 2
    assert "matmul_512" in refused.output
