"""With the option `verify`, each kernel is checked, and the first that is wrong is named with the user's line."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from mlirdev import compiler
from mlirdev.compiler import reproducer
from mlirdev.errors import WrongResultError
from mlirdev.graph import Graph
from mlirdev.options import options

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


@pytest.fixture(autouse=True)
def verified(tmp_path: Path) -> Iterator[None]:
    compiler.forget()
    with options.override(verify="error", compile="inline", cache_dir=str(tmp_path / "cache")):
        yield
    compiler.forget()
    compiler.set_inspector(None)


def pipeline(tmp_path: Path, stage: str) -> str:
    path = tmp_path / f"{stage}.yaml"
    path.write_text(f"steps:\n- pipeline: {stage}\n- python: wrong_passes:swap_addf\n")
    return f"{stage}={path}"


def step(x: Tensor, w: Tensor) -> Tensor:
    y = torch.softmax(x * 2 + 1, dim=1)
    z = y @ w
    return (z - 3).exp() + z


def inputs() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(5, 33).to("mlirdev"), torch.randn(33, 7).to("mlirdev")


@pytest.mark.parametrize("stage", ["kernel", "graph"])
def test_the_first_wrong_kernel_is_named(tmp_path: Path, stage: str) -> None:
    with options.override(pipeline=pipeline(tmp_path, stage)), pytest.raises(WrongResultError) as raised:
        step(*inputs()).cpu()
    message = str(raised.value)
    assert re.search(r"kernel \w{8}, launch 1 of 2: n2 aten\._softmax\.default -> 5x33xf32 isn't PyTorch's", message)
    assert re.search(r"at \[0, 0\]: got -?\d\S+, wanted \d\S+, give or take \S+ \(\d+ of 165 elements", message)
    first = step.__code__.co_firstlineno
    assert f"(recorded at {__file__}:{first + 1})" in message


def test_what_was_captured_is_the_graph_with_its_inputs(tmp_path: Path) -> None:
    x, w = inputs()
    with options.override(pipeline=pipeline(tmp_path, "kernel")), pytest.raises(WrongResultError) as raised:
        step(x, w).cpu()
    folder = str(raised.value).partition("mlirdev bisect ")[2].partition(" (")[0]
    kept = reproducer.load(Path(folder))
    assert isinstance(kept.subject, Graph)
    assert [node.op for node in kept.subject.nodes][2:4] == ["aten._softmax.default", "aten.mm.default"]
    assert kept.fails == "wrong"
    assert kept.inputs[0] == x.cpu().numpy().tobytes()
    assert reproducer.foreign_code(kept.target) == ["python: wrong_passes:swap_addf"]


def test_a_warning_names_every_wrong_kernel_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x, w = inputs()
    with options.override(pipeline=pipeline(tmp_path, "kernel"), verify="warn"):
        first, again = step(x, w).cpu(), step(x, w).cpu()
    assert torch.equal(first, again)
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[0] for line in said] == ["mlirdev verify"] * 2, said
    assert ["launch 1 of 2" in said[0], "launch 2 of 2" in said[1]] == [True, True]
    assert f":{step.__code__.co_firstlineno + 2})" in said[1] or f":{step.__code__.co_firstlineno + 3})" in said[1]


@pytest.mark.slow
def test_what_is_right_passes() -> None:
    x, w = inputs()
    x.requires_grad_()
    loss = torch.nn.functional.cross_entropy(step(x, w), torch.arange(5, device="mlirdev"))
    (loss + x.sort().values.sum() + torch.rand(3, device="mlirdev").sum()).backward()
    half = (x.detach().bfloat16() @ w.bfloat16()).relu().sum(0)
    batch = torch.nn.BatchNorm2d(3).to("mlirdev")(x.detach().reshape(5, 3, 11, 1))
    assert x.grad is not None
    for tensor in (x.grad, half, batch, torch.empty(3, device="mlirdev") * 0, x.argmax(1), x.detach()[:0].sum()):
        tensor.cpu()


@pytest.mark.slow
def test_sizes_that_are_inputs_are_verified_too() -> None:
    for rows in (4, 5, 6):
        x = torch.randn(rows, 3, device="mlirdev")
        assert torch.allclose((x * 2 + 1).sum().cpu(), x.cpu().mul(2).add(1).sum(), rtol=1e-4)
