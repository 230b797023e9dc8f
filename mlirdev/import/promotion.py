"""Type promotion as torch does it, for operations whose computing type isn't that of their result."""

from __future__ import annotations

from collections.abc import Iterable

from mlirdev.dtypes import DType

# Within a category, later ones hold the earlier ones.
_INTEGERS = [DType.u8, DType.i8, DType.i16, DType.i32, DType.i64]
_FLOATS = [DType.f16, DType.bf16, DType.f32, DType.f64]

HALVES = frozenset({DType.f16, DType.bf16})


def category(dtype: DType) -> int:
    """bool, integer, float, complex: 0 to 3."""
    if dtype is DType.i1:
        return 0
    return 3 if dtype.is_complex else 2 if dtype.is_float else 1


def promote(a: DType, b: DType) -> DType:
    """torch.promote_types."""
    if a is b:
        return a
    if category(a) != category(b):
        high, low = (a, b) if category(a) > category(b) else (b, a)
        return DType.c128 if high is DType.c64 and low is DType.f64 else high
    if category(a) == 3:
        return DType.c128
    if {a, b} == HALVES:
        return DType.f32
    if {a, b} == {DType.u8, DType.i8}:
        return DType.i16
    order = _FLOATS if category(a) == 2 else _INTEGERS
    if a not in order or b not in order:
        return DType.f32 if category(a) == 2 else DType.i64
    return max(a, b, key=order.index)


def result_type(tensors: Iterable[tuple[DType, int]], scalars: Iterable[DType]) -> DType:
    """torch.result_type: tensors as (dtype, rank). Tensors with dims decide; 0-d tensors and then numbers
    only where they are of a higher category."""
    dimensioned, zero, number = None, None, None
    for dtype, rank in tensors:
        if rank:
            dimensioned = dtype if dimensioned is None else promote(dimensioned, dtype)
        else:
            zero = dtype if zero is None else promote(zero, dtype)
    for dtype in scalars:
        number = dtype if number is None else promote(number, dtype)
    result: DType | None = None
    for level in (dimensioned, zero, number):
        if level is not None and (result is None or category(level) > category(result)):
            result = level if result is None else promote(result, level)
    return result or DType.f32


def widened(dtype: DType) -> DType:
    """The type in which the CPU computes: f32 for halves, else the type itself."""
    return DType.f32 if dtype in HALVES else dtype


def summing(dtype: DType) -> DType:
    """The type in which products are summed: f32 for halves, i32 for bytes, which the narrower type's wrapping around
    afterwards makes the same, and which kernels are made for."""
    return DType.i32 if dtype in (DType.i8, DType.u8) else widened(dtype)
