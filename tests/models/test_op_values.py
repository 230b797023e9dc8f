"""Operators whose compiled kernels, not their rules alone, were once wrong: through the device, size after size, so
that sizes become inputs on the way."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from mlirdev.compiler.driver import CompileWarning

Run = Callable[[Callable[[Tensor], Tensor], int], Any]


def index_from_the_back(put: Callable[[Tensor], Tensor], n: int) -> list[Tensor]:
    x, row = torch.arange(n * 3.0).view(n, 3), torch.full((3,), -1.0)
    return [put(x).select_scatter(put(row), 0, i) for i in (0, -1, 1, n - 1, 2, -2)]


def slices_to_the_end(put: Callable[[Tensor], Tensor], n: int) -> list[Tensor]:
    x = torch.arange(n * 3.0).view(n, 3)
    bounds = [(0, 1), (-1, 10), (1, 2**63 - 1), (0, n - 1), (1, -1), (2, n)]
    return [put(x).slice_scatter(put(x[a:b] * 0.0), 0, a, b) for a, b in bounds]


def one_index(put: Callable[[Tensor], Tensor], n: int) -> list[Tensor]:
    return [F.one_hot(put(torch.tensor(n - 1)), n), F.channel_shuffle(put(torch.randn(1, 2 * n, 2, 2)), 2)]


def unbatched_pool(put: Callable[[Tensor], Tensor], n: int) -> list[Tensor]:
    x = torch.arange(3.0 * n * n).view(3, n, n)
    return [F.adaptive_avg_pool2d(put(x), 2), F.avg_pool2d(put(x), 2), F.max_pool2d(put(x), 2)]


@pytest.mark.parametrize("run", [index_from_the_back, slices_to_the_end, one_index, unbatched_pool])
def test_values_size_after_size(run: Run) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", CompileWarning)
        for n in (5, 4, 7, 6):
            torch.manual_seed(n)
            got = [t.cpu() for t in run(lambda t: t.to("mlirdev"), n)]
            torch.manual_seed(n)
            for a, b in zip(got, run(lambda t: t, n), strict=True):
                torch.testing.assert_close(a, b)


def grads_of(function: Callable[[Tensor], Any], x: Tensor) -> tuple[Tensor, Tensor]:
    x = x.detach().requires_grad_()
    answer = function(x)
    value = sum(t.sum() for t in (answer if isinstance(answer, tuple) else (answer,)))
    return value.detach().cpu(), torch.autograd.grad(value, x)[0].cpu()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("function", [torch.linalg.det, torch.linalg.slogdet, torch.linalg.inv])
def test_factorisations_of_transposed_matrices(function: Callable[[Tensor], Any]) -> None:
    """Their backward asks whether the matrix is contiguous."""
    torch.manual_seed(0)
    x = torch.randn(2, 4, 4) + 2.0 * torch.eye(4)
    wanted = grads_of(function, x)
    for operand in (x.to("mlirdev"), x.mT.contiguous().to("mlirdev").mT):
        for a, b in zip(grads_of(function, operand), wanted, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_each_new_exponent_of_integers_is_checked() -> None:
    x = torch.tensor([1, 2, 3], device="mlirdev")
    assert (x**4).tolist() == [1, 16, 81]
    with pytest.raises(RuntimeError, match="negative integer powers"):
        x**-3
