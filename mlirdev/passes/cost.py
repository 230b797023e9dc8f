"""How much a kernel group computes and moves, read from linalg, with the graph's syms in it where sizes are inputs.

    flops    op by op: iterations × arithmetic ops in the body, so 2·M·N·K for a matrix product; attention by its
             matrix products and some operations per score
    nbytes   what is read from outside and what is given, each tensor once; of a tensor that is read in pieces (slices,
             gathered rows) the pieces

Only what is in the program counts: not what a schedule computes twice, or keeps in memory on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from torch_mlir import ir
from torch_mlir.dialects import linalg

from mlirdev.dialect import ATTENTION, ATTENTION_BACKWARD
from mlirdev.passes.dim_trace import DimTrace, element_type, fold, product
from mlirdev.passes.grouping import Group
from mlirdev.passes.op_graph import OpGraph, OpNode, Role
from mlirdev.plan import Cost, PlanDim
from mlirdev.sizes import total

# Operations of one complex operation.
_COMPLEX = {"complex.add": 2, "complex.sub": 2, "complex.mul": 6, "complex.div": 11}
_FLOAT = frozenset(
    f"arith.{name}"
    for name in ("addf", "subf", "mulf", "divf", "remf", "negf", "maximumf", "minimumf", "maxnumf", "minnumf")
)
# They count where a body has no floats: an integer matrix product computes, the bits of a random number don't.
_INTEGER = frozenset(
    f"arith.{name}"
    for name in ("addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "maxsi", "minsi", "maxui", "minui")
)
# Of attention: operations per score beside the matrix products (scale, maximum, exp, sum, divide), and how many matrix
# products there are over the width of a key and of a value.
_PER_SCORE = {ATTENTION: 5, ATTENTION_BACKWARD: 8}
_PRODUCTS = {ATTENTION: (1, 1), ATTENTION_BACKWARD: (3, 2)}


class Costs:
    """The costs of groups of one OpGraph. To be asked for after a group's kernel was outlined: MLIR leaves a note on
    named ops that it was asked about."""

    def __init__(self, graph: OpGraph, trace: DimTrace) -> None:
        self._graph = graph
        self._trace = trace

    def of(self, group: Group, reads: Iterable[ir.Value], results: Iterable[ir.Value]) -> Cost:
        """What one launch of a group does that reads these tensors from outside and gives these results."""
        outside = list(reads)
        readers = self._readers(group, set(outside))
        moved = [self._read(value, readers.get(value, [])) for value in outside]
        moved += [self._nbytes(value) for value in results]
        return Cost(total(self._flops(node) for node in group.ops), total(moved))

    # --- operations --------------------------------------------------------------------------------

    def _flops(self, node: OpNode) -> PlanDim:
        if node.name in _PRODUCTS:
            return self._attention(node)
        if node.name.startswith("linalg."):
            return fold("mul", self._iterations(node), _operations(list(_body(node.op))))
        return self._inside(node.op) if len(node.op.regions) else 0

    def _iterations(self, node: OpNode) -> PlanDim:
        maps = linalg.get_indexing_maps(node.op)
        return product(tuple(self._loops(node, maps).values())) if maps else 0

    def _loops(self, node: OpNode, maps: Any) -> dict[int, PlanDim]:
        """The sizes of an op's loops, by number, from the shapes of what they index."""
        loops: dict[int, PlanDim] = {}
        for value, attribute in zip(node.operands, maps, strict=False):
            if not isinstance(value.type, ir.RankedTensorType):
                continue
            for expr, size in zip(ir.AffineMapAttr(attribute).value.results, self._trace.shape(value), strict=True):
                if isinstance(expr, ir.AffineDimExpr):
                    loops.setdefault(int(expr.position), size)
        return loops

    def _attention(self, node: OpNode) -> PlanDim:
        maps = list(ir.ArrayAttr(node.op.attributes["indexing_maps"]))
        loops = self._loops(node, maps)
        # The loops are batch…, m, n, d, e.
        rank = ir.AffineMapAttr(maps[0]).value.n_dims
        key, value = (loops.get(rank - 2, 1), loops.get(rank - 1, 1))
        scores = product(tuple(size for loop, size in loops.items() if loop < rank - 2))
        over_keys, over_values = _PRODUCTS[node.name]
        widths = fold("add", fold("mul", key, 2 * over_keys), fold("mul", value, 2 * over_values))
        whole = product((scores, fold("add", widths, _PER_SCORE[node.name])))
        # Causal: the half of the scores that is looked at.
        return fold("floordiv", whole, 2) if ir.BoolAttr(node.op.attributes["causal"]).value else whole

    def _inside(self, op: Any) -> PlanDim:
        """Of loops that were written out: as often as their bounds say, once where these depend on data."""
        flops: PlanDim = _operations([inner for inner in _nested(op) if not len(inner.regions)])
        for inner in _nested(op):
            if len(inner.regions):
                flops = fold("add", flops, self._inside(inner))
        return fold("mul", flops, self._trips(op)) if op.name == "scf.for" else flops

    def _trips(self, loop: Any) -> PlanDim:
        start, stop, step = (self._trace.dim(value) for value in list(loop.operands)[:3])
        if start is None or stop is None or step is None:
            return 1
        return fold("ceildiv", fold("sub", stop, start), step)

    # --- bytes ---------------------------------------------------------------------------------------

    def _readers(self, group: Group, outside: set[ir.Value]) -> dict[ir.Value, list[OpNode]]:
        """Who reads each value from outside, among the group's ops and what is cloned into it."""
        readers: dict[ir.Value, list[OpNode]] = {}
        pending, seen = list(group.ops), set(group.ops)
        while pending:
            node = pending.pop()
            for value in dict.fromkeys(node.reads):
                if value in outside:
                    readers.setdefault(value, []).append(node)
                    continue
                definer = self._graph.definer.get(value)
                if definer is not None and definer not in seen and definer.role is not Role.ROOT:
                    seen.add(definer)
                    pending.append(definer)
        return readers

    def _read(self, value: ir.Value, readers: list[OpNode]) -> PlanDim:
        """The bytes of a tensor that its readers read."""
        whole = self._nbytes(value)
        pieces = [self._piece(value, node) for node in readers]
        known = [piece for piece in pieces if piece is not None]
        if len(known) < len(pieces) or not pieces:
            return whole
        read = fold("mul", total(known), element_type(value.type).itemsize)
        return min(whole, read) if isinstance(whole, int) and isinstance(read, int) else fold("min", whole, read)

    def _piece(self, value: ir.Value, node: OpNode) -> PlanDim | None:
        """How many elements a node reads of a tensor of which it reads pieces; None where it reads all."""
        if node.name == "tensor.extract_slice":
            return self._trace.numel(node.results[0])
        if node.name == "linalg.generic" and value in node.captured:
            return None if value in node.operands else self._iterations(node)
        return 1 if node.name == "tensor.extract" else None

    def _nbytes(self, value: ir.Value) -> PlanDim:
        return fold("mul", self._trace.numel(value), element_type(value.type).itemsize)


def _operations(ops: list[Any]) -> int:
    """How many arithmetic operations these ops are."""
    names = [op.name for op in ops]
    floats = sum(_COMPLEX.get(name, name in _FLOAT or name.startswith(("math.", "complex."))) for name in names)
    return floats or sum(op.name in _INTEGER and not isinstance(op.results[0].type, ir.IndexType) for op in ops)


def _body(op: Any) -> Iterator[Any]:
    for inner in _nested(op):
        yield inner
        yield from _body(inner)


def _nested(op: Any) -> Iterator[Any]:
    """The ops directly in an op's regions."""
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
