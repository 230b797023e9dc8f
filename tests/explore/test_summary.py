"""What the terminal and the page say of a run, computed from a small record whose numbers can be checked by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mlirdev import schema
from mlirdev.explore.figures import key_figures
from mlirdev.explore.record import Record, load_record
from mlirdev.explore.roofline import bound_of
from mlirdev.explore.steps import steps
from mlirdev.explore.summary import summarise
from tests.explore.records import HEADER, lines, write_record


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return load_record(write_record(tmp_path))


def test_utilisation_and_bandwidth_are_work_over_time_and_peak(record: Record) -> None:
    summary = summarise(record)
    flops = 3 * 1024 + 192 + 2 * 384
    assert summary.utilisation.flops == flops
    assert summary.utilisation.kernel_s == pytest.approx(3 * 0.0015)
    assert summary.utilisation.of_peak == pytest.approx(flops / 0.0045 / 100e9)
    assert summary.utilisation.of_wall == pytest.approx(flops / 2.0 / 100e9)
    assert summary.bandwidth.of_peak == pytest.approx((3 * 896 + 260 + 2 * 516) / 0.0045 / 10e9)


def test_launch_overhead_leaves_out_misses_and_kernels_that_ran_inside(record: Record) -> None:
    overhead = summarise(record).launch_overhead
    assert overhead.runs == 1
    assert overhead.seconds == pytest.approx(0.002 - 0.0015)
    assert overhead.per_launch_s == pytest.approx(0.00025)


def test_a_kernel_has_its_bound_and_how_near_it_came(record: Record) -> None:
    facts = {fact.name: fact for fact in summarise(record).kernels}
    first = facts["contraction-a"]
    assert (first.launches, first.seconds, first.bound) == (3, pytest.approx(0.003), "memory")
    assert first.of_bound == pytest.approx(896 / 10e9 / 0.001)
    assert first.share == pytest.approx(2 / 3)
    assert (first.graphs, first.lines) == (["g_1", "g_2"], ["train.py:4"])
    assert facts["row-c"].dynamic
    assert facts["row-c"].flops == 2 * 384
    assert facts["row-b"].lines == ["train.py:5", "train.py:8"]


@pytest.mark.parametrize(
    ("flops", "nbytes", "bound"), [(1000, 10, "compute"), (10, 1000, "memory"), (0, 8, "memory"), (0, 0, "unknown")]
)
def test_bounds(flops: int, nbytes: int, bound: str) -> None:
    assert bound_of(HEADER, flops, nbytes) == bound


def test_without_peaks_nothing_is_claimed(tmp_path: Path) -> None:
    header = msgspec.structs.replace(HEADER, peak_gflops=0.0, peak_gbps=0.0)
    (tmp_path / schema.RECORD_FILE).write_bytes(b"".join(map(schema.encode, [header, *lines()[1:]])))
    summary = summarise(load_record(tmp_path))
    assert summary.utilisation.of_peak is None
    assert {fact.bound for fact in summary.kernels} == {"unknown"}
    assert "isn't known" in key_figures(summary)[0].note


def test_recompiles_tell_sizes_from_programs_and_dynamic_kernels_from_others(record: Record) -> None:
    again = summarise(record).recompiles
    assert (again.by_sizes, again.by_program, again.generalised, again.dynamic_kernels) == (1, 0, 1, 1)
    assert again.dynamic_of_bound == pytest.approx(516 / 10e9 / 0.0005)


def test_waits_and_ops_on_the_cpu_have_line_and_remedy(record: Record) -> None:
    summary = summarise(record)
    (wait,) = summary.waits
    assert (wait.cause, wait.where, wait.times, wait.explicit) == ("item", "train.py:8", 3, False)
    assert "every N steps" in wait.remedy
    (op,) = summary.on_cpu
    assert (op.op, op.where, op.times) == ("aten.unique", "train.py:6", 1)
    assert "register_lowering" in op.remedy


def test_where_time_went_adds_up(record: Record) -> None:
    summary = summarise(record)
    spans = {span.what: span.seconds for span in summary.spans if span.where == "host"}
    assert sum(spans.values()) == pytest.approx(summary.program.wall_s)
    assert spans["compile"] == pytest.approx(0.4)


def test_the_figures_are_six_with_titles(record: Record) -> None:
    figures = {figure.key: figure for figure in key_figures(summarise(record))}
    assert list(figures) == [
        "utilisation", "bandwidth", "launch_overhead", "compile_time", "peak_memory", "recompiles",
    ]  # fmt: skip
    assert figures["peak_memory"].value == "12.0 KiB"
    assert figures["recompiles"].value == "1"


def test_an_empty_record_has_a_summary(tmp_path: Path) -> None:
    (tmp_path / schema.RECORD_FILE).write_bytes(schema.encode(HEADER))
    summary = summarise(load_record(tmp_path))
    assert not summary.program.whole
    assert summary.counts.runs == 0
    assert len(key_figures(summary)) == 6


def test_the_summary_is_json(record: Record) -> None:
    data = msgspec.json.decode(msgspec.json.encode(summarise(record)))
    assert data["kernels"][0]["name"] == "contraction-a"
    assert data["failures"][0]["kind"] == "failure"


def test_steps_count_what_came_and_went(record: Record) -> None:
    found = steps(record, "kernels/row-b")
    assert [step.number for step in found] == [0, 1, 2, 3, 4]
    assert [step.changed for step in found[:3]] == [True, False, True]
    assert found[1].delta == {}
    assert found[2].delta["linalg.generic"] == -1
    assert found[2].delta["scf.for"] == 1
