"""Graph → Graph: every node is kept, or replaced by simpler ones, until all are ones that the builder can emit.

    node ──table.rewrite_of──► None: kept                 (torch-mlir lowers it, or own/ does)
                           └─► rule(rewriter, node): emits nodes, which go the same way, and returns values

Rules are pure and know nothing of MLIR. What replaces a node keeps its place in the recorded graph as its
origin, which becomes its location.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlirdev.dtypes import DType
from mlirdev.errors import InternalError, LoweringError
from mlirdev.graph import Arg, Graph, Node, Ref, ScalarRef, Size, TensorSpec
from mlirdev.plan import PlanDim

from . import dims, pairs, table
from .attended import find_attended
from .dims import Shape
from .tensor import Number, Operand, Tensor, sizes, spec_of


@dataclass(frozen=True)
class Rewritten:
    """A graph that the builder can emit; `origins[i]` is the recorded node that its node i comes from.

    Its sizes may be arithmetic on syms, which recorded graphs don't have.
    """

    graph: Graph
    origins: tuple[int, ...]


def rewrite(graph: Graph) -> Rewritten:
    """Raises LoweringError for a node without a lowering."""
    rewriter = Rewriter(graph)
    attended = find_attended(graph)
    for position, (node, first) in enumerate(zip(graph.nodes, graph.first_result, strict=True)):
        rewriter.origin = position
        reason = table.unsupported(node, graph.specs)
        if reason is not None:
            raise LoweringError((position,), f"{node.op}: {reason}")
        try:
            if position in attended:
                rewriter.numbers[first] = attended[position].emit(rewriter, node).number
            else:
                rewriter.replace(node, first)
        except dims.RuntimeSizeError as error:
            raise LoweringError((position,), f"{node.op}: {error}") from error
    outputs = tuple(rewriter.numbers[o] for o in graph.outputs)
    rewritten = replace(graph, nodes=tuple(rewriter.nodes), outputs=outputs)
    return Rewritten(rewritten, tuple(rewriter.origins))


class Rewriter:
    """Collects the new nodes. Rules use `tensor`, `emit` and the constructors below."""

    def __init__(self, graph: Graph) -> None:
        self.scalar_kinds = graph.scalars
        self.nodes: list[Node] = []
        self.origins: list[int] = []
        self.specs: list[TensorSpec] = list(graph.inputs)
        self.origin = 0
        # By number in the recorded graph: the number of the value here.
        self.numbers: dict[int, int] = {i: i for i in range(len(graph.inputs))}
        # By number of a complex value: its parts, where they are known (pairs.py); and which were made of parts.
        self.parts: dict[int, tuple[Tensor, Tensor]] = {}
        self.paired: set[int] = set()
        # By number of a real value: the complex one whose parts alternate along its last dim.
        self.interleaved: dict[int, Tensor] = {}
        # By number of a value that has one element beside zeros per line along an axis: the axis, and those elements.
        self.line_sums: dict[int, tuple[int, Tensor]] = {}

    def replace(self, node: Node, first: int) -> None:
        args = tuple(self.renumbered(a) for a in node.args)
        results = self.emit(node.op, args, node.results)
        for i, result in enumerate(results):
            self.numbers[first + i] = result.number

    def renumbered(self, arg: Arg) -> Arg:
        """An argument of a recorded node, as it is here."""
        if isinstance(arg, Ref):
            return Ref(self.numbers[arg.value])
        return tuple(self.renumbered(a) for a in arg) if isinstance(arg, tuple) else arg

    def emit(self, op: str, args: Sequence[Arg], results: Sequence[TensorSpec]) -> list[Tensor]:
        """One operator call, by its rule where it has one."""
        node = Node(op, tuple(args), tuple(results))
        rule = table.rewrite_of(self, node)
        if rule is None:
            return self._append(node)
        values = rule(self, node)
        values = [values] if isinstance(values, Tensor) else values
        if len(values) != len(results):
            raise InternalError(f"the rule of {op} gives {len(values)} results instead of {len(results)}")
        return [_fitted(op, v, s) for v, s in zip(values, results, strict=True)]

    def keep(self, node: Node) -> list[Tensor]:
        """The node as it is, for rules that only prepare its operands."""
        return self._append(node)

    def _append(self, node: Node) -> list[Tensor]:
        first = len(self.specs)
        self.nodes.append(node)
        self.origins.append(self.origin)
        self.specs.extend(node.results)
        return [Tensor(self, first + i, spec) for i, spec in enumerate(node.results)]

    def own(self, name: str, *operands: Tensor) -> Tensor:
        """An elementwise operator of own/scalar.py: operands of one dtype, which is the result's."""
        shape: Shape = ()
        for operand in operands:
            shape = dims.broadcast(shape, operand.shape)
        return self.emit(name, [o.ref for o in operands], [spec_of(shape, operands[0].dtype)])[0]

    def kept_binary(self, name: str, a: Tensor, b: Operand) -> Tensor:
        """add, sub or mul of operands that need no preparation."""
        if a.dtype.is_complex:
            return a + b if name == "add" else a - b if name == "sub" else a * b
        # torch-mlir breaks off at some products of a byte and a number, and at bools that stand for numbers.
        if not isinstance(b, Tensor) and (not a.dtype.is_float or self.number_dtype(b) is DType.i1):
            b = self.full((), b, a.dtype)
        shape = dims.broadcast(a.shape, b.shape) if isinstance(b, Tensor) else a.shape
        other, overload = (b.ref, "Tensor") if isinstance(b, Tensor) else (b, "Scalar")
        rest = () if name == "mul" else (1,)
        return self._append(Node(f"aten.{name}.{overload}", (a.ref, other, *rest), (spec_of(shape, a.dtype),)))[0]

    # --- values -------------------------------------------------------------------------------------

    def tensor(self, arg: Arg, dtype: DType | None = None) -> Tensor:
        """An operand, cast to `dtype`; a number becomes a 0-d tensor of it."""
        if isinstance(arg, Ref):
            value = Tensor(self, arg.value, self.specs[arg.value])
            return value if dtype is None else value.to(dtype)
        if isinstance(arg, (bool, int, float, complex, ScalarRef, Size)):
            return self.full((), arg, dtype or self.number_dtype(arg))
        raise InternalError(f"{arg!r} isn't a tensor operand")

    def optional(self, arg: Arg, dtype: DType | None = None) -> Tensor | None:
        return None if arg is None else self.tensor(arg, dtype)

    def as_tensor(self, operand: Operand) -> Tensor:
        return operand if isinstance(operand, Tensor) else self.tensor(operand)

    def number_dtype(self, arg: Number) -> DType:
        """The dtype that a number has by itself in torch."""
        kind = self.scalar_kinds[arg.index] if isinstance(arg, ScalarRef) else type(arg).__name__
        return {"float": DType.f32, "bool": DType.i1, "complex": DType.c64}.get(kind, DType.i64)

    def full(self, shape: Shape, value: Number, dtype: DType) -> Tensor:
        if dtype.is_complex:
            re, im = pairs.parts_of_number(value)
            return pairs.paired(self.full(shape, re, dtype.real), self.full(shape, im, dtype.real))
        return self._append(Node("own.full", (value,), (spec_of(shape, dtype),)))[0]

    def zeros(self, shape: Shape, dtype: DType) -> Tensor:
        return self.full(shape, 0.0 if dtype.is_float else 0, dtype)

    def arange(self, length: PlanDim, dtype: DType = DType.i64) -> Tensor:
        return self.iota(0, 1, length, dtype)

    def iota(self, start: Number, step: Number, length: PlanDim, dtype: DType) -> Tensor:
        """start, start + step, …"""
        return self._append(Node("own.iota", (start, step), (spec_of((length,), dtype),)))[0]

    def count(self, number: PlanDim, dtype: DType) -> Operand:
        """A size as an operand of arithmetic in `dtype`."""
        if isinstance(number, int):
            return float(number) if dtype.is_float else number
        return self.full((), sizes([number])[0], dtype)

    def where(self, condition: Tensor, a: Operand, b: Operand) -> Tensor:
        dtype = next(v.dtype for v in (a, b) if isinstance(v, Tensor))
        a, b = (v if isinstance(v, Tensor) else self.full((), v, dtype) for v in (a, b))
        shape = dims.broadcast(condition.shape, dims.broadcast(a.shape, b.shape))
        return self.emit("aten.where.self", [condition.ref, a.ref, b.ref], [spec_of(shape, dtype)])[0]

    def take(self, x: Tensor, index: Tensor, dim: int = 0, wraps: bool = False) -> Tensor:
        """x's slices along `dim` at the places that `index` holds; its shape stands where that dim was."""
        shape = (*x.shape[:dim], *index.shape, *x.shape[dim + 1 :])
        indices = (*[None] * dim, index.ref)
        return self.emit("own.index", [x.ref, indices, wraps], [spec_of(shape, x.dtype)])[0]

    def put(self, x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool) -> Tensor:
        """x with `values`, of the shape of x[indices], stored or added there in order."""
        refs = tuple(None if i is None else i.ref for i in indices)
        return self.emit("own.put", [x.ref, refs, values.ref, accumulate], [x.spec])[0]

    def indexed(self, x: Tensor, indices: Sequence[Tensor | None], shape: Shape, wraps: bool = False) -> Tensor:
        """x[indices], whose shape the caller knows."""
        refs = tuple(None if i is None else i.ref for i in indices)
        return self.emit("own.index", [x.ref, refs, wraps], [spec_of(shape, x.dtype)])[0]

    def joined(self, tensors: Sequence[Tensor], dim: int) -> Tensor:
        """Laid one after the other along `dim`; none is empty."""
        first = tensors[0]
        length: PlanDim = 0
        for tensor in tensors:
            length = dims.add(length, tensor.shape[dim])
        spec = spec_of((*first.shape[:dim], length, *first.shape[dim + 1 :]), first.dtype)
        return self.emit("own.concat", [tuple(t.ref for t in tensors), dim], [spec])[0]

    def padded(self, x: Tensor, amounts: Sequence[int], value: Number, shape: Shape) -> Tensor:
        """Amounts (before, after) from the last dim on, none negative."""
        return self.emit("own.pad", [x.ref, tuple(amounts), value], [spec_of(shape, x.dtype)])[0]

    def written(self, x: Tensor, source: Tensor, dim: int, start: PlanDim, step: int) -> Tensor:
        """x with the slice start, start + step, … of `dim` replaced."""
        if 0 in source.shape:
            return x
        return self.emit("own.write_slice", [x.ref, source.ref, dim, *sizes([start]), step], [x.spec])[0]


def _fitted(op: str, value: Tensor, spec: TensorSpec) -> Tensor:
    """A rule's result as the spec says: cast, and of just that shape."""
    if len(value.shape) != len(spec.shape) or any(
        isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(value.shape, spec.shape, strict=True)
    ):
        raise InternalError(f"the rule of {op} gives {value.spec} instead of {spec}")
    return value.to(spec.dtype)
