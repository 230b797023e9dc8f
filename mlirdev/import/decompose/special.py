"""Special functions, by the formulas of ATen's Math.h."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from ..registry import decomposition
from ..tensor import Operand, Tensor, spec_of
from .elementwise import computing

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
    x, exponent = (rw.tensor(v, computing(node)) for v in node.args)
    return x * rw.own("own.pow", rw.full((), 2.0, x.dtype), exponent)


@decomposition("aten.logspace.default")
def logspace(rw: Rewriter, node: Node) -> Tensor:
    """base to the power of what linspace gives."""
    start, end, steps, base, _, *rest = node.args
    spec = spec_of(node.results[0].shape, DType.f64)
    exponent = rw.emit("aten.linspace.default", [start, end, steps, DType.f64, *rest], [spec])[0]
    return rw.own("own.pow", rw.tensor(base, DType.f64), exponent)


@decomposition("aten._efficientzerotensor.default")
def efficient_zeros(rw: Rewriter, node: Node) -> Tensor:
    return rw.zeros(node.results[0].shape, node.results[0].dtype)
