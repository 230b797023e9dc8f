"""Order statistics, running extremes, search and selection: CPU eager's values, of every element type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from .calls import check

NAN, INF = float("nan"), float("inf")
DTYPES = (torch.float32, torch.bfloat16, torch.int64, torch.uint8)


def ties(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randint(0, 4, shape).to(dtype)


def lines(dtype: torch.dtype) -> list[Tensor]:
    """Lines with ties, of one element, none, not contiguous; with NaN and infinities where there are some."""
    shapes: list[tuple[int, ...]] = [(), (2, 0), (3, 4, 2)]
    found = [*(ties(*shape, dtype=dtype) for shape in shapes), ties(7, 4, dtype=dtype).t()]
    if dtype.is_floating_point:
        rows = [[1, NAN, 2, NAN, 0], [NAN, NAN, NAN, 2, NAN], [INF, -INF, 0, INF, -INF]]
        found.append(torch.tensor(rows, dtype=dtype).t())
    return found


FUNCTIONS: dict[str, Callable[[Tensor], object]] = {
    "median": lambda x: (x.median(), x.nanmedian()),
    "median.dim": lambda x: x.median(0),
    "nanmedian.dim": lambda x: x.nanmedian(0, keepdim=True),
    "cummax": lambda x: (x.cummax(0), x.cummax(-1)),
    "cummin": lambda x: (x.cummin(0), x.cummin(-1)),
    "sort": lambda x: (x.sort(dim=0, stable=True), x.argsort(stable=True, dim=-1, descending=True)),
    "msort": lambda x: x.msort() if x.dim() else None,
    "searchsorted": lambda x: torch.searchsorted(x.contiguous(), x.contiguous(), right=True) if x.dim() else None,
    "searchsorted in floats": lambda x: torch.searchsorted(torch.arange(4.0), x.contiguous()),
    "searchsorted of a number": lambda x: torch.searchsorted(x.flatten(), 1.5),
    "bucketize": lambda x: (torch.bucketize(x.contiguous(), torch.tensor([1, 2])), torch.bucketize(2, x.flatten())),
    "isin": lambda x: (torch.isin(x, 2), torch.isin(2, x), torch.isin(x, torch.tensor([1, 3]), invert=True)),
    "isin of nothing": lambda x: torch.isin(x, torch.zeros(0)),
    "nonzero_static": lambda x: torch.nonzero_static(x, size=4, fill_value=7),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_types(name: str, context: Any) -> None:
    calls = [(x, FUNCTIONS[name]) for dtype in DTYPES for x in lines(dtype)]
    wrong = check(lambda: [function(x) for x, function in calls], context)
    assert not wrong, "\n".join(wrong)


def test_one_of_each(context: Any) -> None:
    x = torch.tensor([[2.0, NAN, 1.0, 2.0], [0.0, 3.0, 3.0, 1.0]])
    wrong = check(lambda: [function(x) for function in FUNCTIONS.values()], context)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_mode(context: Any) -> None:
    """Of lines up to 16 elements: for longer ones which of equals the CPU's sort puts last isn't defined."""
    calls = [x for dtype in (*DTYPES, torch.bool) for x in lines(dtype)[:4]]
    wrong = check(lambda: [(x.mode(0), x.mode(0, keepdim=True)) for x in calls if 0 not in x.shape], context)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_logcumsumexp(context: Any) -> None:
    wrong = check(lambda: [x.logcumsumexp(0) for dtype in DTYPES[:2] for x in lines(dtype)], context)
    assert not wrong, "\n".join(wrong)


def test_first_of_equals_for_kthvalue_and_topk(context: Any) -> None:
    """The values; which index of equals the CPU returns depends on how its algorithm moves them."""
    wrong = check(lambda: [(x.kthvalue(1)[0], x.topk(1)[0]) for x in (torch.randn(3, 5), torch.randn(()))], context)
    assert not wrong, "\n".join(wrong)


def test_the_best_few(context: Any) -> None:
    """In order, with their places, from either end and along either dim; a NaN is the greatest."""
    x = torch.randperm(60).view(4, 15).float()
    whole = x.int()
    x[1, 3] = NAN
    wanted = [(k, dim, largest) for k in (1, 4) for dim in (0, 1) for largest in (False, True)]
    wrong = check(lambda: [y.topk(*w) for y in (x, whole) for w in wanted], context)
    assert not wrong, "\n".join(wrong)


def test_where_the_extreme_of_a_row_stands(context: Any) -> None:
    """The first of equals, with its sign if it is zero; the first NaN where there is one."""
    rows = torch.tensor([[1, NAN, 3, NAN], [-0.0, 0.0, -1, 1], [-1, -0.0, 0.0, -2], [-INF] * 4, [1, 5, 5, 1]])
    calls = (rows, rows.bfloat16())
    wrong = check(lambda: [(x.max(1), x.min(1), x.argmax(), x.argmin(1, True)) for x in calls], context)
    assert not wrong, "\n".join(wrong)


def test_cumulative_along_rows(context: Any) -> None:
    calls = (torch.randn(3, 70), torch.randn(5).half(), torch.randint(9, (2, 3, 4)), torch.zeros(2, 0))
    wrong = check(lambda: [(x.cumsum(-1), x.cumprod(-1)) for x in calls], context)
    assert not wrong, "\n".join(wrong)
