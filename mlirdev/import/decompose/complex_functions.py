"""Functions of a complex variable, by real functions of its parts.

Those that the CPU hands to the C library are computed in double precision where numbers are single: formulas that
lose a few digits are exact enough then. For double ones they are Kahan's ("Branch cuts for complex elementary
functions", 1987), which cancel nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from ..pairs import paired, parts
from ..registry import COMPLEX, complex_rule
from ..tensor import Tensor
from .complex_arithmetic import Pair, conj, operands, product
from .complex_movement import as_for_reals

if TYPE_CHECKING:
    from ..rewriter import Rewriter

LN_2, LN_10 = 0.6931471805599453, 2.302585092994046
INF = float("inf")

COMPLEX.update({f"aten.{n}.default": as_for_reals for n in ("sigmoid", "silu", "silu_backward")})


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


# --- exponential and logarithm -----------------------------------------------------------------------


@complex_rule("aten.exp.default")
def exp(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    return paired(*exponential(parts(x)))


def exponential(z: Pair) -> Pair:
    length = z[0].exp()
    return length * z[1].unary("cos"), length * z[1].unary("sin")


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


def _expm1(z: Pair) -> Pair:
    a, b = z
    half = (b * 0.5).unary("sin")
    return a.unary("expm1") * b.unary("cos") - half * half * 2.0, a.exp() * b.unary("sin")


# --- circular and hyperbolic -------------------------------------------------------------------------


def _sinh(z: Pair) -> Pair:
    a, b = z
    return a.unary("sinh") * b.unary("cos"), a.unary("cosh") * b.unary("sin")


def _cosh(z: Pair) -> Pair:
    a, b = z
    return a.unary("cosh") * b.unary("cos"), a.unary("sinh") * b.unary("sin")


def _tanh(z: Pair) -> Pair:
    """Far from the imaginary axis it is ±1, and what remains of the imaginary part."""
    a, b = z
    rw = a.rewriter
    sinh, tan = a.unary("sinh"), b.unary("tan")
    cosh, beta = (sinh * sinh + 1.0).sqrt(), tan * tan + 1.0
    below = sinh * sinh * beta + 1.0
    far = a.abs() > 20.0
    tail = b.unary("sin") * b.unary("cos") * (a.abs() * -2.0).exp() * 4.0
    return rw.where(far, copysign(rw.full((), 1.0, a.dtype), a), beta * cosh * sinh / below), rw.where(
        far, tail, tan / below
    )


def _roots(z: Pair) -> tuple[Pair, Pair]:
    """√(1 − z) and √(1 + z)."""
    a, b = z
    return square_root((1.0 - a, -b)), square_root((a + 1.0, b))


def _acos(z: Pair) -> Pair:
    minus, plus = _roots(z)
    cross = plus[0] * minus[1] - plus[1] * minus[0]
    return atan2(minus[0], plus[0]) * 2.0, cross.unary("asinh")


def _asin(z: Pair) -> Pair:
    minus, plus = _roots(z)
    cross = minus[0] * plus[1] - minus[1] * plus[0]
    return atan2(z[0], minus[0] * plus[0] - minus[1] * plus[1]), cross.unary("asinh")


def _acosh(z: Pair) -> Pair:
    a, b = z
    minus, plus = square_root((a - 1.0, b)), square_root((a + 1.0, b))
    along = minus[0] * plus[0] + minus[1] * plus[1]
    return along.unary("asinh"), atan2(minus[1], plus[0]) * 2.0


def _atanh(z: Pair) -> Pair:
    a, b = z
    away = 1.0 - a
    re = (a * 4.0 / (away * away + b * b)).unary("log1p") * 0.25
    return re, atan2(b * 2.0, away * (a + 1.0) - b * b) * 0.5


def _turned(function: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """f(iz) / i: sin of sinh, asinh of asin, and so on."""
    return lambda z: over_i(function(times_i(z)))


_FUNCTIONS: dict[str, Callable[[Pair], Pair]] = {
    "log": logarithm,
    "log2": _scaled_log(1 / LN_2),
    "log10": _scaled_log(1 / LN_10),
    "log1p": _log1p,
    "exp2": lambda z: exponential((z[0] * LN_2, z[1] * LN_2)),
    "expm1": _expm1,
    "sqrt": square_root,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "sin": _turned(_sinh),
    "cos": lambda z: _cosh(times_i(z)),
    "tan": _turned(_tanh),
    "asin": _asin,
    "acos": _acos,
    "acosh": _acosh,
    "atanh": _atanh,
    "asinh": _turned(_asin),
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


@complex_rule("aten.reciprocal.default")
def reciprocal(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    re, im = parts(x)
    square = re * re + im * im
    return paired(re / square, -im / square)


@complex_rule("aten.rsqrt.default")
def rsqrt(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    return x.sqrt().unary("reciprocal")


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
    """exp(y · log x); of zero, 0, or 1 where y is zero too."""
    rw = x[0].rewriter
    re, im = exponential(product(y, logarithm(x)))
    zero = x[0].compare("eq", 0.0) & x[1].compare("eq", 0.0)
    one = (y[0].compare("eq", 0.0) & y[1].compare("eq", 0.0)).to(re.dtype)
    return rw.where(zero, one, re), rw.where(zero, 0.0, im)


# --- gradients ---------------------------------------------------------------------------------------


@complex_rule("aten.sigmoid_backward.default")
def sigmoid_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, y = operands(rw, node, 2)
    return grad * conj((1.0 - y) * y)


@complex_rule("aten.tanh_backward.default")
def tanh_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, y = operands(rw, node, 2)
    return grad * conj(1.0 - y * y)
