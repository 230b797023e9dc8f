"""Several threads record on one stream while each of them launches: what one does is as if it were alone."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import mlirdev
from mlirdev.lazy import flush

TURNS = 20


@pytest.fixture(autouse=True)
def hurry() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let the next launch be as if another thread did `act` in the middle of it."""
    run = flush._run

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(flush, "_run", run)
        act()
        return run(*args, **kwargs)

    monkeypatch.setattr(flush, "_run", interrupted)


def test_a_value_is_taken_over_while_it_is_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    x, other = torch.arange(6.0).to("mlirdev"), torch.zeros(6).to("mlirdev")
    y = x + 1
    meanwhile(monkeypatch, lambda: other.copy_(y))
    assert y.tolist() == [1, 2, 3, 4, 5, 6]
    assert (other * 2).tolist() == [2, 4, 6, 8, 10, 12]


def test_a_value_is_overwritten_while_it_is_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.arange(6.0).to("mlirdev")
    y, z = x + 1, x + 2

    def overwrite() -> None:
        for _ in range(4):  # with numbers that the launched values have, and others
            z.zero_()
            y.zero_()

    meanwhile(monkeypatch, overwrite)
    mlirdev.sync()
    assert (y.tolist(), z.tolist()) == ([0] * 6, [0] * 6)


def overwrite(x: Tensor, turn: int) -> Tensor:
    """Values that are pending in a trace get lost, and others take their place."""
    y = x + turn
    y.fill_(turn)
    y[1:] = x[1:] * 2
    y.copy_(x if turn % 3 else y)
    return y


def in_place(x: Tensor, turn: int) -> Tensor:
    """A value goes from one cell to another."""
    values = [x.clone() for _ in range(3)]
    torch._foreach_mul_(values, turn)
    torch._foreach_add_(values, [x, x, x], alpha=-0.5)
    return values[0] + values[1].detach() - values[2]


def views(x: Tensor, turn: int) -> Tensor:
    """The same view is read twice, from one trace or two."""
    a = x[:, 1] + turn
    return a * x[:, 1] - x.t()[1]


@pytest.mark.parametrize("turn_of", [overwrite, in_place, views])
def test_threads_dont_meet(turn_of: Callable[[Tensor, int], Tensor]) -> None:
    wrong: list[object] = []

    def work(seed: int) -> None:
        try:
            cpu = torch.full((3, 4), float(seed))
            x = cpu.to("mlirdev")
            for turn in range(TURNS):
                ours = turn_of(x, turn)
                if turn % 4 == seed % 4:
                    mlirdev.sync()
                if not torch.equal(ours.cpu(), turn_of(cpu, turn)):
                    wrong.append((seed, turn, ours.cpu()))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
