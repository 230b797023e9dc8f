"""A node's arguments as rules take them: the dtype to compute in, numbers, pairs promoted to one dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node, Ref, ScalarRef

from ..promotion import result_type, widened
from ..tensor import Number, Operand, Tensor

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def computing(node: Node) -> DType:
    """The dtype in which the CPU computes the node's first result."""
    return widened(node.results[0].dtype)


def is_one(arg: Arg) -> bool:
    """A literal 1: a factor that isn't there."""
    return isinstance(arg, (int, float, complex)) and arg == 1


def scaled(value: Tensor, factor: Number) -> Tensor:
    return value if is_one(factor) else value * factor


def number(arg: Arg) -> Number:
    assert isinstance(arg, (bool, int, float, complex, ScalarRef))
    return arg


def number_or_tensor(rw: Rewriter, arg: Arg, dtype: DType) -> Operand:
    """A number stays one; a tensor is cast."""
    return rw.tensor(arg, dtype) if isinstance(arg, Ref) else number(arg)


def promoted_pair(rw: Rewriter, a: Arg, b: Arg) -> tuple[Tensor, Tensor]:
    """Two operands in the dtype that torch promotes them to."""
    tensors = [rw.specs[v.value] for v in (a, b) if isinstance(v, Ref)]
    numbers = [rw.number_dtype(number(v)) for v in (a, b) if not isinstance(v, Ref)]
    dtype = result_type([(s.dtype, len(s.shape)) for s in tensors], numbers)
    return rw.tensor(a, dtype), rw.tensor(b, dtype)


def ones_like(rw: Rewriter, x: Tensor) -> Tensor:
    return rw.full(x.shape, 1, x.dtype)
