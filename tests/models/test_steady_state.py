"""After warm-up a program compiles nothing, whatever changes from step to step but its shape."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import mlirdev
import mlirdev.events

sys.path.insert(0, str(Path(__file__).parent))
from zoo import Block, Mlp


def compiles() -> int:
    return int(mlirdev.metrics.snapshot()["compiles"])


def after_warm_up(step: Callable[[int], None], steps: int, warm_up: int) -> tuple[int, int, int]:
    """Compiles and spec misses after the first steps, and how many different graphs ran in all."""
    graphs: set[str] = set()

    def listen(event: mlirdev.events.Event) -> None:
        if isinstance(event, mlirdev.events.Flush):
            graphs.add(event.graph)

    stop = mlirdev.events.subscribe(listen)
    before = mlirdev.metrics.snapshot()
    try:
        for i in range(steps):
            before = mlirdev.metrics.snapshot() if i == warm_up else before
            step(i)
        after = mlirdev.metrics.snapshot()
    finally:
        stop()
    return after["compiles"] - before["compiles"], after["spec_misses"] - before["spec_misses"], len(graphs)


class Dropped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Dropout(0.3), nn.Linear(32, 4))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


def test_learning_rate_and_dropout_mask_change_each_step() -> None:
    model = Dropped().to("mlirdev")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=50)
    losses = []

    def step(i: int) -> None:
        optimizer.zero_grad()
        loss = F.mse_loss(model(torch.rand(16, 8).to("mlirdev")), torch.rand(16, 4).to("mlirdev"))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())

    compiled, misses, _ = after_warm_up(step, 15, 4)
    assert (compiled, misses) == (0, 0)
    assert all(torch.isfinite(torch.tensor(losses)))


def test_dropout_masks_differ() -> None:
    torch.manual_seed(3)
    x = torch.ones(1000, device="mlirdev")
    first, second = F.dropout(x, 0.5).cpu(), F.dropout(x, 0.5).cpu()
    assert not torch.equal(first, second)
    torch.manual_seed(3)
    assert torch.equal(F.dropout(x, 0.5).cpu(), first)


def test_values_never_read_cost_neither_memory_nor_graphs() -> None:
    model = Mlp().to("mlirdev")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    x, target = torch.rand(16, 20).to("mlirdev"), torch.randint(10, (16,)).to("mlirdev")
    memory: list[int] = []

    def step(i: int) -> None:
        optimizer.zero_grad()
        model(x, target).backward()
        optimizer.step()
        assert mlirdev.metrics.snapshot()["live_nodes"] < 500
        memory.append(torch.mlirdev.memory_allocated())

    compiled, misses, graphs = after_warm_up(step, 500, 5)
    assert (compiled, misses) == (0, 0)
    assert graphs <= 4
    assert max(memory[100:]) <= max(memory[5:100]) * 1.2 + 4096


def test_a_loop_without_a_natural_end_has_few_graphs() -> None:
    with mlirdev.options.override(max_nodes=100):
        x = torch.ones(4, device="mlirdev")

        def step(i: int) -> None:
            nonlocal x
            for _ in range(20):
                x = torch.tanh(x * 0.5 + 1.0) - 0.25
                x = torch.relu(x).exp() * 0.1

        compiled, misses, graphs = after_warm_up(step, 20, 8)
    assert (compiled, misses) == (0, 0)
    assert graphs <= 4
    assert torch.isfinite(x.cpu()).all()


def test_alternating_bodies_have_a_bounded_number_of_graphs() -> None:
    state = torch.ones(6, device="mlirdev")
    mlirdev.sync()

    def step(i: int) -> None:
        nonlocal state
        state = state.sin() + 1 if i % 2 else (state * 0.3).cos() - 0.1
        mlirdev.sync()

    compiled, _, graphs = after_warm_up(step, 20, 4)
    assert compiled == 0
    assert graphs <= 2


@pytest.mark.slow
def test_equal_layers_share_their_kernels() -> None:
    torch.manual_seed(0)

    def kernels(layers: int) -> int:
        model = nn.Sequential(*[Block(64, 4) for _ in range(layers)]).to("mlirdev")
        found = []

        def listen(event: mlirdev.events.Event) -> None:
            if isinstance(event, mlirdev.events.GraphCompiled):
                found.append(event.kernels)

        stop = mlirdev.events.subscribe(listen)
        with torch.no_grad():
            model(torch.rand(2, 16, 64).to("mlirdev")).cpu()
        stop()
        return sum(found)

    one, twelve = kernels(1), kernels(12)
    assert twelve <= one + 4


def test_a_launch_is_counted_once() -> None:
    x = torch.ones(4).to("mlirdev")
    (x + 2).cpu()
    before = mlirdev.metrics.snapshot()
    (x + 2).cpu()
    after = mlirdev.metrics.snapshot()
    assert after["launches"] - before["launches"] == 1
    assert after["graphs_run"] - before["graphs_run"] == 1
