"""New tensors: filled ones, ranges, copies and casts."""

from __future__ import annotations

import math
from typing import Any

import torch

from mlirdev.lazy.specs.checks import require, shown
from mlirdev.lazy.specs.layout import format_strides, like_strides, normal, ordered_strides
from mlirdev.lazy.specs.promotion import number_dtype
from mlirdev.lazy.specs.types import Meta, OutSpec, Shape, Strides, Table, rows


def _check_sizes(size: Shape) -> None:
    for length in size:
        require(
            length >= 0,
            f"Trying to create tensor with negative dimension {length}: {shown(size)}",
        )


def filled(size: Shape, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    """ones, rand …: the default dtype unless given."""
    _check_sizes(size)
    return OutSpec(size, dtype or torch.get_default_dtype())


def zeros(size: Shape, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    require(min(size, default=0) >= 0, "zeros: Dimension size must be non-negative.")
    return OutSpec(size, dtype or torch.get_default_dtype())


def full(size: Shape, fill_value: complex, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    _check_sizes(size)
    return OutSpec(size, dtype or number_dtype(fill_value))


def empty(
    size: Shape, dtype: Any = None, layout: Any = None, device: Any = None, pin: Any = None, memory_format: Any = None
) -> OutSpec:
    _check_sizes(size)
    return OutSpec(size, dtype or torch.get_default_dtype(), _strides_in(size, memory_format))


def empty_strided(size: Shape, stride: Shape, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    require(
        len(size) == len(stride),
        f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})",
    )
    return OutSpec(size, dtype or torch.get_default_dtype(), normal(size, stride))


def empty_permuted(size: Shape, physical_layout: Shape, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    rank = len(size)
    require(
        rank == len(physical_layout),
        "Number of dimensions in size does not match the length of the physical_layout; i.e. "
        f"len(size) = {rank} is not equal to len(physical_layout) = {len(physical_layout)}",
    )
    for at, dim in enumerate(physical_layout):
        require(
            0 <= dim < rank,
            f"Dimension out of range (expected to be between 0 and {rank - 1}, but got {dim} at index {at}).  NB: "
            "negative dims not currently supported; file an issue if you want it.",
        )
    require(len(set(physical_layout)) == rank, "Duplicate dim not allowed")
    return OutSpec(size, dtype or torch.get_default_dtype(), ordered_strides(size, physical_layout[::-1]))


def scalar_tensor(s: complex, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    return OutSpec((), dtype or torch.get_default_dtype())


def like(
    self: Meta, dtype: Any = None, layout: Any = None, device: Any = None, pin: Any = None, memory_format: Any = None
) -> OutSpec:
    return OutSpec(self.shape, dtype or self.dtype, _strides_like(self, memory_format))


def full_like(self: Meta, fill_value: complex, *options: Any) -> OutSpec:
    return like(self, *options)


def new(self: Meta, size: Shape, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    _check_sizes(size)
    return OutSpec(size, dtype or self.dtype)


def new_full(self: Meta, size: Shape, fill_value: complex, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    return new(self, size, dtype)


def new_empty_strided(self: Meta, size: Shape, stride: Shape, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    return OutSpec(size, dtype or self.dtype, normal(size, stride))


def clone(self: Meta, memory_format: torch.memory_format | None = None) -> OutSpec:
    return OutSpec(self.shape, self.dtype, _strides_like(self, memory_format))


def to_copy(
    self: Meta,
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin: Any = None,
    non_blocking: bool = False,
    memory_format: torch.memory_format | None = None,
) -> OutSpec:
    return OutSpec(self.shape, dtype or self.dtype, _strides_like(self, memory_format))


def fill(self: Meta, value: Any) -> OutSpec:
    return OutSpec(self.shape, self.dtype, like_strides(self))


def zero(self: Meta) -> OutSpec:
    return OutSpec(self.shape, self.dtype, like_strides(self))


def copy(self: Meta, src: Meta, non_blocking: bool = False) -> OutSpec:
    return OutSpec(self.shape, self.dtype, like_strides(self))


def lift(self: Meta) -> OutSpec:
    return OutSpec(self.shape, self.dtype, self.stride)


def lift_fresh_copy(self: Meta) -> OutSpec:
    return OutSpec(self.shape, self.dtype)


def _strides_like(self: Meta, memory_format: torch.memory_format | None) -> Strides:
    """No format means preserve_format."""
    if memory_format is None or memory_format is torch.preserve_format:
        return like_strides(self)
    return _strides_in(self.shape, memory_format)


def _strides_in(shape: Shape, memory_format: torch.memory_format | None) -> Strides:
    if memory_format is torch.channels_last:
        require(len(shape) == 4, "required rank 4 tensor to use channels_last format")
    if memory_format is torch.channels_last_3d:
        require(len(shape) == 5, "required rank 5 tensor to use channels_last_3d format")
    return None if memory_format is None else format_strides(shape, memory_format)


def arange(start: float, end: float, step: float, dtype: torch.dtype | None, *_: Any) -> OutSpec:
    if dtype is None:
        whole = all(isinstance(v, int) for v in (start, end, step))
        dtype = torch.int64 if whole else torch.get_default_dtype()
    if dtype is torch.int64:  # ATen counts in the result's type, in doubles for every other type
        start, end, step = int(start), int(end), int(step)
    require(step != 0, "step must be nonzero")
    require(math.isfinite(start) and math.isfinite(end), f"unsupported range: {start} -> {end}")
    consistent = (step > 0 and end >= start) or (step < 0 and end <= start)
    require(consistent, "upper bound and lower bound inconsistent with step sign")
    length = -((start - end) // step) if dtype is torch.int64 else math.ceil((end - start) / step)
    return OutSpec((int(length),), dtype)


def arange_end(end: float, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    return arange(0, end, 1, dtype)


def arange_start(start: float, end: float, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    return arange(start, end, 1, dtype)


def inclusive_range(start: float, end: float, step: float = 1, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    """The deprecated `range`: its end belongs to it."""
    require(step != 0, "step must be nonzero")
    return OutSpec((int((end - start) / step) + 1,), dtype or torch.get_default_dtype())


def range_start(start: float, end: float, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    return inclusive_range(start, end, 1, dtype)


def linspace(start: Any, end: Any, steps: int, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    require(steps >= 0, "number of steps must be non-negative")
    _check_ends("linspace", start, end)
    if dtype is None:
        is_complex = any((o.dtype.is_complex if type(o) is Meta else isinstance(o, complex)) for o in (start, end))
        dtype = number_dtype(1j) if is_complex else torch.get_default_dtype()
    return OutSpec((steps,), dtype)


def _check_ends(name: str, start: Any, end: Any) -> None:
    found = [
        f"{which} with {len(meta.shape)} dimension(s)"
        for which, meta in (("start", start), ("end", end))
        if type(meta) is Meta
    ]
    wrong = any(type(meta) is Meta and meta.shape for meta in (start, end))
    require(not wrong, f"{name} only supports 0-dimensional start and end tensors, but got {' and '.join(found)}.")


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, dtype: torch.dtype | None = None, *_: Any
) -> OutSpec:
    _check_ends("logspace", start, end)
    return linspace(start, end, steps, dtype)


def eye(n: int, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    return eye_m(n, n, dtype)


def eye_m(n: int, m: int, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    require(n >= 0, f"n must be greater or equal to 0, got {n}")
    require(m >= 0, f"m must be greater or equal to 0, got {m}")
    return OutSpec((n, m), dtype or torch.get_default_dtype())


def triangle_indices(row: int, col: int, offset: int = 0, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    """tril_indices: as many columns as there are elements on and below the diagonal."""
    require(row >= 0, f"row must be non-negative, got{row}")
    require(col >= 0, f"col must be non-negative, got{col}")
    count = sum(max(0, min(col, i + offset + 1)) for i in range(row))
    # The schema's default is the number that ScalarType gives int64.
    return OutSpec((2, count), dtype if isinstance(dtype, torch.dtype) else torch.int64)


def upper_indices(row: int, col: int, offset: int = 0, dtype: torch.dtype | None = None, *_: Any) -> OutSpec:
    below = triangle_indices(row, col, offset - 1, dtype)
    return OutSpec((2, row * col - below.shape[1]), below.dtype)


TABLE: Table = {
    **rows(zeros, "zeros"),
    **rows(filled, "ones rand randn _efficientzerotensor"),
    **rows(full, "full"),
    **rows(empty, "empty.memory_format"),
    **rows(empty_strided, "empty_strided"),
    **rows(empty_permuted, "empty_permuted"),
    **rows(scalar_tensor, "scalar_tensor"),
    **rows(like, "empty_like zeros_like ones_like rand_like randn_like"),
    **rows(full_like, "full_like randint_like"),
    **rows(new, "new_empty new_zeros new_ones"),
    **rows(new_full, "new_full"),
    **rows(new_empty_strided, "new_empty_strided"),
    **rows(clone, "clone"),
    **rows(to_copy, "_to_copy"),
    **rows(fill, "fill.Scalar fill.Tensor"),
    **rows(zero, "zero"),
    **rows(copy, "copy"),
    **rows(lift, "lift"),
    **rows(lift_fresh_copy, "lift_fresh_copy"),
    **rows(arange_end, "arange"),
    **rows(arange_start, "arange.start"),
    **rows(arange, "arange.start_step"),
    **rows(inclusive_range, "range.step"),
    **rows(range_start, "range"),
    **rows(linspace, "linspace linspace.Tensor_Tensor linspace.Tensor_Scalar linspace.Scalar_Tensor"),
    **rows(logspace, "logspace logspace.Tensor_Tensor logspace.Tensor_Scalar logspace.Scalar_Tensor"),
    **rows(eye, "eye"),
    **rows(eye_m, "eye.m"),
    **rows(triangle_indices, "tril_indices"),
    **rows(upper_indices, "triu_indices"),
}
