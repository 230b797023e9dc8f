"""Find the results that may be written over a param: each element is read, for the last time, before it is written.

    for i: y[i] = f(x[i], b)      ──►      module attributes {mlirdev.in_place = array<i64: 2, 0>}   y over x

The kernel is the same either way: it may be given two buffers, or twice the same. What is looked for: the loops that
read x and write y run over both by the same index, so that iterations never meet; within one iteration all reads come
first, and threads share out such a loop. Anything else isn't offered, nor is a buffer so small that it doesn't matter.

LLVM can't tell x and y apart any more. So that it still makes vectors of a loop, those whose iterations have no memory
in common either way are marked (`mark-parallel-loops` tells LLVM); where one can't be marked, nothing is offered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from torch_mlir import ir

from mlirdev.passes.nests import root_of
from mlirdev.passes.ops import defining_op, entry_block, kernel_function, users, walk
from mlirdev.passes.sizes import FIRST_PARAM, THREAD, bytes_of, size_argument
from mlirdev.passes.split_over_threads import is_barrier, is_split
from mlirdev.passes.work import constant_of
from mlirdev.plan import IN_PLACE
from mlirdev.target import Target

NAME = "offer-in-place"
# On an scf.for whose iterations have no memory in common: lowering hands on attributes of LLVM's dialect alone.
MARK = "llvm.loop_annotation"

# Where the memref stands among an access's operands; its indices follow.
_READS = {"memref.load": 0, "vector.load": 0, "vector.maskedload": 0}
_WRITES = {"memref.store": 1, "vector.store": 1, "vector.maskedstore": 0}
_ACCESSES = {**_READS, **_WRITES}
# Views of a whole buffer, in its own order.
_WHOLE = frozenset(
    {"memref.collapse_shape", "memref.expand_shape", "memref.cast", "builtin.unrealized_conversion_cast"}
)
_HARMLESS = frozenset({"memref.dim", "memref.extract_aligned_pointer_as_index"})

_Pair: TypeAlias = tuple[Any, Any]  # a result and a param


@dataclass(frozen=True, slots=True)
class _Access:
    """An op that reads or writes elements of a buffer: `lanes` of them, from `indices` on."""

    op: Any
    memref: Any
    indices: tuple[Any, ...]
    lanes: int
    writes: bool


def run(module: ir.Module, target: Target, *, least_bytes: int = 1) -> None:
    function = kernel_function(module)
    accesses = _accesses_of_buffers(entry_block(function), least_bytes)
    order = _Order(entry_block(function), is_split(module))
    pairs = [
        (result, param)
        for result, touching in accesses.items()
        for param, reading in accesses.items()
        if (writes := [a for a in touching if a.writes]) and not any(a.writes for a in reading)
        if _same_places([*writes, *reading]) and order.reads_first(reading, writes)
    ]
    pairs = _mark_loops(function, pairs)
    places = [value.arg_number - FIRST_PARAM for pair in pairs for value in pair]
    module.operation.attributes[IN_PLACE] = ir.DenseI64ArrayAttr.get(places)


# --- what is accessed where -----------------------------------------------------------------------


def _accesses_of_buffers(block: Any, least_bytes: int) -> dict[Any, list[_Access]]:
    """The accesses of each large buffer that nothing else touches."""
    found = {}
    for argument in list(block.arguments)[FIRST_PARAM:]:
        if not isinstance(argument.type, ir.MemRefType):
            continue
        size = bytes_of(argument.type)
        accesses = _accesses(argument) if size is None or size >= least_bytes else None
        if accesses:
            found[argument] = accesses
    return found


def _accesses(memref: Any) -> list[_Access] | None:
    """All accesses of a buffer, through views of the whole of it; None where it is touched in other ways."""
    found: list[_Access] = []
    for user in users(memref):
        if user.name in _WHOLE:
            inside = _accesses(user.results[0])
            if inside is None:
                return None
            found += inside
        elif user.name in _ACCESSES:
            found.append(_access(user))
        elif user.name not in _HARMLESS:
            return None
    return found


def _access(op: Any) -> _Access:
    at = _ACCESSES[op.name]
    memref = op.operands[at]
    indices = tuple(op.operands)[at + 1 : at + 1 + memref.type.rank]
    value = op.operands[0] if op.name == "vector.store" else op.results[0] if op.results else op.operands[-1]
    lanes = value.type.shape[0] if isinstance(value.type, ir.VectorType) else 1
    return _Access(op, memref, indices, lanes, op.name in _WRITES)


def _same_places(accesses: Sequence[_Access]) -> bool:
    """Whether equal indices mean the same place in all these buffers."""
    return len({_layout(access.memref) for access in accesses}) == 1


def _layout(memref: Any) -> tuple[Any, ...]:
    """Equal for dense buffers of the same shape; how run-time sizes came about must be the same as well."""
    if memref.type.has_static_shape:
        return (memref.type,)
    op = defining_op(memref)
    if op is None:
        sizes = [size_argument(memref, i) for i, size in enumerate(memref.type.shape) if size < 0]
        return memref.type, *(memref if size is None else size for size in sizes)
    attributes = tuple(sorted((name, str(op.attributes[name])) for name in op.attributes))
    return memref.type, op.name, attributes, *list(op.operands)[1:], *_layout(op.operands[0])


# --- in which order -------------------------------------------------------------------------------


class _Order:
    """Whether each element is read before it is written, in the function of this block."""

    def __init__(self, block: Any, split: bool) -> None:
        self._block = block
        self._split = split

    def reads_first(self, reads: Sequence[_Access], writes: Sequence[_Access]) -> bool:
        return self._within(self._block, reads, writes, shared_out=not self._split)

    def _within(self, block: Any, reads: Sequence[_Access], writes: Sequence[_Access], shared_out: bool) -> bool:
        """The same for one run of a block; `shared_out`: no other thread touches any of these elements meanwhile."""
        at = {view.operation: i for i, view in enumerate(block.operations)}
        reading = {_enclosing(a.op, at) for a in reads}
        writing = {_enclosing(a.op, at) for a in writes}
        last, first = max(reading, key=at.__getitem__), min(writing, key=at.__getitem__)
        if at[last] < at[first]:
            return shared_out or any(is_barrier(op) for op, i in at.items() if at[last] < i < at[first])
        if last != first or not (shared_out or reading == writing == {last}):
            return False
        return self._inside(last, reads, writes, shared_out)

    def _inside(self, op: Any, reads: Sequence[_Access], writes: Sequence[_Access], shared_out: bool) -> bool:
        """The same for an op that reads and writes."""
        if op.name not in ("scf.for", "scf.if"):
            return False
        for region in op.regions:
            inner_reads, inner_writes = ([a for a in found if _is_in(a.op, region)] for found in (reads, writes))
            if op.name == "scf.for":
                if not _never_meet(op, [*inner_reads, *inner_writes]):
                    return False
                shared_out = shared_out or self._is_shared_out(op)
            is_both = inner_reads and inner_writes
            if is_both and not self._within(region.blocks[0], inner_reads, inner_writes, shared_out):
                return False
        return True

    def _is_shared_out(self, loop: Any) -> bool:
        """Whether each thread runs iterations of its own."""
        return _depends_on(loop.operands[0], self._block.arguments[THREAD])


def _never_meet(loop: Any, accesses: Iterable[_Access]) -> bool:
    """Whether an iteration touches no element that another one touches: one index is the loop's variable everywhere."""
    variable, step = loop.regions[0].blocks[0].arguments[0], constant_of(loop.operands[2])
    by_index = [
        {i for i, index in enumerate(a.indices) if index == variable and _is_passed(a, i, step)} for a in accesses
    ]
    return bool(set.intersection(*by_index)) if by_index else True


