"""Give each thread of a launch its share of the kernel's parallel loops.

    for i in 0..n: A      {mlirdev.parallel}         for i in n·t/T..n·(t+1)/T: A
    B                                        ──►     barrier
    for j in 0..m: C      {mlirdev.parallel}         if t = 0: B
                                                     barrier
                                                     for j in m·t/T..m·(t+1)/T: C

All T threads run the whole function, each with its own number t. A barrier stands where an op touches what other
threads write, and only there. A temporary is a thread's own where that is right: scratch of one loop, and small tables
that every thread makes for itself. The others are marked as shared (plan-workspace places both kinds).

Loops are cut along what they compute, never along a sum, so results don't depend on the number of threads. A kernel
with too little work stays as it is, and so does one that calls a library, which has threads of its own, or whose
threads would share a temporary of run-time size. One that is split defines `@wants_threads(sizes…)`, which says whether
a launch is worth more than one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import (
    PARALLEL,
    Index,
    add,
    as_value,
    compare,
    divide_up,
    insert_into,
    minimum,
    multiply,
    subtract,
)
from mlirdev.passes.nests import VIEWS, root_of
from mlirdev.passes.ops import constant, defining_op, emit, entry_block, kernel_function, walk
from mlirdev.passes.sizes import ERROR, THREAD, THREADS, WORKSPACE, bytes_of
from mlirdev.passes.work import Work, constant_of
from mlirdev.plan import BARRIER, WANTS_THREADS
from mlirdev.target import Target

NAME = "split-over-threads"

# On a temporary of a split kernel that its threads share.
SHARED = "mlirdev.shared"

# So many iterations are enough for any number of threads.
_ENOUGH = 16
# A loop without a loop inside is cut at multiples of this: whole vectors and cache lines, and the same elements are
# left for the end of a vector loop as without threads.
_GRAIN = 64
# Every thread fills a table of at most so many bytes for itself, rather than wait for one that does.
_SMALL = 4096

_READING = frozenset(
    {"memref.load", "vector.load", "vector.maskedload", "vector.gather", "vector.transfer_read", "memref.prefetch"}
)
_WRITING = frozenset({"memref.store", "vector.store", "vector.maskedstore"})
_NOT_TOUCHING = VIEWS | {"memref.alloc", "memref.dim", "memref.extract_strided_metadata", "memref.get_global"}


def run(module: ir.Module, target: Target, *, least_work: int = 262144) -> None:
    function = kernel_function(module)
    kernel = _Kernel(function)
    if not kernel.can_be_split or not _declare(module, function, kernel, least_work):
        return
    for temporary in kernel.shared_temporaries:
        temporary.attributes[SHARED] = ir.UnitAttr.get()
    _Splitter(kernel).run()


def is_split(module: Any) -> bool:
    """Whether a module's kernel has been split."""
    return any(_name_of(view.operation) == WANTS_THREADS for view in module.body.operations)


def is_barrier(op: Any) -> bool:
    return bool(op.name == "func.call" and ir.FlatSymbolRefAttr(op.attributes["callee"]).value == BARRIER)


def _name_of(op: Any) -> str:
    return str(ir.StringAttr(op.attributes["sym_name"]).value)


# --- what the kernel does -------------------------------------------------------------------------


@dataclass(eq=False)
class _Step:
    """An op of the entry block: the buffers that it touches, and the loop (itself or inside) to cut, if it has one."""

    op: Any
    loop: Any | None
    reads: set[Any] = field(default_factory=set)
    writes: set[Any] = field(default_factory=set)

    @property
    def touched(self) -> set[Any]:
        return self.reads | self.writes

    def is_alone(self, own: set[Any]) -> bool:
        """Whether one thread takes this step for all: it isn't cut, and others would see what it writes.

        But where they want its value, each takes the step: all write the same, if none reads what is written.
        """
        if self.loop is not None or not self.writes - own:
            return False
        return not _has_uses(self.op) or bool(self.reads & self.writes - own)


