"""Formulas on one element, in the body of an elementwise operator: a `Scalar` is an SSA value, Python's operators on it
append arith and math operations, so that formulas read as formulas.

    @formula("name")            own.name(x, …): operands of one dtype, f32 or f64; the result's is the node's
    def name(x): …

Choices are selects, which vectorise; `branch` and `loop` are for what costs much, or takes a number of steps that
depends on the data. Numbers are rounded to the type of the Scalar beside them. Nothing is reassociated; `fma` rounds
once, as the CPU's kernels do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from torch_mlir import ir

from mlirdev.dtypes import DType

from ..emitter import Emitter
from .registry import OWN
from .scalar import Body, elementwise

Number: TypeAlias = "Scalar | float"

INF = float("inf")
NAN = float("nan")
PI = 3.141592653589793


class Scalar:
    """A float, an i64 or an i1."""

    __slots__ = ("e", "value")

    def __init__(self, e: Emitter, value: ir.Value) -> None:
        self.e = e
        self.value = value

    @property
    def is_float(self) -> bool:
        return isinstance(self.value.type, ir.FloatType)

    @property
    def is_double(self) -> bool:
        return isinstance(self.value.type, ir.F64Type)

    def lift(self, number: Number) -> ir.Value:
        """A number as a constant of this type."""
        return number.value if isinstance(number, Scalar) else self.e.constant(number, self.value.type)

    def like(self, number: Number) -> Scalar:
        return Scalar(self.e, self.lift(number))

    def _arithmetic(self, name: str, other: Number, swap: bool = False) -> Scalar:
        a, b = self.value, self.lift(other)
        if swap:
            a, b = b, a
        return Scalar(self.e, self.e.binary(name + ("f" if self.is_float else "i"), a, b))

    def __add__(self, other: Number) -> Scalar:
        return self._arithmetic("add", other)

    def __sub__(self, other: Number) -> Scalar:
        return self._arithmetic("sub", other)

    def __mul__(self, other: Number) -> Scalar:
        return self._arithmetic("mul", other)

    def __truediv__(self, other: Number) -> Scalar:
        return self._arithmetic("div", other)

    def __rsub__(self, other: float) -> Scalar:
        return self._arithmetic("sub", other, swap=True)

    def __rtruediv__(self, other: float) -> Scalar:
        return self._arithmetic("div", other, swap=True)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Scalar:
        return Scalar(self.e, self.e.op("arith.negf", self.value.type, self.value))

    def _compare(self, name: str, other: Number) -> Scalar:
        return Scalar(self.e, self.e.cmp(("o" if self.is_float else "s") + name, self.value, self.lift(other)))

    def __lt__(self, other: Number) -> Scalar:
        return self._compare("lt", other)

    def __le__(self, other: Number) -> Scalar:
        return self._compare("le", other)

    def __gt__(self, other: Number) -> Scalar:
        return self._compare("gt", other)

    def __ge__(self, other: Number) -> Scalar:
        return self._compare("ge", other)

    def equals(self, other: Number) -> Scalar:
        return Scalar(self.e, self.e.cmp("oeq" if self.is_float else "eq", self.value, self.lift(other)))

    def differs(self, other: Number) -> Scalar:
        """True beside NaN too."""
        return Scalar(self.e, self.e.cmp("une" if self.is_float else "ne", self.value, self.lift(other)))

    def is_nan(self) -> Scalar:
        return self.differs(self)

    def is_whole(self) -> Scalar:
        return self.equals(self.floor())

    def __and__(self, other: Scalar) -> Scalar:
        return Scalar(self.e, self.e.binary("andi", self.value, other.value))

    def __or__(self, other: Scalar) -> Scalar:
        return Scalar(self.e, self.e.binary("ori", self.value, other.value))

    def __invert__(self) -> Scalar:
        return Scalar(self.e, self.e.binary("xori", self.value, self.lift(1)))

    def math(self, name: str, *others: Number) -> Scalar:
        """math.<name> of this and other values of its type."""
        return Scalar(self.e, self.e.op(f"math.{name}", self.value.type, self.value, *map(self.lift, others)))

    def sqrt(self) -> Scalar:
        return self.math("sqrt")

    def exp(self) -> Scalar:
        return self.math("exp")

    def log(self) -> Scalar:
        return self.math("log")

    def sin(self) -> Scalar:
        return self.math("sin")

    def cos(self) -> Scalar:
        return self.math("cos")

    def floor(self) -> Scalar:
        return self.math("floor")

    def __abs__(self) -> Scalar:
        return self.math("absf")

    def to(self, dtype: DType) -> Scalar:
        return Scalar(self.e, self.e.convert(self.value, dtype))

    def as_type_of(self, other: Scalar) -> Scalar:
        """This number in the precision of another float."""
        return self.to(DType.f64 if other.is_double else DType.f32)

    def double(self) -> Scalar:
        return self.to(DType.f64)

    def whole(self) -> Scalar:
        """A float cut to an i64; what doesn't fit, and NaN, is the least i64, as on x86."""
        fits = abs(self) < 2.0**63
        return select(fits, select(fits, self, 0.0).to(DType.i64), -(1 << 63))


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


def select(condition: Scalar, a: Number, b: Number) -> Scalar:
    """a where the condition holds, else b; one of them is a Scalar."""
    known = a if isinstance(a, Scalar) else b
    assert isinstance(known, Scalar)
    return Scalar(condition.e, condition.e.select(condition.value, known.lift(a), known.lift(b)))


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
