"""Distances, histograms and segments: rare operators of one row each."""

from __future__ import annotations

from typing import Any

import torch

from mlirdev.lazy.specs.checks import broadcast, c_name, fail, not_implemented, require, wrap_dim
from mlirdev.lazy.specs.layout import like_strides
from mlirdev.lazy.specs.types import Meta, OutSpec, Shape, Table, rows


def cdist(x1: Meta, x2: Meta, p: float, compute_mode: int | None) -> OutSpec:
    require(len(x1.shape) >= 2, f"cdist only supports at least 2D tensors, X1 got: {len(x1.shape)}D")
    require(len(x2.shape) >= 2, f"cdist only supports at least 2D tensors, X2 got: {len(x2.shape)}D")
    require(
        x1.shape[-1] == x2.shape[-1],
        f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}",
    )
    require(p >= 0, "cdist only supports non-negative p values")
    batch = broadcast(x1.shape[:-2], x2.shape[:-2])
    return OutSpec((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)


def cdist_backward(grad: Meta, x1: Meta, x2: Meta, p: float, cdist: Meta) -> OutSpec:
    batch = broadcast(x1.shape[:-2], x2.shape[:-2])
    if 0 in (*x1.shape, *x2.shape):
        return OutSpec(x1.shape, x1.dtype, like_strides(x1))
    return OutSpec((*batch, *x1.shape[-2:]), x1.dtype)


def euclidean(x1: Meta, x2: Meta) -> OutSpec:
    batch = broadcast(x1.shape[:-2], x2.shape[:-2])
    return OutSpec((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)


def pdist(self: Meta, p: float = 2) -> OutSpec:
    require(len(self.shape) == 2, f"pdist only supports 2D tensors, got: {len(self.shape)}D")
    count = self.shape[0]
    return OutSpec((count * (count - 1) // 2,) if count > 1 else (0,), self.dtype)


def pdist_backward(grad: Meta, self: Meta, p: float, pdist: Meta) -> OutSpec:
    return OutSpec(self.shape, self.dtype)


def trilinear(
    i1: Meta, i2: Meta, i3: Meta, expand1: Shape, expand2: Shape, expand3: Shape, sumdim: Shape, unroll_dim: int = 1
) -> OutSpec:
    """The product of three tensors with dims of size 1 put in, summed over `sumdim`."""
    parts = [_expanded(meta.shape, dims) for meta, dims in ((i1, expand1), (i2, expand2), (i3, expand3))]
    shape = broadcast(broadcast(parts[0], parts[1]), parts[2])
    return OutSpec(tuple(size for dim, size in enumerate(shape) if dim not in sumdim), i1.dtype)


def _expanded(shape: Shape, dims: Shape) -> Shape:
    result = list(shape)
    for dim in dims:
        result.insert(dim, 1)
    return tuple(result)


def histogram(self: Meta, bins: int = 100, *_: Any) -> tuple[OutSpec, OutSpec]:
    require(bins > 0, f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    return OutSpec((bins,), self.dtype), OutSpec((bins + 1,), self.dtype)


def histogram_in(self: Meta, bins: Meta, *_: Any) -> tuple[OutSpec, OutSpec]:
    return OutSpec((bins.shape[0] - 1,), self.dtype), OutSpec(bins.shape, self.dtype)


def histogramdd(self: Meta, bins: tuple[int, ...], *_: Any) -> OutSpec:
    return OutSpec(_bins_of(self, bins), self.dtype)


def histogramdd_edges(self: Meta, bins: tuple[int, ...], *_: Any) -> tuple[OutSpec, ...]:
    return tuple(OutSpec((count + 1,), self.dtype) for count in _bins_of(self, bins))


def histogramdd_in(self: Meta, bins: tuple[Meta, ...], *_: Any) -> OutSpec:
    require(
        len(bins) == self.shape[-1],
        f"torch.histogramdd: expected {self.shape[-1]} sequences of bin edges for a {self.shape[-1]}-dimensional "
        f"histogram but got {len(bins)}",
    )
    for dim, edges in enumerate(bins):
        require(
            edges.dtype is self.dtype,
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{c_name(self)} and bins for dimension {dim} with dtype {c_name(edges)}",
        )
    return OutSpec(_bins_of(self, tuple(edges.shape[0] - 1 for edges in bins)), self.dtype)


def _bins_of(self: Meta, bins: tuple[int, ...]) -> Shape:
    require(len(self.shape) >= 2, "torch.histogramdd: input tensor should have at least 2 dimensions")
    require(
        len(bins) == self.shape[-1],
        "histogramdd: The size of bins must be equal to the innermost dimension of the input.",
    )
    for dim, count in enumerate(bins):
        require(count > 0, f"torch.histogramdd(): bins must be > 0, but got {count} for dimension {dim}")
    return bins


def segment_reduce(
    data: Meta,
    reduce: str,
    lengths: Meta | None = None,
    indices: Meta | None = None,
    offsets: Meta | None = None,
    axis: int = 0,
    *_: Any,
) -> OutSpec:
    axis = wrap_dim(axis, len(data.shape))
    kinds = ("sum", "prod", "mean", "max", "min")
    require(reduce in kinds, f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        fail("segment_reduce(): indices based reduction is not supported yet.")
    bounds = lengths or offsets
    if bounds is None:
        fail("segment_reduce(): Either lengths or offsets must be defined.")
    name = "lengths" if lengths is not None else "offsets"
    require(
        axis == len(bounds.shape) - 1,
        f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}.",
    )
    require(
        data.shape[:axis] == bounds.shape[:-1],
        f"segment_reduce(): Expected all dims of {name} but the last to be those of data",
    )
    if data.dtype not in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        not_implemented("_segment_reduce_cpu", data.dtype)
    if bounds.dtype not in (torch.int64, torch.int32):
        not_implemented(f"_segment_reduce_{name}_cpu_kernel1", bounds.dtype)
    count = bounds.shape[-1] - (lengths is None)
    return OutSpec((*data.shape[:axis], count, *data.shape[axis + 1 :]), data.dtype)


def segment_reduce_backward(grad: Meta, output: Meta, data: Meta, *_: Any) -> OutSpec:
    return OutSpec(data.shape, grad.dtype)


def renorm(self: Meta, p: Any, dim: int, maxnorm: Any) -> OutSpec:
    require(len(self.shape) > 1, f"renorm: input needs at least 2 dimensions, got {len(self.shape)} dimensions")
    return OutSpec(self.shape, self.dtype)


TABLE: Table = {
    **rows(cdist, "_cdist_forward"),
    **rows(cdist_backward, "_cdist_backward"),
    **rows(euclidean, "_euclidean_dist"),
    **rows(pdist, "_pdist_forward"),
    **rows(pdist_backward, "_pdist_backward"),
    **rows(trilinear, "_trilinear"),
    **rows(histogram, "histogram.bin_ct"),
    **rows(histogram_in, "histogram.bins_tensor"),
    **rows(histogramdd, "_histogramdd_from_bin_cts"),
    **rows(histogramdd_edges, "_histogramdd_bin_edges"),
    **rows(histogramdd_in, "_histogramdd_from_bin_tensors"),
    **rows(segment_reduce, "segment_reduce"),
    **rows(segment_reduce_backward, "_segment_reduce_backward"),
    **rows(renorm, "renorm"),
}
