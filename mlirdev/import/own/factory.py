"""Tensors from numbers: own.full(value), own.iota(start, step)."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from .registry import own


@own("own.full")
def full(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """A fill; users fold it."""
    spec, value = node.results[0], node.args[0]
    element = e.element_type(spec.dtype)
    if isinstance(value, (bool, int, float)):
        return [e.filled(spec.shape, e.constant(value, element))]
    return [e.filled(spec.shape, e.number(value, spec.dtype))]


@own("own.iota")
def iota(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """start + i · step, computed in f64 or i64 as the CPU does."""
    spec = node.results[0]
    wide = e.builder.type("f64") if spec.dtype.is_float else e.i64
    start, step = (e.number_as(a, wide) for a in node.args)

    def body() -> ir.Value:
        i = e.iteration(0)
        i = e.op("arith.sitofp", wide, i) if spec.dtype.is_float else i
        return e.convert(e.add(start, e.mul(i, step)), spec.dtype)

    return [e.generic(spec.shape, e.element_type(spec.dtype), [], body)]
