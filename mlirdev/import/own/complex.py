"""Where complex numbers meet the real ones that we compute with: own.real(x), own.imag(x), own.complex(re, im)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from ..emitter import Emitter
from .registry import OWN

Emit = Callable[[Emitter, Node], Sequence[ir.Value]]


def _elementwise(op: str) -> Emit:
    def emit(e: Emitter, node: Node) -> Sequence[ir.Value]:
        spec = node.results[0]
        element, identity = e.element_type(spec.dtype), list(range(len(spec.shape)))
        inputs = [(e.tensor(a), identity) for a in node.args]
        return [e.generic(spec.shape, element, inputs, lambda *parts: e.op(op, element, *parts))]

    return emit


OWN["own.real"] = _elementwise("complex.re")
OWN["own.imag"] = _elementwise("complex.im")
OWN["own.complex"] = _elementwise("complex.create")


def product(e: Emitter, dtype: DType, x: ir.Value, y: ir.Value) -> ir.Value:
    """Of two complex elements, for products that run along a dim; c10::complex has the same formula."""
    part = e.element_type(dtype.real)
    (a, b), (c, d) = ([e.op(f"complex.{p}", part, v) for p in ("re", "im")] for v in (x, y))
    re = e.binary("subf", e.mul(a, c), e.mul(b, d))
    return e.op("complex.create", e.element_type(dtype), re, e.add(e.mul(a, d), e.mul(b, c)))
