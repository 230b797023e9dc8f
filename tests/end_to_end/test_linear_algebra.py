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


@pytest.mark.slow
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


SPECTRA: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "eigvalsh": L.eigvalsh,
    "svdvals": L.svdvals,
    "pinv": L.pinv,
    "pinv-hermitian": lambda x: L.pinv(x + x.mT, hermitian=True),
    "nuclear": lambda x: L.matrix_norm(x, "nuc"),
    "cond": L.cond,
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4)])
@pytest.mark.parametrize("function", SPECTRA.values(), ids=SPECTRA)
def test_what_has_no_visible_vectors_is_compiled(
    function: Callable[[torch.Tensor], torch.Tensor], shape: tuple[int, ...]
) -> None:
    """A spectrum's values, and derivatives that don't depend on vectors' signs, twice."""
    base = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = []
    for device in ("cpu", "mlirdev"):
        x = base.clone().to(device).detach().requires_grad_()
        with mlirdev.no_fallback():
            value = function(x)
            (first,) = torch.autograd.grad(value.pow(2).sum(), x, create_graph=True)
            (second,) = torch.autograd.grad(first.pow(2).sum(), x)
            found.append([v.detach().cpu() for v in (value, first, second)])
    torch.testing.assert_close(found[1], found[0], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (3, 5), (2, 5, 3)])
@pytest.mark.slow
def test_singular_values_of_oblong_matrices(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    torch.testing.assert_close(L.svdvals(x.to("mlirdev")).cpu(), L.svdvals(x))
    torch.testing.assert_close(L.pinv(x.to("mlirdev")).cpu(), L.pinv(x), rtol=1e-4, atol=1e-5)


def test_what_is_not_finite_has_no_singular_values() -> None:
    x = torch.tensor([[float("nan"), 1.0], [1.0, 0.0]], device="mlirdev")
    with pytest.raises(L.LinAlgError, match="non-finite values"):
        L.svdvals(x)
