"""Special functions, by the formulas of ATen's Math.h."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from .. import dims
from ..promotion import widened
from ..registry import decomposition
from ..tensor import Operand, Tensor
from .factory import ramp
from .operands import computing

if TYPE_CHECKING:
    from ..rewriter import Rewriter

_CENTRAL = (
    [0.886226899, -1.645349621, 0.914624893, -0.140543331],
    [-2.118377725, 1.442710462, -0.329097515, 0.012229801],
)
_TAIL = ([-1.970840454, -1.624906493, 3.429567803, 1.641345311], [3.543889200, 1.637067800])
_TWO_OVER_ROOT_PI = 1.1283791670955126


def _polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """From the constant on."""
    value: Operand = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = x * value + c
    assert isinstance(value, Tensor)
    return value


# What own/special computes, by ATen's name: in f32 or f64.
_UNARY = """
lgamma digamma i0 special_i0e special_i1 special_i1e special_modified_bessel_i0 special_modified_bessel_i1
special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0
special_scaled_modified_bessel_k1 special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
special_spherical_bessel_j0 special_airy_ai special_erfcx special_ndtri special_log_ndtr
"""
_POLYNOMIALS = """
chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w
"""


@decomposition(
    *(f"aten.{name}.default" for name in _UNARY.split()),
    *(f"aten.special_{n}.{o}" for n in _POLYNOMIALS.split() for o in ("default", "x_scalar", "n_scalar")),
    *(f"aten.special_zeta.{o}" for o in ("default", "self_scalar", "other_scalar")),
    "aten.igamma.default",
    "aten.igammac.default",
)
def special(rw: Rewriter, node: Node) -> Tensor:
    name = node.op.split(".")[1]
    return rw.own(f"own.{name}", *(rw.tensor(a, computing(node)) for a in node.args))


@decomposition("aten.polygamma.default")
def polygamma(rw: Rewriter, node: Node) -> Tensor:
    """(−1)^(n + 1) n! ζ(n + 1, x); the factorial by lgamma in the dtype that is computed in, as on the CPU."""
    n = node.args[0]
    assert isinstance(n, int)
    x = rw.tensor(node.args[1], computing(node))
    if n < 2:
        return rw.own("own.trigamma" if n else "own.digamma", x)
    sign = 1.0 if n % 2 else -1.0
    factorial = rw.own("own.lgamma", rw.full((), n + 1.0, x.dtype)).exp()
    return factorial * sign * rw.own("own.special_zeta", rw.full((), n + 1.0, x.dtype), x)


@decomposition("aten.mvlgamma.default")
def mvlgamma(rw: Rewriter, node: Node) -> Tensor:
    """Σ_i lgamma(x − i/2), i < p, and p(p − 1)/4 · log π."""
    x, p = rw.tensor(node.args[0], computing(node)), node.args[1]
    assert isinstance(p, int)
    halves = rw.iota((1.0 - p) / 2.0, 0.5, p, x.dtype)
    terms = rw.own("own.lgamma", x.unsqueeze(-1) + halves)
    return terms.sum([x.rank]) + p * (p - 1) * 0.25 * 1.1447298858494002


@decomposition("aten.special_entr.default")
def entr(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node))
    value = rw.where(x > 0.0, -x * x.log(), rw.where(x.compare("eq", 0.0), rw.zeros((), x.dtype), -float("inf")))
    return rw.where(x.compare("ne", x), x, value)


@decomposition("aten.special_xlog1py.default", "aten.special_xlog1py.self_scalar", "aten.special_xlog1py.other_scalar")
def xlog1py(rw: Rewriter, node: Node) -> Tensor:
    x, y = (rw.tensor(v, computing(node)) for v in node.args)
    return rw.where(y.compare("ne", y), y, rw.where(x.compare("eq", 0.0), 0.0, x * y.unary("log1p")))


@decomposition("aten.erfinv.default", "aten.special_erfinv.default")
def erfinv(rw: Rewriter, node: Node) -> Tensor:
    """A rational approximation, then two steps of Newton's."""
    y = rw.tensor(node.args[0], computing(node))
    square = y * y
    inner = y * _polynomial(square, _CENTRAL[0]) / (square * _polynomial(square, _CENTRAL[1]) + 1.0)
    z = (-((1.0 - y.abs()) * 0.5).log()).sqrt()
    outer = _polynomial(z, _TAIL[0]) / (z * _polynomial(z, _TAIL[1]) + 1.0)
    x = rw.where(y.abs() <= 0.7, inner, rw.own("own.copysign", outer, y))
    for _ in range(2):
        x = x - (x.erf() - y) / ((-(x * x)).exp() * _TWO_OVER_ROOT_PI)
    infinite = rw.own("own.copysign", rw.full((), float("inf"), y.dtype), y)
    return rw.where(y.abs().compare("eq", 1.0), infinite, rw.where(y.abs() > 1.0, float("nan"), x))


