"""The interned description of a tensor or value: shape, element type, strides.

There is one `Layout` object per distinct description, so it is compared and hashed by identity, which
is what makes a table look-up per recorded op cheap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from mlirdev.dtypes import DType
from mlirdev.errors import UnsupportedError
from mlirdev.graph import TensorSpec

DTYPES: dict[torch.dtype, DType] = {
    torch.float64: DType.f64,
    torch.float32: DType.f32,
    torch.float16: DType.f16,
    torch.bfloat16: DType.bf16,
    torch.float8_e5m2: DType.f8e5m2,
    torch.float8_e4m3fn: DType.f8e4m3fn,
    torch.int64: DType.i64,
    torch.int32: DType.i32,
    torch.int16: DType.i16,
    torch.int8: DType.i8,
    torch.uint64: DType.u64,
    torch.uint32: DType.u32,
    torch.uint16: DType.u16,
    torch.uint8: DType.u8,
    torch.bool: DType.i1,
    torch.complex64: DType.c64,
    torch.complex128: DType.c128,
}
TORCH_DTYPES: dict[DType, torch.dtype] = {ours: theirs for theirs, ours in DTYPES.items()}


def dtype_of(dtype: torch.dtype) -> DType:
    """Our name of a torch dtype. Raises UnsupportedError for one that the device doesn't have."""
    ours = DTYPES.get(dtype)
    if ours is None:
        raise UnsupportedError(f"device mlirdev has no {dtype}; convert the tensor to another dtype first")
    return ours


class Layout:
    """Shape, element type and strides (None: contiguous). Get one from `layout_of`.

    `quick_dtype` is what a tensor's dtype is compared with on the hot path: None, so that they never take it,
    for complex dtypes, whose tensors may carry a conjugate bit, for strides, and for tensors without elements,
    whose strides PyTorch's constructor gets wrong. `exact_stride` is what a contiguous tensor's strides are compared
    with where they could be others, since some dim is of size 1.
    """

    __slots__ = ("dtype", "exact_stride", "nbytes", "quick_dtype", "row_major", "shape", "spec", "stride")

    def __init__(self, shape: torch.Size, dtype: torch.dtype, stride: tuple[int, ...] | None) -> None:
        self.shape = shape
        self.dtype = dtype
        self.stride = stride
        # Strides of dims of size 1 may be any, and still the elements lie in memory as a contiguous tensor's.
        self.row_major = stride is None or _is_row_major(shape, stride)
        self.exact_stride = contiguous_stride(shape) if 1 in shape else None
        self.quick_dtype = None if dtype.is_complex or stride is not None or 0 in shape else dtype
        self.spec = TensorSpec(tuple(shape), dtype_of(dtype))
        self.nbytes = math.prod(shape) * dtype.itemsize

    @property
    def dense(self) -> Layout:
        """The same without strides."""
        return self if self.stride is None else layout_of(self.shape, self.dtype)

    def __repr__(self) -> str:
        return f"Layout({self.spec}{'' if self.stride is None else f', stride={self.stride}'})"


_layouts: dict[tuple[tuple[int, ...], torch.dtype, tuple[int, ...] | None], Layout] = {}


def layout_of(shape: Sequence[int], dtype: torch.dtype, stride: Sequence[int] | None = None) -> Layout:
    """The one Layout of this description; strides that are those of a contiguous tensor count as None."""
    key = (tuple(shape), dtype, None if stride is None else tuple(stride))
    found = _layouts.get(key)
    if found is None:
        found = _layouts[key] = _new_layout(*key)
    return found


def _new_layout(shape: tuple[int, ...], dtype: torch.dtype, stride: tuple[int, ...] | None) -> Layout:
    if stride is not None and stride == contiguous_stride(shape):
        return layout_of(shape, dtype)
    return Layout(torch.Size(shape), dtype, stride)


def _is_row_major(shape: Sequence[int], stride: Sequence[int]) -> bool:
    usual = contiguous_stride(shape)
    return 0 in shape or all(n == 1 or a == b for n, a, b in zip(shape, stride, usual, strict=True))


def contiguous_stride(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, as torch gives them (a dim of size 0 counts as 1)."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
