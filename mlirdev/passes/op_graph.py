"""The whole-graph function as ops with roles and kinds: what form_groups decides on.

Every op of the function's one block has a role:

    ROOT    it computes; it becomes a member of one kernel group
    FREE    cheap or movement (constants, fills, slices, pads and transposes that a kernel reads through,
            scalar arithmetic): cloned into every kernel that needs it
    VIEW    a reshape: another shape of the same memory
    SLICE   a piece of the same memory, without gaps: a kernel is given where it starts, so that equal work on other
            pieces is the same kernel
    RETURN  the terminator

and every ROOT a kind, one of kernel_source.KINDS. Handles live as long as an OpGraph and no pass runs meanwhile.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field

from torch_mlir import ir

from mlirdev.dialect import ATTENTION, ATTENTION_BACKWARD
from mlirdev.errors import InternalError
from mlirdev.passes.linalg_info import LoopNest, is_contraction, is_movement, is_widening, loop_nest
from mlirdev.passes.slices import contiguous_offset

VIEWS = frozenset({"tensor.expand_shape", "tensor.collapse_shape", "tensor.cast"})
CONTRACTIONS = frozenset(
    f"linalg.{name}"
    for name in (
        "matmul",
        "batch_matmul",
        "matvec",
        "vecmat",
        "batch_matvec",
        "batch_vecmat",
        "dot",
        "batch_reduce_matmul",
        "contract",
        "quantized_matmul",
        "quantized_batch_matmul",
    )
)
ALWAYS_FREE = frozenset({"arith.constant", "tensor.empty", "linalg.fill", "tensor.extract_slice"})
# A generator (arange, a mask's iota) of at most this many ops is recomputed where it is needed.
CHEAP_BODY = 12


class Role(enum.Enum):
    ROOT = "root"
    FREE = "free"
    VIEW = "view"
    SLICE = "slice"
    RETURN = "return"


@dataclass(eq=False, slots=True)
class OpNode:
    """One op. `captured` are the function's values that its regions use; `ancestors` is a bitmask of the ops that it
    depends on, by index. A SLICE starts `offset` bytes into its operand."""

    op: ir.Operation
    index: int
    name: str
    operands: tuple[ir.Value, ...]
    captured: tuple[ir.Value, ...]
    results: tuple[ir.Value, ...]
    role: Role = Role.FREE
    kind: str = "other"
    nest: LoopNest | None = None
    group: int = -1
    offset: int = 0
    ancestors: int = 0
    users: list[OpNode] = field(default_factory=list)

    @property
    def reads(self) -> tuple[ir.Value, ...]:
        return (*self.operands, *self.captured)


@dataclass(eq=False, slots=True)
class OpGraph:
    """The ops of a function with their definitions and users."""

    function: ir.Operation
    arguments: tuple[ir.Value, ...]
    nodes: list[OpNode]
    definer: dict[ir.Value, OpNode]

    @property
    def terminator(self) -> OpNode:
        return self.nodes[-1]

    @property
    def returned(self) -> tuple[ir.Value, ...]:
        return self.terminator.operands

    def base(self, value: ir.Value) -> ir.Value:
        """The value whose memory this one is, or is a piece of."""
        return self.place(value)[0]

    def place(self, value: ir.Value) -> tuple[ir.Value, int]:
        """The value whose memory this one is in, and how many bytes from its start."""
        offset = 0
        node = self.definer.get(value)
        while node is not None and node.role in (Role.VIEW, Role.SLICE):
            offset += node.offset
            value = node.operands[0]
            node = self.definer.get(value)
        return value, offset


def build_op_graph(module: ir.Module) -> OpGraph:
    """Read the one function of `module` that has a body."""
    function = entry_function(module)
    block = function.regions[0].blocks[0]
    arguments = tuple(block.arguments)
    graph = OpGraph(function, arguments, [], {})
    local = set(arguments)
    for index, view in enumerate(block.operations):
        op = view.operation
        results = tuple(op.results)
        captured = _captured(op, local) if len(op.regions) else ()
        node = OpNode(op, index, op.name, tuple(op.operands), captured, results)
        graph.nodes.append(node)
        for result in results:
            graph.definer[result] = node
        local.update(results)
    _add_users(graph)
    for node in graph.nodes:
        _set_role(node)
    _free_movement(graph)
    _root_returned(graph)
    return graph


def entry_function(module: ir.Module) -> ir.Operation:
    """The function @main."""
    for view in module.body.operations:
        op = view.operation
        if op.name == "func.func" and len(op.regions[0].blocks):
            return op
    raise InternalError("the module has no function with a body")


def _captured(op: ir.Operation, local: set[ir.Value]) -> tuple[ir.Value, ...]:
    found: dict[ir.Value, None] = {}
    for inner in inner_ops(op):
        found.update((value, None) for value in inner.operands if value in local)
    return tuple(found)


def inner_ops(op: ir.Operation) -> Iterator[ir.Operation]:
    """All ops inside of an op's regions, in order."""
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from inner_ops(view.operation)


