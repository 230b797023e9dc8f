"""What is defined on the bits of floats: nextafter and frexp, in the float's own dtype."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from ..emitter import Emitter
from .registry import OWN, own
from .scalar import Body, elementwise

# Bits of the mantissa, without the leading one.
_MANTISSA = {DType.f64: 52, DType.f32: 23, DType.f16: 10, DType.bf16: 7}


def _integer(e: Emitter, dtype: DType) -> ir.Type:
    return e.builder.type(f"i{dtype.itemsize * 8}")


def _nextafter(e: Emitter, dtype: DType) -> Body:
    """Magnitudes are ordered as their bits are."""
    whole = _integer(e, dtype)

    def body(a: ir.Value, b: ir.Value) -> ir.Value:
        zero, one = e.constant(0.0, a.type), e.constant(1, whole)
        bits = e.op("arith.bitcast", whole, a)
        away = e.cmp("eq", e.cmp("olt", a, b), e.cmp("ogt", a, zero))
        moved = e.select(away, e.binary("addi", bits, one), e.binary("subi", bits, one))
        result = e.op("arith.bitcast", a.type, moved)
        least = e.op("math.copysign", a.type, e.op("arith.bitcast", a.type, one), b)
        result = e.select(e.cmp("oeq", a, zero), least, result)
        result = e.select(e.cmp("oeq", a, b), b, result)
        return e.select(e.cmp("uno", a, b), e.add(a, b), result)

    return body


OWN["own.nextafter"] = elementwise(_nextafter)


def _split(e: Emitter, x: ir.Value, dtype: DType) -> tuple[ir.Value, ir.Value]:
    """x = mantissa · 2^exponent, the mantissa in [½, 1), the exponent an i32, which is 0 for 0, infinities and NaN."""
    whole, width = _integer(e, dtype), _MANTISSA[dtype]
    exponent_bits = dtype.itemsize * 8 - 1 - width
    bias, mask = (1 << (exponent_bits - 1)) - 2, (1 << exponent_bits) - 1
    shift = float(width + 1)
    tiny = e.cmp("olt", e.op("math.absf", x.type, x), e.constant(2.0 ** (1 - bias), x.type))
    normal = e.select(tiny, e.mul(x, e.constant(2.0**shift, x.type)), x)
    bits = e.op("arith.bitcast", whole, normal)
    field = e.binary("andi", e.binary("shrui", bits, e.constant(width, whole)), e.constant(mask, whole))
    lost = e.select(tiny, e.constant(bias + int(shift), whole), e.constant(bias, whole))
    exponent = e.convert(e.binary("subi", field, lost), DType.i32)
    kept = e.binary("andi", bits, e.constant(~(mask << width), whole))
    mantissa = e.op("arith.bitcast", x.type, e.binary("ori", kept, e.constant(bias << width, whole)))
    finite = e.cmp("olt", e.op("math.absf", x.type, x), e.constant(float("inf"), x.type))
    regular = e.binary("andi", finite, e.cmp("une", x, e.constant(0.0, x.type)))
    return e.select(regular, mantissa, x), e.select(regular, exponent, e.constant(0, e.i32))


@own("own.frexp")
def frexp(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """(mantissa, exponent): two generics, which later passes put in one loop."""
    spec, exponents = node.results
    source, places = e.tensor(node.args[0]), list(range(len(spec.shape)))
    mantissa = e.generic(
        spec.shape, e.element_type(spec.dtype), [(source, places)], lambda x: _split(e, x, spec.dtype)[0]
    )
    exponent = e.generic(exponents.shape, e.i32, [(source, places)], lambda x: _split(e, x, spec.dtype)[1])
    return [mantissa, exponent]
