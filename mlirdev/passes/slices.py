"""Slices that are one run of memory: x[3], x[2:4], x[1, 2:5], but not x[:, 2:4]."""

from __future__ import annotations

import math

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.plan import BUFFER_ALIGNMENT


def contiguous_offset(op: ir.Operation) -> int | None:
    """Where a tensor.extract_slice starts in its operand, in bytes; None where it has gaps, starts where no buffer may,
    or depends on run-time sizes."""
    source = ir.RankedTensorType(op.operands[0].type)
    if len(op.operands) > 1 or not source.has_static_shape:
        return None
    offsets, sizes, steps = (
        [int(x) for x in ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"])]
        for name in ("offsets", "sizes", "strides")
    )
    if any(step != 1 for step in steps) or not _is_one_run(sizes, source.shape):
        return None
    strides = [math.prod(source.shape[d + 1 :]) for d in range(len(sizes))]
    start = sum(offset * stride for offset, stride in zip(offsets, strides, strict=True))
    offset = start * DType(str(source.element_type)).itemsize
    return None if offset % BUFFER_ALIGNMENT else offset


def _is_one_run(sizes: list[int], shape: list[int]) -> bool:
    """Whether dims of one element, then perhaps a part of a dim, then whole dims follow each other."""
    first_whole = len(sizes)
    while first_whole and sizes[first_whole - 1] == shape[first_whole - 1]:
        first_whole -= 1
    return all(size == 1 for size in sizes[: max(first_whole - 1, 0)])
