"""Result dtypes: PyTorch's three tiers of type promotion (ATen's `native/TypeProperties.cpp`)."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from mlirdev.lazy.specs.types import Meta

_COMPLEX_OF = {
    torch.float16: torch.complex32,
    torch.bfloat16: torch.complex64,
    torch.float32: torch.complex64,
    torch.float64: torch.complex128,
}
_REAL_OF = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}


def result_dtype(operands: tuple[Any, ...]) -> torch.dtype:
    """The dtype of tensors, 0-d tensors and numbers together; None among them is skipped."""
    first = operands[0]
    if all(type(o) is Meta and o.dtype is first.dtype and not o.is_wrapped for o in operands):
        dtype: torch.dtype = first.dtype
        return dtype
    dims = zeros = wrapped = None
    for operand in operands:
        if operand is None:
            continue
        if type(operand) is not Meta:
            wrapped = _promote(wrapped, number_dtype(operand))
        elif operand.is_wrapped:
            wrapped = _promote(wrapped, _default_of(operand.dtype))
        elif operand.shape:
            dims = _promote(dims, operand.dtype)
        else:
            zeros = _promote(zeros, operand.dtype)
    result = _combine(dims, _combine(zeros, wrapped))
    assert result is not None, "an operator without operands"
    return result


def number_dtype(number: complex) -> torch.dtype:
    """The dtype that a Python number has beside tensors."""
    if isinstance(number, bool):
        return torch.bool
    if isinstance(number, int):
        return torch.int64
    return torch.get_default_dtype() if isinstance(number, float) else complex_of(torch.get_default_dtype())


def complex_of(dtype: torch.dtype) -> torch.dtype:
    return _COMPLEX_OF.get(dtype, dtype)


def real_of(dtype: torch.dtype) -> torch.dtype:
    return _REAL_OF.get(dtype, dtype)


def is_integral(dtype: torch.dtype) -> bool:
    """True for integers and bool."""
    return not (dtype.is_floating_point or dtype.is_complex)


def to_float(dtype: torch.dtype) -> torch.dtype:
    """The dtype in which sqrt, exp, mean of integers … answer."""
    return torch.get_default_dtype() if is_integral(dtype) else dtype


def category(dtype: torch.dtype) -> int:
    """bool 0, integers 1, floats 2, complex 3: a higher one doesn't fit a lower one."""
    if dtype is torch.bool:
        return 0
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 1


def _default_of(dtype: torch.dtype) -> torch.dtype:
    """A wrapped float is stored as f64 and counts as the default dtype."""
    if dtype.is_complex:
        return complex_of(torch.get_default_dtype())
    return torch.get_default_dtype() if dtype.is_floating_point else dtype


def _promote(a: torch.dtype | None, b: torch.dtype | None) -> torch.dtype | None:
    if a is None or b is None or a is b:
        return b if a is None else a
    return promote(a, b)


@cache
def promote(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    """`torch.promote_types`, remembered."""
    return torch.promote_types(a, b)


def _combine(higher: torch.dtype | None, lower: torch.dtype | None) -> torch.dtype | None:
    """A lower tier matters only where its category is higher."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_complex:
        return higher
    if higher.is_floating_point:
        return complex_of(higher) if lower.is_complex else higher
    if higher is torch.bool or lower.is_floating_point or lower.is_complex:
        return promote(higher, lower)
    return higher
