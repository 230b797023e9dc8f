"""Histograms, segments, and what picks or adds where a mask allows: CPU eager's values, forward and backward."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from .calls import check
from .cases import grad, r

NAN = float("nan")
aten = torch.ops.aten


def assert_right(case: Any, context: Any) -> None:
    wrong = check(case, context)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_histc(context: Any) -> None:
    spread, edges = torch.cat([r(50), torch.tensor([NAN])]), torch.linspace(0, 1, 11)
    ranges = ((5, -1, 1.5), (10, 0, 1))
    inputs = (spread, edges, edges.bfloat16(), r(0))
    assert_right(lambda: [x.histc(*how) for x in inputs for how in ranges], context)


@pytest.mark.slow
def test_histogram(context: Any) -> None:
    x, weight, edges = r(40), torch.rand(40), torch.tensor([-1.0, 0.0, 0.5, 2.0])
    points = r(3, 10, 2)
    assert_right(
        lambda: (
            torch.histogram(x, 5, weight=weight),
            torch.histogram(torch.linspace(0, 1, 11), 10, range=(0.0, 1.0), density=True),
            torch.histogram(x, edges, weight=weight, density=True),
            torch.histogram(torch.ones(3), 2),
            torch.histogramdd(points, [3, 4]),
            torch.histogramdd(points, [2, 3], range=[-1.0, 1.0, 0.0, 2.0], density=True),
            torch.histogramdd(points, (edges, edges[:3])),
        ),
        context,
    )


@pytest.mark.parametrize(
    "reduce", ["sum", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("mean", "max", "min", "prod"))]
)
def test_segments(reduce: str, context: Any) -> None:
    line, blocks = torch.tensor([0.0, 1, 0, NAN, 0, 0, 3, 2]), r(2, 5, 3)
    lengths, more = torch.tensor([2, 0, 6]), torch.tensor([[2, 3], [1, 4]], dtype=torch.int32)

    def case() -> None:
        grad(lambda x: torch.segment_reduce(x, reduce, lengths=lengths), line)()
        grad(lambda x: torch.segment_reduce(x, reduce, lengths=more, axis=1, initial=2), blocks)()
        grad(lambda x: torch.segment_reduce(x, reduce, offsets=torch.tensor([0, 2, 2, 8])), line)()
        torch.segment_reduce(line.bfloat16(), reduce, lengths=lengths)

    assert_right(case, context)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16], ids=str)
def test_masked_index(dtype: torch.dtype, context: Any) -> None:
    x, mask = torch.arange(24).view(4, 6).to(dtype), torch.tensor([[True, False], [False, True]])
    places = torch.tensor([[0, 9], [-7, 1]])
    assert_right(
        lambda: (
            aten._unsafe_masked_index(x, mask, [places, places], 3),
            aten._unsafe_masked_index(x, mask[:, :, None], [places], 1),
            aten._unsafe_masked_index_put_accumulate(x, mask, [places, places], torch.ones(2, 2, dtype=dtype)),
            aten._unsafe_masked_index(x[:0], mask, [places, places], 3),
        ),
        context,
    )


def test_indices_of_triangles(context: Any) -> None:
    sizes = ((3, 4, 0), (3, 4, 1), (4, 3, -2), (0, 3, 0), (3, 3, -5), (3, 3, 5))
    assert_right(
        lambda: [f(*s) for f in (torch.tril_indices, torch.triu_indices) for s in sizes],
        context,
    )


def test_chunk_cat(context: Any) -> None:
    x = r(4, 6)
    assert_right(
        lambda: (torch._chunk_cat([x, x[:3], x[:1]], 0, 2), torch._chunk_cat([x, x[:, :3]], 1, 4)),
        context,
    )
