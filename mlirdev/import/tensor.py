"""Tensor: a value of the graph that is being rewritten, with the operations that decompositions are written in.

Each method emits one node and gives the value of its result. Operands of one operation have one dtype:
a decomposition says where it casts. Numbers may be literals, scalar inputs (ScalarRef) or sizes (Size).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Union

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Ref, ScalarRef, Size, TensorSpec
from mlirdev.plan import PlanDim

from . import dims
from .dims import Shape

if TYPE_CHECKING:
    from .rewriter import Rewriter

# Sums of so many f32 run in f64: at memory's speed, since they don't fit into the nearest cache.
LONG_SUM = 8192

Number = Union[bool, int, float, complex, ScalarRef, Size]
Operand = Union["Tensor", Number]


def spec_of(shape: Shape, dtype: DType) -> TensorSpec:
    """A spec whose sizes may be arithmetic on syms: in here, graphs hold what recorded ones can't."""
    return TensorSpec(tuple(shape), dtype)


def sizes(shape: Sequence[PlanDim]) -> tuple[Size, ...]:
    return tuple(map(Size, shape))


class Tensor:
    __slots__ = ("number", "rewriter", "spec")

    def __init__(self, rewriter: Rewriter, number: int, spec: TensorSpec) -> None:
        self.rewriter = rewriter
        self.number = number
        self.spec = spec

    @property
    def ref(self) -> Ref:
        return Ref(self.number)

    @property
    def shape(self) -> Shape:
        return self.spec.shape

    @property
    def dtype(self) -> DType:
        return self.spec.dtype

    @property
    def rank(self) -> int:
        return len(self.spec.shape)

    @property
    def numel(self) -> PlanDim:
        return dims.product(self.shape)

    def _emit(self, op: str, args: Sequence[Arg], shape: Shape, dtype: DType | None = None) -> Tensor:
        return self.rewriter.emit(op, args, [spec_of(shape, dtype or self.dtype)])[0]

    # --- elementwise --------------------------------------------------------------------------------

    def unary(self, name: str) -> Tensor:
        """aten.<name>.default, of the same dtype."""
        return self._emit(f"aten.{name}.default", [self.ref], self.shape)

    def _binary(self, name: str, other: Operand, *rest: Arg, dtype: DType | None = None) -> Tensor:
        if isinstance(other, Tensor):
            shape = dims.broadcast(self.shape, other.shape)
            return self._emit(f"aten.{name}.Tensor", [self.ref, other.ref, *rest], shape, dtype)
        return self._emit(f"aten.{name}.Scalar", [self.ref, other, *rest], self.shape, dtype)

    def __add__(self, other: Operand) -> Tensor:
        return self._binary("add", other, 1)

    def __sub__(self, other: Operand) -> Tensor:
        return self._binary("sub", other, 1)

    def __mul__(self, other: Operand) -> Tensor:
        return self._binary("mul", other)

    def __truediv__(self, other: Operand) -> Tensor:
        return self._binary("div", other)

    def __rsub__(self, other: Number) -> Tensor:
        return self.rewriter.full(self.shape, other, self.dtype) - self

    def __neg__(self) -> Tensor:
        return self.unary("neg")

    __radd__ = __add__
    __rmul__ = __mul__

    def compare(self, name: str, other: Operand) -> Tensor:
        """eq, ne, lt, le, gt or ge."""
        return self._binary(name, other, dtype=DType.i1)

    def __lt__(self, other: Operand) -> Tensor:
        return self.compare("lt", other)

    def __le__(self, other: Operand) -> Tensor:
        return self.compare("le", other)

    def __gt__(self, other: Operand) -> Tensor:
        return self.compare("gt", other)

    def __ge__(self, other: Operand) -> Tensor:
        return self.compare("ge", other)

    def __and__(self, other: Tensor) -> Tensor:
        return self._logical("logical_and", other)

    def __or__(self, other: Tensor) -> Tensor:
        return self._logical("logical_or", other)

    def __invert__(self) -> Tensor:
        return self._emit("aten.logical_not.default", [self.ref], self.shape, DType.i1)

    def _logical(self, name: str, other: Tensor) -> Tensor:
        shape = dims.broadcast(self.shape, other.shape)
        return self._emit(f"aten.{name}.default", [self.ref, other.ref], shape, DType.i1)

    def maximum(self, other: Operand) -> Tensor:
        return self._pairwise("maximum", other)

    def minimum(self, other: Operand) -> Tensor:
        return self._pairwise("minimum", other)

    def _pairwise(self, name: str, other: Operand) -> Tensor:
        tensor = other if isinstance(other, Tensor) else self.rewriter.full((), other, self.dtype)
        return self._emit(f"aten.{name}.default", [self.ref, tensor.ref], dims.broadcast(self.shape, tensor.shape))

    def exp(self) -> Tensor:
        return self.unary("exp")

    def log(self) -> Tensor:
        return self.unary("log")

    def sqrt(self) -> Tensor:
        return self.unary("sqrt")

    def rsqrt(self) -> Tensor:
        return self.unary("rsqrt")

    def tanh(self) -> Tensor:
        return self.unary("tanh")

    def erf(self) -> Tensor:
        return self.unary("erf")

    def sigmoid(self) -> Tensor:
        return self.unary("sigmoid")

    def abs(self) -> Tensor:
        return self.unary("abs")

    def to(self, dtype: DType) -> Tensor:
        """The same values as another dtype."""
        if dtype is self.dtype:
            return self
        return self._emit("own.cast", [self.ref], self.shape, dtype)

    # --- reductions ---------------------------------------------------------------------------------

    def reduce(self, kind: str, over: Sequence[int], keep: bool = False) -> Tensor:
        """add, mul, max or min over these dims."""
        if not over:
            return self
        return self._emit("own.reduce", [self.ref, tuple(over), keep, kind], self._reduced(over, keep))

    def sum(self, over: Sequence[int], keep: bool = False) -> Tensor:
        if self.dtype is DType.f32 and self._is_long(over):
            return self.to(DType.f64).reduce("add", over, keep).to(DType.f32)
        return self.reduce("add", over, keep)

    def _is_long(self, over: Sequence[int]) -> bool:
        """Are so many added that a running sum in f32 would be less precise than the CPU's, which adds in a tree?"""
        count = dims.product(self.shape[d] for d in over)
        return isinstance(count, int) and count >= LONG_SUM

    def amax(self, over: Sequence[int], keep: bool = False) -> Tensor:
        return self.reduce("max", over, keep)

    def amin(self, over: Sequence[int], keep: bool = False) -> Tensor:
        return self.reduce("min", over, keep)

    def mean(self, over: Sequence[int], keep: bool = False) -> Tensor:
        return self.sum(over, keep) / self.rewriter.count(dims.product(self.shape[d] for d in over), self.dtype)

    def _reduced(self, over: Sequence[int], keep: bool) -> Shape:
        axes = set(over)
        if keep:
            return tuple(1 if i in axes else d for i, d in enumerate(self.shape))
        return tuple(d for i, d in enumerate(self.shape) if i not in axes)

    # --- shapes -------------------------------------------------------------------------------------

    def view(self, shape: Sequence[PlanDim]) -> Tensor:
        if tuple(shape) == self.shape:
            return self
        return self._emit("own.view", [self.ref], tuple(shape))

    def expand(self, shape: Sequence[PlanDim]) -> Tensor:
        """Broadcast; new dims come first."""
        if tuple(shape) == self.shape:
            return self
        return self._emit("own.expand", [self.ref], tuple(shape))

    def permute(self, order: Sequence[int]) -> Tensor:
        if list(order) == list(range(self.rank)):
            return self
        shape = tuple(self.shape[i] for i in order)
        return self._emit("own.permute", [self.ref, tuple(order)], shape)

    def transpose(self, a: int, b: int) -> Tensor:
        order = list(range(self.rank))
        order[a], order[b] = order[b], order[a]
        return self.permute(order)

    def unsqueeze(self, dim: int) -> Tensor:
        dim = dim + self.rank + 1 if dim < 0 else dim
        return self.view((*self.shape[:dim], 1, *self.shape[dim:]))

    def align(self, dim: int, rank: int) -> Tensor:
        """A 1-d tensor laid along dimension `dim` of `rank`."""
        return self.view([1] * dim + [self.shape[0]] + [1] * (rank - dim - 1))

    def slice(self, dim: int, start: PlanDim, end: PlanDim, step: int = 1, length: PlanDim | None = None) -> Tensor:
        """Elements start, start + step, … below end, `length` of them; the bounds are within the tensor."""
        if start == 0 and end == self.shape[dim] and step == 1:
            return self
        if length is None:
            length = dims.floordiv(dims.add(dims.sub(end, start), step - 1), step)
        shape = (*self.shape[:dim], length, *self.shape[dim + 1 :])
        if 0 in shape:  # where nothing is read, no place to read from need exist
            return self.rewriter.zeros(shape, self.dtype)
        return self._emit("own.slice", [self.ref, dim, *sizes([start]), step], shape)

    def flip(self, over: Sequence[int]) -> Tensor:
        return self._emit("own.flip", [self.ref, tuple(over)], self.shape)

    def pad(self, amounts: Sequence[int], value: Number) -> Tensor:
        """Amounts (before, after) from the last dim on, negative ones cut."""
        return self._emit("aten.constant_pad_nd.default", [self.ref, tuple(amounts), value], self._padded(amounts))

    def _padded(self, amounts: Sequence[int]) -> Shape:
        shape = list(self.shape)
        for i in range(len(amounts) // 2):
            d = self.rank - 1 - i
            shape[d] = dims.add(shape[d], amounts[2 * i] + amounts[2 * i + 1])
        return tuple(shape)

    # --- contractions -------------------------------------------------------------------------------

    def mm(self, other: Tensor) -> Tensor:
        return self._emit("aten.mm.default", [self.ref, other.ref], (self.shape[0], other.shape[1]))

    def bmm(self, other: Tensor) -> Tensor:
        return self._emit("aten.bmm.default", [self.ref, other.ref], (*self.shape[:2], other.shape[2]))