def _add_users(graph: OpGraph) -> None:
    for node in graph.nodes:
        for value in dict.fromkeys(node.reads):
            definer = graph.definer.get(value)
            if definer is not None:
                definer.users.append(node)
                node.ancestors |= definer.ancestors | 1 << definer.index


# --- roles ----------------------------------------------------------------------------------------


def _set_role(node: OpNode) -> None:
    name = node.name
    if name == "func.return":
        node.role = Role.RETURN
    elif name in VIEWS:
        node.role = Role.VIEW
    elif name == "tensor.extract_slice" and (offset := contiguous_offset(node.op)) is not None:
        node.role, node.offset = Role.SLICE, offset
    elif name in ALWAYS_FREE or (node.results and not _gives_tensor(node)):
        node.role = Role.FREE
    else:
        # Also what gives nothing, such as a check of indices: it must run.
        node.role = Role.ROOT
        node.kind = _kind(node)


def _gives_tensor(node: OpNode) -> bool:
    return any(isinstance(r.type, ir.RankedTensorType) for r in node.results)


def _kind(node: OpNode) -> str:
    name = node.name
    if name in CONTRACTIONS:
        return "contraction"
    if name.startswith(("linalg.conv", "linalg.depthwise_conv")):
        return "convolution"
    if name.startswith("linalg.pooling"):
        return "pooling"
    if name in (ATTENTION, ATTENTION_BACKWARD):
        return "attention"
    if name != "linalg.generic":
        return "other"
    node.nest = nest = loop_nest(node.op)
    if nest.is_windowed:
        return "convolution" if len(node.operands) - len(node.results) == 2 else "pooling"
    if nest.is_parallel:
        return "elementwise"
    if is_contraction(node.op, nest):
        return "contraction"
    return "row" if nest.reduces_rows else "column"


def _free_movement(graph: OpGraph) -> None:
    """Movement that its readers fold into their own reads is cloned into them: transposes and broadcasts into
    contractions and convolutions, extended floats into contractions, pads into convolutions and pooling, generators
    everywhere."""
    for node in graph.nodes:
        if node.role is not Role.ROOT:
            continue
        if node.name == "tensor.pad":
            readers = {"convolution", "pooling"}
        elif node.kind == "elementwise" and is_movement(node.op):
            readers = {"contraction", "convolution"}
        elif node.kind == "elementwise" and is_widening(node.op):
            readers = {"contraction"}
        elif node.kind == "elementwise" and _is_generator(node):
            node.role = Role.FREE
            continue
        else:
            continue
        users = list(_users_through_views(node))
        if users and all(user.role is Role.ROOT and user.kind in readers for user in users):
            node.role = Role.FREE


def _is_generator(node: OpNode) -> bool:
    """Whether it reads no tensor and is cheap."""
    inputs = (*node.operands[: len(node.operands) - len(node.results)], *node.captured)
    if any(isinstance(v.type, ir.RankedTensorType) for v in inputs):
        return False
    return len(list(inner_ops(node.op))) <= CHEAP_BODY


def _users_through_views(node: OpNode) -> Iterator[OpNode]:
    for user in node.users:
        if user.role is Role.VIEW:
            yield from _users_through_views(user)
        else:
            yield user


def _root_returned(graph: OpGraph) -> None:
    """A returned value needs memory of its own: what computes it is a root, even if it were free or a slice."""
    for value in graph.returned:
        node = graph.definer.get(value)
        while node is not None and node.role is Role.VIEW:
            node = graph.definer.get(node.operands[0])
        if node is not None and node.role in (Role.FREE, Role.SLICE):
            node.role = Role.ROOT
            node.kind = "elementwise" if node.name == "linalg.generic" else "other"
