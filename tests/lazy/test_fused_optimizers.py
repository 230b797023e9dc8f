"""`fused=True`: the update of all parameters as one op, against the CPU's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

import mlirdev
from mlirdev.options import options

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": partial(torch.optim.Adam, weight_decay=0.1),
    "amsgrad": partial(torch.optim.Adam, amsgrad=True, maximize=True),
    "adamw": partial(torch.optim.AdamW, weight_decay=0.1),
    "adamw, a tensor as rate": lambda p, lr, **kw: torch.optim.AdamW(p, lr=torch.tensor(lr), **kw),
    "sgd": partial(torch.optim.SGD, weight_decay=0.1),
    "momentum": partial(torch.optim.SGD, momentum=0.9, dampening=0.1, maximize=True),
    "nesterov": partial(torch.optim.SGD, momentum=0.9, nesterov=True),
    "adagrad": partial(torch.optim.Adagrad, lr_decay=0.1, weight_decay=0.1),
}


def steps(name: str, device: str, dtype: torch.dtype) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    params = [torch.randn(n, 3, generator=generator).to(dtype).to(device).requires_grad_() for n in (4, 1)]
    optimizer = OPTIMIZERS[name](params, lr=0.1, fused=True)
    for _ in range(4):
        for param in params:
            param.grad = torch.randn(param.shape, generator=generator).to(dtype).to(device)
        optimizer.step()
    states = [v for state in optimizer.state.values() for v in state.values() if isinstance(v, Tensor)]
    return [t.detach().cpu() for t in (*params, *states)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_the_cpus(name: str, dtype: torch.dtype) -> None:
    with mlirdev.no_fallback():
        ours = steps(name, "mlirdev", dtype)
    for a, b in zip(ours, steps(name, "cpu", dtype), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("compile", ["reference", "workers"])
@pytest.mark.parametrize("overflows", [False, True])
def test_a_step_that_overflowed_changes_nothing(overflows: bool, compile: str) -> None:
    """What a GradScaler hands over stays on the device."""
    with options.override(compile=compile), mlirdev.no_sync(), mlirdev.no_fallback():
        param = torch.ones(4, device="mlirdev", requires_grad=True)
        param.grad = torch.full((4,), 24.0, device="mlirdev")
        optimizer: Any = torch.optim.AdamW([param], lr=0.1, fused=True)
        optimizer.grad_scale = torch.full((), 8.0, device="mlirdev")
        optimizer.found_inf = torch.full((), float(overflows), device="mlirdev")
        optimizer.step()
    assert (param.tolist() == [1.0] * 4) is overflows
    assert param.grad.tolist() == [3.0] * 4
    assert optimizer.state[param]["step"].item() == (0 if overflows else 1)
