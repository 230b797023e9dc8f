"""What a user's mistake looks like where kernels find it: eager's error, with the line, and the process lives."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import mlirdev
from mlirdev.options import options
from tests.end_to_end.conftest import Program

MODES = ("lazy", "eager", "blocking")
BAD = torch.tensor([1, 7])


def the_next_line() -> str:
    """`this file:the line after the caller's`, as errors name it."""
    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno + 1}"


CALLS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "embedding": lambda table, index: F.embedding(index, table),
    "gather": lambda table, index: torch.gather(table, 0, index[:, None]),
    "index_select": lambda table, index: table.index_select(0, index),
    "index": lambda table, index: table[index],
    "scatter": lambda table, index: table.scatter(0, index[:, None], 5.0),
    "index_add": lambda table, index: table.index_add(0, index, torch.ones_like(table[:2])),
    "cross_entropy": lambda table, index: F.cross_entropy(table[:2], index),
    "take": lambda table, index: table.take(index + 90),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_index_out_of_range(name: str) -> None:
    call = CALLS[name]
    cpu = torch.rand(4, 3)
    with pytest.raises((IndexError, RuntimeError)):
        call(cpu, BAD)
    table, bad, good = cpu.to("mlirdev"), BAD.to("mlirdev"), torch.tensor([1, 2]).to("mlirdev")
    result = call(table, bad)
    with pytest.raises(IndexError, match=rf"out of (bounds|range).*{__file__}:\d+"):
        result.cpu()
    # The process, the operands and the op are as good as before.
    assert torch.equal(table.cpu(), cpu)
    if name != "take":
        torch.testing.assert_close(call(table, good).cpu(), call(cpu, good.cpu()))


def test_a_negative_index_counts_from_the_end_or_is_refused_as_in_eager() -> None:
    cpu = torch.rand(4, 3)
    table, last = cpu.to("mlirdev"), torch.tensor([-1]).to("mlirdev")
    assert torch.equal(table[last].cpu(), cpu[-1:])
    with pytest.raises(IndexError):
        table[last - 4].cpu()
    with pytest.raises(IndexError):
        F.embedding(last, table).cpu()


@pytest.mark.parametrize("mode", MODES)
def test_an_error_names_the_line_of_the_op(mode: str) -> None:
    table, bad = torch.rand(4, 3).to("mlirdev"), BAD.to("mlirdev")
    with options.override(mode=mode), pytest.raises(IndexError) as raised:  # noqa: PT012  # which line is the question
        line = the_next_line()
        rows = F.embedding(bad, table)
        later = rows * 2
        later.cpu()
    assert line in str(raised.value)
    # In blocking mode the error is raised there too, so that a debugger stops where it should.
    entry = next(e for e in raised.traceback if str(e.path) == __file__)
    assert (f"{__file__}:{entry.lineno + 1}" == line) is (mode == "blocking")


def test_a_traceback_in_blocking_mode_ends_at_the_users_line(program: Program) -> None:
    code = """\
import torch
table = torch.rand(4, 3).to("mlirdev")
bad = torch.tensor([9]).to("mlirdev")
rows = torch.nn.functional.embedding(bad, table)
print("not reached")
"""
    done = program(code, MLIRDEV_MODE="blocking")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "line 4, in <module>" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("IndexError: ")
    assert "program.py:4" in done.stderr.splitlines()[-1]


def test_division_by_zero_of_integers_is_as_in_eager() -> None:
    one, zero = torch.tensor([1]), torch.tensor([0])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        one // zero
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        (one.to("mlirdev") // zero.to("mlirdev")).cpu()


@pytest.mark.parametrize("mode", MODES)
def test_modes_agree_on_a_training_step(mode: str) -> None:
    def step(device: str) -> list[Tensor]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.GELU(), torch.nn.LayerNorm(5)).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        x = torch.rand(3, 6, generator=torch.Generator().manual_seed(1)).to(device)
        model(x).square().sum().backward()
        optimizer.step()
        return [p.detach().cpu() for p in model.parameters()]

    with options.override(mode=mode), mlirdev.no_fallback():
        ours = step("mlirdev")
    for a, b in zip(ours, step("cpu"), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
