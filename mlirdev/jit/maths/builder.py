"""A small typed writer of LLVM IR functions, in which formulas read as formulas.

A `Value` is an SSA value; Python's operators on it append instructions. Everything is elementwise, so one
formula serves scalars (`lanes` 0, which LLVM's loop vectoriser widens) and explicit vectors. No
instruction carries fast-math flags: what is written is what is computed. `fma` is llvm.fmuladd, fused where
the target can and rounded twice where it can't, so a formula must be right both ways.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

Number: TypeAlias = "Value | float | int"

_FLOATS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}


class Value:
    """An SSA value of element kind `kind`: an LLVM scalar type's name."""

    __slots__ = ("builder", "kind", "name")

    def __init__(self, builder: Builder, kind: str, name: str) -> None:
        self.builder = builder
        self.kind = kind
        self.name = name

    @property
    def is_float(self) -> bool:
        return self.kind in _FLOATS

    def _binary(self, float_op: str, int_op: str, other: Number, swap: bool = False) -> Value:
        a, b = self, self.builder.lift(other, self.kind)
        if swap:
            a, b = b, a
        return self.builder.emit(self.kind, f"{float_op if self.is_float else int_op} {a.typed}, {b.name}")

    def __add__(self, other: Number) -> Value:
        return self._binary("fadd", "add", other)

    __radd__ = __add__

    def __sub__(self, other: Number) -> Value:
        return self._binary("fsub", "sub", other)

    def __rsub__(self, other: Number) -> Value:
        return self._binary("fsub", "sub", other, swap=True)

    def __mul__(self, other: Number) -> Value:
        return self._binary("fmul", "mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> Value:
        return self._binary("fdiv", "sdiv", other)

    def __rtruediv__(self, other: Number) -> Value:
        return self._binary("fdiv", "sdiv", other, swap=True)

    def __neg__(self) -> Value:
        return self.builder.emit(self.kind, f"fneg {self.typed}") if self.is_float else 0 - self

    def __and__(self, other: Number) -> Value:
        return self._binary("", "and", other)

    def __or__(self, other: Number) -> Value:
        return self._binary("", "or", other)

    def __xor__(self, other: Number) -> Value:
        return self._binary("", "xor", other)

    def __lshift__(self, other: Number) -> Value:
        return self._binary("", "shl", other)

    def __rshift__(self, other: Number) -> Value:
        """Arithmetic shift right."""
        return self._binary("", "ashr", other)

    def _compare(self, float_op: str, int_op: str, other: Number) -> Value:
        op = f"fcmp {float_op}" if self.is_float else f"icmp {int_op}"
        return self.builder.emit("i1", f"{op} {self.typed}, {self.builder.lift(other, self.kind).name}")

    def __lt__(self, other: Number) -> Value:
        return self._compare("olt", "slt", other)

    def __gt__(self, other: Number) -> Value:
        return self._compare("ogt", "sgt", other)

    def __le__(self, other: Number) -> Value:
        return self._compare("ole", "sle", other)

    def __ge__(self, other: Number) -> Value:
        return self._compare("oge", "sge", other)

    def equals(self, other: Number) -> Value:
        return self._compare("oeq", "eq", other)

    def is_unordered(self, other: Number = 0.0) -> Value:
        """True where this float or the other is NaN."""
        return self._compare("uno", "", other)

    @property
    def typed(self) -> str:
        return f"{self.builder.type_of(self.kind)} {self.name}"

    def bits(self) -> Value:
        """A float's bit pattern as an integer."""
        return self._cast("bitcast", f"i{_FLOATS[self.kind]}")

    def as_float(self, kind: str = "") -> Value:
        """An integer's bits as a float; an i16's kind must be named."""
        return self._cast("bitcast", kind or {"i32": "float", "i64": "double"}[self.kind])

    def to(self, kind: str) -> Value:
        """The value converted: int to float, float to wider or narrower float, int to narrower int."""
        if kind == self.kind:
            return self
        if not self.is_float:
            return self._cast("sitofp" if kind in _FLOATS else "trunc", kind)
        return self._cast("fpext" if _FLOATS[kind] > _FLOATS[self.kind] else "fptrunc", kind)

    def _cast(self, op: str, kind: str) -> Value:
        return self.builder.emit(kind, f"{op} {self.typed} to {self.builder.type_of(kind)}")


class Builder:
    """Collects one function's instructions, and the intrinsics and tables that they use. `has_ldexp` says that the
    target scales by powers of two in one instruction."""

    def __init__(self, lanes: int = 0, has_ldexp: bool = False) -> None:
        self.lanes = lanes
        self.has_ldexp = has_ldexp
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self.globals: dict[str, str] = {}

    def type_of(self, kind: str) -> str:
        return f"<{self.lanes} x {kind}>" if self.lanes else kind

    def suffix_of(self, kind: str) -> str:
        """How an intrinsic of this type ends: f32, v16f32."""
        element = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "p0"}.get(kind, kind)
        return f"v{self.lanes}{element}" if self.lanes else element

    def emit(self, kind: str, instruction: str) -> Value:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {instruction}")
        return Value(self, kind, name)

    def lift(self, number: Number, kind: str) -> Value:
        """A Python number as a constant of this kind; floats are rounded to it."""
        if isinstance(number, Value):
            return number
        text = float_constant(float(number), kind) if kind in _FLOATS else str(int(number))
        return Value(self, kind, f"splat ({kind} {text})" if self.lanes else text)

    def intrinsic(self, name: str, *args: Value) -> Value:
        """Call an elementwise intrinsic whose arguments and result are of one type."""
        kind = args[0].kind
        function = f"@llvm.{name}.{self.suffix_of(kind)}"
        typ = self.type_of(kind)
        self.declarations.add(f"declare {typ} {function}({', '.join([typ] * len(args))})")
        return self.emit(kind, f"call {typ} {function}({', '.join(a.typed for a in args)})")

    def ldexp(self, x: Value, exponent: Value) -> Value:
        """x · 2^exponent, rounded once."""
        power, result, typ = exponent.to("i32"), self.type_of(x.kind), self.type_of("i32")
        function = f"@llvm.ldexp.{self.suffix_of(x.kind)}.{self.suffix_of('i32')}"
        self.declarations.add(f"declare {result} {function}({result}, {typ})")
        return self.emit(x.kind, f"call {result} {function}({x.typed}, {power.typed})")

    def gather(self, table: str, kind: str, values: Sequence[float], index: Value) -> Value:
        """values[index], from a constant table named `table`; the index is an i32 within it."""
        elements = ", ".join(f"{kind} {float_constant(v, kind)}" for v in values)
        self.globals[table] = (
            f"@{table} = internal unnamed_addr constant [{len(values)} x {kind}] [{elements}], align 64"
        )
        pointer = self.emit("ptr", f"getelementptr inbounds {kind}, ptr @{table}, {index.typed}")
        if not self.lanes:
            return self.emit(kind, f"load {kind}, ptr {pointer.name}, align 8")
        typ, mask = self.type_of(kind), self.type_of("i1")
        function = f"@llvm.masked.gather.{self.suffix_of(kind)}.{self.suffix_of('ptr')}"
        self.declarations.add(f"declare {typ} {function}({self.type_of('ptr')}, i32, {mask}, {typ})")
        return self.emit(kind, f"call {typ} {function}({pointer.typed}, i32 8, {mask} splat (i1 true), {typ} poison)")

    def function(self, name: str, parameters: Sequence[str], formula: Callable[..., Value]) -> str:
        """The text of an inlinable function that computes a formula."""
        arguments = [Value(self, kind, f"%a{i}") for i, kind in enumerate(parameters)]
        result = formula(*arguments)
        head = f"define internal {self.type_of(result.kind)} @{name}({', '.join(a.typed for a in arguments)})"
        body = "\n".join(f"  {line}" for line in [*self.lines, f"ret {result.typed}"])
        return f"{head} alwaysinline nounwind willreturn memory(none) {{\n{body}\n}}"


