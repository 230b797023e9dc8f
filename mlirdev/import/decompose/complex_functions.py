"""Functions of a complex variable, by real functions of its parts.

Those that the CPU hands to the C library are computed in double precision where numbers are single: formulas that
lose a few digits are exact enough then. For double ones they are Kahan's ("Branch cuts for complex elementary
functions", 1987), which cancel nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from ..pairs import paired, parts
from ..registry import complex_rule
from ..tensor import Tensor
from .complex_arithmetic import Pair, conj, operands, product, quotient
from .complex_movement import as_for_reals

if TYPE_CHECKING:
    from ..rewriter import Rewriter

LN_2, LN_10 = 0.6931471805599453, 2.302585092994046
INF = float("inf")


def times_i(z: Pair) -> Pair:
    return -z[1], z[0]


def over_i(z: Pair) -> Pair:
    return z[1], -z[0]


def hypot(a: Tensor, b: Tensor) -> Tensor:
    return a.rewriter.emit("aten.hypot.default", [a.ref, b.ref], [a.spec])[0]


def atan2(y: Tensor, x: Tensor) -> Tensor:
    return y.rewriter.own("own.atan2", y, x)


def copysign(a: Tensor, b: Tensor) -> Tensor:
    return a.rewriter.own("own.copysign", a, b)


def is_finite(a: Tensor) -> Tensor:
    return a.abs() < INF


def is_infinite(a: Tensor) -> Tensor:
    return a.abs().compare("eq", INF)


def is_nan(a: Tensor) -> Tensor:
    return a.compare("ne", a)


# --- exponential and logarithm -----------------------------------------------------------------------


@complex_rule("aten.exp.default", "aten.exp2.default")
def exp(rw: Rewriter, node: Node) -> Tensor:
    """exp2 is that of z · ln 2."""
    (x,) = operands(rw, node, 1)
    re, im = parts(x)
    if ".exp2." in node.op:
        re, im = re * LN_2, im * LN_2
    return paired(*in_double(exponential, (re, im)))


def exponential(z: Pair) -> Pair:
    """In halves, since exp(a) may be too large where exp(a) · cos(b) isn't; C's values at infinities."""
    a, b = z
    rw, half, finite = a.rewriter, (a * 0.5).exp(), is_finite(b)
    cos = rw.where(
        finite, b.unary("cos"), rw.where(a.compare("eq", INF), 1.0, rw.where(a.compare("eq", -INF), 0.0, b - b))
    )
    sin = rw.where(finite, b.unary("sin"), rw.where(a.compare("eq", -INF), 0.0, b - b))
    return half * cos * half, rw.where(b.compare("eq", 0.0), b, half * sin * half)


def logarithm(z: Pair) -> Pair:
    """Near the unit circle by log1p, where the logarithm of the length is small."""
    a, b = z
    rw, length = a.rewriter, hypot(*z)
    big, small = a.abs().maximum(b.abs()), a.abs().minimum(b.abs())
    near = ((big - 1.0) * (big + 1.0) + small * small).unary("log1p") * 0.5
    return rw.where((length > 0.5) & (length < 2.0), near, length.log()), atan2(b, a)


def square_root(z: Pair) -> Pair:
    """Halved first, so that the largest numbers don't overflow."""
    a, b = z
    rw = a.rewriter
    root = (hypot(a * 0.5, b * 0.5) + a.abs() * 0.5).sqrt()
    other = b / (root + root)
    right = a >= 0.0
    re, im = rw.where(right, root, other.abs()), rw.where(right, other, copysign(root, b))
    zero, infinite = root.compare("eq", 0.0), b.abs().compare("eq", INF)
    return rw.where(zero, 0.0, rw.where(infinite, INF, re)), rw.where(zero | infinite, b, im)


def _scaled_log(scale: float) -> Callable[[Pair], Pair]:
    def function(z: Pair) -> Pair:
        re, im = logarithm(z)
        return re * scale, im * scale

    return function


