"""Elementwise operators that the torch dialect lacks or lowers otherwise than the CPU computes.

`own.<name>(a, b, …)`: operands of one dtype, broadcast; results of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.graph import Node
from mlirdev.plan import ZERO_DIVISION

from ..dims import Shape
from ..emitter import Emitter, Map
from .registry import OWN

Body = Callable[..., ir.Value]


def is_unsigned(dtype: DType) -> bool:
    return dtype in (DType.u8, DType.i1)


def broadcast_map(operand: Shape, result: Shape) -> Map:
    """Where an operand's dims fall in a result that it is broadcast to."""
    offset = len(result) - len(operand)
    return [None if d == 1 else offset + i for i, d in enumerate(operand)]


def elementwise(body: Callable[[Emitter, DType], Body]) -> Callable[[Emitter, Node], Sequence[ir.Value]]:
    def emit(e: Emitter, node: Node) -> Sequence[ir.Value]:
        spec = node.results[0]
        inputs = [(e.tensor(a), broadcast_map(e.spec(a).shape, spec.shape)) for a in node.args]
        return [e.generic(spec.shape, e.element_type(spec.dtype), inputs, body(e, spec.dtype))]

    return emit


def named(of_float: str, of_signed: str, of_unsigned: str, of_bool: str = "") -> Callable[[Emitter, DType], Body]:
    """One op, by dtype: its full name."""

    def body(e: Emitter, dtype: DType) -> Body:
        kind = of_bool or of_unsigned if dtype is DType.i1 else of_unsigned if dtype is DType.u8 else of_signed
        name = of_float if dtype.is_float else kind
        return lambda a, *rest: e.op(name, a.type, a, *rest)

    return body


# By name: the predicate for floats, for signed and for unsigned integers.
_PREDICATES = {
    "eq": ("oeq", "eq", "eq"),
    "ne": ("une", "ne", "ne"),
    "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"),
    "gt": ("ogt", "sgt", "ugt"),
    "ge": ("oge", "sge", "uge"),
}


def _comparison(name: str) -> Callable[[Emitter, Node], Sequence[ir.Value]]:
    def emit(e: Emitter, node: Node) -> Sequence[ir.Value]:
        dtype, shape = e.spec(node.args[0]).dtype, node.results[0].shape
        predicate = _PREDICATES[name][0 if dtype.is_float else 2 if is_unsigned(dtype) else 1]
        inputs = [(e.tensor(a), broadcast_map(e.spec(a).shape, shape)) for a in node.args]
        return [e.generic(shape, e.i1, inputs, lambda a, b: e.cmp(predicate, a, b))]

    return emit


