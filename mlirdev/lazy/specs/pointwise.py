"""Elementwise operators: broadcast shape, promoted dtype, TensorIterator's strides.

Each kind is one function of the operands; the rest of an overload's arguments is ignored by the row
(`alpha`, `rounding_mode`, …). Activations and losses with their backwards are in their own files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from mlirdev.lazy.specs.checks import broadcast_all
from mlirdev.lazy.specs.layout import elementwise_strides
from mlirdev.lazy.specs.promotion import result_dtype, to_float
from mlirdev.lazy.specs.types import Meta, OutSpec, Row, Table, rows

DTypeRule: TypeAlias = Callable[[torch.dtype], torch.dtype]


def elementwise(operands: tuple[Any, ...], dtype: torch.dtype | None = None) -> OutSpec:
    """The result of operands (tensors, numbers, None), in the given or promoted dtype."""
    first = operands[0]
    if len(operands) == 1 and first.stride is None:
        return OutSpec(first.shape, dtype or first.dtype)
    metas = [o for o in operands if type(o) is Meta]
    shape = broadcast_all(metas)
    return OutSpec(shape, dtype or result_dtype(operands), elementwise_strides(shape, metas))


def pointwise(count: int, dtype_rule: DTypeRule | None = None) -> Row:
    """A row whose first `count` arguments are the operands; `dtype_rule` maps the promoted dtype to the result's."""

    def rule(*args: Any) -> OutSpec:
        operands = args[:count]
        promoted = result_dtype(operands)
        return elementwise(operands, dtype_rule(promoted) if dtype_rule else promoted)

    return rule


def predicate(count: int) -> Row:
    """A row that answers bool."""

    def rule(*args: Any) -> OutSpec:
        operands = args[:count]
        result_dtype(operands)
        return elementwise(operands, torch.bool)

    return rule


TABLE: Table = {
    **rows(pointwise(1), "neg relu"),
    **rows(pointwise(1, to_float), "sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sigmoid tanh erf"),
    **rows(pointwise(2), "add.Tensor sub.Tensor mul.Tensor add.Scalar sub.Scalar mul.Scalar maximum minimum"),
    **rows(pointwise(2, to_float), "div.Tensor div.Scalar"),
    **rows(predicate(2), "eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor"),
}
