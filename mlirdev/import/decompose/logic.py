"""Comparisons, tests of single elements, and operators on bits and truth values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from ..registry import decomposition
from ..tensor import Tensor
from .operands import number, ones_like, promoted_pair

if TYPE_CHECKING:
    from ..rewriter import Rewriter


@decomposition(*(f"aten.bitwise_{n}.{o}" for n in ("and", "or", "xor") for o in ("Scalar", "Scalar_Tensor", "Tensor")))
def bitwise(rw: Rewriter, node: Node) -> Tensor:
    dtype = node.results[0].dtype
    name = node.op.split(".")[1].removeprefix("bitwise_")
    return rw.own(f"own.{name}", rw.tensor(node.args[0], dtype), rw.tensor(node.args[1], dtype))


@decomposition(
    *(
        f"aten.{n}.{o}"
        for n in ("bitwise_left_shift", "bitwise_right_shift")
        for o in ("Tensor", "Tensor_Scalar", "Scalar_Tensor")
    ),
    *(f"aten.__{n}__.{o}" for n in ("lshift", "rshift") for o in ("Scalar", "Tensor")),
)
def shift(rw: Rewriter, node: Node) -> Tensor:
    dtype = node.results[0].dtype
    name = "own.shl" if "left" in node.op or "lshift" in node.op else "own.shr"
    return rw.own(name, rw.tensor(node.args[0], dtype), rw.tensor(node.args[1], dtype))


@decomposition("aten.bitwise_not.default")
def bitwise_not(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    return ~x if x.dtype is DType.i1 else rw.own("own.xor", x, rw.full((), -1, x.dtype))


@decomposition(*(f"aten.logical_{n}.default" for n in ("and", "or", "xor")))
def logical(rw: Rewriter, node: Node) -> Tensor:
    a, b = (rw.tensor(v, DType.i1) for v in node.args)
    return rw.own(f"own.{node.op.split('.')[1].removeprefix('logical_')}", a, b)


@decomposition("aten.logical_not.default")
def logical_not(rw: Rewriter, node: Node) -> Tensor:
    return rw.own("own.xor", rw.tensor(node.args[0], DType.i1), rw.full((), True, DType.i1))


@decomposition("aten.isinf.default")
def isinf(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    return x.abs().compare("eq", float("inf")) if x.dtype.is_float else rw.full(x.shape, False, DType.i1)


@decomposition("aten.isnan.default")
def isnan(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    return x.compare("ne", x) if x.dtype.is_float else rw.full(x.shape, False, DType.i1)


@decomposition("aten.isfinite.default")
def isfinite(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    return x.abs() < float("inf") if x.dtype.is_float else rw.full(x.shape, True, DType.i1)


@decomposition("aten.isposinf.default", "aten.isneginf.default")
def is_signed_inf(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    infinite = float("inf") if "pos" in node.op else -float("inf")
    return x.compare("eq", infinite) if x.dtype.is_float else rw.full(x.shape, False, DType.i1)


@decomposition("aten.signbit.default")
def signbit(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    if not x.dtype.is_float:
        return x < 0
    return rw.own("own.copysign", ones_like(rw, x), x) < 0.0


@decomposition(*(f"aten.{n}.{o}" for n in ("eq", "ne", "lt", "le", "gt", "ge") for o in ("Tensor", "Scalar")))
def comparison(rw: Rewriter, node: Node) -> Tensor:
    """A number is rounded to the tensor's dtype first, as on the CPU."""
    a, b = promoted_pair(rw, node.args[0], node.args[1])
    return rw.emit(f"own.{node.op.split('.')[1]}", [a.ref, b.ref], node.results)[0]


@decomposition("aten.isclose.default")
def isclose(rw: Rewriter, node: Node) -> Tensor:
    a, b = promoted_pair(rw, node.args[0], node.args[1])
    rtol, atol, equal_nan = node.args[2:]
    close = a.compare("eq", b)
    if a.dtype.is_float:
        both = a.compare("ne", a) & b.compare("ne", b)
        close = close | both if equal_nan else close
        allowed = (b.abs() * number(rtol)) + number(atol)
        finite = b.abs() < float("inf")
        return close | (finite & ((a - b).abs() <= allowed))
    x, y = a.to(DType.f32), b.to(DType.f32)
    return close | ((x - y).abs() <= (y.abs() * number(rtol) + number(atol)))
