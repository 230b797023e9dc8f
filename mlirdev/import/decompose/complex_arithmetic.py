"""Complex arithmetic in the formulas of c10::complex, so that infinities and NaN come out as on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.graph import Node

from ..pairs import paired, parts
from ..registry import COMPLEX, complex_rule
from ..tensor import Tensor, spec_of
from .complex_movement import as_for_reals
from .operands import number, promoted_pair

if TYPE_CHECKING:
    from ..rewriter import Rewriter

Pair = tuple[Tensor, Tensor]

COMPLEX.update(
    dict.fromkeys(
        (
            *(f"aten.{n}.default" for n in ("addcmul", "addcdiv", "square", "mv", "dot", "matmul", "linear")),
            *(f"aten.{n}.default" for n in ("addmm", "addmv", "addbmm", "baddbmm", "addr", "mse_loss")),
            *(f"aten.rsub.{o}" for o in ("Scalar", "Tensor")),
            *(f"aten.logical_{n}.default" for n in ("and", "or", "xor", "not")),
            "aten.linalg_cross.default",
            "aten._trilinear.default",
        ),
        as_for_reals,
    )
)


def operands(rw: Rewriter, node: Node, count: int) -> list[Tensor]:
    """The first operands, as the dtype of the result."""
    return [rw.tensor(a, node.results[0].dtype) for a in node.args[:count]]


@complex_rule(*(f"aten.{n}.{o}" for n in ("add", "sub") for o in ("Tensor", "Scalar")))
def add(rw: Rewriter, node: Node) -> Tensor:
    """self ± alpha · other: as on the CPU, where alpha = 1 + 0i makes NaN of what it meets in infinities."""
    a, b = operands(rw, node, 2)
    (a_re, a_im), (b_re, b_im) = parts(a), parts(b * number(node.args[2]))
    if ".add." in node.op:
        return paired(a_re + b_re, a_im + b_im)
    return paired(a_re - b_re, a_im - b_im)


@complex_rule("aten.mul.Tensor", "aten.mul.Scalar")
def mul(rw: Rewriter, node: Node) -> Tensor:
    a, b = operands(rw, node, 2)
    return paired(*product(parts(a), parts(b)))


def product(x: Pair, y: Pair) -> Pair:
    (a, b), (c, d) = x, y
    return a * c - b * d, a * d + b * c


@complex_rule(
    "aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor", "aten.div.Tensor_mode", "aten.div.Scalar_mode"
)
def div(rw: Rewriter, node: Node) -> Tensor:
    """The only mode that complex numbers have is none."""
    a, b = operands(rw, node, 2)
    return paired(*quotient(rw, parts(a), parts(b)))


def quotient(rw: Rewriter, x: Pair, y: Pair) -> Pair:
    """Smith's: scaled by the larger part of the divisor, so that nothing overflows on the way."""
    (a, b), (c, d) = x, y
    by_real = c.abs() >= d.abs()
    big, small = rw.where(by_real, c, d), rw.where(by_real, d, c)
    ratio = small / big
    scale = rw.full((), 1.0, a.dtype) / (big + small * ratio)
    # With c the larger: (a + b·r, b − a·r); with d: (a·r + b, b·r − a).
    re = rw.where(by_real, a + b * ratio, a * ratio + b) * scale
    im = rw.where(by_real, b - a * ratio, b * ratio - a) * scale
    zero = by_real & c.compare("eq", 0.0) & d.compare("eq", 0.0)
    return rw.where(zero, a / c.abs(), re), rw.where(zero, b / d.abs(), im)


@complex_rule("aten.neg.default")
def neg(rw: Rewriter, node: Node) -> Tensor:
    re, im = parts(rw.tensor(node.args[0]))
    return paired(-re, -im)


@complex_rule("aten.conj_physical.default", "aten._conj_physical.default", "aten._conj.default", "aten.conj.default")
def conj_physical(rw: Rewriter, node: Node) -> Tensor:
    return conj(rw.tensor(node.args[0]))


def conj(x: Tensor) -> Tensor:
    re, im = parts(x)
    return paired(re, -im)


@complex_rule("aten.complex.default")
def complex_(rw: Rewriter, node: Node) -> Tensor:
    re, im = (rw.tensor(a) for a in node.args)
    return paired(re, im)


