"""Output specs from our own tables: shape, dtype and strides of what an overload returns, without running it.

    name ─► rule_for ─► Rule(args) ─► OutSpec per result

Meta kernels answer the same, 100 times slower. A family of operators is a file; a file holds small pure
functions and a table that maps overloads to them; adding an operator is one row. Only functional overloads
that aren't views have rows: `lazy/` maps in-place and out= overloads to these and computes views itself.

    types       Meta, OutSpec, Rule         promotion   result dtypes
    layout      strides of results          checks      dims, sizes, eager's messages
    dtype_support                           element types that eager's kernels refuse
    arguments   which arguments are structural, sizes, or run-time scalars
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from mlirdev.lazy.specs import dtype_support
from mlirdev.lazy.specs.types import DataDependentError, Meta, OutSpec, Row, Rule, Table

__all__ = ["Meta", "OutSpec", "Rule", "rule_for"]

FAMILIES = (
    "pointwise",
    "activations",
    "reductions",
    "contractions",
    "convolution",
    "pooling",
    "norms",
    "recurrent",
    "losses",
    "indexing",
    "shaping",
    "view_copies",
    "factories",
    "sorting",
    "resampling",
    "linalg",
    "spectral",
    "distances",
    "embedding_bags",
)


@cache
def table() -> Table:
    """All rows, by the overload's full name. Built on first use: recording starts when a device tensor exists."""
    merged: Table = {}
    for family in FAMILIES:
        merged |= importlib.import_module(f"{__name__}.{family}").TABLE
    return merged


@cache
def rule_for(name: str) -> Rule | None:
    """The rule of an overload ("aten.add.Tensor"), or None where we have none."""
    row = table().get(name)
    return None if row is None else _rule(row, dtype_support.TABLE.get(name))


def _rule(row: Row, support: dtype_support.Support | None) -> Rule:
    def rule(args: tuple[Any, ...], /) -> tuple[OutSpec | None, ...] | None:
        try:
            result = row(*args)
        except DataDependentError:
            return None
        if support is not None:  # as in eager, wrong shapes are told before wrong dtypes
            support.check(args)
        return (result,) if type(result) is OutSpec else result  # type: ignore[return-value]  # OutSpec is a tuple too

    return rule