def float_constant(value: float, kind: str) -> str:
    """A float rounded to `kind`, in LLVM's exact hexadecimal form."""
    if kind == "float":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    elif kind != "double":
        raise NotImplementedError(f"constants of {kind} aren't needed: halves are computed as float")
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


# --- elementwise operations that aren't operators --------------------------------------------------


def fma(a: Value, b: Number, c: Number) -> Value:
    """a·b + c."""
    return a.builder.intrinsic("fmuladd", a, a.builder.lift(b, a.kind), a.builder.lift(c, a.kind))


def polynomial(x: Value, *coefficients: float) -> Value:
    """Horner's scheme, the highest power's coefficient first."""
    result: Value = x.builder.lift(coefficients[0], x.kind)
    for coefficient in coefficients[1:]:
        result = fma(result, x, coefficient)
    return result


def select(condition: Value, a: Number, b: Number) -> Value:
    """a where the condition holds, else b; one of them is a Value."""
    builder = condition.builder
    kind = a.kind if isinstance(a, Value) else b.kind if isinstance(b, Value) else "float"
    a, b = builder.lift(a, kind), builder.lift(b, kind)
    return builder.emit(kind, f"select {condition.typed}, {a.typed}, {b.typed}")


def absolute(x: Value) -> Value:
    return x.builder.intrinsic("fabs", x)


def copysign(magnitude: Value, sign: Value) -> Value:
    return magnitude.builder.intrinsic("copysign", magnitude, sign)


def sqrt(x: Value) -> Value:
    return x.builder.intrinsic("sqrt", x)


def at_most(x: Value, limit: Number) -> Value:
    """The smaller of both; NaN stays NaN."""
    return select(x > limit, limit, x)


def at_least(x: Value, limit: Number) -> Value:
    """The larger of both; NaN stays NaN."""
    return select(x < limit, limit, x)


# Adding 1.5 · 2^(mantissa bits) rounds to a whole number, which then sits in the low bits of the sum. Unlike
# fptosi this is defined for NaN, and it is one instruction everywhere.
_ROUNDER = {"float": 1.5 * 2.0**23, "double": 1.5 * 2.0**52}


def round_whole(x: Value) -> tuple[Value, Value]:
    """The nearest whole number, as a float and as an integer of the same width; |x| < 2^22 (2^51)."""
    rounder = x.builder.lift(_ROUNDER[x.kind], x.kind)
    shifted = x + rounder
    bits = {"float": 0x4B400000, "double": 0x4338000000000000}[x.kind]
    return shifted - rounder, shifted.bits() - bits


def power_of_two(exponent: Value) -> Value:
    """2^exponent as a float of the integer's width, for exponents of normal numbers."""
    bias, mantissa_bits = {"i32": (127, 23), "i64": (1023, 52)}[exponent.kind]
    return ((exponent + bias) << mantissa_bits).as_float()


def scale_by_power_of_two(x: Value, exponent: Value) -> Value:
    """x · 2^exponent, in two steps where they are ours, so that the result may overflow or be denormal."""
    if x.builder.has_ldexp:
        return x.builder.ldexp(x, exponent)
    half = exponent >> 1
    return x * power_of_two(half) * power_of_two(exponent - half)
