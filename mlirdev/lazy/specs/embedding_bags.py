"""Embedding bags: rows of a table, summed, averaged or maximised over bags of indices, and their backwards.

The second to fourth results serve the backward: each index's bag, the bags' sizes, and where maxima came from. The
CPU leaves some of them empty where its own backward needs none; as on CUDA, ours are always there.
"""

from __future__ import annotations

from typing import Any

import torch

from mlirdev.lazy.specs.checks import DTYPE_NAMES, fail, require
from mlirdev.lazy.specs.types import DataDependentError, Meta, OutSpec, Table, rows

SUM, MEAN, MAX = 0, 1, 2
_ASSERTED = (
    "Expected {} to be true, but got false.  (Could this error message be improved?  If so, please report an "
    "enhancement request to PyTorch.)"
)


def embedding_bag(
    weight: Meta,
    indices: Meta,
    offsets: Meta,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Meta | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[OutSpec, ...]:
    require(len(weight.shape) == 2, f"weight has to be a 2D Tensor, but got Tensor of dimension {len(weight.shape)}")
    _check_types(weight, indices, offsets)
    require(mode in (SUM, MEAN, MAX), "`mode` must be sum, mean, or max.")
    if per_sample_weights is not None:
        _check_samples(weight, indices, mode, per_sample_weights)
    bags = offsets.shape[0]
    if include_last_offset:
        require(bags >= 1, "include_last_offset: number of offset should be at least 1")
        bags -= 1
    shape = (bags, weight.shape[1])
    maxima = OutSpec(shape if mode == MAX else (0,), torch.int64)
    sizes = OutSpec((bags,), torch.int64)
    return OutSpec(shape, weight.dtype), OutSpec(indices.shape, torch.int64), sizes, maxima


def _check_types(weight: Meta, indices: Meta, offsets: Meta) -> None:
    integers, floats = (torch.int64, torch.int32), (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    _check_type("indices", indices, integers, "Long, Int")
    _check_type("offsets", offsets, integers, "Long, Int")
    _check_type("weight", weight, floats, "Half, BFloat16, Float, Double")


def _check_type(name: str, meta: Meta, allowed: tuple[torch.dtype, ...], shown: str) -> None:
    if meta.dtype not in allowed:
        fail(
            f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: {shown}; but got "
            f"torch.{DTYPE_NAMES[meta.dtype]}Tensor instead (while checking arguments for embedding_bag)"
        )


def _check_samples(weight: Meta, indices: Meta, mode: int, samples: Meta) -> None:
    require(mode == SUM, "embedding_bag: per_sample_weights only supported with mode='sum'")
    if samples.dtype is not weight.dtype:
        names = [f"torch.{DTYPE_NAMES[m.dtype]}Tensor" for m in (weight, samples)]
        fail(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type {names[0]} does not equal {names[1]} (while checking arguments for "
            "embedding_bag)"
        )
    require(len(samples.shape) == 1, _ASSERTED.format("per_sample_weights.value().dim() == 1"))
    fits = samples.shape == indices.shape
    require(fits, _ASSERTED.format("per_sample_weights.value().numel() == indices.numel()"))


def embedding_bag_backward(
    grad: Meta,
    indices: Meta,
    offsets: Meta,
    offset2bag: Meta,
    bag_size: Meta,
    maxima: Meta,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    *_: Any,
) -> OutSpec:
    if sparse:  # refused where sparse results are
        raise DataDependentError
    return OutSpec((num_weights, grad.shape[1]), grad.dtype)


def dense_backward(
    grad: Meta, indices: Meta, offset2bag: Meta, bag_size: Meta, maxima: Meta, num_weights: int, *_: Any
) -> OutSpec:
    return OutSpec((num_weights, grad.shape[1]), grad.dtype)


def per_sample_backward(grad: Meta, weight: Meta, indices: Meta, *_: Any) -> OutSpec:
    return OutSpec(indices.shape, grad.dtype)


TABLE: Table = {
    **rows(embedding_bag, "_embedding_bag _embedding_bag_forward_only"),
    **rows(embedding_bag_backward, "_embedding_bag_backward"),
    **rows(dense_backward, "_embedding_bag_dense_backward"),
    **rows(per_sample_backward, "_embedding_bag_per_sample_weights_backward"),
}
