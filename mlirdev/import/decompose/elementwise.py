"""Arithmetic that torch-mlir lacks or gets wrong: scalar forms, powers, rounding divisions, fused forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node

from ..registry import decomposition
from ..tensor import Operand, Tensor
from .operands import computing, is_one, number, number_or_tensor, ones_like, scaled

if TYPE_CHECKING:
    from ..rewriter import Rewriter


@decomposition("aten.add.Tensor", "aten.add.Scalar", "aten.sub.Tensor", "aten.sub.Scalar")
def add(rw: Rewriter, node: Node) -> Tensor:
    """With alpha: self ± alpha · other. On bools, + is or."""
    a, b, alpha = node.args
    dtype = computing(node)
    plus = ".add." in node.op
    if dtype is DType.i1:
        added = rw.tensor(b, dtype)
        return rw.tensor(a, dtype) | (added if is_one(alpha) else added & rw.tensor(alpha, dtype))
    x = rw.tensor(a, dtype)
    y: Operand = number_or_tensor(rw, b, dtype)
    if not is_one(alpha):
        y = rw.tensor(b, dtype) * number(alpha)
    name = "add" if plus else "sub"
    return rw.kept_binary(name, x, y)


@decomposition("aten.mul.Tensor", "aten.mul.Scalar")
def mul(rw: Rewriter, node: Node) -> Tensor:
    """On bools, · is and."""
    dtype = computing(node)
    x = rw.tensor(node.args[0], dtype)
    if dtype is DType.i1:
        return x & rw.tensor(node.args[1], dtype)
    return rw.kept_binary("mul", x, number_or_tensor(rw, node.args[1], dtype))


@decomposition("aten.rsub.Scalar", "aten.rsub.Tensor")
def rsub(rw: Rewriter, node: Node) -> Tensor:
    a, b, alpha = node.args
    dtype = computing(node)
    return rw.tensor(b, dtype) - scaled(rw.tensor(a, dtype), number(alpha))


@decomposition("aten.div.Tensor_mode", "aten.div.Scalar_mode")
def div_mode(rw: Rewriter, node: Node) -> Tensor:
    a, b, mode = node.args
    dtype = computing(node)
    x, y = rw.tensor(a, dtype), rw.tensor(b, dtype)
    if mode is None:
        return x / y
    if mode == "trunc":
        # The CPU rounds the quotient of halves before it is cut.
        quotient = (x / y).to(node.results[0].dtype).to(dtype)
        return quotient.unary("trunc") if dtype.is_float else rw.own("own.div_trunc", x, y)
    return floor_quotient(rw, x, y)


@decomposition("aten.floor_divide.default", "aten.floor_divide.Scalar")
def floor_divide(rw: Rewriter, node: Node) -> Tensor:
    dtype = computing(node)
    return floor_quotient(rw, rw.tensor(node.args[0], dtype), rw.tensor(node.args[1], dtype))


def floor_quotient(rw: Rewriter, x: Tensor, y: Tensor) -> Tensor:
    """As the CPU: from the remainder, so that the quotient of floats is exact, and signed zeros are kept."""
    if not x.dtype.is_float:
        return rw.own("own.div_floor", x, y)
    mod = rw.own("own.fmod", x, y)
    quotient = (x - mod) / y
    crossed = mod.compare("ne", 0.0) & ((y < 0.0).compare("ne", mod < 0.0))
    quotient = rw.where(crossed, quotient - 1.0, quotient)
    floor = quotient.unary("floor")
    floor = rw.where((quotient - floor) > 0.5, floor + 1.0, floor)
    floor = rw.where(quotient.compare("ne", 0.0), floor, rw.own("own.copysign", (x / y) * 0.0, x / y))
    return rw.where(y.compare("eq", 0.0), x / y, floor)


@decomposition("aten.fmod.Tensor", "aten.fmod.Scalar")
def fmod(rw: Rewriter, node: Node) -> Tensor:
    dtype = computing(node)
    return rw.own("own.fmod", rw.tensor(node.args[0], dtype), rw.tensor(node.args[1], dtype))


@decomposition("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor")
def remainder(rw: Rewriter, node: Node) -> Tensor:
    """Has the sign of the divisor."""
    dtype = computing(node)
    return rw.own("own.remainder", rw.tensor(node.args[0], dtype), rw.tensor(node.args[1], dtype))


@decomposition("aten.pow.Tensor_Scalar")
def pow_scalar(rw: Rewriter, node: Node) -> Tensor:
    """Structural exponents become products and roots, as on the CPU, which takes no roots of f16."""
    dtype = computing(node)
    x, exponent = rw.tensor(node.args[0], dtype), node.args[1]
    by_root = exponent in (0.5, -0.5) and node.results[0].dtype is DType.f16
    if (
        not by_root
        and isinstance(exponent, (int, float))
        and exponent in _POWERS
        and (dtype.is_float or dtype.is_complex or exponent in (0, 1, 2, 3))
    ):
        return _POWERS[exponent](rw, x)
    return rw.own("own.pow", x, rw.tensor(exponent, dtype))


_POWERS: dict[int | float, Callable[[Rewriter, Tensor], Tensor]] = {
    0: ones_like,
    1: lambda rw, x: x,
    2: lambda rw, x: x * x,
    3: lambda rw, x: x * x * x,
    0.5: lambda rw, x: x.sqrt(),
    -0.5: lambda rw, x: x.rsqrt(),
    -1: lambda rw, x: x.unary("reciprocal"),
    -2: lambda rw, x: (x * x).unary("reciprocal"),
}


@decomposition("aten.pow.Tensor_Tensor", "aten.pow.Scalar")
def pow_tensor(rw: Rewriter, node: Node) -> Tensor:
    dtype = computing(node)
    return rw.own("own.pow", rw.tensor(node.args[0], dtype), rw.tensor(node.args[1], dtype))


@decomposition("aten.square.default")
def square(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node))
    return x * x


@decomposition("aten.addcmul.default")
def addcmul(rw: Rewriter, node: Node) -> Tensor:
    x, a, b = (rw.tensor(v, computing(node)) for v in node.args[:3])
    return x + scaled(a, number(node.args[3])) * b


@decomposition("aten.addcdiv.default")
def addcdiv(rw: Rewriter, node: Node) -> Tensor:
    x, a, b = (rw.tensor(v, computing(node)) for v in node.args[:3])
    return x + scaled(a, number(node.args[3])) / b


@decomposition("aten.lerp.Scalar", "aten.lerp.Tensor")
def lerp(rw: Rewriter, node: Node) -> Tensor:
    """From the nearer end, as on the CPU: exact at weight 1."""
    start, end, weight = (rw.tensor(v, computing(node)) for v in node.args)
    near_start = weight.abs() < 0.5
    return rw.where(near_start, start + weight * (end - start), end - (end - start) * (1.0 - weight))


@decomposition("aten.maximum.default", "aten.minimum.default", "aten.max.other", "aten.min.other")
def extremum(rw: Rewriter, node: Node) -> Tensor:
    dtype = node.results[0].dtype
    a, b = (rw.tensor(v, dtype) for v in node.args)
    return rw.own("own.max" if ".max" in node.op else "own.min", a, b)


@decomposition("aten.fmax.default", "aten.fmin.default")
def extremum_of_numbers(rw: Rewriter, node: Node) -> Tensor:
    """NaN only where both are."""
    dtype = node.results[0].dtype
    a, b = (rw.tensor(v, dtype) for v in node.args)
    result = rw.own("own.max" if ".fmax" in node.op else "own.min", a, b)
    return rw.where(a.compare("ne", a), b, rw.where(b.compare("ne", b), a, result))


@decomposition(
    "aten.clamp.default",
    "aten.clamp.Tensor",
    "aten.clamp_min.default",
    "aten.clamp_min.Tensor",
    "aten.clamp_max.default",
    "aten.clamp_max.Tensor",
)
def clamp(rw: Rewriter, node: Node) -> Tensor:
    low, high = node.args[1], node.args[2] if len(node.args) > 2 else None
    if "clamp_max" in node.op:
        low, high = None, node.args[1]
    return clamped(rw, rw.tensor(node.args[0], node.results[0].dtype), low, high)


def clamped(rw: Rewriter, x: Tensor, low: Arg, high: Arg) -> Tensor:
    if low is not None:
        x = rw.own("own.max", x, rw.tensor(low, x.dtype))
    return x if high is None else rw.own("own.min", x, rw.tensor(high, x.dtype))


@decomposition("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(rw: Rewriter, node: Node) -> Tensor:
    x, mask, value = node.args
    dtype = node.results[0].dtype
    return rw.where(rw.tensor(mask, DType.i1), rw.tensor(value, dtype), rw.tensor(x, dtype))


@decomposition("aten.where.Scalar", "aten.where.ScalarSelf", "aten.where.ScalarOther")
def where_scalar(rw: Rewriter, node: Node) -> Tensor:
    dtype = node.results[0].dtype
    condition, a, b = node.args
    return rw.where(rw.tensor(condition, DType.i1), rw.tensor(a, dtype), rw.tensor(b, dtype))


@decomposition("aten.copysign.Tensor", "aten.copysign.Scalar")
def copysign(rw: Rewriter, node: Node) -> Tensor:
    dtype = computing(node)
    return rw.own("own.copysign", rw.tensor(node.args[0], dtype), rw.tensor(node.args[1], dtype))


@decomposition("aten.sign.default", "aten.sgn.default")
def sign(rw: Rewriter, node: Node) -> Tensor:
    """Zero for NaN, as on the CPU."""
    x = rw.tensor(node.args[0])
    if x.dtype is DType.i1:
        return x
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


@decomposition("aten.neg.default")
def neg(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    return rw.keep(node)[0] if x.dtype.is_float else rw.zeros((), x.dtype) - x


@decomposition("aten.abs.default")
def absolute(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    if x.dtype.is_float:
        return rw.keep(node)[0]
    return x if x.dtype in (DType.u8, DType.i1) else rw.where(x < 0, -x, x)


@decomposition(*(f"aten.{n}.default" for n in ("ceil", "floor", "round", "trunc")))
def rounded(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    if not x.dtype.is_float:
        return x
    if ".trunc." in node.op:
        return rw.own("own.trunc", rw.tensor(node.args[0], computing(node)))
    return rw.keep(node)[0]


@decomposition("aten.round.decimals")
def round_decimals(rw: Rewriter, node: Node) -> Tensor:
    """As the CPU: scaled by a power of ten, rounded to even, scaled back."""
    decimals = node.args[1]
    assert isinstance(decimals, int)
    x, ten = rw.tensor(node.args[0], computing(node)), 10.0 ** abs(decimals)
    if decimals < 0:
        return (x / ten).unary("round") * ten
    return (x * ten).unary("round") / ten if decimals else x.unary("round")


@decomposition("aten.frac.default")
def frac(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node))
    return x - x.unary("trunc")


@decomposition("aten.hypot.default")
def hypot(rw: Rewriter, node: Node) -> Tensor:
    a, b = (rw.tensor(v, computing(node)).abs() for v in node.args)
    big, small = a.maximum(b), a.minimum(b)
    ratio = small / big
    result = big * (ratio * ratio + 1.0).sqrt()
    result = rw.where(big.compare("eq", 0.0), big, result)
    infinite = a.compare("eq", float("inf")) | b.compare("eq", float("inf"))
    return rw.where(infinite, float("inf"), result)


@decomposition("aten.erfc.default")
def erfc(rw: Rewriter, node: Node) -> Tensor:
    return rw.own("own.erfc", rw.tensor(node.args[0], computing(node)))


@decomposition("aten.logaddexp.default", "aten.logaddexp2.default")
def logaddexp(rw: Rewriter, node: Node) -> Tensor:
    a, b = (rw.tensor(v, computing(node)) for v in node.args)
    two = "2" in node.op
    difference = -(a - b).abs()
    scale = 1.4426950408889634
    tail = difference.unary("exp2").unary("log1p") * scale if two else difference.exp().unary("log1p")
    same = a.compare("eq", b) & a.abs().compare("eq", float("inf"))
    return rw.where(same, a, a.maximum(b) + tail)


@decomposition("aten.xlogy.Tensor", "aten.xlogy.Scalar_Self", "aten.xlogy.Scalar_Other")
def xlogy(rw: Rewriter, node: Node) -> Tensor:
    x, y = (rw.tensor(v, computing(node)) for v in node.args)
    return rw.where(y.compare("ne", y), y, rw.where(x.compare("eq", 0.0), 0.0, x * y.log()))


@decomposition("aten.nan_to_num.default")
def nan_to_num(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    if not x.dtype.is_float:
        return x
    nan, pos, neg_ = node.args[1:]
    largest = _LARGEST[x.dtype]
    x = rw.where(x.compare("ne", x), number(nan) if nan is not None else 0.0, x)
    x = rw.where(x.compare("eq", float("inf")), number(pos) if pos is not None else largest, x)
    return rw.where(x.compare("eq", -float("inf")), number(neg_) if neg_ is not None else -largest, x)


_LARGEST = {
    DType.f64: 1.7976931348623157e308,
    DType.f32: 3.4028234663852886e38,
    DType.f16: 65504.0,
    DType.bf16: 3.3895313892515355e38,
}


@decomposition("aten.heaviside.default")
def heaviside(rw: Rewriter, node: Node) -> Tensor:
    x, at_zero = (rw.tensor(v, node.results[0].dtype) for v in node.args)
    zero = 0.0 if x.dtype.is_float else 0
    return rw.where(x.compare("eq", zero), at_zero, (x > zero).to(x.dtype))


@decomposition("aten.deg2rad.default", "aten.rad2deg.default")
def degrees(rw: Rewriter, node: Node) -> Tensor:
    factor = 0.017453292519943295 if "deg2" in node.op else 57.29577951308232
    return rw.tensor(node.args[0], computing(node)) * factor


@decomposition("aten.logit.default")
def logit(rw: Rewriter, node: Node) -> Tensor:
    x, eps = rw.tensor(node.args[0], computing(node)), node.args[1]
    if eps is not None:
        bound = rw.tensor(eps, x.dtype)
        x = rw.own("own.min", rw.own("own.max", x, bound), 1.0 - bound)
    return (x / (1.0 - x)).log()


@decomposition("aten.reciprocal.default")
def reciprocal(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node))
    return rw.full((), 1.0, x.dtype) / x


@decomposition("aten.atan2.default")
def atan2(rw: Rewriter, node: Node) -> Tensor:
    a, b = (rw.tensor(v, computing(node)) for v in node.args)
    return rw.own("own.atan2", a, b)


@decomposition("aten.gcd.default")
def gcd(rw: Rewriter, node: Node) -> Tensor:
    a, b = (rw.tensor(v, node.results[0].dtype) for v in node.args)
    return rw.own("own.gcd", a, b)


@decomposition("aten.lcm.default")
def lcm(rw: Rewriter, node: Node) -> Tensor:
    """|a / gcd · b|, small integers in i32 as in C; 0 where both are."""
    dtype = node.results[0].dtype
    a, b = (rw.tensor(v, dtype if dtype.itemsize > 4 else DType.i32) for v in node.args)
    divisor = rw.own("own.gcd", a, b)
    none = divisor.compare("eq", 0)
    return rw.where(none, 0, (rw.own("own.div_trunc", a, rw.where(none, 1, divisor)) * b).abs())


@decomposition("aten.sinc.default", "aten.special_sinc.default")
def sinc(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node)) * 3.141592653589793
    return rw.where(x.compare("eq", 0.0), 1.0, x.unary("sin") / x)