@decomposition("aten.logit_backward.default")
def logit_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x = (rw.tensor(v, computing(node)) for v in node.args[:2])
    slope = grad / (x * (1.0 - x))
    if node.args[2] is None:
        return rw.where((x < 0.0) | (x > 1.0), float("nan"), slope)
    low = rw.tensor(node.args[2], x.dtype)
    return rw.where((x < low) | (x > (1.0 - low)), 0.0, slope)


@decomposition("aten.angle.default")
def angle(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node))
    return rw.where(x.compare("ne", x), x, rw.where(x < 0.0, 3.141592653589793, rw.zeros((), x.dtype)))


@decomposition("aten.ldexp.Tensor")
def ldexp(rw: Rewriter, node: Node) -> Tensor:
    """self · 2^other: exact for a float and an integer, else by a power in other's own dtype, f32 for integers."""
    x, exponent = (rw.tensor(v) for v in node.args)
    if x.dtype.is_float and not exponent.dtype.is_float:
        return _scaled_by_power(rw, x, exponent)
    dtype = exponent.dtype if exponent.dtype.is_float else DType.f32
    wide = exponent.to(widened(dtype))
    power = rw.own("own.pow", rw.full((), 2.0, wide.dtype), wide).to(dtype)
    return x.to(computing(node)) * power.to(computing(node))


def _scaled_by_power(rw: Rewriter, x: Tensor, exponent: Tensor) -> Tensor:
    """In f64, by four factors, none of which overflows alone; beyond ±2200 every float is 0 or infinite. The exponent
    is C's int."""
    least, most = (rw.full((), bound, DType.i32) for bound in (-2200, 2200))
    n = rw.own("own.min", rw.own("own.max", exponent.to(DType.i32), least), most)
    quarter = rw.own("own.div_trunc", n, rw.full((), 4, DType.i32))
    two, wide = rw.full((), 2.0, DType.f64), x.to(DType.f64)
    factor, last = (rw.own("own.pow", two, k.to(DType.f64)) for k in (quarter, n - quarter * 3))
    return wide * factor * factor * factor * last


@decomposition(*(f"aten.logspace.{o}" for o in ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")))
def logspace(rw: Rewriter, node: Node) -> Tensor:
    """base to the power of what linspace gives, in f64; the ends, and floats' difference, are of the result's dtype."""
    spec = node.results[0]
    start, end = (rw.tensor(a, spec.dtype) for a in node.args[:2])
    count = dims.static(spec.shape[0])
    if count == 1:  # alone, the start stays as it is
        start = rw.tensor(node.args[0], DType.f64)
    first, last = start.to(DType.f64), end.to(DType.f64)
    extent = (end - start).to(DType.f64) if spec.dtype.is_float and count > 1 else last - first
    exponent = ramp(rw, first, last, extent, count)
    return rw.own("own.pow", rw.tensor(node.args[3], DType.f64), exponent)


@decomposition("aten._efficientzerotensor.default")
def efficient_zeros(rw: Rewriter, node: Node) -> Tensor:
    return rw.zeros(node.results[0].shape, node.results[0].dtype)


@decomposition("aten.nextafter.default")
def nextafter(rw: Rewriter, node: Node) -> Tensor:
    return rw.own("own.nextafter", *(rw.tensor(a, node.results[0].dtype) for a in node.args))


@decomposition("aten.frexp.Tensor")
def frexp(rw: Rewriter, node: Node) -> list[Tensor]:
    return rw.emit("own.frexp", [rw.tensor(node.args[0]).ref], node.results)
