"""Order: sort, topk, order statistics, search, membership, histograms."""

from __future__ import annotations

import math
from typing import Any

import torch

from mlirdev.lazy.specs.checks import fail, require, wrap_dim
from mlirdev.lazy.specs.layout import like_strides
from mlirdev.lazy.specs.reductions import reduced
from mlirdev.lazy.specs.types import Meta, OutSpec, Table, rows


def sort(self: Meta, dim: int = -1, descending: bool = False) -> tuple[OutSpec, OutSpec]:
    wrap_dim(dim, len(self.shape))
    strides = like_strides(self)
    return OutSpec(self.shape, self.dtype, strides), OutSpec(self.shape, torch.int64, strides)


def sort_stable(self: Meta, stable: bool | None, dim: int = -1, descending: bool = False) -> tuple[OutSpec, OutSpec]:
    return sort(self, dim, descending)


def argsort_stable(self: Meta, stable: bool, dim: int = -1, descending: bool = False) -> OutSpec:
    return sort(self, dim, descending)[1]


def topk(self: Meta, k: int, dim: int = -1, *_: Any) -> tuple[OutSpec, OutSpec]:
    dim = wrap_dim(dim, len(self.shape))
    size = self.shape[dim] if self.shape else 1
    require(self.dtype is not torch.bool, "topk does not support bool dtypes on CPU")
    require(0 <= k <= size, "selected index k out of range")
    shape = (*self.shape[:dim], k, *self.shape[dim + 1 :]) if self.shape else ()
    return OutSpec(shape, self.dtype), OutSpec(shape, torch.int64)


def kth_value(self: Meta, k: int, dim: int = -1, keepdim: bool = False) -> tuple[OutSpec, OutSpec]:
    dim = wrap_dim(dim, len(self.shape))
    size = self.shape[dim] if self.shape else 1
    require(1 <= k <= size, f"kthvalue(): selected number k out of range for dimension {dim}")
    return chosen(self, dim, keepdim)


def mode(self: Meta, dim: int = -1, keepdim: bool = False) -> tuple[OutSpec, OutSpec]:
    dim = wrap_dim(dim, len(self.shape))
    if self.shape and not self.shape[dim]:
        raise IndexError(f"mode(): Expected reduction dim {dim} to have non-zero size.")
    return chosen(self, dim, keepdim)


def chosen(self: Meta, dim: int, keepdim: bool) -> tuple[OutSpec, OutSpec]:
    """An element of each line, and its place."""
    shape = reduced(self.shape, dim, keepdim) if self.shape else ()
    return OutSpec(shape, self.dtype), OutSpec(shape, torch.int64)


def search(
    sequence: Meta, self: Any, out_int32: bool = False, right: bool = False, side: Any = None, sorter: Any = None
) -> OutSpec:
    shape = self.shape if type(self) is Meta else ()
    return OutSpec(shape, torch.int32 if out_int32 else torch.int64)


def bucketize(self: Any, boundaries: Meta, out_int32: bool = False, right: bool = False) -> OutSpec:
    if len(boundaries.shape) != 1:
        fail(f"boundaries tensor must be 1 dimension, but got dim({len(boundaries.shape)})")
    return search(boundaries, self, out_int32)


def is_in(elements: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> OutSpec:
    return OutSpec(elements.shape if type(elements) is Meta else (), torch.bool)


def histc(self: Meta, bins: int = 100, min: float = 0, max: float = 0) -> OutSpec:
    require(bins > 0, f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    require(math.isfinite(min) and math.isfinite(max), f"torch.histc: range of [{min}, {max}] is not finite")
    require(min <= max, "torch.histc: max must be larger than min")
    return OutSpec((bins,), self.dtype)


TABLE: Table = {
    **rows(sort, "sort"),
    **rows(sort_stable, "sort.stable"),
    **rows(argsort_stable, "argsort.stable"),
    **rows(topk, "topk"),
    **rows(kth_value, "kthvalue"),
    **rows(mode, "mode"),
    **rows(search, "searchsorted.Tensor searchsorted.Scalar"),
    **rows(bucketize, "bucketize.Tensor bucketize.Scalar"),
    **rows(is_in, "isin.Tensor_Tensor isin.Tensor_Scalar isin.Scalar_Tensor"),
    **rows(histc, "histc"),
}
