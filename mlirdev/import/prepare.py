"""Preparing the operands of nodes that are kept: type promotion, numbers where tensors stand, halves.

The CPU computes on f16 and bf16 in f32 and rounds the result once; so do we: operands are cast, the same
operator runs in f32, its result is cast back. Later passes fuse the casts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node, Ref, ScalarRef, TensorSpec

from .promotion import HALVES, widened

if TYPE_CHECKING:
    from .rewriter import Rewriter
    from .tensor import Tensor

# With a number as second operand these are the overload on the right, which takes it as it is.
_SCALAR_OVERLOADS = {f"aten.{name}.Tensor": f"aten.{name}.Scalar" for name in ("add", "sub", "mul", "div")}
_TENSOR_OVERLOADS = {scalar: tensor for tensor, scalar in _SCALAR_OVERLOADS.items()}


def as_result(rewriter: Rewriter, node: Node) -> list[Tensor]:
    """Arithmetic: operands have the result's dtype, or f32 for halves."""
    return _computed_in(rewriter, node, widened(node.results[0].dtype))


def exact(rewriter: Rewriter, node: Node) -> list[Tensor]:
    """Operations that round nothing: operands have the result's dtype."""
    return _computed_in(rewriter, node, node.results[0].dtype)


def selected(rewriter: Rewriter, node: Node) -> list[Tensor]:
    """where: the first operand is the condition, the others have the result's dtype."""
    dtype = node.results[0].dtype
    args = [rewriter.tensor(node.args[0], DType.i1).ref, *(rewriter.tensor(a, dtype).ref for a in node.args[1:])]
    return rewriter.keep(Node(node.op, tuple(args), node.results))


def accumulated(rewriter: Rewriter, node: Node) -> list[Tensor]:
    """Reductions and contractions: halves are read as f32, so that sums are kept in f32."""
    if not any(s.dtype in HALVES for s in node.results):
        return rewriter.keep(node)
    args = [_widened_operand(rewriter, a) for a in node.args]
    results = tuple(TensorSpec(s.shape, widened(s.dtype)) for s in node.results)
    values = rewriter.keep(Node(node.op, tuple(args), results))
    return [v.to(s.dtype) for v, s in zip(values, node.results, strict=True)]


def as_it_is(rewriter: Rewriter, node: Node) -> list[Tensor]:
    return rewriter.keep(node)


PREPARATIONS: dict[str, Callable[[Rewriter, Node], list[Tensor]]] = {
    "as_result": as_result,
    "exact": exact,
    "selected": selected,
    "accumulated": accumulated,
    "as_it_is": as_it_is,
}


def _computed_in(rewriter: Rewriter, node: Node, dtype: DType) -> list[Tensor]:
    args = tuple(_operand(rewriter, a, i, node.op, dtype) for i, a in enumerate(node.args))
    spec = node.results[0]
    kept = Node(node.op, args, (TensorSpec(spec.shape, dtype),))
    return [rewriter.keep(_with_scalar_overload(kept))[0].to(spec.dtype)]


def _operand(rewriter: Rewriter, arg: Arg, position: int, op: str, dtype: DType) -> Arg:
    if isinstance(arg, Ref):
        return rewriter.tensor(arg, dtype).ref
    if position > 1 or not isinstance(arg, (bool, int, float, ScalarRef)):
        return arg
    if rewriter.number_dtype(arg) is DType.i1:  # the torch dialect takes no bool where a number stands
        return rewriter.tensor(arg, dtype).ref
    takes_number = op.endswith("Scalar") or (position == 1 and op in _SCALAR_OVERLOADS) or not op.endswith("Tensor")
    return arg if takes_number else rewriter.tensor(arg, dtype).ref


def _with_scalar_overload(node: Node) -> Node:
    """The overload that the second operand's kind asks for."""
    overloads = _TENSOR_OVERLOADS if len(node.args) > 1 and isinstance(node.args[1], Ref) else _SCALAR_OVERLOADS
    return Node(overloads.get(node.op, node.op), node.args, node.results)


def _widened_operand(rewriter: Rewriter, arg: Arg) -> Arg:
    if isinstance(arg, Ref):
        return rewriter.tensor(arg, widened(rewriter.specs[arg.value].dtype)).ref
    if isinstance(arg, DType):
        return widened(arg)
    return tuple(_widened_operand(rewriter, a) for a in arg) if isinstance(arg, tuple) else arg
