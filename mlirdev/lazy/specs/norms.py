"""Normalisation layers, dropout and attention: the operators with several results."""

from __future__ import annotations

from typing import Any

import torch

from mlirdev.lazy.specs.checks import require, shown
from mlirdev.lazy.specs.layout import like_strides, normal, ordered_strides, suggested_strides
from mlirdev.lazy.specs.pointwise import elementwise
from mlirdev.lazy.specs.promotion import to_float
from mlirdev.lazy.specs.types import Meta, OutSpec, Shape, Table, rows

Mask = tuple[bool, ...]


def masked(grads: tuple[OutSpec, ...], output_mask: Mask) -> tuple[OutSpec | None, ...]:
    """The gradients that are asked for."""
    return tuple(g if wanted else None for g, wanted in zip(grads, output_mask, strict=True))


def layer_norm(
    input: Meta, normalized_shape: Shape, weight: Meta | None, bias: Meta | None, eps: float
) -> tuple[OutSpec, OutSpec, OutSpec]:
    _check_normalized(input, normalized_shape, weight, bias)
    axis = len(input.shape) - len(normalized_shape)
    kept = input.shape[:axis] + (1,) * len(normalized_shape)
    stat = OutSpec(kept, _stat_dtype(input, weight))
    return OutSpec(input.shape, input.dtype), stat, stat


def _stat_dtype(input: Meta, weight: Meta | None) -> torch.dtype:
    """Statistics take the parameters' dtype where it is wider than the input's (mixed precision)."""
    return input.dtype if weight is None else weight.dtype


def _check_normalized(input: Meta, normalized_shape: Shape, weight: Meta | None, bias: Meta | None) -> None:
    require(
        len(normalized_shape) > 0,
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
        "normalized_shape = []",
    )
    for name, meta in (("weight", weight), ("bias", bias)):
        require(
            meta is None or meta.shape == normalized_shape,
            f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
            f"{shown(meta.shape) if meta else ''} and normalized_shape = {shown(normalized_shape)}",
        )
    tail = ", ".join(map(str, normalized_shape))
    require(
        input.shape[-len(normalized_shape) :] == normalized_shape,
        f"Given normalized_shape={shown(normalized_shape)}, expected input with shape [*, {tail}], but got input of "
        f"size{shown(input.shape)}",
    )


def layer_norm_backward(
    grad_out: Meta,
    input: Meta,
    normalized_shape: Shape,
    mean: Meta,
    rstd: Meta,
    weight: Meta | None,
    bias: Meta | None,
    output_mask: Mask,
) -> tuple[OutSpec | None, ...]:
    parameter = OutSpec(normalized_shape, weight.dtype if weight else input.dtype)
    return masked((OutSpec(input.shape, input.dtype), parameter, parameter), output_mask)


def rms_norm(input: Meta, normalized_shape: Shape, weight: Meta | None, eps: float | None) -> tuple[OutSpec, OutSpec]:
    axis = len(input.shape) - len(normalized_shape)
    kept = input.shape[:axis] + (1,) * len(normalized_shape)
    return OutSpec(input.shape, input.dtype), OutSpec(kept, input.dtype)


