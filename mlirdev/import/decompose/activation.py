"""Activations and their backwards, in the formulas of ATen's CPU kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node

from ..dims import static
from ..registry import decomposition
from ..tensor import Number, Tensor
from .elementwise import clamped
from .operands import computing, number

if TYPE_CHECKING:
    from ..rewriter import Rewriter

SQRT_HALF = 0.7071067811865476
SQRT_2_OVER_PI = 0.7978845608028654
INV_SQRT_2PI = 0.3989422804014327
GELU_CUBIC = 0.044715


def operands(rw: Rewriter, node: Node, count: int) -> list[Tensor]:
    return [rw.tensor(a, computing(node)) for a in node.args[:count]]


@decomposition("aten.gelu.default")
def gelu(rw: Rewriter, node: Node) -> Tensor:
    """torch-mlir's constant for the tanh form is wrong in the fourth digit."""
    (x,) = operands(rw, node, 1)
    if node.args[1] == "tanh":
        inner = (x + x * x * x * GELU_CUBIC) * SQRT_2_OVER_PI
        return x * 0.5 * (inner.tanh() + 1.0)
    return x * 0.5 * ((x * SQRT_HALF).erf() + 1.0)


@decomposition("aten.gelu_backward.default")
def gelu_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x = operands(rw, node, 2)
    if node.args[2] == "tanh":
        inner = (x + x * x * x * GELU_CUBIC) * SQRT_2_OVER_PI
        t = inner.tanh()
        slope = (x * x * (3 * GELU_CUBIC) + 1.0) * SQRT_2_OVER_PI
        return grad * ((t + 1.0) * 0.5 + x * 0.5 * (1.0 - t * t) * slope)
    cdf = ((x * SQRT_HALF).erf() + 1.0) * 0.5
    pdf = (x * x * -0.5).exp() * INV_SQRT_2PI
    return grad * (cdf + x * pdf)


