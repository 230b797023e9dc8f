"""Pooling and backwards. 2-D pools and max_pool3d keep the input's suggested memory format; others are contiguous."""

from __future__ import annotations

from typing import Any

import torch

from mlirdev.lazy.specs.checks import fail, require, shown
from mlirdev.lazy.specs.layout import numel, suggested_strides
from mlirdev.lazy.specs.types import Meta, OutSpec, Row, Shape, Table, rows


def pooled_size(size: int, kernel: int, stride: int, pad: int, dilation: int, ceil_mode: bool) -> int:
    """Windows along one dim; with `ceil_mode` the last one must still start inside the input or its left padding."""
    span = size + 2 * pad - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)
    count = span // stride + 1
    if ceil_mode and (count - 1) * stride >= size + pad:
        count -= 1
    return count


def _spread(values: Shape, rank: int) -> Shape:
    return values * rank if len(values) == 1 else tuple(values)


def _windows(
    self: Meta, rank: int, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, ceil_mode: bool, name: str
) -> Shape:
    """The pooled shape, after the checks that eager makes."""
    kernel, padding, dilation = _spread(kernel, rank), _spread(padding, rank), _spread(dilation, rank)
    stride = _spread(stride, rank) if stride else kernel
    _check_window(self, rank, kernel, stride, padding, dilation, name)
    windows = zip(self.shape[-rank:], kernel, stride, padding, dilation, strict=True)
    sizes = tuple(pooled_size(*window, ceil_mode) for window in windows)
    if min(sizes) < 1:
        before = "x".join(map(str, self.shape[-rank - 1 :]))
        after = "x".join(map(str, (self.shape[-rank - 1], *sizes)))
        fail(f"Given input size: ({before}). Calculated output size: ({after}). Output size is too small")
    return (*self.shape[:-rank], *sizes)


def _check_window(
    self: Meta, rank: int, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, name: str
) -> None:
    require(0 not in stride, "stride should not be zero")
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        require(p >= 0, f"pad must be non-negative, but got pad: {p}")
        require(
            p <= (d * (k - 1) + 1) // 2,
            f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}",
        )
    require(min(kernel) > 0, "kernel size should be greater than zero")
    require(min(stride) > 0, "stride should be greater than zero")
    require(min(dilation) > 0, "dilation should be greater than zero")
    _check_rank(self, rank, name)


def _check_rank(self: Meta, rank: int, name: str) -> None:
    plain, batched = rank + 1, rank + 2
    if name == "avg_pool3d":
        fits = len(self.shape) in (plain, batched)
        require(fits, f"non-empty {plain}D or {batched}D (batch mode) tensor expected for input")
    where = len(self.shape) - plain
    if rank == 3 and where in (0, 1) and 0 in self.shape[where:]:
        fail(
            f"{name}_with_indices_out_cpu_template(): Expected input's non-batch dimensions to have positive length, "
            f"but input has a shape of {shown(self.shape)} and non-batch dimension 0 has length zero!"
        )
    require(
        where in (0, 1) and 0 not in self.shape[where:],
        f"Expected {plain}D or {batched}D (batch mode) tensor with optional 0 dim batch size for input, but "
        f"got:{shown(self.shape)}",
    )


def max_pool(rank: int) -> Row:
    """Maxima and their int64 positions."""

    def rule(
        self: Meta, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, ceil_mode: bool = False
    ) -> tuple[OutSpec, OutSpec]:
        shape = _windows(self, rank, kernel, stride, padding, dilation, ceil_mode, f"max_pool{rank}d")
        strides = suggested_strides(self, shape)
        return OutSpec(shape, self.dtype, strides), OutSpec(shape, torch.int64, strides)

    return rule


