"""Which ops share a kernel: one pass over the roots in program order.

An op joins the groups of its producers, and so pulls groups together, where one kernel can compute them in one sweep:

    contraction, convolution, pooling  ← elementwise of the result's size, as an epilogue
    elementwise                        ← elementwise of the same size; a reduction over that size (then: row or column)
    row                                ← row reduction or elementwise over one of its sizes, or over as many rows
    column                             ← column reduction or elementwise over one of its sizes
    insertions (concat, slice write)   ← insertion into it; elementwise of the same size

An op without such a producer joins a sibling: a group that reads the same large tensor and goes together with it. A
join that would close a cycle through a third group isn't made (group_order.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from mlirdev.passes.dim_trace import DimTrace, product
from mlirdev.passes.group_order import GroupOrder
from mlirdev.passes.op_graph import OpGraph, OpNode, Role
from mlirdev.plan import PlanDim

# Limits on a kernel: its compile time grows with its ops, its launch with its operands.
MAX_OPS = 48
MAX_EPILOGUE_OPS = 12
MAX_OPERANDS = 48
MAX_SIBLINGS = 8
HOSTS = ("contraction", "convolution", "pooling")
INSERTIONS = ("tensor.insert_slice", "tensor.concat")


@dataclass(eq=False, slots=True)
class Group:
    """Ops that become one kernel. `sweep` is the number of elements that its widest op visits, `rows` how many rows a
    row group has, `sizes` all numbers of elements that its ops visit or make. `sources` are the roots whose results its
    ops read, `inputs` the tensors that they read, through reshapes."""

    number: int
    kind: str
    sweep: PlanDim
    rows: PlanDim | None
    sizes: set[PlanDim]
    ops: list[OpNode]
    sources: set[OpNode]
    inputs: set[ir.Value]

    @property
    def before(self) -> set[int]:
        """The groups whose results this one reads."""
        return {node.group for node in self.sources if node.group != self.number}


class Grouping:
    """The groups of an OpGraph so far; `form` fills it."""

    def __init__(self, graph: OpGraph, trace: DimTrace) -> None:
        self._graph = graph
        self._trace = trace
        self._groups: dict[int, Group] = {}
        self._order = GroupOrder(lambda number: self._groups[number].before)
        self._readers: dict[ir.Value, list[int]] = {}

    def form(self) -> list[Group]:
        """Put every root into a group; groups come in the order of their last op."""
        for node in self._graph.nodes:
            if node.role is Role.ROOT:
                self._place(node)
        return list(self._groups.values())

    def _place(self, node: OpNode) -> None:
        group = self._new_group(node)
        for producer in sorted(group.before, reverse=True):
            self._try_join(self._groups.get(producer), group)
        if len(group.ops) == 1:
            for sibling in sorted(self._siblings(group), reverse=True)[:MAX_SIBLINGS]:
                if self._try_join(self._groups[sibling], group):
                    break
        for value in group.inputs:
            readers = self._readers.setdefault(value, [])
            if group.number not in readers:
                readers.append(group.number)

    def _new_group(self, node: OpNode) -> Group:
        sweep, made = self._sizes(node)
        rows = made if node.kind == "row" else None
        inputs = {self._graph.base(v) for v in node.reads if self._is_memory(v)}
        group = Group(node.index, node.kind, sweep, rows, {sweep, made}, [node], self._sources(node), inputs)
        self._groups[group.number] = group
        node.group = group.number
        self._order.append(group.number)
        return group

    def _sizes(self, node: OpNode) -> tuple[PlanDim, PlanDim]:
        """(elements visited, elements made). What a check visits, which makes nothing, is what it reads; by places that
        it works out itself it may read any."""
        made = self._trace.numel(node.results[0]) if node.results else None
        if node.nest is None or not node.operands or (made is not None and node.kind not in ("row", "column")):
            return (0, 0) if made is None else (made, made)
        widest = max(zip(node.operands, node.nest.maps, strict=True), key=lambda pair: len(pair[1]))[0]
        visited = self._trace.numel(widest)
        return visited, visited if made is None else made

    def _is_memory(self, value: ir.Value) -> bool:
        """Whether a value is a tensor that some kernel or the caller has written."""
        definer = self._graph.definer.get(self._graph.base(value))
        return isinstance(value.type, ir.RankedTensorType) and (definer is None or definer.role is Role.ROOT)

    def _sources(self, node: OpNode) -> set[OpNode]:
        """The roots whose results a node reads, looked for through views and free ops."""
        found: set[OpNode] = set()
        pending = list(node.reads)
        while pending:
            definer = self._graph.definer.get(pending.pop())
            if definer is None:
                continue
            if definer.role is Role.ROOT:
                found.add(definer)
            else:
                pending.extend(definer.reads)
        return found

    def _siblings(self, group: Group) -> set[int]:
        """Groups without a matrix product that read a tensor of the sweep's size that this group reads."""
        shared = (v for v in group.inputs if v in self._readers and self._trace.numel(v) == group.sweep)
        found = {number for v in shared for number in self._readers[v] if number != group.number}
        return {number for number in found if self._groups[number].kind not in HOSTS}

    # --- joining ------------------------------------------------------------------------------------

    def _try_join(self, earlier: Group | None, group: Group) -> bool:
        """Merge `earlier` into `group` if they go together."""
        if earlier is None or earlier is group:
            return False
        kind = self._joined_kind(earlier, group)
        if kind is None or not self._fits(earlier, group) or not self._order.merge(group.number, earlier.number):
            return False
        self._merge(group, earlier, kind)
        return True

    def _joined_kind(self, earlier: Group, later: Group) -> str | None:
        """The kind of both groups in one kernel, or None if they don't go together."""
        kinds = {earlier.kind, later.kind}
        if kinds & set(HOSTS):
            return self._epilogue_kind(earlier, later)
        if kinds == {"elementwise"}:
            return "elementwise" if earlier.sweep == later.sweep else None
        if kinds <= {"elementwise", "row"}:
            return "row" if self._rows_agree(earlier, later) else None
        if kinds <= {"elementwise", "column"}:
            return "column" if earlier.sizes & later.sizes else None
        if earlier.kind == "other" and _inserts(earlier) and earlier.sweep == later.sweep:
            return "other" if later.kind == "elementwise" or _inserts(later) else None
        return None

    def _epilogue_kind(self, earlier: Group, later: Group) -> str | None:
        if earlier.sweep != later.sweep or len(earlier.ops) + len(later.ops) > MAX_EPILOGUE_OPS:
            return None
        if earlier.kind in HOSTS and later.kind == "elementwise":
            return earlier.kind
        if earlier.kind == "elementwise" and later.kind in HOSTS:
            # What the product itself reads must be in memory first; what only its epilogue reads may be computed there.
            host = next(node for node in later.ops if node.kind in HOSTS)
            return None if any(host.ancestors >> node.index & 1 for node in earlier.ops) else later.kind
        return None

    def _rows_agree(self, earlier: Group, later: Group) -> bool:
        if earlier.sizes & later.sizes:
            return True
        rows = earlier.rows if earlier.rows is not None else later.rows
        return all((g.kind == "row" and g.rows == rows) or self._has_rows(g, rows) for g in (earlier, later))

    def _has_rows(self, group: Group, rows: PlanDim | None) -> bool:
        """Whether an elementwise group sweeps this many rows."""
        if group.kind != "elementwise" or not group.ops[-1].results:
            return False
        shape = self._trace.shape(group.ops[-1].results[0])
        return len(shape) > 1 and product(shape[:-1]) == rows

    def _fits(self, one: Group, other: Group) -> bool:
        return len(one.ops) + len(other.ops) <= MAX_OPS and len(one.inputs | other.inputs) <= MAX_OPERANDS

    def _merge(self, group: Group, absorbed: Group, kind: str) -> None:
        group.ops = sorted([*absorbed.ops, *group.ops], key=lambda node: node.index)
        group.kind = kind
        group.sizes |= absorbed.sizes
        group.sweep = _wider(absorbed, group)
        group.rows = _more_rows(absorbed, group)
        group.inputs |= absorbed.inputs
        group.sources |= absorbed.sources
        for node in absorbed.ops:
            node.group = group.number
        del self._groups[absorbed.number]
        for value in absorbed.inputs & self._readers.keys():
            self._readers[value] = [group.number if n == absorbed.number else n for n in self._readers[value]]


def _inserts(group: Group) -> bool:
    return any(node.name in INSERTIONS for node in group.ops)


def _wider(one: Group, other: Group) -> PlanDim:
    """The larger sweep; where sizes are run-time, the one that isn't a number of rows."""
    if isinstance(one.sweep, int) and isinstance(other.sweep, int):
        return max(one.sweep, other.sweep)
    return other.sweep if one.sweep in (one.rows, other.rows) else one.sweep


def _more_rows(one: Group, other: Group) -> PlanDim | None:
    """A tail that reduces the rows themselves doesn't count."""
    rows = [g.rows for g in (one, other) if g.rows is not None]
    return max(rows, key=lambda r: r if isinstance(r, int) else 1 << 62, default=None)
