"""The same programs for other processors: right values with AVX2's vectors, assembly for those of other kinds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from mlirdev import compiler
from mlirdev.compiler import stages
from mlirdev.events import SourceLine
from mlirdev.graph import Graph
from mlirdev.jit import resolve_target
from mlirdev.target import load_target

Program = Callable[[Callable[..., Tensor]], Tensor]


def training(make: Callable[..., Tensor]) -> Tensor:
    x, w = make(4, 3, 9, 9), make(8, 3, 3, 3).requires_grad_()
    loss = F.max_pool2d(F.conv2d(x, w, padding=1).relu(), 2).square().mean()
    return torch.autograd.grad(loss, w)[0]


# One of each kind of kernel, with sizes that no vector divides.
PROGRAMS: dict[str, Program] = {
    "elementwise": lambda make: F.gelu(make(37, 53) * 1.5 + make(53)).tanh().exp(),
    "rows": lambda make: F.layer_norm(torch.softmax(make(37, 53), -1), (53,)),
    "columns": lambda make: make(37, 53).sum(0),
    "matmul": lambda make: torch.relu(make(37, 53) @ make(53, 29) + make(29)),
    "few rows": lambda make: F.linear(make(3, 64), make(70, 64), make(70)),
    "batches": lambda make: torch.matmul(make(3, 17, 19), make(3, 23, 19).transpose(1, 2)),
    "attention": lambda make: F.scaled_dot_product_attention(*(make(1, 2, 33, 16) for _ in range(3)), is_causal=True),
    "bf16": lambda make: (make(33, 40).bfloat16() @ make(40, 21).bfloat16()).float(),
    "depthwise": lambda make: F.conv2d(make(2, 6, 11, 11), make(6, 1, 3, 3), groups=6, stride=2, padding=1),
    "training": training,
    "gather": lambda make: make(9, 5)[torch.tensor([8, 0, 3, 3])].cumsum(0).t().contiguous(),
}


def maker(device: str) -> Callable[..., Tensor]:
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(shape, generator=generator).to(device)


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


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    """What the programs are recorded as. A graph that was recorded before isn't looked for again: so once, for all."""
    seen: list[Graph] = []
    found = compiler.executable_for

    def keep(graph: Graph, where: SourceLine | None = None, **others: Any) -> compiler.Found:
        seen.append(graph)
        return found(graph, where, **others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "executable_for", keep)
        for program in PROGRAMS.values():
            program(maker("mlirdev")).cpu()
    return seen


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