def _safe_divisor(e: Emitter, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """A divisor that doesn't trap, and whether the true one is −1 (x / −1 overflows for the least x)."""
    zero, one = e.constant(0, a.type), e.constant(1, a.type)
    nonzero = e.cmp("ne", b, zero)
    e.check(nonzero, ZERO_DIVISION)
    minus = e.cmp("eq", b, e.constant(-1, a.type))
    return e.select(e.binary("andi", nonzero, e.binary("xori", minus, e.constant(1, e.i1))), b, one), minus


def _quotient(e: Emitter, dtype: DType) -> Body:
    def body(a: ir.Value, b: ir.Value) -> ir.Value:
        if dtype is DType.u8:
            e.check(e.cmp("ne", b, e.constant(0, b.type)), ZERO_DIVISION)
            return e.binary("divui", a, e.binary("maxui", b, e.constant(1, b.type)))
        safe, minus = _safe_divisor(e, a, b)
        negated = e.binary("subi", e.constant(0, a.type), a)
        return e.select(minus, negated, e.binary("divsi", a, safe))

    return body


def _floor_quotient(e: Emitter, dtype: DType) -> Body:
    truncated = _quotient(e, dtype)

    def body(a: ir.Value, b: ir.Value) -> ir.Value:
        q = truncated(a, b)
        if dtype is DType.u8:
            return q
        rest = e.binary("subi", a, e.mul(q, b))
        down = e.binary("andi", e.cmp("ne", rest, e.constant(0, a.type)), _signs_differ(e, rest, b))
        return e.select(down, e.binary("subi", q, e.constant(1, a.type)), q)

    return body


def _signs_differ(e: Emitter, a: ir.Value, b: ir.Value) -> ir.Value:
    return e.cmp("slt", e.binary("xori", a, b), e.constant(0, a.type))


def _fmod(e: Emitter, dtype: DType) -> Body:
    truncated = None if dtype.is_float else _quotient(e, dtype)

    def body(a: ir.Value, b: ir.Value) -> ir.Value:
        if truncated is None:
            return e.binary("remf", a, b)
        return e.binary("subi", a, e.mul(truncated(a, b), b))

    return body


def _remainder(e: Emitter, dtype: DType) -> Body:
    fmod = _fmod(e, dtype)

    def body(a: ir.Value, b: ir.Value) -> ir.Value:
        rest = fmod(a, b)
        if dtype is DType.u8:
            return rest
        zero = e.constant(0, a.type)
        if dtype.is_float:
            differ = e.cmp("une", rest, zero)
            signs = e.binary("xori", e.cmp("olt", b, zero), e.cmp("olt", rest, zero))
            return e.select(e.binary("andi", differ, signs), e.add(rest, b), rest)
        wrong = e.binary("andi", e.cmp("ne", rest, zero), _signs_differ(e, rest, b))
        return e.select(wrong, e.add(rest, b), rest)

    return body


def _pow(e: Emitter, dtype: DType) -> Body:
    if dtype.is_float:
        return lambda a, b: e.op("math.powf", a.type, a, b)
    return lambda a, b: _integer_power(e, a, b, is_unsigned(dtype))


def _integer_power(e: Emitter, base: ir.Value, exponent: ir.Value, unsigned: bool) -> ir.Value:
    """By squaring, modulo 2^bits. Negative exponents give 0 unless the base is ±1."""
    type_ = base.type
    zero, one, minus = (e.constant(v, type_) for v in (0, 1, -1))
    bits = ir.IntegerType(type_).width
    begin, end, step = (e.constant(v, e.index) for v in (0, bits, 1))
    loop = ir.Operation.create(
        "scf.for", results=[type_] * 3, operands=[begin, end, step, one, base, exponent], regions=1
    )
    types = [e.index, type_, type_, type_]
    block = ir.Block.create_at_start(loop.regions[0], types, [loop.location] * 4)
    with ir.InsertionPoint(block):
        _, result, square, left = block.arguments
        odd = e.cmp("ne", e.binary("andi", left, one), zero)
        multiplied = e.select(odd, e.mul(result, square), result)
        e.builder.create("scf.yield", [], [multiplied, e.mul(square, square), e.binary("shrui", left, one)])
    if unsigned:
        return loop.results[0]
    odd = e.cmp("ne", e.binary("andi", exponent, one), zero)
    of_minus_one = e.select(odd, minus, one)
    inverse = e.select(e.cmp("eq", base, one), one, e.select(e.cmp("eq", base, minus), of_minus_one, zero))
    return e.select(e.cmp("slt", exponent, zero), inverse, loop.results[0])


def _shift(name: str) -> Callable[[Emitter, DType], Body]:
    """Shifting by the width or more, or by a negative number, gives 0, or the sign for >>."""

    def of(e: Emitter, dtype: DType) -> Body:
        def body(a: ir.Value, b: ir.Value) -> ir.Value:
            bits = dtype.itemsize * 8
            fits = e.cmp("ult", b, e.constant(bits, a.type))
            within = e.select(fits, b, e.constant(bits - 1, a.type))
            right = "shrui" if dtype is DType.u8 else "shrsi"
            shifted = e.binary("shli" if name == "shl" else right, a, within)
            if name == "shr" and dtype is not DType.u8:
                return shifted
            return e.select(fits, shifted, e.constant(0, a.type))

        return body

    return of


def _gcd(e: Emitter, dtype: DType) -> Body:
    """Euclid's, at most 1.45 steps per bit."""

    def body(a: ir.Value, b: ir.Value) -> ir.Value:
        zero, one = e.constant(0, a.type), e.constant(1, a.type)
        begin, end, step = (e.constant(v, e.index) for v in (0, dtype.itemsize * 12 + 2, 1))
        loop = ir.Operation.create("scf.for", results=[a.type] * 2, operands=[begin, end, step, a, b], regions=1)
        block = ir.Block.create_at_start(loop.regions[0], [e.index, a.type, a.type], [loop.location] * 3)
        with ir.InsertionPoint(block):
            _, x, y = block.arguments
            done = e.cmp("eq", y, zero)
            # |y| = 1 divides all, and x rem −1 would trap for the least x.
            trap = done if dtype is DType.u8 else e.binary("ori", done, e.cmp("eq", y, e.constant(-1, a.type)))
            safe = e.select(trap, one, y)
            rest = e.binary("remui" if dtype is DType.u8 else "remsi", x, safe)
            e.builder.create("scf.yield", [], [e.select(done, x, y), e.select(done, zero, rest)])
        result = loop.results[0]
        if dtype is DType.u8:
            return result
        return e.select(e.cmp("slt", result, zero), e.binary("subi", zero, result), result)

    return body


def _cast(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """The same values as another dtype."""
    source, spec = e.spec(node.args[0]), node.results[0]
    identity = list(range(len(spec.shape)))
    unsigned = source.dtype in (DType.u8, DType.i1)

    def body(x: ir.Value) -> ir.Value:
        wide = e.op("arith.extui", e.i64, x) if unsigned and source.dtype is not spec.dtype else x
        return e.convert(wide, spec.dtype)

    return [e.generic(spec.shape, e.element_type(spec.dtype), [(e.tensor(node.args[0]), identity)], body)]


_BODIES: dict[str, Callable[[Emitter, DType], Body]] = {
    "max": named("arith.maximumf", "arith.maxsi", "arith.maxui", "arith.ori"),
    "min": named("arith.minimumf", "arith.minsi", "arith.minui", "arith.andi"),
    "and": named("", "arith.andi", "arith.andi"),
    "or": named("", "arith.ori", "arith.ori"),
    "xor": named("", "arith.xori", "arith.xori"),
    "trunc": named("math.trunc", "", ""),
    "copysign": named("math.copysign", "", ""),
    "atan2": named("math.atan2", "", ""),
    "erfc": named("math.erfc", "", ""),
    "div_trunc": _quotient,
    "div_floor": _floor_quotient,
    "fmod": _fmod,
    "remainder": _remainder,
    "pow": _pow,
    "shl": _shift("shl"),
    "shr": _shift("shr"),
    "gcd": _gcd,
}
OWN.update({f"own.{name}": elementwise(body) for name, body in _BODIES.items()})
OWN.update({f"own.{name}": _comparison(name) for name in _PREDICATES})
OWN["own.cast"] = _cast
