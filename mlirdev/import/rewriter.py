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

from . import dims, table
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
    for position, (node, first) in enumerate(zip(graph.nodes, graph.first_result, strict=True)):
        rewriter.origin = position
        reason = table.unsupported(node, graph.specs)
        if reason is not None:
            raise LoweringError((position,), f"{node.op}: {reason}")
        rewriter.replace(node, first)
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

    def replace(self, node: Node, first: int) -> None:
        args = tuple(self._renumbered(a) for a in node.args)
        results = self.emit(node.op, args, node.results)
        for i, result in enumerate(results):
            self.numbers[first + i] = result.number

    def _renumbered(self, arg: Arg) -> Arg:
        if isinstance(arg, Ref):
            return Ref(self.numbers[arg.value])
        return tuple(self._renumbered(a) for a in arg) if isinstance(arg, tuple) else arg

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

    # --- values -------------------------------------------------------------------------------------

    def tensor(self, arg: Arg, dtype: DType | None = None) -> Tensor:
        """An operand, cast to `dtype`; a number becomes a 0-d tensor of it."""
        if isinstance(arg, Ref):
            value = Tensor(self, arg.value, self.specs[arg.value])
            return value if dtype is None else value.to(dtype)
        if isinstance(arg, (bool, int, float, ScalarRef, Size)):
            return self.full((), arg, dtype or self.number_dtype(arg))
        raise InternalError(f"{arg!r} isn't a tensor operand")

    def optional(self, arg: Arg, dtype: DType | None = None) -> Tensor | None:
        return None if arg is None else self.tensor(arg, dtype)

    def number_dtype(self, arg: Number) -> DType:
        """The dtype that a number has by itself in torch."""
        kind = self.scalar_kinds[arg.index] if isinstance(arg, ScalarRef) else type(arg).__name__
        return {"float": DType.f32, "bool": DType.i1}.get(kind, DType.i64)

    def full(self, shape: Shape, value: Number, dtype: DType) -> Tensor:
        args = [sizes(shape), value, dtype, None, None, None]
        return self.emit("aten.full.default", args, [spec_of(shape, dtype)])[0]

    def zeros(self, shape: Shape, dtype: DType) -> Tensor:
        return self.full(shape, 0.0 if dtype.is_float else 0, dtype)

    def arange(self, length: PlanDim, dtype: DType = DType.i64) -> Tensor:
        args = [Size(0), *sizes([length]), Size(1), dtype, None, None, None]
        return self.emit("aten.arange.start_step", args, [spec_of((length,), dtype)])[0]

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

    def cat(self, tensors: Sequence[Tensor], dim: int) -> Tensor:
        first = tensors[0]
        length: PlanDim = 0
        for t in tensors:
            length = dims.add(length, t.shape[dim])
        spec = spec_of((*first.shape[:dim], length, *first.shape[dim + 1 :]), first.dtype)
        return self.emit("aten.cat.default", [tuple(t.ref for t in tensors), dim], [spec])[0]


def _fitted(op: str, value: Tensor, spec: TensorSpec) -> Tensor:
    """A rule's result as the spec says: cast, and of just that shape."""
    if len(value.shape) != len(spec.shape) or any(
        isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(value.shape, spec.shape, strict=True)
    ):
        raise InternalError(f"the rule of {op} gives {value.spec} instead of {spec}")
    return value.to(spec.dtype)
