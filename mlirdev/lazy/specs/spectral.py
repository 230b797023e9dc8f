"""Fourier transforms, with the strides that ATen's MKL path leaves: batch dims, then the transformed ones."""

from __future__ import annotations

import torch

from mlirdev.lazy.specs.checks import require
from mlirdev.lazy.specs.layout import ordered_strides, strides_of
from mlirdev.lazy.specs.promotion import complex_of, real_of
from mlirdev.lazy.specs.types import Meta, OutSpec, Shape, Table, rows

Dims = tuple[int, ...]


def c2c(self: Meta, dim: Dims, normalization: int, forward: bool) -> OutSpec:
    require(self.dtype.is_complex, "self.is_complex()")
    if not dim:
        return OutSpec(self.shape, self.dtype, self.stride)
    return _transformed(self, self.shape, self.dtype, _by_stride(self, dim))


def r2c(self: Meta, dim: Dims, normalization: int, onesided: bool) -> OutSpec:
    require(self.dtype.is_floating_point, "self.is_floating_point()")
    last = dim[-1]
    shape = _with_size(self.shape, last, self.shape[last] // 2 + 1) if onesided else self.shape
    return _transformed(self, shape, complex_of(self.dtype), (*_by_stride(self, dim[:-1]), last))


def c2r(self: Meta, dim: Dims, normalization: int, last_dim_size: int) -> OutSpec:
    """The dims before the last are transformed first, as complex."""
    require(self.dtype.is_complex, "self.is_complex()")
    if len(dim) > 1:
        self = Meta(*c2c(self, dim[:-1], normalization, False))
    shape = _with_size(self.shape, dim[-1], last_dim_size)
    return _transformed(self, shape, real_of(self.dtype), dim[-1:])


def _with_size(shape: Shape, dim: int, size: int) -> Shape:
    changed = list(shape)
    changed[dim] = size
    return tuple(changed)


def _by_stride(self: Meta, dims: Dims) -> Dims:
    strides = strides_of(self)
    return tuple(sorted(dims, key=lambda d: -strides[d]))


def _transformed(self: Meta, shape: Shape, dtype: torch.dtype, dims: Dims) -> OutSpec:
    rank = len(shape)
    signal = tuple(d % rank for d in dims)
    batch = _by_stride(self, tuple(d for d in range(rank) if d not in signal))
    return OutSpec(shape, dtype, ordered_strides(shape, (*batch, *signal)[::-1]))


TABLE: Table = {
    **rows(c2c, "_fft_c2c"),
    **rows(r2c, "_fft_r2c"),
    **rows(c2r, "_fft_c2r"),
}
