"""What only a kernel can find wrong raises eager's error when the value is read, with the line that recorded the op."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import mlirdev

DEV = "mlirdev"


def indices(*values: int) -> Tensor:
    return torch.tensor(values, device=DEV)


def table() -> Tensor:
    return torch.arange(12.0, device=DEV).view(4, 3)


WRONG_INDICES: dict[str, Callable[[], Tensor]] = {
    "embedding": lambda: F.embedding(indices(1, 9), table()),
    "embedding, negative": lambda: F.embedding(indices(1, -1), table()),
    "gather": lambda: torch.gather(table(), 0, indices(1, 9, 0).view(1, 3)),
    "index": lambda: table()[indices(1, 9)],
    "index, negative": lambda: table()[indices(1, -9)],
    "index_select": lambda: torch.index_select(table(), 0, indices(1, 9)),
    "index_put": lambda: table().index_put((indices(1, 9),), torch.ones(3, device=DEV)),
    "index_add": lambda: table().index_add(0, indices(1, 9), torch.ones(2, 3, device=DEV)),
    "index_copy": lambda: table().index_copy(0, indices(1, 9), torch.ones(2, 3, device=DEV)),
    "index_fill": lambda: table().index_fill(0, indices(1, 9), 2.0),
    "scatter": lambda: table().scatter(0, indices(1, 9, 0).view(1, 3), 2.0),
    "scatter_add": lambda: table().scatter_add(0, indices(1, 9, 0).view(1, 3), torch.ones(1, 3, device=DEV)),
    "take": lambda: torch.take(table(), indices(1, 99)),
    "nll_loss": lambda: F.nll_loss(table(), indices(0, 1, 2, 9)),
    "cross_entropy": lambda: F.cross_entropy(table(), indices(0, 1, 2, 9)),
}


@pytest.mark.parametrize("name", WRONG_INDICES)
def test_an_index_out_of_range_raises_with_its_line(name: str) -> None:
    call = WRONG_INDICES[name]
    result = call() + 1.0
    with pytest.raises(IndexError, match=r"index -?\d+ is out of bounds") as raised:
        result.cpu()
    assert f"{__file__}:{call.__code__.co_firstlineno}" in str(raised.value)
    assert table().sum().item() == 66.0


DIVISIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "floor": lambda a, b: a // b,
    "trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "remainder": lambda a, b: a % b,
    "fmod": lambda a, b: torch.fmod(a, b),
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_an_integer_division_by_zero_raises_with_its_line(name: str) -> None:
    divide = DIVISIONS[name]
    quotient = divide(indices(7, 8), indices(2, 0))
    with pytest.raises(RuntimeError, match="ZeroDivisionError") as raised:
        quotient.cpu()
    assert f"{__file__}:{divide.__code__.co_firstlineno}" in str(raised.value)
    assert indices(7, 8).sum().item() == 15


def test_the_wrong_value_is_named() -> None:
    rows = F.embedding(indices(1, 9), table())
    with pytest.raises(IndexError, match="index 9 is out of bounds for a dimension of size 4"):
        rows.cpu()
    picked = table()[indices(0, -7)]
    with pytest.raises(IndexError, match="index -7 is out of bounds for a dimension of size 4"):
        picked.cpu()


def test_what_depends_on_a_failed_value_raises_the_same() -> None:
    rows = F.embedding(indices(1, 9), table())
    mlirdev.sync()
    with pytest.raises(IndexError, match="index 9"):
        (rows * 2).cpu()
    with pytest.raises(IndexError, match="index 9"):
        rows.sum().item()
