"""Convolutions lowered by the whole kernel pipeline and run, against PyTorch on the CPU, with random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from mlirdev.passes.direct_convolution import DirectConvolution
from tests.passes.test_kernels_run import compile_and_compare, r

CONVOLVE: dict[int, Callable[..., torch.Tensor]] = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


@st.composite
def convolutions(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]:
    """Shapes of input and weight, and options; the input is large enough for one output."""
    rank = draw(st.integers(1, 3))
    dims = range(rank)
    groups = 1 if rank == 3 else draw(st.sampled_from([1, 1, 2, 5]))
    kernel, stride, dilation, padding, extra = (
        [draw(st.integers(low, high)) for _ in dims] for low, high in ((1, 5), (1, 4), (1, 3), (0, 9), (0, 40 // rank))
    )
    sizes = [max(d * (k - 1) + 1 - 2 * p, 1) + e for k, d, p, e in zip(kernel, dilation, padding, extra, strict=True)]
    inner, outer = draw(st.integers(1, 9)), draw(st.integers(1, 19))
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return (draw(st.sampled_from([1, 3, 9])), inner * groups, *sizes), (outer * groups, inner, *kernel), options


@given(convolutions(), st.sampled_from([256, 512]))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_any_convolution(case: tuple[Any, Any, dict[str, Any]], vector_bits: int) -> None:
    shape, weight, options = case
    convolve = CONVOLVE[len(shape) - 2]

    def function(x: torch.Tensor, w: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        return torch.relu(convolve(x, w, **options) + shift.view(-1, *(1 for _ in shape[2:])))

    compile_and_compare(function, r(*shape), r(*weight), r(weight[0]), tolerance=1e-4, vector_bits=vector_bits)


CASES = {
    "few samples share channels": ((1, 8, 14, 14), (20, 8, 3, 3), {"padding": 1}),
    "rows in blocks": ((2, 3, 70, 70), (9, 3, 3, 3), {"padding": 1}),
    "depthwise": ((3, 9, 17, 17), (9, 1, 7, 7), {"padding": 3, "groups": 9}),
    "depthwise, two each": ((1, 5, 15, 20), (10, 1, 3, 3), {"padding": 1, "groups": 5}),
    "groups": ((2, 16, 14, 14), (16, 4, 3, 3), {"padding": 1, "groups": 4}),
    "one tap, stride 2": ((2, 8, 15, 15), (9, 8, 1, 1), {"stride": 2}),
    "stride 2, to the input's end": ((2, 4, 9, 9), (6, 4, 3, 3), {"stride": 2}),
    "without padding": ((2, 4, 13, 30), (8, 4, 3, 3), {}),
    "phases in a loop": ((1, 3, 40, 40), (16, 3, 8, 8), {"stride": 8}),
    "more stride than taps": ((1, 3, 61, 61), (16, 3, 2, 2), {"stride": (3, 5)}),
    "padding beyond the kernel": ((1, 3, 9, 9), (8, 3, 2, 2), {"padding": 7}),
    "long, in blocks": ((1, 1, 16000), (12, 1, 10), {"stride": 5, "padding": 4}),
    "volume": ((1, 4, 6, 9, 11), (8, 4, 3, 3, 3), {"padding": 1, "stride": (1, 2, 1)}),
}


@pytest.mark.parametrize("name", CASES)
def test_direct_convolution(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these has the direct schedule."""
    emitted = []
    emit = DirectConvolution.emit
    monkeypatch.setattr(DirectConvolution, "emit", lambda self: (emitted.append(1), emit(self)))
    shape, weight, options = CASES[name]
    convolve = CONVOLVE[len(shape) - 2]
    compile_and_compare(lambda x, w: convolve(x, w, **options), r(*shape), r(*weight), tolerance=1e-4)
    assert emitted


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_elements(dtype: torch.dtype) -> None:
    args = (r(2, 4, 14, 14, dtype=dtype), r(8, 4, 3, 3, dtype=dtype))
    tolerance = 1e-10 if dtype == torch.float64 else 4e-2
    compile_and_compare(lambda x, w: F.conv2d(x, w, padding=1), *args, tolerance=tolerance)


def test_inputs_and_weights_in_other_layouts() -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 0, 1, 2), padding=1)

    compile_and_compare(function, r(2, 14, 15, 6), r(6, 3, 3, 9), tolerance=1e-4)


def test_what_is_no_number_stays_where_it_is() -> None:
    """An output that reads none is finite, next to any that does."""
    x = r(1, 3, 20, 20)
    x[0, 1, 5, 19] = float("nan")
    x[0, 2, 12, 0] = float("inf")
    compile_and_compare(lambda x, w: F.conv2d(x, w, padding=1), x, r(8, 3, 3, 3), tolerance=1e-4)


def test_gradient_of_the_input() -> None:
    """The weight is read with channels exchanged and taps reversed; far apart, it is asked for early."""

    def function(g: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.conv2d(g, w.permute(1, 0, 2, 3), padding=1)

    compile_and_compare(function, r(2, 20, 9, 9), r(20, 130, 3, 3), tolerance=1e-4)
