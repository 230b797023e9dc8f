"""Which ops share a kernel: one pass over the roots in program order.

An op joins the group of a producer, and pulls groups together, where one kernel can compute them in one sweep:

    contraction, convolution, pooling  ← elementwise of the same size, as an epilogue
    elementwise                        ← elementwise of the same size; a row reduction over that size (then: row)
    row                                ← row reduction over as many rows; elementwise over as many rows
    insertions (concat, slice write)   ← insertion into it; elementwise of the same size

and an op without such a producer joins a sibling: a group of the same shape that reads a tensor it reads. A join that
would close a cycle through a third group isn't made; predecessor and successor bitmasks tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from torch_mlir import ir

from mlirdev.passes.dim_trace import DimTrace, product
from mlirdev.passes.op_graph import OpGraph, OpNode, Role
from mlirdev.plan import PlanDim

# Limits on a kernel: its compile time grows with its ops, its launch with its operands.
MAX_OPS = 48
MAX_EPILOGUE_OPS = 12
MAX_OPERANDS = 48
HOSTS = ("contraction", "convolution", "pooling")
INSERTIONS = ("tensor.insert_slice", "tensor.concat")


@dataclass(eq=False, slots=True)
class Group:
    """Ops that become one kernel. `numel` is the size of the sweep, `rows` of its outer part (row groups); `before` and
    `after` are bitmasks of the groups that must run before and after. `inputs` are the tensors read from outside."""

    number: int
    kind: str
    numel: PlanDim
    rows: PlanDim | None
    ops: list[OpNode] = field(default_factory=list)
    before: int = 0
    after: int = 0
    inputs: set[ir.Value] = field(default_factory=set)


class Grouping:
    """The groups of an OpGraph so far; `form` fills it."""

    def __init__(self, graph: OpGraph, trace: DimTrace) -> None:
        self._graph = graph
        self._trace = trace
        self._groups: dict[int, Group] = {}
        self._readers: dict[ir.Value, list[int]] = {}

    def form(self) -> list[Group]:
        """Put every root into a group; groups come in order of their first op."""
        for node in self._graph.nodes:
            if node.role is Role.ROOT:
                self._place(node)
        return list(self._groups.values())

    def _place(self, node: OpNode) -> None:
        group = self._new_group(node)
        for producer in sorted(self._producers(node), reverse=True):
            self._try_join(group, producer)
        if len(group.ops) == 1 and group.kind in ("elementwise", "row"):
            for sibling in sorted(self._siblings(group)):
                if self._try_join_sibling(group, sibling):
                    break
        for value in group.inputs:
            readers = self._readers.setdefault(value, [])
            if group.number not in readers:
                readers.append(group.number)

    def _new_group(self, node: OpNode) -> Group:
        group = Group(node.index, node.kind, *self._sweep(node), ops=[node])
        self._groups[group.number] = group
        node.group = group.number
        for producer in self._producers(node):
            before = self._groups[producer]
            group.before |= before.before | 1 << producer
        self._spread(group)
        group.inputs = {self._graph.base(v) for v in node.reads if isinstance(v.type, ir.RankedTensorType)}
        return group

    def _sweep(self, node: OpNode) -> tuple[PlanDim, PlanDim | None]:
        """(elements swept, rows or None): for a reduction, over what it reads."""
        if not node.results:
            return 0, None
        numel = self._trace.numel(node.results[0])
        if node.kind != "row":
            return numel, None
        assert node.nest is not None
        widest = max(range(len(node.operands)), key=lambda i: len(node.nest.maps[i]))  # type: ignore[union-attr]
        return self._trace.numel(node.operands[widest]), numel

    def _producers(self, node: OpNode) -> set[int]:
        """The groups that compute what a node reads, looked for through views and free ops."""
        found: set[int] = set()
        pending = list(node.reads)
        while pending:
            definer = self._graph.definer.get(pending.pop())
            if definer is None:
                continue
            if definer.role is Role.ROOT:
                if definer.group != node.group:
                    found.add(definer.group)
            else:
                pending.extend(definer.reads)
        return found

    def _siblings(self, group: Group) -> set[int]:
        """Groups that read a tensor of the sweep's size that this group reads."""
        shared = (v for v in group.inputs if v in self._readers and self._trace.numel(v) == group.numel)
        return {number for v in shared for number in self._readers[v] if number != group.number}

    # --- joining ------------------------------------------------------------------------------------

    def _try_join(self, group: Group, producer_number: int) -> None:
        producer = self._groups.get(producer_number)
        if producer is None or producer is group:
            return
        joined = self._joined_kind(producer, group)
        if joined is not None and self._fits(producer, group) and not self._would_cycle(producer, group):
            self._merge(group, producer, joined)

    def _joined_kind(self, producer: Group, consumer: Group) -> str | None:
        """The kind of producer and consumer in one kernel, or None if they don't go together."""
        same_size = producer.numel == consumer.numel
        kinds = producer.kind, consumer.kind
        if kinds == ("elementwise", "elementwise"):
            return "elementwise" if same_size else None
        if producer.kind in HOSTS and consumer.kind == "elementwise":
            return producer.kind if same_size and len(producer.ops) < MAX_EPILOGUE_OPS else None
        if kinds == ("elementwise", "row"):
            return "row" if same_size or producer.numel == consumer.rows else None
        if kinds == ("row", "row"):
            return "row" if producer.rows == consumer.rows else None
        if kinds == ("row", "elementwise"):
            return "row" if self._has_rows(consumer, producer.rows) else None
        if producer.kind == "other" and _inserts(producer):
            return "other" if same_size and (consumer.kind == "elementwise" or _inserts(consumer)) else None
        return None

    def _has_rows(self, group: Group, rows: PlanDim | None) -> bool:
        """Whether an elementwise group sweeps this many rows, or one element per row."""
        shape = self._trace.shape(group.ops[-1].results[0])
        return group.numel == rows or (len(shape) > 1 and product(shape[:-1]) == rows)

    def _try_join_sibling(self, group: Group, sibling_number: int) -> bool:
        sibling = self._groups[sibling_number]
        same_sweep = sibling.kind == group.kind and sibling.numel == group.numel and sibling.rows == group.rows
        if not same_sweep or not self._fits(sibling, group) or self._would_cycle(sibling, group):
            return False
        self._merge(group, sibling, group.kind)
        return True

    def _fits(self, one: Group, other: Group) -> bool:
        return len(one.ops) + len(other.ops) <= MAX_OPS and len(one.inputs | other.inputs) <= MAX_OPERANDS

    def _would_cycle(self, one: Group, other: Group) -> bool:
        both = 1 << one.number | 1 << other.number
        return bool((one.before | other.before) & (one.after | other.after) & ~both)

    def _merge(self, group: Group, absorbed: Group, kind: str) -> None:
        both = 1 << group.number | 1 << absorbed.number
        before = (group.before | absorbed.before) & ~both
        after = (group.after | absorbed.after) & ~both
        group.ops = sorted([*absorbed.ops, *group.ops], key=lambda node: node.index)
        group.kind = kind
        group.rows = absorbed.rows if absorbed.rows is not None else group.rows
        group.numel = _row_sweep(absorbed, group, group.rows) if kind == "row" else absorbed.numel
        group.inputs |= absorbed.inputs
        for node in absorbed.ops:
            node.group = group.number
        del self._groups[absorbed.number]
        gone = ~(1 << absorbed.number)
        for number in _bits(before):
            self._groups[number].after &= gone
        for number in _bits(after):
            self._groups[number].before &= gone
        group.before, group.after = before, after
        for readers in map(self._readers.get, absorbed.inputs):
            if readers is not None and absorbed.number in readers:
                readers[readers.index(absorbed.number)] = group.number
        self._spread(group)

    def _spread(self, group: Group) -> None:
        """Tell all groups before and after about each other."""
        after, before = group.after | 1 << group.number, group.before | 1 << group.number
        for number in _bits(group.before):
            self._groups[number].after |= after
        for number in _bits(group.after):
            self._groups[number].before |= before


def _bits(mask: int) -> Iterator[int]:
    """The positions of a mask's ones."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _inserts(group: Group) -> bool:
    return any(node.name in INSERTIONS for node in group.ops)


def _row_sweep(one: Group, other: Group, rows: PlanDim | None) -> PlanDim:
    """The sweep of a row group is its widest member's; others sweep one element per row."""
    return next((group.numel for group in (one, other) if group.numel != rows), one.numel)
