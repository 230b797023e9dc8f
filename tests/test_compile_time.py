"""Seconds by stage add up until they are taken, and reach the metrics with the graph's event."""

from __future__ import annotations

from mlirdev import compile_time, metrics
from mlirdev.events import GraphCompiled, emit


def test_seconds_add_up_until_they_are_taken() -> None:
    compile_time.take()
    compile_time.add({"codegen": 0.5, "import": 0.25})
    compile_time.add({"codegen": 0.5})
    with compile_time.spent("link"):
        pass
    taken = compile_time.take()
    assert list(taken) == ["import", "codegen", "link"]  # in the order of a compile
    assert taken["codegen"] == 1.0
    assert compile_time.take() == {}


def test_a_stage_that_fails_counts_all_the_same() -> None:
    compile_time.take()
    try:
        with compile_time.spent("import"):
            raise ValueError
    except ValueError:
        pass
    assert "import" in compile_time.take()


def test_metrics_report_the_stages() -> None:
    metrics.reset()
    emit(GraphCompiled(graph="g", kernels=1, kernels_compiled=1, seconds=1.0, stages={"codegen": 0.75}))
    assert metrics.snapshot()["compile_stages"]["codegen"] == 0.75
    assert "machine code" in str(metrics.report())
    metrics.reset()
    assert "machine code" not in str(metrics.report())
