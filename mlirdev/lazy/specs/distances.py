"""Distances, embedding bags, histograms and segments: rare operators of one row each."""

from __future__ import annotations

from typing import Any

from mlirdev.lazy.specs.checks import broadcast, require
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


def embedding_bag_backward(
    grad: Meta, indices: Meta, offsets: Meta, offset2bag: Meta, size: Meta, maxima: Meta, num_weights: int, *_: Any
) -> OutSpec:
    return OutSpec((num_weights, grad.shape[1]), grad.dtype)


def per_sample_backward(grad: Meta, weight: Meta, indices: Meta, *_: Any) -> OutSpec:
    return OutSpec(indices.shape, grad.dtype)


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
    return OutSpec((bins,), self.dtype), OutSpec((bins + 1,), self.dtype)


def histogram_in(self: Meta, bins: Meta, *_: Any) -> tuple[OutSpec, OutSpec]:
    return OutSpec((bins.shape[0] - 1,), self.dtype), OutSpec(bins.shape, self.dtype)


def renorm(self: Meta, p: Any, dim: int, maxnorm: Any) -> OutSpec:
    require(len(self.shape) > 1, f"renorm: input needs at least 2 dimensions, got {len(self.shape)} dimensions")
    return OutSpec(self.shape, self.dtype)


TABLE: Table = {
    **rows(cdist, "_cdist_forward"),
    **rows(cdist_backward, "_cdist_backward"),
    **rows(euclidean, "_euclidean_dist"),
    **rows(pdist, "_pdist_forward"),
    **rows(pdist_backward, "_pdist_backward"),
    **rows(embedding_bag_backward, "_embedding_bag_dense_backward"),
    **rows(per_sample_backward, "_embedding_bag_per_sample_weights_backward"),
    **rows(trilinear, "_trilinear"),
    **rows(histogram, "histogram.bin_ct"),
    **rows(histogram_in, "histogram.bins_tensor"),
    **rows(renorm, "renorm"),
}
