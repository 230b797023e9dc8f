"""Control flow on values, and looking at them: what each costs, in waits and in graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import mlirdev
from mlirdev import events

HERE = __file__


@pytest.fixture(autouse=True)
def device_in_use() -> None:
    torch.zeros(1, device="mlirdev").item()


class Counts:
    """What happened since it was made."""

    def __init__(self, seen: list[events.Event]) -> None:
        self._seen = seen
        self._start = len(seen)
        self._before = mlirdev.metrics.snapshot()

    def events(self, kind: type[events.Event]) -> list[Any]:
        return [e for e in self._seen[self._start :] if isinstance(e, kind)]

    def __getitem__(self, name: str) -> int:
        change: int = mlirdev.metrics.snapshot()[name] - self._before[name]
        return change

    @property
    def graphs(self) -> int:
        """New graphs: compiled, or found on disk."""
        return self["compiles"] + self["graph_disk_hits"]

    @property
    def syncs(self) -> list[str]:
        return [e.cause for e in self.events(events.Sync)]


@pytest.fixture
def counts(happened: list[events.Event]) -> Callable[[], Counts]:
    return lambda: Counts(happened)


def is_true(s: Tensor) -> bool:
    assert s
    return True


LOOKS: dict[str, tuple[str, Callable[[Tensor, Tensor], Any]]] = {
    "item": ("item", lambda row, s: s.item()),
    "float": ("item", lambda row, s: float(s)),
    "int": ("item", lambda row, s: int(s)),
    "complex": ("item", lambda row, s: complex(s)),
    "bool": ("item", lambda row, s: bool(s > 3)),
    "if": ("item", lambda row, s: "more" if s > 3 else "less"),
    "not": ("item", lambda row, s: not s),
    "assert": ("item", lambda row, s: is_true(s)),
    "in": ("item", lambda row, s: 3.0 in row),
    "all": ("item", lambda row, s: bool((row > 0).all())),
    "round": ("item", lambda row, s: f"{s:.2f}"),
    "format of a number": ("item", lambda row, s: f"{s}"),
    "format": ("print", lambda row, s: f"{row}"),
    "repr": ("print", lambda row, s: repr(row)),
    "print of a view": ("print", lambda row, s: str(row.view(2, 3).t())),
    "print of a parameter": ("print", lambda row, s: str(torch.nn.Parameter(row))),
    "tolist": ("copy", lambda row, s: row.tolist()),
    "numpy": ("copy", lambda row, s: row.cpu().numpy().tolist()),
    "index of a list": ("item", lambda row, s: [*"abcdefgh"][(row > 5).sum()]),
    "range": ("item", lambda row, s: [*range((row > 5).sum())]),
    "slice": ("item", lambda row, s: len(row[: (row > 5).sum()])),
    "equal": ("equal", lambda row, s: torch.equal(row, row + 1)),
    "allclose": ("allclose", lambda row, s: torch.allclose(row, row + 1e-9)),
    "is_nonzero": ("item", lambda row, s: torch.is_nonzero(s)),
}


def made(device: str) -> tuple[Tensor, Tensor]:
    row = torch.arange(6.0).to(device) * 2 + 1
    return row, row.sum()


@pytest.mark.parametrize("name", LOOKS)
def test_a_look_at_a_value_is_one_wait_with_a_name_and_one_launch(
    name: str, counts: Callable[[], Counts], dev: torch.device
) -> None:
    cause, look = LOOKS[name]
    row, s = made("mlirdev")
    now = counts()
    seen = look(row, s)
    assert now.syncs == [cause]
    assert now["graphs_run"] == 1
    assert [str(e.where).rpartition(":")[0] for e in now.events(events.Sync)] == [HERE]
    wanted = look(*made("cpu"))
    assert (seen.replace(", device='mlirdev:0'", "") if isinstance(seen, str) else seen) == wanted
    # At a place seen before nothing is compiled.
    now = counts()
    look(*made("mlirdev"))
    assert now.graphs == 0
    assert now.syncs == [cause]


@pytest.mark.parametrize("name", ["or in a condition", "twice"])
def test_looks_at_what_is_launched_already_launch_nothing(name: str, counts: Callable[[], Counts]) -> None:
    row, s = made("mlirdev")
    now = counts()
    if name == "twice":
        print(f"{row} {s} {s.item()}")
        assert now.syncs == ["print", "item", "item"]
    else:
        value = s or 1.0
        assert isinstance(value, Tensor)
        assert value.item() == 36
        assert now.syncs == ["item", "item"]
    assert now["graphs_run"] == 1


def test_shapes_cost_nothing(counts: Callable[[], Counts]) -> None:
    row, s = made("mlirdev")
    now = counts()
    with mlirdev.no_sync():
        assert (len(row), row.numel(), row.dim(), s.dim(), row.dtype, row.is_contiguous()) == (
            6, 6, 1, 0, torch.float32, True,
        )  # fmt: skip
        assert {row: 1}[row] == 1
        assert row is not None
    assert (now.syncs, now["graphs_run"]) == ([], 0)


def test_iterating_waits_for_nothing(counts: Callable[[], Counts]) -> None:
    row, _ = made("mlirdev")
    now = counts()
    with mlirdev.no_sync():
        total = sum(row)
        parts = [a * b for a, b in zip(row, reversed(row), strict=True)]
        first, *_ = row.view(2, 3)
    assert (now.syncs, now["graphs_run"]) == ([], 0)
    assert torch.stack([total, *parts, first.sum()]).tolist() == [36, 11, 27, 35, 35, 27, 11, 9]
    assert now["graphs_run"] == 1


def test_reading_element_by_element_launches_once(counts: Callable[[], Counts]) -> None:
    row, _ = made("mlirdev")
    now = counts()
    assert [v.item() for v in row] == [1, 3, 5, 7, 9, 11]
    table = row.view(2, 3)
    assert [[float(table[i, j]) for j in range(3)] for i in range(2)] == [[1, 3, 5], [7, 9, 11]]
    assert table.t()[2, 1].item() == 11
    assert now["graphs_run"] == 1
    assert now.graphs <= 1
    # What isn't there as it lies is computed first.
    assert (row + 1j * row).conj()[2].item() == 5 - 5j
    assert row.view(torch.int32)[0].item() == torch.ones(1).view(torch.int32).item()


def test_a_condition_is_one_wait_and_a_graph_per_branch(counts: Callable[[], Counts]) -> None:
    x = torch.arange(6.0).to("mlirdev")

    def step(limit: float) -> float:
        y = (x - limit).exp()
        y = y.tanh() + 1 if y.sum() > 10 else y * 3 - x
        return y.mean().item()

    limits = [0.0, 5.0]
    now = counts()
    for limit in limits:
        step(limit)
    # The condition is one graph, and each branch another.
    assert now.graphs <= 3
    assert len({e.graph for e in now.events(events.Flush)}) == 3
    now = counts()
    for limit in limits * 3:
        cpu = (x.cpu() - limit).exp()
        wanted = cpu.tanh() + 1 if cpu.sum() > 10 else cpu * 3 - x.cpu()
        assert step(limit) == pytest.approx(wanted.mean().item(), rel=1e-5)
    assert now.graphs == 0
    assert now.syncs.count("item") == 2 * 6


def test_a_loop_on_a_value_compiles_no_more_the_longer_it_is(counts: Callable[[], Counts]) -> None:
    def halve(x: Tensor) -> int:
        turns = 0
        while x.abs().max() > 1:
            x = x / 2
            turns += 1
        return turns

    now = counts()
    assert halve(torch.full((3,), 2.0**4).to("mlirdev")) == 4
    assert now.graphs <= 2
    assert now.syncs == ["item"] * 5
    now = counts()
    assert halve(torch.full((3,), 2.0**40).to("mlirdev")) == 40
    assert now.graphs == 0
    assert now.syncs == ["item"] * 41


def test_prints_come_and_go_without_a_compile(counts: Callable[[], Counts], capsys: pytest.CaptureFixture[str]) -> None:
    w = torch.ones(4, 4).to("mlirdev").requires_grad_()
    x = torch.ones(2, 4).to("mlirdev")
    optimizer = torch.optim.SGD([w], lr=0.01)

    def step(shown: bool) -> None:
        hidden = (x @ w).tanh()
        if shown:
            print(hidden, f"{hidden.sum():.3f}")
        loss = hidden.square().mean()
        loss.backward()
        if shown:
            print("loss", loss.item(), w.grad)
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(3):
        step(shown=False)
    now = counts()
    for _ in range(2):
        step(shown=False)
    assert (now.graphs, now.syncs) == (0, [])
    step(shown=True)
    assert now.syncs == ["item", "print", "item", "print"]
    # The places have been seen; and without them the old graphs are still there.
    now = counts()
    for shown in (True, False, False, True, False):
        step(shown)
    assert now.graphs == 0
    assert len(now.syncs) == 2 * 4
    assert capsys.readouterr().out.count("device='mlirdev:0'") == 3 * 2
