"""Tensors made from numbers, and copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node, Size

from .. import dims
from ..registry import decomposition
from ..tensor import Number, Tensor
from .operands import number

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def _filled(rw: Rewriter, node: Node, value: Number) -> Tensor:
    spec = node.results[0]
    return rw.full(spec.shape, value, spec.dtype)


@decomposition("aten.full.default", "aten.full_like.default", "aten.fill.Scalar")
def full(rw: Rewriter, node: Node) -> Tensor:
    return _filled(rw, node, number(node.args[1]))


@decomposition("aten.new_full.default")
def new_full(rw: Rewriter, node: Node) -> Tensor:
    return _filled(rw, node, number(node.args[2]))


@decomposition("aten.scalar_tensor.default")
def scalar_tensor(rw: Rewriter, node: Node) -> Tensor:
    return _filled(rw, node, number(node.args[0]))


@decomposition(
    "aten.zeros.default",
    "aten.zeros_like.default",
    "aten.new_zeros.default",
    "aten.zero.default",
    "aten.empty.memory_format",
    "aten.empty_like.default",
    "aten.new_empty.default",
    "aten.empty_strided.default",
    "aten.new_empty_strided.default",
    "aten.empty_permuted.default",
    "mlirdev.empty",
    "mlirdev.empty.default",
)
def zeros(rw: Rewriter, node: Node) -> Tensor:
    """What is left unspecified is zero too."""
    return _filled(rw, node, 0)


@decomposition("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def ones(rw: Rewriter, node: Node) -> Tensor:
    return _filled(rw, node, 1)


@decomposition("aten.fill.Tensor")
def fill_tensor(rw: Rewriter, node: Node) -> Tensor:
    spec = node.results[0]
    return rw.tensor(node.args[1], spec.dtype).view(()).expand(spec.shape)


def _bound(arg: Arg) -> Number:
    """A bound of arange: a size or a number."""
    return arg if isinstance(arg, Size) else number(arg)


@decomposition("aten.arange.default")
def arange(rw: Rewriter, node: Node) -> Tensor:
    spec = node.results[0]
    return rw.iota(0, 1, spec.shape[0], spec.dtype)


@decomposition("aten.arange.start")
def arange_start(rw: Rewriter, node: Node) -> Tensor:
    spec = node.results[0]
    return rw.iota(_bound(node.args[0]), 1, spec.shape[0], spec.dtype)


@decomposition("aten.arange.start_step")
def arange_start_step(rw: Rewriter, node: Node) -> Tensor:
    spec = node.results[0]
    return rw.iota(_bound(node.args[0]), _bound(node.args[2]), spec.shape[0], spec.dtype)


@decomposition(*(f"aten.linspace.{o}" for o in ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")))
def linspace(rw: Rewriter, node: Node) -> Tensor:
    """The ends are of the result's dtype first; integers are computed in f64."""
    spec = node.results[0]
    count = dims.static(spec.shape[0])
    dtype = spec.dtype if spec.dtype.is_float else DType.f64
    start, end = (rw.tensor(a, spec.dtype).to(dtype) for a in node.args[:2])
    return ramp(rw, start, end, end - start, count)


def ramp(rw: Rewriter, start: Tensor, end: Tensor, extent: Tensor, count: int) -> Tensor:
    """From both ends to the middle, so that the last element is the end itself."""
    if count == 1:
        return start.view((1,))
    dtype, last = start.dtype, float(count - 1)
    step, i = extent / last, rw.iota(0, 1, count, DType.i64)
    forward, backward = start + step * i.to(dtype), end - step * (last - i.to(dtype))
    return rw.where(i < count // 2, forward, backward)


@decomposition("aten.eye.default", "aten.eye.m")
def eye(rw: Rewriter, node: Node) -> Tensor:
    spec = node.results[0]
    rows, columns = (rw.arange(d) for d in spec.shape)
    return rows.unsqueeze(1).compare("eq", columns.unsqueeze(0)).to(spec.dtype)


@decomposition("aten._to_copy.default", "prims.convert_element_type.default")
def to_copy(rw: Rewriter, node: Node) -> Tensor:
    return rw.tensor(node.args[0]).to(node.results[0].dtype)


@decomposition(
    "aten.clone.default",
    "aten.alias.default",
    "aten.detach.default",
    "aten.lift_fresh_copy.default",
    "aten.lift_fresh.default",
    "aten.lift.default",
    "aten.contiguous.default",
    "aten.alias_copy.default",
    "aten.detach_copy.default",
    "aten.positive.default",
    "aten.conj_physical.default",
)
def same(rw: Rewriter, node: Node) -> Tensor:
    """Values are immutable: a copy is the value itself."""
    return rw.tensor(node.args[0])


@decomposition("aten.copy.default")
def copy(rw: Rewriter, node: Node) -> Tensor:
    """The second operand as the first's shape and dtype."""
    spec = node.results[0]
    return rw.tensor(node.args[1], spec.dtype).expand(spec.shape)
