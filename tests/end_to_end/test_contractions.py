"""Matrix products with what comes before and after them, in every layout and float type; each program with several
sizes in a row, so that run-time sizes have their turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

Program = Callable[..., Tensor]
SIZES = [(7, 33, 20), (9, 33, 20), (70, 50, 96), (1, 40, 64), (4, 129, 64), (64, 64, 64)]
TOLERANCES = {torch.float32: 1e-4, torch.bfloat16: 3e-2, torch.float16: 5e-3}


def layer_norm_after(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.layer_norm(x @ w + b, (w.shape[1],))


PROGRAMS: dict[str, Program] = {
    "plain": lambda x, w, b: x @ w,
    "bias and activation": lambda x, w, b: F.gelu(x @ w + b, approximate="tanh"),
    "weight the other way": lambda x, w, b: F.linear(x, w.t().contiguous(), b),
    "left the other way": lambda x, w, b: x.t().contiguous().t() @ w,
    "both the other way": lambda x, w, b: (w.t() @ x.t()).relu(),
    "computed operands": lambda x, w, b: torch.tanh(x) @ torch.exp(-w * w),
    "residual": lambda x, w, b: x @ w + (x @ w).abs().mean(0),
    "only its sums": lambda x, w, b: (x @ w).sum(1),
    "its transpose too": lambda x, w, b: (x @ w).t().contiguous() * 2,
    "a norm": layer_norm_after,
    "batches": lambda x, w, b: torch.baddbmm(b, torch.stack([x, 2 * x, -x]), torch.stack([w, w, w])),
    "a vector": lambda x, w, b: torch.tanh(x[0]) @ w + b,
    "widened": lambda x, w, b: x.float() @ w.float() + b.float(),
    "three in a row": lambda x, w, b: torch.relu(torch.relu(x @ w + b) @ w.t().contiguous()) @ w,
}


def inputs(m: int, k: int, n: int, dtype: torch.dtype) -> list[Tensor]:
    generator = torch.Generator().manual_seed(m * k + n)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in ((m, k), (k, n), (n,))]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_in_every_size(name: str, dtype: torch.dtype) -> None:
    """Against float64, relative to the largest: eager rounds halves at other places."""
    for m, k, n in SIZES:
        given = inputs(m, k, n, dtype)
        ours = PROGRAMS[name](*(t.to("mlirdev") for t in given)).cpu().double()
        exact = PROGRAMS[name](*(t.double() for t in given)) if name != "widened" else PROGRAMS[name](*given).double()
        assert ours.shape == exact.shape
        off = ((ours - exact).abs().max() / exact.abs().max()).item()
        assert off <= TOLERANCES[dtype], f"{name} of {m}x{k}x{n} in {dtype}: {off:.1e} off"


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_gradients_in_every_size(dtype: torch.dtype) -> None:
    def gradients(x: Tensor, w: Tensor, b: Tensor) -> list[Tensor]:
        leaves = [t.detach().requires_grad_() for t in (x, w, b)]
        out = F.gelu(F.linear(leaves[0], leaves[1].t(), leaves[2]))
        return list(torch.autograd.grad(out.float().square().mean(), leaves))

    for m, k, n in SIZES:
        given = inputs(m, k, n, dtype)
        ours, eager = gradients(*(t.to("mlirdev") for t in given)), gradients(*(t.float() for t in given))
        for a, b in zip(ours, eager, strict=True):
            off = ((a.cpu().float() - b).abs().max() / b.abs().max()).item()
            assert off <= 2 * TOLERANCES[dtype], f"{m}x{k}x{n} in {dtype}: {off:.1e} off"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_what_is_not_finite_stays_in_its_row(value: float, dtype: torch.dtype) -> None:
    x, w, b = inputs(37, 50, 21, dtype)
    x[3, 7] = value
    ours, eager = (PROGRAMS["plain"](x.to(d), w.to(d), b.to(d)).cpu() for d in ("mlirdev", "cpu"))
    assert torch.equal(ours.isfinite(), eager.isfinite())
    assert ours.isfinite().all(1).sum() == 36
