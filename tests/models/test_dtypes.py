"""Numbers at the edges of their dtypes, compiled: overflow, division, shifts, casts out of range, roundings of halves;
and every pair of dtypes promoted. One graph per test: what is compared is recorded first."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
DTYPES = [torch.bool, *INTEGERS, *FLOATS, torch.complex64]
Put = Callable[[Tensor], Tensor]
# CPU eager's vectorised and scalar paths give different numbers for floats out of an integer's range: these don't.
IN_RANGE = {torch.uint8: 255.0, torch.int8: 127.0, torch.int16: 32767.0, torch.int32: 2.0**30, torch.int64: 2.0**62}


def compare(program: Callable[[Put], list[Tensor]], tolerance: dict[torch.dtype, float] | None = None) -> None:
    ours, theirs = program(lambda t: t.to("mlirdev")), program(lambda t: t)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), i
        relative = (tolerance or {}).get(b.dtype, 0.0)
        torch.testing.assert_close(a.cpu(), b, rtol=relative, atol=0, equal_nan=True, msg=f"number {i}")


def edges(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    info = torch.iinfo(dtype)
    values = [info.min, info.min + 1, -1 if info.min else 1, 0, 1, 2, 3, 7, info.max - 1, info.max, info.max // 2]
    x = torch.tensor(values, dtype=dtype)
    return x.repeat_interleave(len(x)), x.repeat(len(x))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_at_their_edges(dtype: torch.dtype) -> None:
    def program(put: Put) -> list[Tensor]:
        a, b = map(put, edges(dtype))
        divisor = torch.where(b == 0, 5, b)
        shifts = put(torch.tensor([-1, 0, 1, 7, 8, 31, 32, 63, 64, 100, 3]).clamp(torch.iinfo(dtype).min).to(dtype))
        shifted = a.view(11, 11)
        return [
            a + b, a - b, a * b, a & b, a | b, a ^ b, -a, a.abs(), a.sign(), a < b, a == b, torch.maximum(a, b),
            a // divisor, a % divisor, torch.fmod(a, divisor), a // -1, a % -1, a / divisor, a**3,
            torch.addcmul(a, a, b),
            shifted << shifts, shifted >> shifts, a.cumsum(0, dtype=dtype), a.sum(dtype=dtype), a.sum(), a.prod(),
            *(a.to(to) for to in DTYPES), a + 300, a * -3, a < 2**40,
        ]  # fmt: skip

    compare(program, {torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 1e-2})


@pytest.mark.parametrize("dtype", [torch.int32])
def test_dividing_integers_by_zero_raises(dtype: torch.dtype) -> None:
    x, zero = torch.ones(3, dtype=dtype, device="mlirdev"), torch.zeros(3, dtype=dtype, device="mlirdev")
    for divide in (operator.floordiv, operator.mod, torch.fmod):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divide(x, zero).cpu()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_casts_of_floats(dtype: torch.dtype) -> None:
    special = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e30, -1e30]

    def program(put: Put) -> list[Tensor]:
        x = put(torch.tensor(special, dtype=torch.float64).to(dtype))
        within = [put(torch.linspace(0, limit, 40, dtype=torch.float64).to(dtype)) for limit in IN_RANGE.values()]
        integers = [v.to(to) for v, to in zip(within, IN_RANGE, strict=True) if v.dtype is not torch.float16]
        return [*(x.to(to) for to in [torch.bool, *FLOATS]), *integers]

    compare(program)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_rounded_after_each_operation(dtype: torch.dtype) -> None:
    def program(put: Put) -> list[Tensor]:
        generator = torch.Generator().manual_seed(0)
        x, y, z = (put(torch.randn(4096, generator=generator).to(dtype)) for _ in range(3))
        return [
            x * y + z, x * y * z, x * torch.pow(2.0, y * 8), (x - y).exp() * z, (x * 300) * (y * 300) * 1e-3,
            x + y + z - x, torch.where(x * y > z, x * y, z * y), (x * x + y * y).sqrt() / z, torch.sigmoid(x * y) * z,
            (x * y).view(64, 64).sum(1), (x * y).view(64, 64).softmax(1), (x * y).mean(),
        ]  # fmt: skip

    compare(program)


def some(dtype: torch.dtype, shape: tuple[int, ...], seed: int) -> Tensor:
    x = torch.randint(1, 5, shape, generator=torch.Generator().manual_seed(seed))
    return x % 2 == 0 if dtype is torch.bool else x.to(dtype)


SHAPES: list[tuple[Any, Any]] = [((3,), (3,)), ((3,), ()), ((), (3,))]


# Multiplication promotes as addition does, and comparisons as each other.
PAIRED = [torch.add, torch.div, torch.pow, torch.lt, torch.bitwise_and]
PAIRED += [pytest.param(op, marks=pytest.mark.exhaustive) for op in (torch.mul, torch.eq)]


@pytest.mark.slow
@pytest.mark.parametrize("op", PAIRED)
def test_pairs_of_dtypes(op: Callable[..., Tensor]) -> None:
    """Every pair of tensors, 0-d ones and Python's numbers: the same results, or the same kind of error."""

    def answer(put: Put, a: Any, b: Any) -> Tensor | type:
        try:
            return op(*(put(v) if isinstance(v, Tensor) else v for v in (a, b)))
        except (RuntimeError, NotImplementedError) as error:
            return NotImplementedError if isinstance(error, NotImplementedError) else RuntimeError

    pairs: list[tuple[Any, Any]] = [
        (some(x, s, 1), some(y, t, 2)) for x, y in itertools.product(DTYPES, DTYPES) for s, t in SHAPES
    ]
    pairs += [(some(x, s, 1), n) for x in DTYPES for s in ((3,), ()) for n in (True, 3, 2.5, 1j)]
    pairs = [p for p in pairs if torch.result_type(*p) is not torch.complex32]
    ours = [answer(lambda t: t.to("mlirdev"), *p) for p in pairs]
    for pair, got in zip(pairs, ours, strict=True):
        wanted = answer(lambda t: t, *pair)
        if isinstance(got, Tensor) and isinstance(wanted, Tensor):
            assert got.dtype is wanted.dtype, pair
            torch.testing.assert_close(
                got.cpu(), wanted, rtol=1e-2 if wanted.dtype in FLOATS[:2] else 1e-5, atol=1e-6, equal_nan=True
            )
        else:
            assert got is wanted, pair


# --- long sums --------------------------------------------------------------------------------------

LONG_SUMS: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "columns": lambda x: x.view(-1, 64).sum(0),
    "squares": lambda x: (x * x).sum(),
    "norm": lambda x: x.norm(),
    "var": lambda x: x.var(),
    "nansum": lambda x: x.nansum(),
}


@pytest.mark.parametrize("name", LONG_SUMS)
def test_a_million_are_added_as_precisely_as_on_the_cpu(name: str) -> None:
    """A running sum in f32 would be off by some 1e-6; the CPU adds in a tree."""
    function = LONG_SUMS[name]
    x = torch.rand(1 << 20, generator=torch.Generator().manual_seed(7))
    exact = function(x.double())
    on_cpu, ours = ((function(y).cpu().double() - exact).abs().max() / exact.abs().max() for y in (x, x.to("mlirdev")))
    assert ours <= 2 * on_cpu + 2**-24