def group_norm(
    input: Meta, weight: Meta | None, bias: Meta | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[OutSpec, OutSpec, OutSpec]:
    require(group > 0, f"Expected num groups to be greater than 0, got {group}")
    require(
        C % group == 0,
        "Expected number of channels in input to be divisible by num_groups, but got input of shape "
        f"{shown(input.shape)} and num_groups={group}",
    )
    stat = OutSpec((N, group), _stat_dtype(input, weight))
    return OutSpec(input.shape, input.dtype, suggested_strides(input, input.shape)), stat, stat


def group_norm_backward(
    grad_out: Meta,
    input: Meta,
    mean: Meta,
    rstd: Meta,
    weight: Meta | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Mask,
) -> tuple[OutSpec | None, ...]:
    parameter = OutSpec((C,), weight.dtype if weight else input.dtype)
    grads = (OutSpec(input.shape, input.dtype, suggested_strides(input, input.shape)), parameter, parameter)
    return masked(grads, output_mask)


def batch_norm(
    input: Meta,
    weight: Meta | None,
    bias: Meta | None,
    running_mean: Meta | None,
    running_var: Meta | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[OutSpec, OutSpec, OutSpec]:
    """In evaluation the saved statistics are empty."""
    channels = input.shape[1] if len(input.shape) > 1 else 0
    for name, meta in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        require(
            meta is None or meta.shape == (channels,),
            f"{name} should contain {channels} elements not {meta.shape[0] if meta and meta.shape else 0}",
        )
    require(
        training or (running_mean is not None and running_var is not None),
        "Expected running_mean and running_var to be defined when training=False",
    )
    stat = OutSpec((channels if training else 0,), _stat_dtype(input, weight or running_mean))
    return OutSpec(input.shape, input.dtype, suggested_strides(input, input.shape)), stat, stat


def batch_norm_no_stats(
    input: Meta, weight: Meta | None, bias: Meta | None, training: bool, momentum: float, eps: float
) -> tuple[OutSpec, OutSpec, OutSpec]:
    return batch_norm(input, weight, bias, None, None, training, momentum, eps)


def batch_norm_inference(
    input: Meta, weight: Meta | None, bias: Meta | None, mean: Meta, var: Meta, momentum: float, eps: float
) -> tuple[OutSpec, OutSpec, OutSpec]:
    return batch_norm(input, weight, bias, mean, var, False, momentum, eps)


def batch_norm_functional(
    input: Meta,
    weight: Meta | None,
    bias: Meta | None,
    running_mean: Meta,
    running_var: Meta,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[OutSpec, ...]:
    """Beside the usual three, the running statistics as they are afterwards."""
    results = batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    return (*results, *(OutSpec(m.shape, m.dtype) for m in (running_mean, running_var)))


def batch_norm_backward(
    grad_out: Meta,
    input: Meta,
    weight: Meta | None,
    running_mean: Meta | None,
    running_var: Meta | None,
    save_mean: Meta | None,
    save_invstd: Meta | None,
    train: bool,
    eps: float,
    output_mask: Mask,
    *_: Any,
) -> tuple[OutSpec | None, ...]:
    parameter = OutSpec((input.shape[1],), weight.dtype if weight else input.dtype)
    grads = (OutSpec(input.shape, input.dtype, suggested_strides(input, input.shape)), parameter, parameter)
    return masked(grads, output_mask)


def native_dropout(input: Meta, p: float, train: bool | None) -> tuple[OutSpec, OutSpec]:
    strides = like_strides(input)
    return OutSpec(input.shape, input.dtype, strides), OutSpec(input.shape, torch.bool, strides)


def native_dropout_backward(grad_output: Meta, mask: Meta, scale: float) -> OutSpec:
    require(mask.dtype is torch.bool, f"Mask should be Bool Scalar Type {mask.dtype}")
    return elementwise((grad_output, mask), to_float(grad_output.dtype))


def flash_attention(query: Meta, key: Meta, value: Meta, *_: Any) -> tuple[OutSpec, OutSpec]:
    """The kernel keeps its row sums as batch × length × heads and returns them transposed."""
    batch, heads, length, _size = query.shape
    wide = torch.float64 if query.dtype is torch.float64 else torch.float32
    sums = (batch, heads, length)
    return OutSpec(query.shape, query.dtype, like_strides(query)), OutSpec(
        sums, wide, normal(sums, (length * heads, 1, heads))
    )


def flash_attention_backward(grad_out: Meta, query: Meta, key: Meta, value: Meta, *_: Any) -> tuple[OutSpec, ...]:
    """Gradients lie in memory as batch × length × heads × size, as the kernel's transposes leave them."""
    return tuple(OutSpec(m.shape, m.dtype, ordered_strides(m.shape, (3, 1, 2, 0))) for m in (query, key, value))


TABLE: Table = {
    **rows(layer_norm, "native_layer_norm"),
    **rows(layer_norm_backward, "native_layer_norm_backward"),
    **rows(rms_norm, "_fused_rms_norm"),
    **rows(group_norm, "native_group_norm"),
    **rows(group_norm_backward, "native_group_norm_backward"),
    **rows(batch_norm, "native_batch_norm _native_batch_norm_legit"),
    **rows(batch_norm_no_stats, "_native_batch_norm_legit.no_stats"),
    **rows(batch_norm_inference, "_native_batch_norm_legit_no_training"),
    **rows(batch_norm_functional, "_native_batch_norm_legit_functional"),
    **rows(batch_norm_backward, "native_batch_norm_backward batch_norm_backward"),
    **rows(native_dropout, "native_dropout"),
    **rows(native_dropout_backward, "native_dropout_backward"),
    **rows(flash_attention, "_scaled_dot_product_flash_attention_for_cpu"),
    **rows(flash_attention_backward, "_scaled_dot_product_flash_attention_for_cpu_backward"),
}
