"""A number of the program that is being emitted: an SSA value with Python's operators, which append arith and math
operations. Formulas on elements (own/formula.py) and sequential algorithms (imperative.py) are written in these.

Numbers are rounded to the type of the Scalar beside them. Nothing is reassociated.
"""

from __future__ import annotations

from typing import TypeAlias

from torch_mlir import ir

from mlirdev.dtypes import DType

from .emitter import Emitter

Number: TypeAlias = "Scalar | float"


class Scalar:
    """A float, an integer, an index or an i1."""

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
        integer = "divsi" if name == "div" else f"{name}i"
        return Scalar(self.e, self.e.binary(f"{name}f" if self.is_float else integer, a, b))

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

    def if_(self, condition: Scalar, otherwise: Number) -> Scalar:
        """This where the condition holds, else the other; both are computed."""
        return select(condition, self, otherwise)

    def maximum(self, other: Number) -> Scalar:
        """The greater; this one beside NaN. (LLVM's vectoriser breaks off at some loops over maxnum.)"""
        beside = self.like(other)
        return select(beside > self, beside, self)

    def minimum(self, other: Number) -> Scalar:
        beside = self.like(other)
        return select(beside < self, beside, self)

    def with_sign_of(self, other: Number) -> Scalar:
        return self.math("copysign", other)

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


def select(condition: Scalar, a: Number, b: Number) -> Scalar:
    """a where the condition holds, else b; one of them is a Scalar."""
    known = a if isinstance(a, Scalar) else b
    assert isinstance(known, Scalar)
    return Scalar(condition.e, condition.e.select(condition.value, known.lift(a), known.lift(b)))
