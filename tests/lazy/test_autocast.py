"""Autocast: types as CUDA's lists say, values as the CPU gives them in those types."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.nn import functional as F

import mlirdev
from mlirdev import backend

backend.attach()


@pytest.fixture(autouse=True)
def _reference() -> Iterator[None]:
    with mlirdev.options.override(compile="reference"):
        yield


def device(x: torch.Tensor) -> torch.Tensor:
    return x.to("mlirdev")


A, B = torch.randn(3, 3, generator=torch.Generator().manual_seed(0)), torch.eye(3) + 0.5
HALF = torch.bfloat16


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda a, b: a @ b, HALF),
        (lambda a, b: F.linear(a, b), HALF),
        (lambda a, b: F.linear(a, b, b[0]), HALF),
        (lambda a, b: torch.einsum("ij,jk", a, b), HALF),
        (lambda a, b: F.conv1d(a[None], b[:, :, None]), HALF),
        (lambda a, b: (a @ b).exp(), torch.float32),
        (lambda a, b: (a @ b).softmax(-1), torch.float32),
        (lambda a, b: (a @ b).sum(0), torch.float32),
        (lambda a, b: F.layer_norm(a @ b, (3,)), torch.float32),
        (lambda a, b: F.mse_loss(a @ b, b), torch.float32),
        (lambda a, b: torch.cat([a @ b, b]), torch.float32),
        (lambda a, b: torch.cat([a @ b, a @ b]), HALF),
        (lambda a, b: (a @ b).relu(), HALF),
        (lambda a, b: (a @ b) + b, torch.float32),
        (lambda a, b: a.double() @ b.double(), torch.float64),
        (lambda a, b: a.int() + b.int(), torch.int32),
        (lambda a, b: (a @ b).sum(0, dtype=HALF), HALF),
    ],
)
def test_types_and_values(call, dtype: torch.dtype) -> None:  # type: ignore[no-untyped-def]
    with torch.autocast("mlirdev", dtype=HALF):
        result = call(device(A), device(B))
    assert result.dtype is dtype
    torch.testing.assert_close(result.cpu().double(), call(A, B).double(), rtol=0.05, atol=0.05)


def test_gradients_have_the_parameters_type() -> None:
    w = device(B).requires_grad_()
    with torch.autocast("mlirdev", dtype=HALF):
        loss = (device(A) @ w).sum()
    loss.backward()
    assert w.grad is not None
    assert w.grad.dtype is torch.float32
    torch.testing.assert_close(w.grad.cpu(), A.sum(0)[:, None].expand(3, 3), rtol=0.05, atol=0.05)


def test_outside_and_disabled_nothing_is_cast() -> None:
    with torch.autocast("mlirdev", dtype=HALF):
        with torch.autocast("mlirdev", enabled=False):
            assert (device(A) @ device(B)).dtype is torch.float32
        assert (A @ B).dtype is torch.float32
    assert (device(A) @ device(B)).dtype is torch.float32


def test_what_is_unsafe_is_refused() -> None:
    with torch.autocast("mlirdev", dtype=HALF), pytest.raises(RuntimeError, match="unsafe to autocast"):
        F.binary_cross_entropy(device(A.sigmoid()), device(B.sigmoid()))