def avg_pool(rank: int) -> Row:
    def rule(
        self: Meta,
        kernel: Shape,
        stride: Shape,
        padding: Shape,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> OutSpec:
        require(divisor_override != 0, "divisor must be not zero")
        shape = _windows(self, rank, kernel, stride, padding, (1,), ceil_mode, f"avg_pool{rank}d")
        return OutSpec(shape, self.dtype, suggested_strides(self, shape) if rank == 2 else None)

    return rule


def like_input(grad_output: Meta, self: Meta, *_: Any) -> OutSpec:
    """A backward: the input's shape in its suggested format."""
    return OutSpec(self.shape, self.dtype, suggested_strides(self, self.shape))


def contiguous_like_input(grad_output: Meta, self: Meta, *_: Any) -> OutSpec:
    return OutSpec(self.shape, self.dtype)


def _adaptive_shape(self: Meta, output_size: Shape, rank: int, name: str) -> Shape:
    colon = ":" if "max" in name else ""
    require(
        len(self.shape) in (rank + 1, rank + 2),
        f"{name}: Expected {rank + 1}D or {rank + 2}D tensor, but got{colon} {shown(self.shape)}",
    )
    require(
        0 not in self.shape[-rank:],
        f"{name}: Expected input to have non-zero size for non-batch dimensions, but input has sizes "
        f"{shown(self.shape)} with dimension {len(self.shape) - rank} being empty",
    )
    require(len(output_size) == rank, f"{name}: internal error: output_size.size() must be {rank}")
    shape = (*self.shape[:-rank], *output_size)
    for size in output_size:
        require(size >= 0, f"Trying to create tensor with negative dimension {size}: {shown(shape)}")
    return shape


def adaptive_avg_pool(rank: int) -> Row:
    def rule(self: Meta, output_size: Shape) -> OutSpec:
        shape = _adaptive_shape(self, output_size, rank, f"adaptive_avg_pool{rank}d()")
        return OutSpec(shape, self.dtype, suggested_strides(self, shape) if rank == 2 else None)

    return rule


def adaptive_max_pool(rank: int) -> Row:
    name = f"adaptive_max_pool{rank}d()"

    def rule(self: Meta, output_size: Shape) -> tuple[OutSpec, OutSpec]:
        require(len(output_size) == rank, f"{name}: internal error: output_size.size() must be {rank}")
        if len(self.shape) in (rank + 1, rank + 2) and self.shape[-rank - 1] == 0:
            fail(
                f"{name}: Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{shown(self.shape)} with dimension {len(self.shape) - rank - 1} being empty"
            )
        shape = _adaptive_shape(self, output_size, rank, name)
        strides = suggested_strides(self, shape) if rank == 2 else None
        return OutSpec(shape, self.dtype, strides), OutSpec(shape, torch.int64, strides)

    return rule


def fractional_max_pool(rank: int) -> Row:
    name = "fractional_max_pool2d()" if rank == 2 else "fractional_max_pool3d_out()"

    def rule(self: Meta, kernel: Shape, output_size: Shape, samples: Meta) -> tuple[OutSpec, OutSpec]:
        counted = "Ints" if rank == 2 else "three Ints"
        for argument, values in (("kernel_size", kernel), ("output_size", output_size)):
            message = f"fractional_max_pool{rank}d: {argument} must either be a single Int or tuple of {counted}"
            require(len(values) == rank, message)
        _check_fractional(self, rank, name)
        for where, size, k, out in zip(
            ("time", "height", "width")[-rank:], self.shape[-rank:], kernel, output_size, strict=True
        ):
            fits = out + k - 1 < size + (rank == 2)  # in 3-D the last place can't be reached
            require(fits, f"{name}: pool {where} {k} too large relative to input {where} {size}")
        _check_samples(self, samples, rank)
        shape = (*self.shape[:-rank], *output_size)
        require(
            min(output_size) >= 0, f"Trying to create tensor with negative dimension {min(output_size)}: {shown(shape)}"
        )
        return OutSpec(shape, self.dtype), OutSpec(shape, torch.int64)

    return rule


def _check_fractional(self: Meta, rank: int, name: str) -> None:
    where = len(self.shape) - rank - 1
    require(where in (0, 1), f"{name}: Expected {rank + 1}D or {rank + 2}D tensor, but got: {shown(self.shape)}")
    if 0 in self.shape[where:]:
        fail(
            f"{name}: Expected input to have non-zero size for non-batch dimensions, but got{shown(self.shape)} "
            f"with dimension {where + self.shape[where:].index(0)} being empty."
        )


def _check_samples(self: Meta, samples: Meta, rank: int) -> None:
    require(samples.dtype is self.dtype, "Expect _random_samples to have the same dtype as input")
    rank_given = len(samples.shape)
    require(rank_given == 3, f"Expect _random_samples to have 3 dimensions, got {rank_given}")
    batch, (images, channels, dims) = self.shape[0] if len(self.shape) == rank + 2 else 1, samples.shape
    require(images >= batch, "Expect _random_samples.size(0) no less then input batch size.")
    require(channels == self.shape[-rank - 1], "Expect _random_samples.size(1) equals to input channel size.")
    require(dims == rank, f"Expect _random_samples.size(2) equals to {rank}; got {dims}.")


def max_unpool(rank: int) -> Row:
    def rule(self: Meta, indices: Meta, output_size: Shape, *_: Any) -> OutSpec:
        require(
            self.shape == indices.shape,
            f"Expected shape of indices to be same as that of the input tensor ({shown(self.shape)}) but got indices "
            f"tensor with shape: {shown(indices.shape)}",
        )
        shape = (*self.shape[:-rank], *output_size)
        return OutSpec(shape, self.dtype, suggested_strides(self, shape) if rank == 2 else None)

    return rule


def _pair(sizes: Shape) -> str:
    return "(" + ", ".join(map(str, sizes)) + ")"


def im2col(self: Meta, kernel: Shape, dilation: Shape, padding: Shape, stride: Shape) -> OutSpec:
    """Columns of unfolded windows: N × (C·kernel) × windows."""
    windows = zip(self.shape[-2:], kernel, stride, padding, dilation, strict=True)
    sizes = tuple(pooled_size(*window, False) for window in windows)
    if min(sizes) < 1:
        fail(
            f"Given input with spatial size {_pair(self.shape[-2:])}, kernel_size={_pair(kernel)}, "
            f"dilation={_pair(dilation)}, padding={_pair(padding)}, calculated shape of the array of sliding blocks as "
            f"{_pair(sizes)}, but its components must be at least one."
        )
    return OutSpec((*self.shape[:-3], self.shape[-3] * numel(kernel), numel(sizes)), self.dtype)


def col2im(self: Meta, output_size: Shape, kernel: Shape, dilation: Shape, padding: Shape, stride: Shape) -> OutSpec:
    planes, window = self.shape[-2], numel(kernel)
    require(
        planes % window == 0,
        f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)="
        f"{planes} and kernel_size=({kernel[0]}, {kernel[1]}).",
    )
    return OutSpec((*self.shape[:-2], planes // window, *output_size), self.dtype)


TABLE: Table = {
    **rows(max_pool(2), "max_pool2d_with_indices"),
    **rows(max_pool(3), "max_pool3d_with_indices"),
    **rows(avg_pool(2), "avg_pool2d"),
    **rows(avg_pool(3), "avg_pool3d"),
    **rows(like_input, "max_pool2d_with_indices_backward max_pool3d_with_indices_backward avg_pool2d_backward"),
    **rows(like_input, "_adaptive_avg_pool2d_backward adaptive_max_pool2d_backward"),
    **rows(contiguous_like_input, "avg_pool3d_backward _adaptive_avg_pool3d_backward adaptive_max_pool3d_backward"),
    **rows(contiguous_like_input, "fractional_max_pool2d_backward fractional_max_pool3d_backward"),
    **rows(adaptive_avg_pool(2), "_adaptive_avg_pool2d"),
    **rows(adaptive_avg_pool(3), "_adaptive_avg_pool3d"),
    **rows(adaptive_max_pool(2), "adaptive_max_pool2d"),
    **rows(adaptive_max_pool(3), "adaptive_max_pool3d"),
    **rows(fractional_max_pool(2), "fractional_max_pool2d"),
    **rows(fractional_max_pool(3), "fractional_max_pool3d"),
    **rows(max_unpool(2), "max_unpool2d"),
    **rows(max_unpool(3), "max_unpool3d"),
    **rows(im2col, "im2col"),
    **rows(col2im, "col2im"),
}