def _is_passed(access: _Access, position: int, step: int | None) -> bool:
    """Whether a step of this index goes beyond what one access touches."""
    return access.lanes == 1 or position < len(access.indices) - 1 or (step is not None and step >= access.lanes)


def _depends_on(value: Any, other: Any) -> bool:
    op = defining_op(value)
    return value == other or (op is not None and any(_depends_on(operand, other) for operand in op.operands))


def _enclosing(op: Any, known: dict[Any, int]) -> Any:
    while op not in known:
        op = op.parent.operation
    return op


def _is_in(op: Any, region: Any) -> bool:
    block = region.blocks[0] if len(region.blocks) else None
    while op.name != "func.func":
        if op.block == block:
            return True
        op = op.parent.operation
    return False


# --- loops for LLVM to make vectors of ------------------------------------------------------------


def _mark_loops(function: Any, pairs: list[_Pair]) -> list[_Pair]:
    """Mark the loops in which LLVM would ask whether buffers overlap; the pairs for which all could be."""
    partners = {value: _partners(value, pairs) for pair in pairs for value in pair}
    marked, lost = [], set[Any]()
    for loop in walk(function):
        if loop.name != "scf.for" or any(op.name == "scf.for" and op != loop for op in walk(loop)):
            continue
        touched = [_access(op) for op in walk(loop) if op.name in ("memref.load", "memref.store")]
        concerned = {a.memref: root_of(a.memref) for a in touched if root_of(a.memref) in partners}
        roots = set(concerned.values())
        if len(roots) < 2 or not any(a.writes and a.memref in concerned for a in touched):
            continue
        if _is_parallel(loop, touched, partners):
            marked.append(loop)
        else:
            lost |= roots
    for loop in marked:
        loop.attributes[MARK] = ir.Attribute.parse("#llvm.loop_annotation<mustProgress = true>")
    return [pair for pair in pairs if not lost.intersection(pair)]


def _partners(value: Any, pairs: list[_Pair]) -> set[Any]:
    return {other for pair in pairs if value in pair for other in pair}


def _is_parallel(loop: Any, touched: Sequence[_Access], partners: dict[Any, set[Any]]) -> bool:
    """Whether no iteration writes what another one touches."""
    if any(op.name not in _PLAIN and op.regions for op in walk(loop)):
        return False
    for written in {root_of(a.memref) for a in touched if a.writes}:
        same = {written, *partners.get(written, ())}
        if not _never_meet(loop, [a for a in touched if root_of(a.memref) in same]):
            return False
    return True


_PLAIN = frozenset({"scf.for", "scf.if"})
