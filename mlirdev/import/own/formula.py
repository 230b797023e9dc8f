"""Formulas on one element, in the body of an elementwise operator, which read as formulas: ../scalars.py.

    @formula("name")            own.name(x, …): operands of one dtype, f32 or f64; the result's is the node's
    def name(x): …

Choices are selects, which vectorise; `branch` and `loop` are for what costs much, or takes a number of steps that
depends on the data. `fma` rounds once, as the CPU's kernels do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from torch_mlir import ir

from mlirdev.dtypes import DType

from ..emitter import Emitter
from ..scalars import Number, Scalar, select
from .registry import OWN
from .scalar import Body, elementwise

INF = float("inf")
NAN = float("nan")
PI = 3.141592653589793


Formula: TypeAlias = "Callable[..., Scalar]"


def formula(name: str) -> Callable[[Formula], Formula]:
    """Makes own.<name> of a formula."""

    def register(fn: Formula) -> Formula:
        def body(e: Emitter, _: DType) -> Body:
            return lambda *operands: fn(*(Scalar(e, v) for v in operands)).value

        OWN[f"own.{name}"] = elementwise(body)
        return fn

    return register


# --- choices ----------------------------------------------------------------------------------------


def first(*cases: tuple[Scalar, Number], otherwise: Scalar) -> Scalar:
    """The value of the first case whose condition holds."""
    result = otherwise
    for condition, value in reversed(cases):
        result = select(condition, value, result)
    return result


def branch(condition: Scalar, then: Callable[[], Scalar], otherwise: Callable[[], Scalar], of: Scalar) -> Scalar:
    """scf.if: only the branch that is taken is computed; its result has the type of `of`."""
    operation = ir.Operation.create("scf.if", results=[of.value.type], operands=[condition.value], regions=2)
    for region, write in zip(operation.regions, (then, otherwise), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            ir.Operation.create("scf.yield", operands=[write().value])
    return Scalar(condition.e, operation.results[0])


# --- repetition -------------------------------------------------------------------------------------


def loop(state: Sequence[Scalar], going: Callable[..., Scalar], step: Callable[..., Sequence[Scalar]]) -> list[Scalar]:
    """scf.while: step(*state) is the next state as long as going(*state)."""
    e, types = state[0].e, [s.value.type for s in state]
    operation = ir.Operation.create("scf.while", results=types, operands=[s.value for s in state], regions=2)
    for region, is_test in zip(operation.regions, (True, False), strict=True):
        block = region.blocks.append(*types, arg_locs=[operation.location] * len(types))
        with ir.InsertionPoint(block):
            values = [Scalar(e, v) for v in block.arguments]
            if is_test:
                ir.Operation.create("scf.condition", operands=[going(*values).value, *block.arguments])
            else:
                ir.Operation.create("scf.yield", operands=[s.value for s in step(*values)])
    return [Scalar(e, v) for v in operation.results]


def repeat(count: int, state: Sequence[Scalar], step: Callable[..., Sequence[Scalar]]) -> list[Scalar]:
    """scf.for: `count` steps."""
    e, types = state[0].e, [s.value.type for s in state]
    bounds = [e.constant(v, e.index) for v in (0, count, 1)]
    operation = ir.Operation.create("scf.for", results=types, operands=[*bounds, *(s.value for s in state)], regions=1)
    block = operation.regions[0].blocks.append(e.index, *types, arg_locs=[operation.location] * (len(types) + 1))
    with ir.InsertionPoint(block):
        _, *values = block.arguments
        ir.Operation.create("scf.yield", operands=[s.value for s in step(*(Scalar(e, v) for v in values))])
    return [Scalar(e, v) for v in operation.results]


# --- series -----------------------------------------------------------------------------------------


def polynomial(x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """Horner's scheme, the highest power's coefficient first."""
    result = x.like(coefficients[0])
    for c in coefficients[1:]:
        result = fma(result, x, c)
    return result


def fma(a: Scalar, b: Number, c: Number) -> Scalar:
    """a · b + c, rounded once."""
    return a.math("fma", b, c)


def chebyshev(x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """A series in Chebyshev polynomials of x/2, by Clenshaw's recurrence, the highest order first."""
    new, old, older = x.like(coefficients[0]), x.like(0.0), x.like(0.0)
    for c in coefficients[1:]:
        new, old, older = fma(x, new, -old) + c, new, old
    return (new - older) * 0.5


def lookup(table: Sequence[float], index: Scalar, of: Scalar) -> Scalar:
    """table[index], in the type of `of`; the index, an i64, is within it."""
    e, element = index.e, of.value.type
    values = ir.DenseElementsAttr.get(
        [ir.FloatAttr.get(element, c) for c in table], ir.RankedTensorType.get([len(table)], element)
    )
    constant = e.op("arith.constant", values.type, attributes={"value": values})
    return Scalar(e, e.extract(constant, [index.value]))
