"""Factorisations on the device: errors are raised at the call, and only where PyTorch looks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import mlirdev

SINGULAR = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
L = torch.linalg

FAILING: dict[str, Callable[[torch.Tensor], Any]] = {
    "inv": L.inv,
    "inv_ex": lambda x: L.inv_ex(x, check_errors=True),
    "solve": lambda x: L.solve(x, x),
    "solve_ex": lambda x: L.solve_ex(x, x, check_errors=True),
    "cholesky": lambda x: L.cholesky(-x),
    "cholesky_ex": lambda x: L.cholesky_ex(-x, check_errors=True),
    "cholesky-old": lambda x: torch.cholesky(-x),
    "cholesky_inverse": lambda x: torch.cholesky_inverse(x - x),
    "lu_factor": L.lu_factor,
    "lu_factor_ex": lambda x: L.lu_factor_ex(x, check_errors=True),
    "ldl_factor": lambda x: L.ldl_factor(x),
    "batch": lambda x: L.inv(torch.stack([x + torch.eye(2, device=x.device), x])),
    "pivot": lambda x: L.lu(x, pivot=False),
    "mode": lambda x: L.qr(x, mode="all"),
    "bytes": lambda x: L.cholesky(x.byte()),
    "out": lambda x: L.inv_ex(
        x, check_errors=True, out=(x.clone(), torch.empty((), dtype=torch.int32, device=x.device))
    ),
}


@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated:UserWarning", "ignore:.* runs on the CPU:UserWarning")
@pytest.mark.parametrize("call", FAILING.values(), ids=FAILING)
def test_errors_are_eagers(call: Callable[[torch.Tensor], Any]) -> None:
    with pytest.raises(Exception, match=r".") as expected:
        call(SINGULAR)
    with pytest.raises(type(expected.value)) as raised:
        call(SINGULAR.to("mlirdev"))
    assert str(raised.value).split("\n")[0] == str(expected.value).split("\n")[0]


def test_unchecked_factorisations_neither_wait_nor_fall_back() -> None:
    x = SINGULAR.to("mlirdev")
    with mlirdev.no_sync(), mlirdev.no_fallback():
        inverse, info = L.inv_ex(x)
        mlirdev.sync()
    assert info.item() == 2
    assert torch.equal(inverse.cpu(), L.inv_ex(SINGULAR).inverse)


def test_a_checked_one_waits_once() -> None:
    x = (SINGULAR + torch.eye(2)).to("mlirdev")
    before = sum(mlirdev.metrics.snapshot()["syncs"].values())
    L.inv(x)
    assert sum(mlirdev.metrics.snapshot()["syncs"].values()) == before + 1


def test_gradients_of_transposed_operands() -> None:
    """Which matrix was factored follows from how the operand lies in memory."""
    base = torch.randn(3, 3) + 3 * torch.eye(3)
    for function in (L.det, L.slogdet, L.inv, lambda m: L.solve(m, m.mT)):
        grads = []
        for device in ("cpu", "mlirdev"):
            x = base.clone().to(device).detach().requires_grad_()
            out = function(x.mT)
            (out if isinstance(out, torch.Tensor) else out[1]).sum().backward()
            assert x.grad is not None
            grads.append(x.grad.cpu())
        torch.testing.assert_close(grads[0], grads[1])
