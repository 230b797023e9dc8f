"""A reproducer is text that comes back as what it was, and says what it needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlirdev.compiler import reproducer
from mlirdev.compiler.chosen import chosen_target
from mlirdev.compiler.reproducer import Reproducer
from mlirdev.dtypes import DType
from mlirdev.errors import OptionError
from mlirdev.graph import Graph, Node, Ref, ScalarRef, TensorSpec
from mlirdev.options import options
from mlirdev.passes.kernel_source import KernelSource
from mlirdev.plan import BufferParam, DimParam, ScalarParam, Signature

SPEC = TensorSpec((2, 3), DType.f32)
GRAPH = Graph((SPEC,), ("float",), (Node("aten.mul.Tensor", (Ref(0), ScalarRef(0)), (SPEC,)),), (1,))
SIGNATURE = Signature(
    params=(*(BufferParam((2, None), dtype) for dtype in DType), ScalarParam("bool"), DimParam()),
    results=(BufferParam((), DType.f32), BufferParam((0,), DType.c64)),
    dims=(3, 1, 4),
)
KERNEL = KernelSource("k1", "row", "module {}\n", SIGNATURE)


def test_a_graph_comes_back(tmp_path: Path) -> None:
    kept = Reproducer(GRAPH, chosen_target(), "g_1", "wrong", "at [0]: …", (b"\0" * 24,), (2.5,), {0: "train.py:7"})
    reproducer.save(kept, tmp_path)
    assert reproducer.load(tmp_path) == kept
    assert reproducer.versions_of(tmp_path) == []
    assert (tmp_path / "graph.txt").read_text() == f"{GRAPH}\n"


def test_a_kernel_comes_back_with_the_graph_that_it_computes(tmp_path: Path) -> None:
    kept = Reproducer(KERNEL, chosen_target(), "g_1-row-k1", "crash", part=GRAPH)
    reproducer.save(kept, tmp_path)
    assert reproducer.load(tmp_path) == kept


def test_pipelines_of_ones_own_go_along(tmp_path: Path) -> None:
    schedule = tmp_path / "mine.mlir"
    schedule.write_text("module attributes {transform.with_named_sequence} {}\n")
    pipeline = tmp_path / "mine.yaml"
    pipeline.write_text("steps:\n- transform: mine.mlir\n- python: wrong_passes:swap_addf\n- pass: cse\n")
    with options.override(pipeline=f"graph={pipeline}"):
        reproducer.save(Reproducer(GRAPH, chosen_target(), "g_1"), tmp_path / "out")
    pipeline.unlink()
    schedule.unlink()
    loaded = reproducer.load(tmp_path / "out")
    assert loaded.target.pipeline("graph") == str(tmp_path / "out" / "pipelines" / "graph.yaml")
    assert (tmp_path / "out" / "pipelines" / "mine.mlir").exists()
    assert reproducer.foreign_code(loaded.target) == ["python: wrong_passes:swap_addf"]
    assert reproducer.foreign_code(chosen_target()) == []


def test_other_versions_are_told(tmp_path: Path) -> None:
    reproducer.save(Reproducer(GRAPH, chosen_target(), "g_1"), tmp_path)
    versions = tmp_path / "versions.txt"
    versions.write_text(versions.read_text().replace("llvmlite ", "llvmlite 1"))
    (line,) = reproducer.versions_of(tmp_path)
    assert line.startswith("llvmlite was 1")


def test_what_is_damaged_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"holds no job\.json"):
        reproducer.load(tmp_path)
    reproducer.save(Reproducer(GRAPH, chosen_target(), "g_1"), tmp_path)
    job = json.loads((tmp_path / "job.json").read_text())
    (tmp_path / "job.json").write_text(json.dumps({**job, "format": 0}))
    with pytest.raises(OptionError, match="another version"):
        reproducer.load(tmp_path)
    (tmp_path / "job.json").write_text("{")
    with pytest.raises(OptionError, match="is damaged: JSONDecodeError"):
        reproducer.load(tmp_path)
    (tmp_path / "job.json").write_text(json.dumps(job))
    (tmp_path / "graph.txt").write_text("%0 = what")
    with pytest.raises(OptionError, match=r"graph\.txt:1: "):
        reproducer.load(tmp_path)
