"""`_foreach_*`: recorded for all tensors at once, against the CPU's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import mlirdev

_UNARY = ("abs", "ceil", "cos", "exp", "floor", "log", "neg", "reciprocal", "rsqrt", "sigmoid", "sqrt", "tanh", "trunc")
_ARITHMETIC = ("add", "sub", "mul", "div")
_Lists = Callable[[], list[Tensor]]


def _calls(p: _Lists, q: _Lists, device: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name in _UNARY:
        yield name, (q(),)
    for name in _ARITHMETIC:
        yield from ((name, (p(), rest)) for rest in (2.5, 2, [1.0, 2, 3.5], q()))
    for name in ("addcmul", "addcdiv"):
        yield from ((name, (p(), q(), q(), value)) for value in (0.5, 1, [0.5, 1.0, 0.0]))
    yield from (("lerp", (p(), q(), weight)) for weight in (0.25, 1, q()))
    yield from (("clamp_max", (p(), bound)) for bound in (2.5, [1.0, 2.0, 3.0], q()))
    yield from (("pow", (p(), exponent)) for exponent in (2, 1.5, [2, 3.0, 0.5]))
    yield "maximum", (p(), q())
    yield "mul", (p(), torch.tensor(0.5).to(device))


def _results(device: str, make: Callable[[int], Tensor]) -> list[Tensor]:
    def tensors(start: int) -> list[Tensor]:
        return [(make(row) + start).to(device) for row in range(3)]

    results = []
    for name, arguments in _calls(lambda: tensors(1), lambda: tensors(2), device):
        results += getattr(torch, f"_foreach_{name}")(*arguments)
        getattr(torch, f"_foreach_{name}_")(*arguments)
        results += arguments[0]
    return [result.cpu() for result in results]


@pytest.mark.parametrize(
    "make",
    [
        lambda i: torch.arange(6.0).view(2, 3) + i,
        lambda i: torch.full((i + 1,), 1.5, dtype=torch.bfloat16),
        lambda i: torch.arange(12.0).view(3, 4).t(),
        lambda i: torch.arange(12.0)[i : i + 4],
        lambda i: torch.full((i, 2), 1.5, dtype=torch.float64),
    ],
    ids=["alike", "bf16, sizes differ", "transposed", "views", "one empty"],
)
def test_values_are_the_cpus(make: Callable[[int], Tensor]) -> None:
    with mlirdev.no_fallback():
        ours = _results("mlirdev", make)
    for a, b in zip(ours, _results("cpu", make), strict=True):
        torch.testing.assert_close(a, b)


def test_a_list_is_one_row_after_the_other() -> None:
    def values(device: str) -> list[Tensor]:
        a, b, c = (torch.arange(3.0).to(device) + i for i in range(3))
        torch._foreach_add_([a, b, c], [b, c, a])
        torch._foreach_mul_([a, a], [2, 3])
        torch._foreach_sub_([a[1:], b], [b[:2], a])
        torch._foreach_div_([a, b], c[2])
        return [t.cpu() for t in (a, b, c)]

    for ours, theirs in zip(values("mlirdev"), values("cpu"), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    "call",
    [
        lambda p, n: torch._foreach_add_(n, 2.5),
        lambda p, n: torch._foreach_add_([], 1),
        lambda p, n: torch._foreach_add_(p, p[:1]),
        lambda p, n: torch._foreach_mul(p, [1.0]),
        lambda p, n: torch._foreach_add_([p[0]], [p[0].repeat(2, 1)[:3]]),
    ],
    ids=["dtype", "nothing", "lengths", "numbers", "sizes"],
)
def test_refused_as_on_the_cpu(call: Callable[[list[Tensor], list[Tensor]], Any]) -> None:
    def refusal(device: str) -> str:
        tensors = [torch.ones(2, 3, device=device), torch.ones(2, 3, device=device)]
        with pytest.raises(RuntimeError) as caught:
            call(tensors, [torch.ones(3, dtype=torch.int64, device=device)])
        return str(caught.value)

    assert refusal("mlirdev") == refusal("cpu")


def test_autograd_sees_what_was_written() -> None:
    x = torch.ones(3, device="mlirdev", requires_grad=True)
    y = x * 2
    z = y.exp()
    before = z._version
    torch._foreach_mul_([z], 2)
    assert z._version > before
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    w = x * 1
    sum(torch._foreach_mul([w, w.exp()], [w * 3, w])).sum().backward()  # type: ignore[union-attr]
    v = torch.ones(3, requires_grad=True)
    (v * v * 3 + v.exp() * v).sum().backward()
    torch.testing.assert_close(x.grad.cpu(), v.grad)  # type: ignore[union-attr]


def test_rows_before_one_that_is_refused_are_written() -> None:
    for device in ("cpu", "mlirdev"):
        tensors = [torch.ones(2, device=device), torch.ones(2, dtype=torch.bool, device=device)]
        with pytest.raises(RuntimeError, match="not supported"):
            torch._foreach_neg_(tensors)
        assert tensors[0].tolist() == [-1.0, -1.0]
        assert tensors[0]._version == 1