class _Kernel:
    """The entry block, read: which temporaries are shared, and which steps one thread must take alone."""

    def __init__(self, function: Any) -> None:
        self.block = entry_block(function)
        self.error = self.block.arguments[ERROR]
        ops = [view.operation for view in self.block.operations]
        self.steps = [_read(op, self.error) for op in ops[:-1]]
        self.own = self._own_temporaries(ops)

    @property
    def loops(self) -> list[Any]:
        return [step.loop for step in self.steps if step.loop is not None]

    @property
    def can_be_split(self) -> bool:
        return (
            bool(self.loops)
            and not any(op.name == "func.call" for op in walk(self.block.owner))
            and all(_is_known(root) for step in self.steps for root in step.touched)
            and not any(op.name == "memref.alloca" or _is_dynamic(op) for op in self.shared_temporaries)
            and not any(self.is_alone(step) and _has_uses(step.op) for step in self.steps)
        )

    @property
    def shared_temporaries(self) -> list[Any]:
        temporaries = [step.op for step in self.steps if step.op.name in ("memref.alloc", "memref.alloca")]
        return [op for op in temporaries if op.results[0] not in self.own]

    def is_alone(self, step: _Step) -> bool:
        return step.is_alone(self.own)

    def shared(self, roots: set[Any]) -> set[Any]:
        return roots - self.own

    def _own_temporaries(self, ops: Sequence[Any]) -> set[Any]:
        """The buffers of which every thread has its own."""
        roots = dict.fromkeys(root for step in self.steps for root in step.touched)
        own = {root for root in roots if defining_op(root) is not None and self._may_be_own(root, ops)}
        while True:
            shared = {root for step in self.steps if step.is_alone(own) for root in step.writes}
            if not shared & own:
                return own
            own -= shared

    def _may_be_own(self, root: Any, ops: Sequence[Any]) -> bool:
        op = defining_op(root)
        if op is None or op not in ops:
            return True  # inside of a loop
        touching = [step for step in self.steps if root in step.touched]
        if len(touching) == 1 and touching[0].loop is not None:
            return True
        return _is_small(root.type) and all(step.loop is None for step in touching if root in step.writes)


def _read(op: Any, error: Any) -> _Step:
    step = _Step(op, _loop_to_cut(op))
    for inner in walk(op):
        if inner.name in _NOT_TOUCHING:
            continue
        roots = {root_of(v) for v in inner.operands if isinstance(v.type, ir.MemRefType)} - {error}
        if inner.name not in _WRITING:
            step.reads |= roots
        if inner.name not in _READING:
            step.writes |= roots
    return step


def _is_known(root: Any) -> bool:
    op = defining_op(root)
    if op is None:
        return bool(root.owner.owner.operation.name == "func.func")
    return op.name in ("memref.alloc", "memref.alloca", "memref.get_global")


def _is_dynamic(op: Any) -> bool:
    return not op.results[0].type.has_static_shape


def _is_small(type_: Any) -> bool:
    size = bytes_of(type_)
    return size is not None and size <= _SMALL


def _has_uses(op: Any) -> bool:
    return any(True for result in op.results for _ in result.uses)


def _loop_to_cut(op: Any) -> Any | None:
    """Of the parallel loops that stand directly in each other, the outermost with enough iterations, else the longest.
    A loop that isn't parallel may be around them: what differs in a parallel one's variable never meets."""
    found = []
    while op is not None and op.name == "scf.for" and not op.results:
        if PARALLEL in op.attributes:
            trips = Work({}).trips(op) if _has_known_trips(op) else _ENOUGH
            found.append((min(trips, _ENOUGH), op))
        op = _only_loop(op)
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _has_known_trips(loop: Any) -> bool:
    return all(constant_of(v) is not None for v in list(loop.operands)[:3])


def _only_loop(loop: Any) -> Any | None:
    """The loop that is all that a loop does."""
    ops = [view.operation for view in loop.regions[0].blocks[0].operations]
    loops = [op for op in ops if op.name == "scf.for"]
    others = [op for op in ops if op.name not in ("scf.for", "scf.yield")]
    is_alone = len(loops) == 1 and all(op.name.startswith("arith.") or op.name in VIEWS for op in others)
    return loops[0] if is_alone else None


# --- whether it is worth it -----------------------------------------------------------------------


def _declare(module: ir.Module, function: Any, kernel: _Kernel, least_work: int) -> bool:
    """Define @wants_threads, and declare the barrier; False for a kernel that never wants them."""
    sizes = [a for a in kernel.block.arguments if isinstance(a.type, ir.IndexType) and a.arg_number > WORKSPACE]
    i1 = ir.IntegerType.get_signless(1)
    with ir.InsertionPoint(module.body), function.location:
        wants = _function(WANTS_THREADS, [size.type for size in sizes], [i1])
    block = ir.Block.create_at_start(wants.regions[0], [size.type for size in sizes], [function.location] * len(sizes))
    with ir.InsertionPoint(block), function.location:
        estimate = Work(dict(zip(sizes, block.arguments, strict=True)))
        total: Any = 0
        for step in kernel.steps:
            if step.loop is not None:
                total = add(total, estimate.of(step.op))
        if isinstance(total, int):
            if total < least_work:
                wants.erase()
                return False
            answer = constant(i1, 1)
        else:
            answer = compare("uge", total, least_work)
        emit("func.return", [], [answer])
    return True


