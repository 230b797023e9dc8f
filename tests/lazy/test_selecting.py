"""Ops whose result's size depends on values: as on the CPU, with one wait each, natively, without compiling anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from mlirdev import metrics
from mlirdev.options import options

NAN = float("nan")
DTYPES = (
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
)


@pytest.fixture(params=["reference", pytest.param("workers", marks=pytest.mark.slow)], autouse=True)
def executor(request: pytest.FixtureRequest, reference: None) -> Iterator[None]:
    """By the reference executor, and compiled."""
    with options.override(compile=request.param):
        yield


def values(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randint(0, 3, shape).to(dtype)


def mask(*shape: int) -> Tensor:
    return torch.rand(shape) > 0.5


def moved(arguments: Any) -> Any:
    if isinstance(arguments, Tensor):
        # As on the CPU: strides are kept.
        return torch.empty_strided(arguments.shape, arguments.stride(), dtype=arguments.dtype, device="mlirdev").copy_(
            arguments
        )
    return arguments


def check(function: Callable[..., Any], *arguments: Any, waits: int = 1) -> None:
    """The same values and strides as on the CPU, with so many waits and no fallback."""
    wanted = function(*[a.clone() if isinstance(a, Tensor) else a for a in arguments])
    on_device = [moved(a) for a in arguments]
    before = metrics.snapshot()
    results = function(*on_device)
    after = metrics.snapshot()
    assert after["syncs"].get("data_dependent", 0) - before["syncs"].get("data_dependent", 0) == waits
    assert sum(after["syncs"].values()) - sum(before["syncs"].values()) == waits
    wanted, results = ((r if isinstance(r, tuple) else (r,)) for r in (wanted, results))
    for result, want in zip(results, wanted, strict=True):
        assert [(n, s) for n, s in zip(result.shape, result.stride(), strict=True) if n != 1] == [
            (n, s) for n, s in zip(want.shape, want.stride(), strict=True) if n != 1
        ]
        torch.testing.assert_close(result.cpu(), want, rtol=0, atol=0, equal_nan=True)
    assert metrics.snapshot()["fallbacks"] == before["fallbacks"]


def put(x: Tensor, indices: Any, value: Any, accumulate: bool = False) -> Tensor:
    if accumulate:
        return x.index_put_(indices if isinstance(indices, tuple) else (indices,), value, accumulate=True)
    x[indices] = value
    return x


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_nonzero(dtype: torch.dtype) -> None:
    check(torch.nonzero, values(3, 4, dtype=dtype))
    check(lambda x: torch.nonzero(x, as_tuple=True), values(4, 3, dtype=dtype).t())


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (2, 3, 2)], ids=str)
def test_nonzero_of_any_shape(shape: tuple[int, ...]) -> None:
    check(torch.nonzero, torch.ones(shape))
    check(torch.nonzero, torch.zeros(shape))
    check(torch.argwhere, values(*shape))


def test_nan_is_not_zero() -> None:
    check(torch.nonzero, torch.tensor([NAN, 0.0, -0.0, float("inf")]))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_masked_select(dtype: torch.dtype) -> None:
    check(torch.masked_select, values(3, 4, dtype=dtype), mask(3, 4))
    check(torch.masked_select, values(4, 3, dtype=dtype).t(), mask(4))


def test_masked_select_broadcasts() -> None:
    check(torch.masked_select, values(3, 1), mask(2, 1, 4))
    check(torch.masked_select, values(), mask(2))
    check(torch.masked_select, values(2, 2), torch.tensor(True))
    check(torch.masked_select, values(2, 2), torch.tensor(False))
    check(torch.masked_select, values(0, 2), mask(2))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_masks_as_indices(dtype: torch.dtype) -> None:
    x, rows, columns = values(3, 4, 2, dtype=dtype), mask(3), mask(4)
    check(lambda x, m: x[m], x, mask(3, 4))
    check(lambda x, m: x[m], x, rows)
    check(lambda x, m: x[:, m], x, columns)
    check(lambda x, m: x[m, 1:, 0], x, rows)
    check(lambda x, m, i: x[m, i], x, rows, torch.tensor([1]))
    check(lambda x, m: x[m], x.mT, mask(3, 2))


def test_two_masks_wait_once() -> None:
    rows, columns = torch.tensor([True, False, True]), torch.tensor([False, True, True, False])
    check(lambda x, a, b: x[a, b], values(3, 4, 2), rows, columns)
    check(lambda x, a, b: put(x, (a, b), 7.0), values(3, 4, 2), rows, columns)
    check(lambda x, a, b, v: put(x, (a, b), v, True), values(3, 4, 2), rows, columns, values(2, 2))


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
def test_bytes_as_masks() -> None:
    check(lambda x, m: x[m], values(3, 4), mask(3, 4).byte())
    check(put, values(3, 4), torch.tensor([1, 0, 1], dtype=torch.uint8), values(2, 4), waits=0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_writing_by_a_mask_waits_for_nothing(dtype: torch.dtype) -> None:
    x, where = values(3, 4, dtype=dtype), mask(3, 4)
    count, rows = int(where.sum()), torch.tensor([True, False, True])
    check(put, x, where, 1, waits=0)
    check(put, x, where, values(count, dtype=dtype), waits=0)
    check(put, x, where, values(1, dtype=dtype), True, waits=0)
    check(put, x, where, values(count, dtype=dtype), True, waits=0)
    check(put, x, rows, values(2, 4, dtype=dtype), waits=0)
    check(put, x, rows, values(2, 1, dtype=dtype), waits=0)
    check(put, x, rows, values(4, dtype=dtype), True, waits=0)
    check(lambda x, m, v: put(x, (slice(None), m), v), x.t(), rows, values(4, 2, dtype=dtype), waits=0)
    check(lambda x, m: x.masked_fill_(m, 1), x, where, waits=0)
    check(lambda x, m, s: x.masked_scatter(m, s), x, where, values(12, dtype=dtype), waits=0)


def test_writing_nothing() -> None:
    nothing = torch.zeros(3, dtype=torch.bool)
    check(put, values(3, 2), nothing, values(0, 2), waits=0)
    check(put, values(3, 2), nothing, values(1, 2), waits=0)
    check(lambda x, m, s: x.masked_scatter(m, s), values(3), nothing, values(0), waits=0)
    check(put, values(0, 2), torch.zeros(0, dtype=torch.bool), values(0, 2), waits=0)


def test_wrong_numbers_of_values_are_told() -> None:
    x, where = values(4).to("mlirdev"), torch.tensor([True, False, True, False], device="mlirdev")
    with pytest.raises(RuntimeError, match="cannot be broadcast"):
        put(x.clone(), where, values(2, 2).to("mlirdev"))
    for count in (0, 3):
        with pytest.raises(RuntimeError, match="shape mismatch"):
            put(x.clone(), where, values(count).to("mlirdev")).cpu()
    with pytest.raises(RuntimeError, match="Number of elements of source < number of ones in mask"):
        x.masked_scatter(where, values(1).to("mlirdev")).cpu()
    with pytest.raises(IndexError, match=r"The shape of the mask \[4\] at index 0 does not match"):
        values(3, 2).to("mlirdev")[where]
    with pytest.raises(RuntimeError, match="expected BoolTensor"):
        torch.masked_select(x, x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_unique(dtype: torch.dtype) -> None:
    x = values(4, 5, dtype=dtype)
    check(torch.unique, x)
    check(lambda x: torch.unique(x, return_inverse=True, return_counts=True), x)
    check(lambda x: torch.unique(x, return_inverse=True, return_counts=True, dim=1), x[:2].t().contiguous().t())
    check(lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), x)
    check(lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True, dim=0), x[:, :1])


def test_unique_of_nan_and_zeros() -> None:
    x = torch.tensor([NAN, 1.0, NAN, -0.0, 0.0, -0.0, float("inf"), -float("inf")])
    check(lambda x: torch.unique(x, return_inverse=True, return_counts=True), x)
    check(lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), x)


def test_unique_of_little() -> None:
    for x in (values(), values(1), values(2, 1)):
        check(lambda x: torch.unique(x, return_inverse=True, return_counts=True), x)
    check(lambda x: torch.unique(x, return_inverse=True, return_counts=True), values(0, 3), waits=0)
    check(lambda x: torch.unique(x, dim=0, return_inverse=True, return_counts=True), values(0, 3), waits=0)
    with pytest.raises(RuntimeError, match="There are 0 sized dimensions"):
        torch.unique(values(0, 3).to("mlirdev"), dim=1)


def test_repeat_interleave() -> None:
    check(torch.repeat_interleave, values(2, 3), torch.tensor([2, 0, 3]), 1)
    check(lambda x, n: torch.repeat_interleave(x, n, dim=0), values(2, 3), torch.tensor([1, 2], dtype=torch.int32))
    check(lambda n: torch.repeat_interleave(n, output_size=5), torch.tensor([2, 0, 3]), waits=0)
    check(torch.repeat_interleave, torch.zeros(0, dtype=torch.int64))
    check(torch.repeat_interleave, torch.zeros(3, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="allocated size does not match required size"):
        torch.repeat_interleave(torch.tensor([2, 1], device="mlirdev"), output_size=5).cpu()


def test_bincount() -> None:
    for dtype in (torch.int64, torch.uint8):
        x = torch.tensor([3, 1, 1, 7], dtype=dtype)
        check(torch.bincount, x)
        check(lambda x: x.bincount(minlength=20), x)
        check(lambda x, w: x.bincount(w), x, values(4))
        check(lambda x, w: x.bincount(w), x, values(4, dtype=torch.bfloat16))
    check(lambda x: x.bincount(minlength=2), torch.zeros(0, dtype=torch.int64), waits=0)
    with pytest.raises(RuntimeError, match="1-d non-negative integral inputs"):
        torch.tensor([1, -1], device="mlirdev").bincount()


def test_histograms_over_the_range_of_the_values() -> None:
    check(lambda x: x.histc(4), torch.linspace(0, 1, 11), waits=0)
    check(lambda x: x.histc(4), torch.ones(2), waits=0)
    check(lambda x: x.histc(1, 1, 1), torch.randn(2, 5, dtype=torch.float64), waits=0)
    with pytest.raises(RuntimeError, match="not finite"):
        torch.tensor([1.0, NAN], device="mlirdev").histc(2).cpu()


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool], ids=str)
def test_copies_that_look_beside_the_tensor(dtype: torch.dtype) -> None:
    x, source = torch.arange(24).view(4, 6).to(dtype), torch.ones(2, 3, dtype=dtype)
    check(lambda x: torch.as_strided_copy(x[1:3], (2, 3), (1, 2), 1), x, waits=0)
    check(lambda x: torch.as_strided_copy(x[1:3], (2, 3), (1, 2)), x, waits=0)
    check(lambda x, s: torch.as_strided_scatter(x, s, (2, 3), (6, 2), 1), x, source, waits=0)
    check(lambda x, s: torch.as_strided_scatter(x.t()[1:3], s, (2, 3), (6, 2), 1), x, source, waits=0)
    with pytest.raises(RuntimeError, match="expected src to have a size equal to the slice of self"):
        torch.as_strided_scatter(x.to("mlirdev"), source.to("mlirdev"), (2, 2), (6, 2), 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, m: x[m],
        lambda x, m: torch.masked_select(x, m),
        lambda x, m: x[m[:, 0]].sum(0),
        lambda x, m: x[m[:, 0], m[0].nonzero()[0, 0]],
        lambda x, m: x.masked_scatter(m, x * 2),
        lambda x, m: torch.repeat_interleave(x, torch.arange(3, device=x.device), 0),
        lambda x, m: torch.where(m, x, 2 * x)[m],
        lambda x, m: x[0].index_fill(0, torch.arange(2, device=x.device), x[1, 0]),
        lambda x, m: x[0, 0].index_fill(0, torch.arange(1, device=x.device), x[1, 0]),
    ],
)
def test_gradients(function: Callable[..., Tensor]) -> None:
    x, where = torch.randn(3, 4, dtype=torch.float64), torch.eye(3, 4) > 0
    gradients = []
    for device in ("cpu", "mlirdev"):
        leaf = x.to(device, copy=True).requires_grad_()
        result = function(leaf, where.to(device))
        (result * result).sum().backward()
        assert leaf.grad is not None
        gradients.append(leaf.grad.cpu())
    torch.testing.assert_close(*gradients)


def test_out() -> None:
    def select(x: Tensor, m: Tensor) -> Tensor:
        return torch.masked_select(x, m, out=torch.empty(0, device=x.device))

    check(select, values(3, 4), mask(3, 4))
    check(lambda x: torch.nonzero(x, out=torch.empty(0, dtype=torch.int64, device=x.device)), values(5))


def test_another_number_does_not_compile_again() -> None:
    def step(count: int) -> None:
        x = torch.zeros(40, device="mlirdev")
        x[:count] = 1
        picked = (x * 3)[x > 0]
        assert (picked.sort().values * 2).sum().item() == 6 * count

    for count in (5, 9, 12):
        step(count)
    before = metrics.snapshot()["compiles"]
    for count in (17, 4, 30, 22):
        step(count)
    assert metrics.snapshot()["compiles"] == before
