"""A kernel writes an update over the old value, element by element, unless somebody could still want that."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import mlirdev
from mlirdev.lazy.storage import cell_of

# Smaller results aren't written in place.
SHAPE = (128, 256)


def parameter(device: str = "mlirdev") -> Tensor:
    tensor = torch.linspace(-1.0, 1.0, SHAPE[0] * SHAPE[1]).reshape(SHAPE).clone()
    tensor[0, 0], tensor[1, 1] = float("nan"), float("inf")
    tensor = tensor.to(device)
    if device == "mlirdev":
        mlirdev.sync()
    return tensor


def update(tensor: Tensor) -> None:
    tensor.mul_(0.75).add_(torch.tanh(tensor), alpha=0.5)


def expected(turns: int) -> Tensor:
    tensor = parameter("cpu")
    for _ in range(turns):
        update(tensor)
    return tensor


def address(tensor: Tensor) -> int:
    buffer = cell_of(tensor).buffer
    assert buffer is not None
    return buffer.address


def check(tensor: Tensor, reference: Tensor) -> None:
    torch.testing.assert_close(tensor.cpu(), reference, equal_nan=True)


def test_an_update_stays_where_it_was() -> None:
    tensor = parameter()
    before = address(tensor)
    for turn in range(1, 4):
        update(tensor)
        mlirdev.sync()
        assert address(tensor) == before
        check(tensor, expected(turn))


def test_temporaries_are_written_over_one_another() -> None:
    x = torch.randn(64, 512)
    y = x.to("mlirdev")
    for device in (x, y):
        rows = torch.softmax(device, 1)
        device.copy_(torch.softmax(rows.T.contiguous(), 1).T * device - rows)
    torch.testing.assert_close(y.cpu(), x)


def test_an_old_value_that_is_held_stays() -> None:
    tensor = parameter()
    clone = tensor.clone()
    x = torch.ones(SHAPE, device="mlirdev", requires_grad=True)
    saved = (x * tensor.clone()).exp()
    mlirdev.sync()
    update(tensor)
    mlirdev.sync()
    saved.sum().backward()
    assert x.grad is not None
    check(tensor, expected(1))
    check(clone, parameter("cpu"))
    check(x.grad, parameter("cpu").exp() * parameter("cpu"))


def test_a_value_that_another_stream_reads_stays() -> None:
    tensor = parameter()
    other = torch.mlirdev.Stream()
    with torch.mlirdev.stream(other):
        read = tensor * 3  # pending there
    update(tensor)
    mlirdev.sync()
    update(tensor)
    torch.mlirdev.synchronize()
    with torch.mlirdev.stream(other):
        check(read, parameter("cpu") * 3)
    check(tensor, expected(2))


def test_a_value_that_is_read_twice_by_the_launch_is_right() -> None:
    tensor = parameter()
    tensor.copy_(tensor.flip(0) + tensor)
    reference = parameter("cpu")
    check(tensor, reference.flip(0) + reference)


def test_an_update_that_fails_poisons_what_it_would_have_written() -> None:
    tensor = parameter()
    index = torch.tensor([0, 999], device="mlirdev")
    update(tensor)
    tensor.add_(tensor[0].index_select(0, index).sum())
    for _ in range(2):
        with pytest.raises((IndexError, RuntimeError)):
            tensor.cpu()
    fresh = parameter()
    update(fresh)
    check(fresh, expected(1))