@complex_rule("aten.view_as_real_copy.default", "aten.view_as_real.default")
def view_as_real(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    return rw.joined([part.unsqueeze(-1) for part in parts(x)], x.rank)


@complex_rule("aten.view_as_complex_copy.default", "aten.view_as_complex.default")
def view_as_complex(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    return paired(*(x.slice(x.rank - 1, k, k + 1).view(x.shape[:-1]) for k in (0, 1)))


@complex_rule("aten.abs.default")
def absolute(rw: Rewriter, node: Node) -> Tensor:
    return modulus(rw.tensor(node.args[0]))


def modulus(x: Tensor) -> Tensor:
    re, im = parts(x)
    return x.rewriter.emit("aten.hypot.default", [re.ref, im.ref], [re.spec])[0]


@complex_rule("aten.angle.default")
def angle(rw: Rewriter, node: Node) -> Tensor:
    re, im = parts(rw.tensor(node.args[0]))
    return rw.own("own.atan2", im, re)


@complex_rule("aten.sgn.default")
def sgn(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    (re, im), length = parts(x), modulus(x)
    zero = length.compare("eq", 0.0)
    return paired(*(rw.where(zero, 0.0, part / length) for part in (re, im)))


@complex_rule("aten.polar.default")
def polar(rw: Rewriter, node: Node) -> Tensor:
    length, angle_ = (rw.tensor(a) for a in node.args)
    return paired(length * angle_.unary("cos"), length * angle_.unary("sin"))


@complex_rule("aten.lerp.Scalar", "aten.lerp.Tensor")
def lerp(rw: Rewriter, node: Node) -> Tensor:
    """From the nearer end, which the weight's length tells."""
    start, end, weight = operands(rw, node, 3)
    re, im = parts(weight)
    near = re * re + im * im < 0.25
    return rw.where(
        near, start + weight * (end - start), end - (end - start) * (rw.full((), 1.0, weight.dtype) - weight)
    )


# --- comparisons -------------------------------------------------------------------------------------


@complex_rule(*(f"aten.{n}.{o}" for n in ("eq", "ne") for o in ("Tensor", "Scalar")))
def equality(rw: Rewriter, node: Node) -> Tensor:
    (a, b), (c, d) = map(parts, promoted_pair(rw, node.args[0], node.args[1]))
    if ".eq." in node.op:
        return a.compare("eq", c) & b.compare("eq", d)
    return a.compare("ne", c) | b.compare("ne", d)


@complex_rule("aten.isnan.default", "aten.isinf.default")
def in_either(rw: Rewriter, node: Node) -> Tensor:
    re, im = (rw.emit(node.op, [p.ref], node.results)[0] for p in parts(rw.tensor(node.args[0])))
    return re | im


@complex_rule("aten.isfinite.default")
def isfinite(rw: Rewriter, node: Node) -> Tensor:
    re, im = (rw.emit(node.op, [p.ref], node.results)[0] for p in parts(rw.tensor(node.args[0])))
    return re & im


@complex_rule("aten.isclose.default")
def isclose(rw: Rewriter, node: Node) -> Tensor:
    a, b = promoted_pair(rw, node.args[0], node.args[1])
    rtol, atol, equal_nan = node.args[2:]
    close = a.compare("eq", b)
    if equal_nan:
        close = close | (a.compare("ne", a) & b.compare("ne", b))
    error, length = modulus(a - b), modulus(b)
    return close | ((error < float("inf")) & (error <= length * number(rtol) + number(atol)))


# --- products of matrices ----------------------------------------------------------------------------


@complex_rule("aten.mm.default", "aten.bmm.default")
def matrix_product(rw: Rewriter, node: Node) -> Tensor:
    (a, b), (c, d) = map(parts, operands(rw, node, 2))

    def times(x: Tensor, y: Tensor) -> Tensor:
        return x.mm(y) if x.rank == 2 else x.bmm(y)

    return paired(times(a, c) - times(b, d), times(a, d) + times(b, c))


@complex_rule("aten.vdot.default")
def vdot(rw: Rewriter, node: Node) -> Tensor:
    a, b = operands(rw, node, 2)
    return (conj(a) * b).sum([0])


@complex_rule("aten.linear_backward.default")
def linear_backward(rw: Rewriter, node: Node) -> list[Tensor]:
    """Of real operands conjugated: gradients of complex numbers are conjugate."""
    x, grad, weight, mask = node.args
    value, g, w = (rw.tensor(v, node.results[0].dtype) for v in (x, grad, weight))
    args = (conj(value).ref, g.ref, conj(w).ref, mask)
    grads = as_for_reals(rw, Node(node.op, args, node.results))
    return [grads] if isinstance(grads, Tensor) else grads


@complex_rule(*(f"aten.linspace.{o}" for o in ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")))
def linspace(rw: Rewriter, node: Node) -> Tensor:
    """Both parts by themselves."""
    spec = node.results[0]
    ends = zip(*(parts(rw.tensor(a, spec.dtype)) for a in node.args[:2]), strict=True)
    result = [spec_of(spec.shape, spec.dtype.real)]
    re, im = (rw.emit("aten.linspace.default", [a.ref, b.ref, *node.args[2:]], result)[0] for a, b in ends)
    return paired(re, im)
