"""Numbers that become elements must fit their dtype, as in eager: `fill_`, `full`, `masked_fill`, `clamp`, ….

Other ops take any number, and convert it as C++ does.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from mlirdev.lazy.specs.checks import overflow

_NAMES = """
fill.Scalar full.default full_like.default new_full.default scalar_tensor.default masked_fill.Scalar clamp.default
clamp_min.default clamp_max.default index_fill.int_Scalar scatter.value scatter.value_reduce threshold.default
index_add.default addcmul.default addmm.default addmv.default addr.default baddbmm.default
addbmm.default linspace.default hardtanh.default hardshrink.default
"""
# Kernels of these compute with f32 numbers where the elements are halves.
_WIDENED = frozenset({"aten.addcmul.default", "aten.addmm.default", "aten.baddbmm.default", "aten.addbmm.default"})
CHECKED = frozenset(f"aten.{name}" for name in _NAMES.split())
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_BOUNDED = frozenset({*_INTEGERS, torch.float16, torch.bfloat16, torch.float32})


def check_numbers(op: str, numbers: Sequence[float], dtype: torch.dtype) -> None:
    """Raise RuntimeError for a number that isn't within the dtype of the op's result. Infinities are within floats, and
    a negative integer is within an unsigned type where its absolute value is."""
    if op in _WIDENED and dtype in (torch.float16, torch.bfloat16):
        dtype = torch.float32
    if dtype not in _BOUNDED or (
        op == "aten.scalar_tensor.default" and dtype.is_floating_point and dtype.itemsize == 2
    ):
        return
    for number in numbers:
        if not _fits(number, dtype):
            overflow(dtype)


def _fits(number: float, dtype: torch.dtype) -> bool:
    if dtype.is_floating_point:
        return not torch.finfo(dtype).max < abs(number) < float("inf")
    info = torch.iinfo(dtype)
    least = -info.max if info.min == 0 and type(number) is int else info.min
    return least <= number <= info.max
