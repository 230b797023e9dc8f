"""Formed plans, compiled and run, give what PyTorch gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch_mlir import ir

from mlirdev.passes import Formed, form_groups, run_graph_pipeline
from mlirdev.passes.lower import kernel_context
from tests.passes.capture import capture
from tests.passes.kernels import HOST
from tests.passes.linalg_text import random_program
from tests.passes.plan_execution import PlanExecutor, check_plan
from tests.passes.test_form_groups import DYNAMIC, DYNAMIC_GRAPH


def formed_of(module: ir.Module) -> Formed:
    run_graph_pipeline(module, HOST)
    formed = form_groups(module, HOST)
    check_plan(formed)
    return formed


def rand(*shape: int) -> torch.Tensor:
    return torch.randn(shape)


# --- random programs ------------------------------------------------------------------------------


def check_random_program(seed: int, ops: int) -> None:
    program, outputs = random_program(seed, ops)
    with kernel_context(), ir.Location.unknown():
        module = ir.Module.parse(program.text(outputs))
    results = PlanExecutor(formed_of(module))([value.data for value in program.inputs])
    for result, wanted in zip(results, outputs, strict=True):
        torch.testing.assert_close(result.view(wanted.shape), wanted.data, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_random_program(seed: int) -> None:
    check_random_program(seed, ops=12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_large_random_program(seed: int) -> None:
    check_random_program(seed, ops=24)


def test_run_time_size_and_scalars() -> None:
    with kernel_context(), ir.Location.unknown():
        module = ir.Module.parse(DYNAMIC)
    run_graph_pipeline(module, HOST)
    execute = PlanExecutor(form_groups(module, HOST, DYNAMIC_GRAPH))
    for rows in (1, 5, 64):
        x, y = rand(rows, 8), rand(rows, 8)
        a, both = execute((x, y), scalars=(2.5, 1), syms=(rows,))
        torch.testing.assert_close(a, x * 2.5 + y + 1)
        torch.testing.assert_close(both, torch.cat([a, a]))


# --- what models do -------------------------------------------------------------------------------


def adamw(p: Any, g: Any, m: Any, v: Any) -> Any:
    m, v = m * 0.9 + g * 0.1, v * 0.999 + g * g * 0.001
    return p * 0.99 - 1e-3 * (m / 0.1) / ((v / 0.001).sqrt() + 1e-8), m, v


def layer_norm(x: Any, w: Any, b: Any) -> Any:
    return (F.layer_norm(x, (x.shape[-1],), w, b),)


def layer_norm_gradient(x: Any, w: Any, b: Any) -> Any:
    return torch.func.grad(lambda *args: (layer_norm(*args)[0] ** 2).sum(), argnums=(0, 1, 2))(x, w, b)


def attention(x: Any, qkv: Any, out: Any) -> Any:
    batch, time, width = x.shape
    q, k, v = (t.view(batch, time, 4, width // 4).transpose(1, 2) for t in (x @ qkv).chunk(3, -1))
    scores = (q @ k.transpose(-1, -2) * 0.25).masked_fill(torch.ones(time, time).triu(1) > 0, float("-inf"))
    y = torch.softmax(scores, -1) @ v
    return (y.transpose(1, 2).reshape(batch, time, width) @ out,)


def mlp_gradients(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    def loss(*p: Any) -> Any:
        return (F.linear(torch.relu(F.linear(x, p[0], p[1])), p[2], p[3]) ** 2).mean()

    return torch.func.grad(loss, argnums=(0, 1, 2, 3))(w1, b1, w2, b2)


def convolution(x: Any, w: Any, mean: Any, var: Any, g: Any, b: Any) -> Any:
    return (torch.relu(F.batch_norm(F.conv2d(x, w, None, 1, 1), mean, var, g, b, False)),)


def pieces(x: Any, w: Any) -> Any:
    y = torch.relu(x)
    return torch.stack([y[i] @ w for i in range(3)]), y[2] + y[1], y[1], y[:, 3]


def returned(x: Any) -> Any:
    y = x * 2
    return x, y[:, 1:3], x[:, 0], x.t(), (x + 1).t(), y.view(-1), y, torch.zeros(2, 3), torch.tensor([1.0, 2.0])


def empties(x: Any) -> Any:
    return x[:0] * 2, x[:0].sum(), torch.zeros(0, 3), x[:0].sum(0), x + 1


def scalars(a: Any, b: Any) -> Any:
    return a * b, a + 1, a, a.sum()


def integers(i: Any) -> Any:
    return i.sum(), i.max(-1)[0], i.float().mean(), (i * i) % 7, i > 3


CASES: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...], int]] = {
    "adamw": (adamw, (rand(33, 65), rand(33, 65), rand(33, 65), rand(33, 65).abs()), 1),
    "layer_norm": (layer_norm, (rand(2, 17, 33), rand(33), rand(33)), 1),
    "layer_norm_gradient": (layer_norm_gradient, (rand(2, 17, 33), rand(33), rand(33)), 2),
    "softmax": (lambda x: (torch.softmax(x, -1),), (rand(5, 33),), 1),
    "softmax_of_columns": (lambda x: (torch.softmax(x, 0),), (rand(5, 33),), 1),
    "cross_entropy": (lambda x, t: (F.cross_entropy(x, t),), (rand(16, 50), torch.randint(0, 50, (16,))), 1),
    "attention": (attention, (rand(2, 9, 32), rand(32, 96), rand(32, 32)), 5),
    "mlp_gradients": (mlp_gradients, (rand(8, 16), rand(12, 16), rand(12), rand(10, 12), rand(10)), 7),
    "convolution": (convolution, (rand(2, 3, 8, 8), rand(6, 3, 3, 3), rand(6), rand(6).abs(), rand(6), rand(6)), 1),
    "batch_norm": (lambda x: (F.batch_norm(x, None, None, training=True),), (rand(4, 6, 8, 8),), 1),
    "geglu": (lambda x, w, v: (F.gelu(x @ w) * (x @ v),), (rand(8, 16), rand(16, 12), rand(16, 12)), 2),
    "pieces": (pieces, (rand(3, 4, 32), rand(32, 16)), 8),
    "returned": (returned, (rand(5, 6),), 6),
    "empties": (empties, (rand(4, 3),), 3),
    "scalars": (scalars, (rand(), rand()), 1),
    "integers": (integers, (torch.randint(-9, 9, (5, 7)),), 1),
    "bfloat16": (lambda a, w: (F.linear(a, w).relu(),), (rand(16, 64).bfloat16(), rand(32, 64).bfloat16()), 1),
    "embedding": (lambda w, i: (F.embedding(i, w) + 1,), (rand(50, 32), torch.randint(0, 50, (4, 16))), 1),
    "cumsum_and_sort": (lambda x: (x.cumsum(-1).relu(), x.sort(-1)[0]), (rand(5, 6),), 3),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_number_of_kernels(name: str) -> None:
    function, args, launches = CASES[name]
    formed = formed_of(capture(function, *args))
    assert len(formed.plan.launches) <= launches
    results, wanted = PlanExecutor(formed)(args), function(*args)
    for result, value in zip(results, wanted, strict=True):
        assert result.dtype == value.dtype
        tolerance = 1e-2 if value.dtype == torch.bfloat16 else 1e-4
        torch.testing.assert_close(result.view(value.shape), value.contiguous(), rtol=tolerance, atol=tolerance)