def _function(name: str, params: Sequence[Any], results: Sequence[Any]) -> Any:
    type_ = ir.TypeAttr.get(ir.FunctionType.get(list(params), list(results)))
    attributes = {"sym_name": ir.StringAttr.get(name), "function_type": type_}
    attributes["sym_visibility"] = ir.StringAttr.get("private")
    return ir.Operation.create("func.func", attributes=attributes, regions=1)


# --- splitting it ---------------------------------------------------------------------------------


class _Splitter:
    """Rewrites the entry block."""

    def __init__(self, kernel: _Kernel) -> None:
        self.kernel = kernel
        self.thread, self.threads = kernel.block.arguments[THREAD], kernel.block.arguments[THREADS]
        self.visible = self._addresses()
        # What was touched since the last barrier: by thread 0 alone, and by all.
        self.alone, self.together = _Step(None, None), _Step(None, None)
        self.barriers = 0

    def run(self) -> None:
        for step in self.kernel.steps:
            reads, writes = self.kernel.shared(step.reads), self.kernel.shared(step.writes)
            is_alone = self.kernel.is_alone(step)
            if _meet(self.together, reads, writes) or (not is_alone and _meet(self.alone, reads, writes)):
                self._barrier(step.op)
            seen = self.alone if is_alone else self.together
            seen.reads |= reads
            seen.writes |= writes
            with step.op.location:
                if step.loop is not None:
                    self._cut(step.loop)
                elif is_alone:
                    self._for_thread_0(step.op)
        if self.barriers:
            self._declare_barrier()

    def _addresses(self) -> list[Any]:
        """The addresses of what threads write and share, in a form that a barrier takes: LLVM then knows that memory
        behind them, which no other pointer leads to, may have changed."""
        written = dict.fromkeys(
            root for step in self.kernel.steps for root in sorted(self.kernel.shared(step.writes), key=_position)
        )
        arguments = [root for root in written if defining_op(root) is None]
        if len(arguments) < len(written):
            arguments.append(self.kernel.block.arguments[WORKSPACE])
        with ir.InsertionPoint.at_block_begin(self.kernel.block), ir.Location.unknown():
            return [
                emit("memref.extract_aligned_pointer_as_index", [ir.IndexType.get()], [argument])
                for argument in arguments
            ]

    def _barrier(self, op: Any) -> None:
        with ir.InsertionPoint(op), op.location:
            emit("func.call", [], self.visible, callee=ir.FlatSymbolRefAttr.get(BARRIER))
        self.alone, self.together = _Step(None, None), _Step(None, None)
        self.barriers += 1

    def _declare_barrier(self) -> None:
        function = self.kernel.block.owner.operation
        with ir.InsertionPoint(function), ir.Location.unknown():
            _function(BARRIER, [address.type for address in self.visible], [])

    def _for_thread_0(self, op: Any) -> None:
        with ir.InsertionPoint(op):
            is_first = compare("eq", self.thread, 0)
            branch = ir.Operation.create("scf.if", operands=[is_first], regions=2)
        with insert_into(branch.regions[0]):
            end = emit("scf.yield", [])
        op.move_before(end)

    def _cut(self, loop: Any) -> None:
        """Let a loop run from this thread's first iteration to its last."""
        start, stop, step = (_known_or_value(v) for v in list(loop.operands)[:3])
        grain = 1 if _has_loops(loop) else _GRAIN
        with ir.InsertionPoint(loop):
            trips = divide_up(subtract(stop, start), step)
            share = multiply(divide_up(divide_up(trips, self.threads), grain), grain)
            # Where nothing is left for a thread, the end is before the start.
            first = multiply(self.thread, share)
            last = minimum(add(first, share), trips)
            loop.operands[0] = as_value(add(start, multiply(first, step)))
            end = add(start, multiply(last, step))
            loop.operands[1] = as_value(end if step == 1 else minimum(end, stop))
        del loop.attributes[PARALLEL]


def _meet(seen: _Step, reads: set[Any], writes: set[Any]) -> bool:
    return bool(seen.writes & reads or seen.touched & writes)


def _position(root: Any) -> tuple[int, int]:
    return (root.arg_number, 0) if defining_op(root) is None else (1 << 30, 0)


def _known_or_value(value: Any) -> Index:
    known = constant_of(value)
    return value if known is None else known


def _has_loops(loop: Any) -> bool:
    return any(op.name == "scf.for" and op != loop for op in walk(loop))
