"""The same programs for other processors: right values with AVX2's vectors, assembly for those of other kinds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mlirdev.compiler import stages
from mlirdev.graph import Graph
from mlirdev.jit import resolve_target
from mlirdev.target import load_target
from tests.compiler.programs import PROGRAMS, maker


def run_all() -> None:
    """What the child below runs: every program beside eager."""
    for name, program in PROGRAMS.items():
        ours, eager = program(maker("mlirdev")).cpu(), program(maker("cpu"))
        tolerance = 2e-2 if name == "bf16" else 1e-4
        torch.testing.assert_close(ours, eager, rtol=tolerance, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}")
    print("all right")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity") or os.uname().machine != "x86_64", reason="runs x86-64 code")
def test_values_with_vectors_of_avx2(tmp_path: Path) -> None:
    environment = {**os.environ, "MLIRDEV_TARGET": "host-avx2", "MLIRDEV_DUMP": str(tmp_path), "MLIRDEV_CACHE": "0"}
    code = "import sys; sys.path.insert(0, '.'); from tests.compiler.test_targets import run_all; run_all()"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert "all right" in done.stdout, done.stderr[-2000:]
    assembly = [path.read_text() for path in tmp_path.rglob("*.s")]
    assert any("ymm" in text for text in assembly)
    assert not any("zmm" in text for text in assembly)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "machine"), [("aarch64", 183), ("rvv", 243)])
def test_every_kind_of_kernel_compiles_for_other_processors(name: str, machine: int, graphs: list[Graph]) -> None:
    target = resolve_target(load_target(name))
    assert len(graphs) >= len(PROGRAMS)
    for graph in graphs:
        front = stages.front(graph, target)
        assert isinstance(front, stages.Front), front
        for key, kernel in front.kernels.items():
            code = stages.back(kernel, key, target).code
            assert (code[:4], int.from_bytes(code[18:20], "little")) == (b"\x7fELF", machine)