@decomposition("aten.silu.default")
def silu(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    return x / ((-x).exp() + 1.0)


@decomposition("aten.silu_backward.default")
def silu_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x = operands(rw, node, 2)
    s = x.sigmoid()
    return grad * s * (x * (1.0 - s) + 1.0)


@decomposition("aten.sigmoid.default")
def sigmoid(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    return rw.full((), 1.0, x.dtype) / ((-x).exp() + 1.0)


@decomposition("aten.sigmoid_backward.default")
def sigmoid_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, y = operands(rw, node, 2)
    return grad * (1.0 - y) * y


@decomposition("aten.tanh_backward.default")
def tanh_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, y = operands(rw, node, 2)
    return grad * (1.0 - y * y)


@decomposition("aten.relu.default")
def relu(rw: Rewriter, node: Node) -> Tensor:
    """NaN stays NaN."""
    x = rw.tensor(node.args[0])
    return rw.own("own.max", x, rw.zeros((), x.dtype))


@decomposition("aten.relu6.default")
def relu6(rw: Rewriter, node: Node) -> Tensor:
    return clamped(rw, rw.tensor(node.args[0]), 0, 6)


@decomposition("aten.threshold.default")
def threshold(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    return rw.where(x <= number(node.args[1]), number(node.args[2]), x)


@decomposition("aten.threshold_backward.default")
def threshold_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x = (rw.tensor(a, node.results[0].dtype) for a in node.args[:2])
    return rw.where(x <= number(node.args[2]), rw.zeros((), grad.dtype), grad)


@decomposition("aten.hardtanh.default")
def hardtanh(rw: Rewriter, node: Node) -> Tensor:
    return clamped(rw, rw.tensor(node.args[0]), node.args[1], node.args[2])


@decomposition("aten.hardtanh_backward.default")
def hardtanh_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x = operands(rw, node, 2)
    outside = (x <= number(node.args[2])) | (x >= number(node.args[3]))
    return rw.where(outside, 0.0, grad)


@decomposition("aten.hardsigmoid.default")
def hardsigmoid(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    return clamped(rw, x + 3.0, 0.0, 6.0) / 6.0


@decomposition("aten.hardsigmoid_backward.default")
def hardsigmoid_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x = operands(rw, node, 2)
    return rw.where((x > -3.0) & (x < 3.0), grad * (1.0 / 6.0), 0.0)


@decomposition("aten.hardswish.default")
def hardswish(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    return x * clamped(rw, x + 3.0, 0.0, 6.0) / 6.0


@decomposition("aten.hardswish_backward.default")
def hardswish_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x = operands(rw, node, 2)
    inner = rw.where(x <= 3.0, grad * (x / 3.0 + 0.5), grad)
    return rw.where(x < -3.0, 0.0, inner)


@decomposition("aten.leaky_relu.default")
def leaky_relu(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    return rw.where(x > 0.0, x, x * number(node.args[1]))


@decomposition("aten.leaky_relu_backward.default")
def leaky_relu_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x = operands(rw, node, 2)
    return rw.where(x > 0.0, grad, grad * number(node.args[2]))


@decomposition("aten.rrelu_with_noise_backward.default")
def rrelu_with_noise_backward(rw: Rewriter, node: Node) -> Tensor:
    """By the factors that were drawn; where none were, or between two ends that are one, by the mean of the ends."""
    grad, x = operands(rw, node, 2)
    lower, upper = (rw.tensor(a, DType.f64) for a in node.args[3:5])
    slope = ((lower + upper) * 0.5).to(x.dtype)
    leaky = rw.where(x > 0.0, grad, grad * slope)
    if not node.args[5]:
        return leaky
    return rw.where(upper - lower > 1e-6, grad * rw.tensor(node.args[2], x.dtype), leaky)


@decomposition("aten._prelu_kernel.default", "aten.prelu.default")
def prelu(rw: Rewriter, node: Node) -> Tensor:
    x, weight = operands(rw, node, 2)
    if node.op == "aten.prelu.default" and weight.rank == 1 and x.rank > 1:
        weight = weight.align(1, x.rank)
    return rw.where(x > 0.0, x, x * weight)


@decomposition("aten._prelu_kernel_backward.default")
def prelu_backward(rw: Rewriter, node: Node) -> list[Tensor]:
    grad, x, weight = operands(rw, node, 3)
    positive = x > 0.0
    grad_weight = rw.where(positive, 0.0, grad * x)
    return [rw.where(positive, grad, grad * weight), grad_weight]


@decomposition("aten.elu.default")
def elu(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    alpha, scale, input_scale = (number(a) for a in node.args[1:])
    negative = (x * input_scale).unary("expm1") * alpha * scale
    return rw.where(x <= 0.0, negative, x * scale)


@decomposition("aten.elu_backward.default")
def elu_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, alpha, scale, input_scale, is_result, saved = node.args
    g, y = rw.tensor(grad, computing(node)), rw.tensor(saved, computing(node))
    if is_result:
        negative = g * number(input_scale) * (y + rw.tensor(alpha, y.dtype) * number(scale))
    else:
        negative = g * number(input_scale) * number(alpha) * number(scale) * (y * number(input_scale)).exp()
    return rw.where(y <= 0.0, negative, g * number(scale))


@decomposition("aten.celu.default")
def celu(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    alpha = rw.tensor(node.args[1], x.dtype)
    return rw.where(x <= 0.0, (x / alpha).unary("expm1") * alpha, x)


@decomposition("aten.softplus.default")
def softplus(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    beta, limit = number(node.args[1]), number(node.args[2])
    scaled = x * beta
    return rw.where(scaled > limit, x, scaled.exp().unary("log1p") / beta)


@decomposition("aten.softplus_backward.default")
def softplus_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x = operands(rw, node, 2)
    beta, limit = number(node.args[2]), number(node.args[3])
    z = (x * beta).exp()
    return rw.where((x * beta) > limit, grad, grad * z / (z + 1.0))


@decomposition("aten.log_sigmoid_forward.default")
def log_sigmoid(rw: Rewriter, node: Node) -> list[Tensor]:
    """The second result is a buffer of the CPU's: exp(−|x|)."""
    (x,) = operands(rw, node, 1)
    z = (-x.abs()).exp()
    value = x.minimum(rw.zeros((), x.dtype)) - z.unary("log1p")
    return [value, z] if node.results[1].shape == x.shape else [value, rw.zeros(node.results[1].shape, x.dtype)]


@decomposition("aten.log_sigmoid_backward.default")
def log_sigmoid_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x = operands(rw, node, 2)
    z = (-x.abs()).exp()
    negative = x < 0.0
    slope = rw.where(negative, rw.full((), 1.0, x.dtype), 0.0)
    sign = rw.where(negative, rw.full((), 1.0, x.dtype), -1.0)
    return grad * (slope - sign * (z / (z + 1.0)))


@decomposition("aten.mish.default")
def mish(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    return x * x.exp().unary("log1p").tanh()


@decomposition("aten.mish_backward.default")
def mish_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x = operands(rw, node, 2)
    t, s = x.exp().unary("log1p").tanh(), x.sigmoid()
    return grad * (t + x * s * (1.0 - t * t))


@decomposition("aten.softshrink.default")
def softshrink(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    limit = rw.tensor(node.args[1], x.dtype)
    inside = rw.where(x < -limit, x + limit, x * 0.0)
    return rw.where(x > limit, x - limit, inside)


@decomposition("aten.hardshrink.default")
def hardshrink(rw: Rewriter, node: Node) -> Tensor:
    (x,) = operands(rw, node, 1)
    return rw.where(x.abs() <= number(node.args[1]), 0.0, x)


@decomposition("aten.softshrink_backward.default", "aten.hardshrink_backward.default")
def shrink_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x = operands(rw, node, 2)
    return rw.where(x.abs() <= number(node.args[2]), 0.0, grad)


@decomposition("aten.glu.default")
def glu(rw: Rewriter, node: Node) -> Tensor:
    a, b = halves(rw.tensor(node.args[0], computing(node)), node.args[1])
    return a * b.sigmoid()


@decomposition("aten.glu_backward.default")
def glu_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x = operands(rw, node, 2)
    a, b = halves(x, node.args[2])
    s = b.sigmoid()
    dim = node.args[2]
    assert isinstance(dim, int)
    return rw.joined([grad * s, grad * a * s * (1.0 - s)], dim % x.rank)


def halves(x: Tensor, dim: Arg) -> tuple[Tensor, Tensor]:
    assert isinstance(dim, int)
    axis = dim % x.rank
    size = static(x.shape[axis])
    return x.slice(axis, 0, size // 2), x.slice(axis, size // 2, size)


@decomposition("aten.native_dropout_backward.default")
def native_dropout_backward(rw: Rewriter, node: Node) -> Tensor:
    grad = rw.tensor(node.args[0], computing(node))
    scale: Number = number(node.args[2])
    return grad * rw.tensor(node.args[1]).to(grad.dtype) * scale
