"""Autocast: types as CUDA's lists say, values as the CPU gives them in those types."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing._internal.autocast_test_lists import AutocastTestLists

import mlirdev
from mlirdev import backend
from mlirdev.lazy import autocast

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


# --- PyTorch's own lists -----------------------------------------------------------------------------------


def listed(header: str, name: str) -> set[str]:
    """What a list macro of ATen/autocast_mode.h names."""
    found = re.search(rf"#define {name}\(_\)((?:.*\\\n)*.*\n)", header)
    assert found is not None
    calls = re.findall(r"_\(([^()]*?)\)", found.group(1).replace("\\\n", " "))
    return {".".join(part.strip() for part in call.split(",")) for call in calls}


def test_the_lists_are_cudas() -> None:
    header = (Path(torch.__file__).parent / "include/ATen/autocast_mode.h").read_text()
    ours = {n: set(getattr(autocast, n).split()) for n in ("_FAST", "_F32", "_F32_BY_DTYPE", "_WIDEST")}
    assert listed(header, "AT_FORALL_LOWER_PRECISION_FP") <= ours["_FAST"]
    assert ours["_F32"] - {"norm.Scalar", "norm.ScalarOpt_dim"} == listed(header, "AT_FORALL_FP32")
    assert ours["_F32_BY_DTYPE"] == listed(header, "AT_FORALL_FP32_SET_OPT_DTYPE")
    assert ours["_WIDEST"] - {"cat", "stack"} == listed(header, "AT_FORALL_PROMOTE")


LISTS = AutocastTestLists(torch.device("cpu"))
KINDS = [
    ("torch_fp16", torch, HALF),
    ("torch_fp32", torch, torch.float32),
    ("nn_fp16", torch._C._nn, HALF),
    ("nn_fp32", torch._C._nn, torch.float32),
    ("torch_need_autocast_promote", torch, torch.float32),
]


def moved(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return device(value)
    return type(value)(map(moved, value)) if isinstance(value, (list, tuple)) else value


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Using torch.cross without")
@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize(("name", "module", "dtype"), KINDS)
def test_pytorchs_test_lists(name: str, module: Any, dtype: torch.dtype) -> None:
    for op, args, *rest in getattr(LISTS, name):
        if "cudnn" in op or op == "einsum" or not hasattr(module, op):
            continue
        kwargs = rest[0] if rest and isinstance(rest[0], dict) else {}
        with torch.autocast("mlirdev", dtype=HALF):
            result = getattr(module, op)(*moved(args), **kwargs)
        for tensor in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                assert tensor.dtype is dtype, op


# --- modules, regions, the cache, the scaler -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Tanh(), nn.Conv2d(8, 4, 3)), (2, 3, 8, 8)),
        (lambda: nn.LSTM(5, 7, 2, bidirectional=True), (4, 3, 5)),
        (lambda: nn.GRU(5, 7, 2), (4, 3, 5)),
        (lambda: nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True), (2, 5, 16)),
    ],
)
def test_modules_train_close_to_f32(make: Any, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    ours, x = make(), torch.randn(shape)
    theirs = copy.deepcopy(ours)
    ours = ours.to("mlirdev")
    with torch.autocast("mlirdev", dtype=dtype):
        output = ours(device(x))
    expected = theirs(x)
    output, expected = (o[0] if isinstance(o, tuple) else o for o in (output, expected))
    torch.testing.assert_close(output.cpu().float(), expected, rtol=0.1, atol=0.1)
    output.float().pow(2).sum().backward()
    expected.pow(2).sum().backward()
    largest = max(p.grad.abs().max() for p in theirs.parameters() if p.grad is not None)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert p.grad is not None
        assert p.grad.dtype is torch.float32
        torch.testing.assert_close(p.grad.cpu(), q.grad, rtol=0.1, atol=0.05 * largest.item())


def test_a_parameter_is_cast_once_in_a_region() -> None:
    w, x = device(B).requires_grad_(), device(A)
    with torch.autocast("mlirdev", dtype=HALF):
        with torch.no_grad():
            x @ w
        assert not autocast._kept
        first = x @ w
        ((_, _, cast),) = autocast._kept.values()
        first @ w
        assert [kept[2] is cast for kept in autocast._kept.values()] == [True]
        with torch.no_grad():
            w.add_(1)
        x @ w
        ((_, _, renewed),) = autocast._kept.values()
        assert renewed is not cast
    assert not autocast._kept
    with torch.autocast("mlirdev", dtype=HALF, cache_enabled=False):
        x @ w
        assert not autocast._kept


@pytest.mark.parametrize("use", ["forward", "backward"])
def test_custom_functions_choose_their_types(use: str) -> None:
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="mlirdev", cast_inputs=torch.float32 if use == "forward" else None)
        def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(a, b)
            seen.append((a.dtype, torch.is_autocast_enabled("mlirdev")))
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="mlirdev")
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            a, b = ctx.saved_tensors
            seen.append((grad.dtype, torch.is_autocast_enabled("mlirdev")))
            return grad @ b.t(), a.t() @ grad

    a = device(A).requires_grad_()
    with torch.autocast("mlirdev", dtype=HALF):
        result = Product.apply(a.half() if use == "forward" else a, device(B))
    result.float().sum().backward()
    if use == "forward":
        assert seen == [(torch.float32, False), (torch.float32, False)]
    else:
        assert seen == [(torch.float32, True), (HALF, True)]


@pytest.mark.parametrize("fused", [False, True])
def test_the_scaler_skips_infinite_steps(fused: bool) -> None:
    def train(where: str) -> list[float]:
        torch.manual_seed(0)
        m = nn.Linear(4, 2).to(where)
        optimizer = torch.optim.AdamW(m.parameters(), lr=0.1, fused=fused)
        scaler = torch.amp.GradScaler(where, init_scale=2.0**10, growth_interval=3)
        seen = []
        for step in range(8):
            optimizer.zero_grad()
            loss = m(torch.full((3, 4), step + 1.0, device=where)).pow(2).mean()
            scaler.scale(loss * float("inf") if step in (2, 5) else loss).backward()
            if not fused:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(m.parameters(), 1.0)
            before = mlirdev.metrics.snapshot()
            scaler.step(optimizer)
            after = mlirdev.metrics.snapshot()
            scaler.update()
            if where == "mlirdev":
                assert sum(after["syncs"].values()) - sum(before["syncs"].values()) <= 1
                assert after["fallbacks"] == before["fallbacks"]
            seen += [scaler.get_scale(), *m.weight.detach().flatten().tolist()]
        return seen

    torch.testing.assert_close(torch.tensor(train("mlirdev")), torch.tensor(train("cpu")), rtol=1e-3, atol=1e-4)