def _log1p(z: Pair) -> Pair:
    a, b = z
    rw = a.rewriter
    near = (a * (a + 2.0) + b * b).unary("log1p") * 0.5
    length = hypot(a + 1.0, b)
    return rw.where((length > 0.5) & (length < 2.0), near, length.log()), atan2(b, a + 1.0)


@complex_rule("aten.expm1.default")
def expm1(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    a, b = parts(x)
    half = (b * 0.5).unary("sin")
    return paired(a.unary("expm1") * b.unary("cos") - half * half * 2.0, a.exp() * b.unary("sin"))


@complex_rule("aten.sinc.default", "aten.special_sinc.default")
def sinc(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    turned = x * math.pi
    return rw.where(x.compare("eq", 0.0), 1.0, turned.unary("sin") / turned)


# --- circular and hyperbolic: C's values where a part is infinite, or NaN beside a zero ---------------------------


def _sinh(z: Pair) -> Pair:
    a, b = z
    rw, odd = a.rewriter, (a.compare("eq", 0.0) | is_infinite(a)) & ~is_finite(b)
    re = rw.where(odd, rw.where(is_infinite(a), a.abs(), a), a.unary("sinh") * b.unary("cos"))
    return re, rw.where(b.compare("eq", 0.0), b, a.unary("cosh") * b.unary("sin"))


def _cosh(z: Pair) -> Pair:
    a, b = z
    rw, unclear = a.rewriter, ~is_finite(b)
    re = rw.where(is_infinite(a) & unclear, a.abs(), a.unary("cosh") * b.unary("cos"))
    im = rw.where(b.compare("eq", 0.0), b * copysign(rw.full((), 1.0, a.dtype), a), a.unary("sinh") * b.unary("sin"))
    return re, rw.where(a.compare("eq", 0.0) & unclear, a, im)


def _tanh(z: Pair) -> Pair:
    """Far from the imaginary axis it is ±1, and what remains of the imaginary part."""
    a, b = z
    rw, zero, infinite, unclear = a.rewriter, a.compare("eq", 0.0), is_infinite(a), ~is_finite(b)
    sinh, tan = a.unary("sinh"), b.unary("tan")
    cosh, beta = (sinh * sinh + 1.0).sqrt(), tan * tan + 1.0
    below = sinh * sinh * beta + 1.0
    far = a.abs() > 20.0
    one = copysign(rw.full((), 1.0, a.dtype), a)
    tail = b.unary("sin") * b.unary("cos") * (a.abs() * -2.0).exp() * 4.0
    re = rw.where(far, rw.where(unclear & ~infinite, b - b, one), beta * cosh * sinh / below)
    im = rw.where(far, rw.where(infinite & unclear, 0.0, tail), tan / below)
    return rw.where(zero, a, re), rw.where(b.compare("eq", 0.0), b, im)


def _roots(z: Pair) -> tuple[Pair, Pair]:
    """√(z − 1) and √(z + 1)."""
    a, b = z
    return square_root((a - 1.0, b)), square_root((a + 1.0, b))


def _clamped(a: Tensor, bound: float) -> Tensor:
    """Directions are those of infinity, and products don't overflow."""
    return a.maximum(-bound).minimum(bound)


def _acosh(z: Pair) -> Pair:
    """An infinite part makes the real one infinite; of 0 + NaN i the imaginary one is known."""
    a, b = z
    rw, infinite = a.rewriter, is_infinite(a) | is_infinite(b)
    minus, plus = _roots((_clamped(a, 1e300), _clamped(b, 1e300)))
    along = (minus[0] * plus[0] + minus[1] * plus[1]).unary("asinh")
    angle = atan2(minus[1], plus[0]) * 2.0
    known = a.compare("eq", 0.0) & is_nan(b)
    return rw.where(infinite, INF, along), rw.where(known, math.pi / 2, angle)


def _acos(z: Pair) -> Pair:
    """(im, −re) of acosh above the real axis, conjugated below."""
    re, im = _acosh(z)
    return im.abs(), copysign(re, -z[1])


def _asinh(z: Pair) -> Pair:
    """asin of −b + ai, turned back: a real part of 0 + NaN i is NaN, of NaN + 0 i the imaginary one is 0."""
    a, b = z
    rw, infinite = a.rewriter, is_infinite(a) | is_infinite(b)
    u, v = -_clamped(b, 1e300), _clamped(a, 1e300)
    minus, plus = square_root((1.0 - u, -v)), square_root((u + 1.0, v))
    cross = (minus[0] * plus[1] - minus[1] * plus[0]).unary("asinh")
    angle = atan2(u, minus[0] * plus[0] - minus[1] * plus[1])
    im = rw.where(is_nan(a) & b.compare("eq", 0.0), b, -angle)
    return rw.where(infinite, copysign(rw.full((), INF, a.dtype), a), cross), im


def _atanh(z: Pair) -> Pair:
    """Odd: from the right half of the plane."""
    a, b = z
    rw, c, d = a.rewriter, _clamped(a.abs(), 1e150), _clamped(b, 1e150)
    away = 1.0 - c
    re = (c * 4.0 / (away * away + d * d)).unary("log1p") * 0.25
    im = atan2(d * 2.0, away * (c + 1.0) - d * d) * 0.5
    zero = a.compare("eq", 0.0) | is_infinite(a) | is_infinite(b)
    quarter = copysign(rw.full((), math.pi / 2, b.dtype), b)
    return copysign(rw.where(zero, 0.0, re), a), rw.where(is_infinite(b), quarter, im)


def _turned(function: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """f(iz) / i: sin of sinh, asinh of asin, and so on."""
    return lambda z: over_i(function(times_i(z)))


_FUNCTIONS: dict[str, Callable[[Pair], Pair]] = {
    "log": logarithm,
    "log2": _scaled_log(1 / LN_2),
    "log10": _scaled_log(1 / LN_10),
    "log1p": _log1p,
    "sqrt": square_root,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "sin": _turned(_sinh),
    "cos": lambda z: _cosh(times_i(z)),
    "tan": _turned(_tanh),
    "asin": _turned(_asinh),
    "acos": _acos,
    "acosh": _acosh,
    "atanh": _atanh,
    "asinh": _asinh,
    "atan": _turned(_atanh),
}


def in_double(function: Callable[[Pair], Pair], z: Pair) -> Pair:
    re, im = function((z[0].to(DType.f64), z[1].to(DType.f64)))
    return re.to(z[0].dtype), im.to(z[0].dtype)


@complex_rule(*(f"aten.{name}.default" for name in _FUNCTIONS))
def function_of(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    return paired(*in_double(_FUNCTIONS[node.op.split(".")[1]], parts(x)))


# --- powers ------------------------------------------------------------------------------------------


@complex_rule("aten.reciprocal.default", "aten.rsqrt.default")
def reciprocal(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    divisor = parts(x.sqrt() if ".rsqrt." in node.op else x)
    return paired(*quotient(rw, _one(divisor), divisor))


def _one(z: Pair) -> Pair:
    return z[0].rewriter.full((), 1.0, z[0].dtype), z[0].rewriter.zeros((), z[0].dtype)


@complex_rule("aten.sigmoid.default", "aten.silu.default")
def sigmoid(rw: Rewriter, node: Node) -> Tensor:
    """1 or x, over 1 + exp(−x)."""
    (x,) = operands(rw, node, 1)
    z = parts(x)
    re, im = in_double(exponential, (-z[0], -z[1]))
    return paired(*quotient(rw, z if ".silu." in node.op else _one(z), (re + 1.0, im)))


@complex_rule("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", "aten.pow.Scalar")
def pow_(rw: Rewriter, node: Node) -> Tensor:
    x, y = operands(rw, node, 2)
    exponent = node.args[1]
    if isinstance(exponent, (int, float)) and exponent in (0, 1, 2, 3, 0.5, -0.5, -1, -2):
        return as_for_reals(rw, node)  # type: ignore[return-value]  # that rule gives one tensor
    re, im = in_double_of_two(_power, parts(x), parts(y))
    return paired(re, im)


def in_double_of_two(function: Callable[[Pair, Pair], Pair], x: Pair, y: Pair) -> Pair:
    wide = [(re.to(DType.f64), im.to(DType.f64)) for re, im in (x, y)]
    re, im = function(*wide)
    return re.to(x[0].dtype), im.to(x[0].dtype)


def _power(x: Pair, y: Pair) -> Pair:
    """C's product: where it is NaN though a factor is infinite, an infinity in the direction that is left."""
    rw, log = x[0].rewriter, logarithm(x)
    re, im = product(y, log)
    either = [is_infinite(z[0]) | is_infinite(z[1]) for z in (y, log)]
    boxed = product(*(_boxed(z, infinite) for z, infinite in zip((y, log), either, strict=True)))
    lost = is_nan(re) & is_nan(im) & (either[0] | either[1])
    return exponential((rw.where(lost, boxed[0] * INF, re), rw.where(lost, boxed[1] * INF, im)))


def _boxed(z: Pair, infinite: Tensor) -> Pair:
    """Of an infinite number, 1 for infinities and 0 for the rest; of another, 0 for NaN."""
    rw = z[0].rewriter
    a, b = (rw.where(infinite, is_infinite(v).to(v.dtype), rw.where(is_nan(v), 0.0, v.abs())) for v in z)
    return copysign(a, z[0]), copysign(b, z[1])


@complex_rule(*(f"aten.logspace.{o}" for o in ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")))
def logspace(rw: Rewriter, node: Node) -> Tensor:
    start, end, steps, base = node.args[:4]
    exponents = rw.emit("aten.linspace.default", [*(rw.tensor(a).ref for a in (start, end)), steps], node.results)[0]
    powers = in_double_of_two(_power, parts(rw.tensor(base, exponents.dtype)), parts(exponents))
    return paired(*powers)


@complex_rule("aten.ldexp.Tensor")
def ldexp(rw: Rewriter, node: Node) -> Tensor:
    """self · 2^other."""
    x, exponent = (rw.tensor(a) for a in node.args)
    if exponent.dtype.is_integer or exponent.dtype is DType.i1:
        exponent = exponent.to(DType.f32)
    power = rw.emit("aten.pow.Scalar", [2.0, exponent.ref], [exponent.spec])[0]
    dtype = node.results[0].dtype
    return x.to(dtype) * power.to(dtype)


@complex_rule("aten.logaddexp.default")
def logaddexp(rw: Rewriter, node: Node) -> Tensor:
    """From the one whose real part is greater; two equal infinite ones are summed, or one of two −∞ taken."""
    x, y = (parts(a) for a in operands(rw, node, 2))
    first = (x[0] >= y[0]) | is_nan(x[0]) | is_nan(x[1])
    big, small = (tuple(rw.where(first, a, b) for a, b in zip(*pair, strict=True)) for pair in ((x, y), (y, x)))
    re, im = in_double(lambda z: _log1p(exponential(z)), (small[0] - big[0], small[1] - big[1]))
    re, im = big[0] + re, big[1] + im
    same = ~is_finite(small[0]) & small[0].compare("eq", big[0])
    total = [a + b for a, b in zip(*(in_double(exponential, z) for z in (x, y)), strict=True)]
    log = in_double(logarithm, (total[0], total[1]))
    below = small[0] < 0.0
    return paired(*(rw.where(same, rw.where(below, s, v), r) for s, v, r in zip(small, log, (re, im), strict=True)))


# --- gradients ---------------------------------------------------------------------------------------


@complex_rule("aten.sigmoid_backward.default")
def sigmoid_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, y = operands(rw, node, 2)
    return grad * conj((1.0 - y) * y)


@complex_rule("aten.tanh_backward.default")
def tanh_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, y = operands(rw, node, 2)
    return grad * conj(1.0 - y * y)
