"""Convolutions of any rank, transposed or not, and their backward."""

from __future__ import annotations

import torch

from mlirdev.lazy.specs.checks import fail, not_implemented, require, shown, title
from mlirdev.lazy.specs.layout import format_strides, normal, strides_of, suggested_format
from mlirdev.lazy.specs.types import Meta, OutSpec, Shape, Strides, Table, rows


def convolution(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
    groups: int,
) -> OutSpec:
    spatial = len(weight.shape) - 2
    stride, padding, dilation, output_padding = (
        _spread(values, spatial) for values in (stride, padding, dilation, output_padding)
    )
    _check(input, weight, bias, stride, padding, dilation, transposed, groups)
    sizes = _transposed_sizes if transposed else _sizes
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    spatial_shape = sizes(input.shape[2:], weight.shape[2:], stride, padding, dilation, output_padding)
    shape = (input.shape[0], channels, *spatial_shape)
    return OutSpec(shape, input.dtype, _strides(input, weight, shape))


def _spread(values: Shape, rank: int) -> Shape:
    return values * rank if len(values) == 1 else values


def _sizes(sizes: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, output_padding: Shape) -> Shape:
    rows_ = zip(sizes, kernel, stride, padding, dilation, strict=True)
    return tuple((n + 2 * p - (d * (k - 1) + 1)) // s + 1 for n, k, s, p, d in rows_)


def _transposed_sizes(
    sizes: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, output_padding: Shape
) -> Shape:
    rows_ = zip(sizes, kernel, stride, padding, dilation, output_padding, strict=True)
    return tuple((n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, d, o in rows_)


def _strides(input: Meta, weight: Meta, shape: Shape) -> Strides:
    """Channels last if the input or the weight is, as oneDNN's path chooses."""
    if input.stride is None and weight.stride is None:
        return None
    if len(shape) == 3:  # eager computes conv1d as a conv2d of height 1
        flat = _strides(_with_height(input), _with_height(weight), (*shape[:2], 1, shape[2]))
        return None if flat is None else normal(shape, (*flat[:2], flat[3]))
    for meta in (input, weight):
        memory_format = suggested_format(meta)
        if memory_format is not torch.contiguous_format:
            return format_strides(shape, memory_format)
    return None


def _with_height(meta: Meta) -> Meta:
    n, c, width = meta.shape
    sn, sc, sw = strides_of(meta)
    return Meta((n, c, 1, width), meta.dtype, (sn, sc, width * sw, sw))


def _check(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    groups: int,
) -> None:
    rank = len(weight.shape)
    require(rank >= 3, "weight should have at least three dimensions")
    require(min(padding, default=0) >= 0, "negative padding is not supported")
    require(min(stride, default=1) > 0, "non-positive stride is not supported")
    require(min(dilation, default=1) > 0, "dilation should be greater than zero")
    require(groups > 0, "expected groups to be greater than 0, but got groups=" + str(groups))
    require(
        len(input.shape) == rank,
        f"Expected {rank}-dimensional input for {rank}-dimensional weight {shown(weight.shape)}, but got "
        f"{len(input.shape)}-dimensional input of size {shown(input.shape)} instead",
    )
    _check_dtypes(input, weight, bias)
    if transposed:
        _check_transposed(input, weight, bias, groups)
        if not (input.dtype.is_floating_point or input.dtype.is_complex or input.dtype is torch.int64):
            not_implemented(f"slow_conv_transpose{max(rank - 2, 2)}d_out_cpu", input.dtype)
    else:
        _check_direct(input, weight, bias, padding, dilation, groups)


def _check_dtypes(input: Meta, weight: Meta, bias: Meta | None) -> None:
    for meta in (weight, bias):
        if meta is not None and meta.dtype is not input.dtype:
            fail(f"expected scalar type {title(input)} but found {title(meta)}")


def _check_transposed(input: Meta, weight: Meta, bias: Meta | None, groups: int) -> None:
    require(
        input.shape[1] == weight.shape[0],
        f"Given transposed=1, weight of size {shown(weight.shape)}, expected input{shown(input.shape)} to have "
        f"{weight.shape[0]} channels, but got {input.shape[1]} channels instead",
    )
    channels = weight.shape[1] * groups
    require(
        bias is None or bias.shape == (channels,),
        f"Given transposed=1, weight of size {shown(weight.shape)}, expected bias to be 1-dimensional with "
        f"{channels} elements, but got bias of size {shown(bias.shape) if bias else ''} instead",
    )


def _check_direct(input: Meta, weight: Meta, bias: Meta | None, padding: Shape, dilation: Shape, groups: int) -> None:
    require(
        weight.shape[0] >= groups,
        f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
        f"{shown(weight.shape)} instead",
    )
    require(
        weight.shape[0] % groups == 0,
        f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
        f"[{shown(weight.shape)}] instead",
    )
    require(
        input.shape[1] == weight.shape[1] * groups,
        f"Given groups={groups}, weight of size {shown(weight.shape)}, expected input{shown(input.shape)} to have "
        f"{weight.shape[1] * groups} channels, but got {input.shape[1]} channels instead",
    )
    require(
        bias is None or bias.shape == (weight.shape[0],),
        f"Given weight of size {shown(weight.shape)}, expected bias to be 1-dimensional with {weight.shape[0]} "
        f"elements, but got bias of size {shown(bias.shape) if bias else ''} instead",
    )
    padded = tuple(n + 2 * p for n, p in zip(input.shape[2:], padding, strict=True))
    window = tuple(d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilation, strict=True))
    if any(n < k for n, k in zip(padded, window, strict=True)):
        fail(
            f"Calculated padded input size per channel: ({_times(padded)}). Kernel size: ({_times(window)}). "
            "Kernel size can't be greater than actual input size"
        )


def _times(shape: Shape) -> str:
    return " x ".join(map(str, shape))


def convolution_backward(
    grad_output: Meta,
    input: Meta,
    weight: Meta,
    bias_sizes: Shape | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
    groups: int,
    output_mask: tuple[bool, bool, bool],
) -> tuple[OutSpec | None, ...]:
    """Gradients of input, weight and bias; None for those not asked for."""
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    grads = (
        OutSpec(input.shape, input.dtype, _strides(input, weight, input.shape)),
        OutSpec(weight.shape, weight.dtype, _strides(input, weight, weight.shape)),
        OutSpec((channels,), grad_output.dtype),
    )
    return tuple(g if wanted else None for g, wanted in zip(grads, output_mask, strict=True))


TABLE: Table = {
    **rows(convolution, "convolution convolution_overrideable"),
    **rows(convolution_backward, "convolution_backward convolution_backward_overrideable"),
}
